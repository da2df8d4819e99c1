# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes plots for a data file whose test is not installed, from its series and their units.

Nothing of the file is executed: its series become Flent's own kinds of plots.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from flent_aqm.base.words import for_plot, plain
from flent_aqm.show.plots.catalogue import plots_for
from flent_aqm.spec.definitions import SUFFIX, our_tests

# A plot with more series is unreadable.
MOST_SERIES = 40
LONGEST_LABEL = 60


def is_unknown(settings: Any, stock_dir: str) -> bool:
    """Return whether Flent's settings are those of a data file that has series, and whose test is
    not installed.

    Args:
        settings: Flent's settings.
        stock_dir: Flent's folder of test definitions.
    """
    name = settings.__dict__.get("NAME")
    return bool(isinstance(name, str) and isinstance(_series_metadata(settings), dict)
                and _series_metadata(settings) and name not in our_tests()
                and not os.path.exists(os.path.join(stock_dir, name + SUFFIX)))


def define_from_series(settings: Any) -> None:
    """Set the attributes that a test definition would set: data sets, description, plots and
    default plot.

    settings: Flent's settings, loaded from a data file, for which is_unknown() is true.
    """
    # Imported late, because it imports numpy, which a Flent that only measures does without.
    from flent_aqm.results.reading.series import unit_of

    units = {name: _label(unit_of(name, meta if isinstance(meta, dict) else {})) or "no unit"
             for name, meta in _series_metadata(settings).items()}
    # The runner "null" keeps Flent from measuring or computing series.
    settings.DATA_SETS = OrderedDict(
        (name, {"units": unit, "runner": "null"}) for name, unit in units.items())
    settings.DESCRIPTION = f"{_label(settings.NAME)}, test definition not installed"
    settings.PLOTS = OrderedDict(plots(units))
    # The first plot is the default.
    settings.DEFAULTS = {"PLOT": next(iter(settings.PLOTS))}
    settings.update_defaults()


def plots(units: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return plots by name, in the form of a test definition: for each unit the series over time,
    as distribution and as boxes, with the first MOST_SERIES series of the unit. Plots of the unit
    ms come first. If a series has the unit ms, the plots that this package adds to tests with
    latencies follow after all units.

    units: name of each series -> its unit.
    """
    by_name: dict[str, dict[str, Any]] = {}
    kinds = list(dict.fromkeys(units.values()))
    slugs: set[str] = set()
    for unit in sorted(kinds, key=lambda unit: unit != "ms"):
        slug = re.sub(r"\W+", "_", unit.lower(), flags=re.ASCII).strip("_") or "other"
        while slug in slugs:
            slug += "_more"
        slugs.add(slug)
        names = [name for name, its in units.items() if its == unit][:MOST_SERIES]
        series = [{"data": name, "label": _label(name)} for name in names]
        for kind, what in (("timeseries", "over time"), ("cdf", "distribution"),
                           ("box", "boxes")):
            by_name[f"{slug}_{kind}"] = {
                "description": f"All series in {unit}: {what}", "type": kind,
                "axis_labels": [unit], "series": series}
    measured = {name: {"units": unit, "runner": "of the file"} for name, unit in units.items()}
    return {**by_name, **{name: plot for name, plot in plots_for(measured).items()
                          if name not in by_name}}


def _series_metadata(settings: Any) -> Any:
    """Return the metadata of a data file's series, by name, None if there are none. The value is as
    in the file: it may be of another type than a mapping.

    settings: Flent's settings, loaded from the file.
    """
    return settings.__dict__.get("SERIES_META")


def _label(value: Any) -> str:
    """Return a file's text as a label: cut to LONGEST_LABEL characters, with a blank or "?" in
    place of each invisible one (plain()), then with a backslash before each dollar sign that has
    none, so that it begins no formula. "" for None and other false values.

    value: a text, or any value, of which str() is used.
    """
    return for_plot(plain(str(value or "")[:LONGEST_LABEL]))

# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of the study's cells with parts of the router's model switched."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.paths import resource_dir
from flent_aqm.parts.router_models.model import with_parameters
from research.validation import numbers, study_router
from tests.files import GOLDEN

KEPT = GOLDEN / "docs" / "scores"


def test_each_router_of_the_batch_has_its_words() -> None:
    """A router that the batch runs and no table names would be left out of the page."""
    batch = configparser.ConfigParser(interpolation=None)
    batch.read(resource_dir("batches") / "study_router.batch")
    routers = {(with_parameters(section["router_model"], {}),
                "busy" if "client_model" in section else "ideal")
               for name, section in batch.items()
               if name.startswith("Arg::") and "router_model" in section}
    assert routers == set(study_router.ROUTERS)


def test_deviation_has_the_interval_of_the_chi_square_distribution() -> None:
    """Of four values with a standard deviation of 1, by the textbook's formula."""
    text = study_router.deviation([100 - 1.5 ** 0.5, 100.0, 100.0, 100 + 1.5 ** 0.5])
    from scipy import stats  # takes a second, which every worker would spend on collecting

    low, high = ((3 / stats.chi2.ppf(share, 3)) ** 0.5 for share in (0.975, 0.025))
    match = re.fullmatch(r"100, sd 1\.0 \(([0-9.]+)\W([0-9.]+)\)", text)
    assert match, text
    assert (float(match[1]), float(match[2])) == pytest.approx((low, high), abs=0.05)


def test_runs_of_another_batch_are_refused() -> None:
    """What no table has would be counted and not shown."""
    with pytest.raises(ConfigError, match="no table has the batch 'scores'; expected a run of"):
        list(study_router.lines(numbers.load(KEPT)))


def test_page_has_some_of_the_routers() -> None:
    """By names that the tables know; the file beside the page has all."""
    assert set(study_router.ON_PAGE) < set(study_router.ROUTERS)
    page = (Path(numbers.DOCS) / "results" / "study.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0].strip("| ") for line in page.splitlines()]
    assert [name for name in rows if name in study_router.ROUTERS.values()] == [
        name for key, name in study_router.ROUTERS.items() if key in study_router.ON_PAGE]

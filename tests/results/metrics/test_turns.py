# SPDX-License-Identifier: GPL-3.0-or-later
"""Latency under the load of one direction, in tests that alternate between both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.turns import turns
from flent_aqm.results.metrics.window import Window

BOTH = {"download": Window(0.0, 1.0), "upload": Window(0.0, 1.0)}


def steps(*rates: tuple[float, float]) -> list[dict[str, Any]]:
    """A capture whose steps of 0.1 s carried these Mbit/s of download and upload."""
    return [{"t": (number + 1) / 10, "dur": 0.1, "download": down, "upload": up}
            for number, (down, up) in enumerate(rates)]


def spans(found: Any) -> dict[str, list[tuple[float, float]]]:
    """The intervals as pairs of rounded times."""
    return {name: [(round(one.start_s, 3), round(one.end_s, 3)) for one in windows]
            for name, windows in found.items()}


def test_turn_lasts_to_the_last_data_before_the_other_direction() -> None:
    """A step with data of both belongs to neither, an empty one between two of a direction to it.
    Requests of 0.1 Mbit/s are no data."""
    found = turns(steps((50, 0.1), (0, 0), (60, 0.1), (20, 4), (0.2, 10), (0.2, 9), (0, 0),
                        (70, 0.1)), BOTH)
    assert spans(found) == {"download": [(0.0, 0.3), (0.7, 0.8)], "upload": [(0.4, 0.6)]}


def test_turn_lies_within_the_load() -> None:
    """Whose first packet comes in the middle of a step."""
    found = turns(steps((50, 0), (50, 0), (0, 10), (0, 10)),
                  {"download": Window(0.03, 0.31), "upload": Window(0.12, 0.37)})
    assert spans(found) == {"download": [(0.03, 0.2)], "upload": [(0.2, 0.37)]}


@pytest.mark.parametrize(("rates", "loads"), [
    # Both at once, as in RRUL; the upload begins a little later.
    ([(50, 0), (50, 10), (50, 10), (50, 10)], BOTH),
    # One after the other, as in NDT7.
    ([(50, 0), (50, 0), (0, 10), (0, 10)],
     {"download": Window(0.0, 0.2), "upload": Window(0.2, 0.4)}),
    # A download alone.
    ([(50, 0), (50, 0)], {"download": Window(0.0, 0.2), "upload": None}),
    # A file without a capture.
    ([], BOTH)])
def test_other_tests_have_no_turns(rates: list[tuple[float, float]], loads: Any) -> None:
    """Their directions' loads last from the first to the last packet."""
    assert turns(steps(*rates), loads) == {}


def test_latency_under_download_leaves_out_what_uploads_made(make_run: Callable[..., Run]
                                                              ) -> None:
    """Probes of 20 ms while only downloads run, of 300 ms while only uploads do."""
    run = make_run([20.0] * 50 + [300.0] * 50, captured=[(50, 0.1)] * 5 + [(0.1, 10)] * 5)
    assert set(run.loaded("download").rtt_ms) == {20.0}
    assert set(run.loaded("upload").rtt_ms) == {300.0}
    assert run.loaded("upload").length_s == pytest.approx(0.5)
    assert numpy.unique(run.loaded().rtt_ms).tolist() == [20.0, 300.0]
    assert run.loaded("download").rtt_ms.size + run.loaded("upload").rtt_ms.size == 100

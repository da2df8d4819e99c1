# SPDX-License-Identifier: GPL-3.0-or-later
"""Values at which a figure or plot would stumble: none, lost probes alone, a file of a stranger."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from flent_aqm.base.errors import ConfigError, NotAvailable
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.show.figures.verdicts import shade
from flent_aqm.show.plots.observed import Captured
from flent_aqm.show.plots.overlay import captured_payload
from flent_aqm.show.report.server import ReportServer
from tests.files import RUNS


@pytest.mark.parametrize(("values", "shades"), [
    ([math.inf, math.inf], [1.0, 1.0]), ([10.0, math.inf, None], [0.0, 1.0, math.nan]),
    ([10.0, 10.0], [0.0, 0.0]), ([None], [math.nan])])
def test_lost_probes_are_darkest_also_where_there_is_nothing_else(
        values: list[float | None], shades: list[float]) -> None:
    """A missing value has another shade."""
    found = shade(METRICS["latency_loaded_median_ms"], values)
    assert numpy.array_equal(found, shades, equal_nan=True)


def test_capture_without_packets_of_the_test_is_none() -> None:
    run = load_run(RUNS / "ndt7.flent.gz")
    at_s = numpy.array([1.0, 2.0])
    for capture in (None, Captured(at_s, {}), Captured(at_s, {"cross_upload": at_s})):
        with pytest.raises(NotAvailable, match=r"captured$"):
            captured_payload(run, capture)
    _, mbps = captured_payload(run, Captured(at_s, {"download": at_s, "cross_upload": at_s}))
    assert mbps.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("host", ["..", "a" * 64, "999.0.0.1"])
def test_page_is_not_served_at_what_is_no_host(host: str) -> None:
    follower: Any = None
    with pytest.raises(ConfigError, match=r"^--host .* --port 0: can't listen there: "):
        ReportServer(follower, host, 0)

# SPDX-License-Identifier: GPL-3.0-or-later
"""No metric depends on how the last bit of a time was rounded."""

from __future__ import annotations

import random
from itertools import chain
from typing import Any

import numpy
import pytest

from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.table import METRICS, ranked
from flent_aqm.results.reading.limits import OWN
from flent_aqm.results.reading.parse import parse
from flent_aqm.results.reading.unpack import unpack_file
from tests.files import RUNS

GOLDEN = RUNS


def run_of(name: str, apart: random.Random | None = None) -> Run:
    """A golden run; with times that are each a float's step earlier, the same or later."""
    path = GOLDEN / f"{name}.flent.gz"
    whole: dict[str, Any] = parse(unpack_file(path, OWN))
    for sample in chain.from_iterable(whole["raw_values"].values()):
        if apart and "t" in sample:
            sample["t"] += apart.choice((-1, 0, 1)) * float(numpy.spacing(sample["t"]))
    return as_run(as_data_file(whole, path))


@pytest.mark.parametrize("name", sorted(path.name.removesuffix(".flent.gz")
                                        for path in GOLDEN.glob("*.flent.gz")))
def test_metrics_are_the_same_when_times_are_rounded_otherwise(name: str) -> None:
    """In virtual time, samples lie exactly on the edges of windows and intervals."""
    run = run_of(name)
    expected = {key: ranked(metric.of(run)) for key, metric in METRICS.items()}
    apart = random.Random(1)
    for _ in range(5):
        run = run_of(name, apart)
        for key, metric in METRICS.items():
            value = ranked(metric.of(run))
            assert value == (None if expected[key] is None
                             else pytest.approx(expected[key], rel=1e-4, abs=1e-4)), key

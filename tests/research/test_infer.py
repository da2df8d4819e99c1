# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs at random whose queue is known, and the model that is made of them."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy
import pandas
import pytest

from flent_aqm.parts.infer.classes import AQM, CANT_TELL, CLASSES, DROP_TAIL, FLOW_QUEUEING, POLICER
from flent_aqm.parts.infer.features import FEATURES
from research.infer import page, recipe, table, train

# Change it with the recipe only: other runs then have these numbers, and docs/infer.md and the
# model are to be made anew.
DIGEST = "8f3bcbd32aa6a541"


def test_recipe_is_the_one_that_the_model_was_made_by() -> None:
    """On any machine, in any version of Python."""
    assert recipe.digest() == DIGEST
    lines = [recipe.line(number) for number in range(2000)]
    assert {one.world for one in lines} == {"plain", "two_bottlenecks", "wifi", "slow_router"}
    assert {one.queue for one in lines} == set(CLASSES) - {CANT_TELL}
    for one in lines:
        assert 5 <= one.rate_mbps <= 1000
        assert 5 <= one.rtt_ms <= 200
        assert (one.queue == DROP_TAIL) == (one.depth_ms is not None)


@pytest.mark.parametrize(("changes", "dropped", "lost", "stood_ms", "expected"), [
    ({}, True, True, 5.0, AQM), ({}, False, True, 5.0, CANT_TELL),
    ({}, False, False, 500.0, CANT_TELL),
    ({"queue": DROP_TAIL}, False, False, 500.0, DROP_TAIL),
    ({"queue": DROP_TAIL}, False, False, 99.0, CANT_TELL),
    ({"world": "wifi", "settings": {"wifi_ap": "fifo"}}, False, True, 5.0, DROP_TAIL),
    ({"world": "wifi", "settings": {"wifi_ap": "airtime"}}, False, True, 5.0, FLOW_QUEUEING),
    ({"world": "two_bottlenecks", "settings": {"modem_down_mbps": 90}}, False, True, 5.0,
     DROP_TAIL),
    ({"world": "two_bottlenecks", "settings": {"modem_down_mbps": 98}}, True, True, 5.0,
     CANT_TELL),
    ({"world": "two_bottlenecks", "settings": {"modem_down_mbps": 120}}, True, True, 5.0, AQM),
])
def test_truth_is_the_queue_that_acted(
        changes: dict[str, object], dropped: bool, lost: bool, stood_ms: float, expected: str
) -> None:
    """That of the slower one of two, and none where nothing was seen."""
    one = recipe.Line(**{"number": 0, "world": "plain", "queue": AQM,  # type: ignore[arg-type]
                         "rate_mbps": 100.0, "rtt_ms": 20.0, "depth_ms": None, **changes})
    assert table.truth(one, dropped, lost, stood_ms) == expected


def _rows(count: int) -> pandas.DataFrame:
    """Rows whose class shows in two features, with noise."""
    draw = random.Random(1)
    rows = []
    for number in range(count):
        truth = CLASSES[number % len(CLASSES)]
        rows.append({
            "truth": truth, "line_mbps": 5 + draw.random() * 100, "depth_ms": 100.0,
            **{name: draw.random() for name in FEATURES},
            "loss_late": CLASSES.index(truth) + draw.random() * 1.2,
            "rise_q50_ms": -CLASSES.index(truth) + draw.random() * 1.2})
    return pandas.DataFrame(rows)


def test_shipped_trees_vote_as_those_that_were_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of the file, without scikit-learn; made twice, the file is the same. A sixth of
    the trees say it as well."""
    monkeypatch.setattr(train, "_TREES", 20)
    rows, names = _rows(300), list(FEATURES)
    fitted = train.fit(rows, names)
    assert train.as_bytes(fitted) == train.as_bytes(train.fit(rows, names))
    shares = numpy.maximum(train.voted(train.forest(rows, names), rows[names]), 1e-3)
    logits = numpy.log(shares) @ numpy.array(fitted.whole["weights"]).T + fitted.whole["bias"]
    expected = numpy.exp(logits) / numpy.exp(logits).sum(axis=1, keepdims=True)
    found = fitted.probabilities(rows)
    assert found == pytest.approx(expected, abs=0.02)
    assert (found.argmax(axis=1) == [CLASSES.index(name) for name in rows["truth"]]).mean() > 0.9


def test_reliability_says_how_often_a_probability_was_right() -> None:
    """A bin each; of four that are 90 % sure, three are right."""
    sure = numpy.full((4, len(CLASSES)), 0.025)
    sure[:, 0] = 0.9
    (said, found), = page.reliability_by_bin([DROP_TAIL] * 3 + [AQM], sure).items()
    assert said == pytest.approx(0.9)
    assert found == (0.75, 4)


@pytest.mark.lab
def test_run_of_the_recipe_becomes_a_row(tmp_path: Path) -> None:
    """Made in the lab, with the truth beside what the sender saw: BBR through a queue that is
    longer than it fills, and a policer."""
    policer = next(number for number in range(17) if recipe.line(number).queue == POLICER)
    for number in (17, policer):
        assert recipe.make(tmp_path, range(number, number + 1), {}, {}) == 0
    policed, quiet = table.rows([tmp_path])  # by number
    assert (quiet["number"], quiet["queue"], quiet["depth_ms"]) == (17, DROP_TAIL, 69.7)
    assert quiet["truth"] == CANT_TELL
    assert quiet["base_rtt_ms"] == pytest.approx(9.27, abs=0.1)
    assert 20 < quiet["rise_max_ms"] < 69.7
    assert policed["truth"] == POLICER
    assert math.isnan(policed["depth_ms"])
    assert policed["drops"] > 100

# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs at random whose queue is known, and the model that is made of them."""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

from flent_aqm.parts.infer.cadence import thin
from flent_aqm.parts.infer.classes import AQM, CANT_TELL, CLASSES, DROP_TAIL, SHORT
from flent_aqm.parts.infer.features import FEATURES
from flent_aqm.parts.infer.model import from_json, judge_all, prior_weights, reweighted
from flent_aqm.parts.infer.reading import Download, read_downloads
from flent_aqm.results.data_file import Numbers
from research.infer import page, recipe, table, train
from tests.files import GOLDEN

# Change it with the recipe only: other runs then have these numbers, and docs/infer.md and the
# model are to be made anew.
DIGEST = "d6c71f8b6dcbfab2"


def test_recipe_is_the_one_that_the_model_was_made_by() -> None:
    """On any machine, in any version of Python."""
    assert recipe.digest() == DIGEST
    lines = [recipe.line(number) for number in range(2000)]
    assert {one.world for one in lines} == set(recipe.WORLDS)
    assert {one.queue for one in lines} == set(CLASSES) - {CANT_TELL}
    for one in lines:
        assert 4 <= one.rate_mbps <= 400
        assert 3 <= one.rtt_ms <= 400
        if one.depth_ms is not None:
            assert one.queue == (DROP_TAIL if one.depth_ms >= 20 else SHORT)
        else:
            assert one.queue == (SHORT if one.settings.get("shaper") == "tbf" else one.queue)


def test_losses_of_the_recipe_are_of_all_sizes() -> None:
    """From 0.001 to 2 %, alone and in groups, with the same mean."""
    lines = [recipe.line(number) for number in range(2000)]
    alone = [float(str(one.settings["link_down_loss"]).rstrip("%"))
             for one in lines if one.world == recipe.LOSS]
    assert len(alone) > 200
    assert 0.001 <= min(alone) < 0.0015
    assert 1.5 < max(alone) <= 2
    for one in lines:
        if one.world == recipe.BURSTS:
            _, starts, ends = str(one.settings["link_down_loss"]).split()
            p, r = float(starts.rstrip("%")), float(ends.rstrip("%"))
            assert 0.0005 < 100 * p / (p + r) < 2.1
            assert 5 <= r <= 50


@pytest.mark.parametrize(("changes", "dropped", "lost", "stood_ms", "expected"), [
    ({}, True, True, 5.0, AQM), ({}, False, True, 5.0, CANT_TELL),
    ({}, False, False, 500.0, CANT_TELL),
    # What a path loses at random is no act of the queue.
    ({"world": "loss"}, False, True, 5.0, CANT_TELL), ({"world": "loss"}, True, True, 5.0, AQM),
    ({"queue": DROP_TAIL}, False, False, 500.0, DROP_TAIL),
    ({"queue": DROP_TAIL}, False, False, 99.0, CANT_TELL),
    ({"queue": SHORT}, False, False, 15.0, CANT_TELL), ({"queue": SHORT}, True, True, 15.0, SHORT),
    ({"world": "wifi", "settings": {"wifi_ap": "fifo"}}, False, True, 5.0, DROP_TAIL),
    ({"world": "wifi", "settings": {"wifi_ap": "airtime"}}, False, True, 5.0, AQM),
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


def _even(bbr: bool = True) -> Download:
    """A download of 10,000 segments in 10 s, without a loss."""
    at_s = numpy.arange(0.25, 10.1, 0.25)
    sent = 1_448_000 * at_s
    return Download(name="", bbr=bbr, at_s=at_s, rtt_ms=at_s, min_rtt_ms=at_s, acked_bytes=sent,
                    sent_bytes=sent, retransmitted_bytes=0 * at_s)


def test_added_losses_are_sent_again() -> None:
    """A segment raises what was sent, and sent again, from the sample on before which it was
    sent."""
    whole = _even()
    one = table.with_losses(whole, [0, 999, 1000, 1000])
    more = one.retransmitted_bytes / 1448
    assert more[:5].tolist() == [1, 1, 1, 2, 4]
    assert more[-1] == 4
    assert (one.sent_bytes - whole.sent_bytes == one.retransmitted_bytes).all()
    assert not whole.loses


def test_losses_at_random_are_of_the_share_that_is_wanted() -> None:
    """Of a hundredth of 10,000 segments, about 100; few are one to three."""
    draw = random.Random(4)
    counts = [len(table._share_of_segments(_even(), draw, 0.01)) for _ in range(50)]
    assert numpy.mean(counts) == pytest.approx(100, abs=5)
    assert {len(table._some_segments(_even(), draw, 3)) for _ in range(50)} == {1, 2, 3}


def test_only_bbr_has_many_losses_added_as_others_would_slow_down() -> None:
    """In half of all copies nothing is added."""
    for bbr, most in ((True, 15), (False, 0)):
        lost = [table._at_random(_even(bbr), random.Random(seed)).retransmitted_bytes[-1] / 1448
                for seed in range(200)]
        assert 70 < sum(count == 0 for count in lost) < 140
        assert sum(count > 3 for count in lost) >= most
        assert bbr or max(lost) == 3


def _rows(count: int) -> pandas.DataFrame:
    """Rows whose class shows in two features, with noise. Those of plain lines are half of all."""
    draw = random.Random(1)
    rows = []
    for number in range(count):
        truth = CLASSES[number % len(CLASSES)]
        rows.append({
            "number": number, "kernel": "stock", "testbed": "virtual", "cadence": table.ARCHIVED,
            "world": recipe.PLAIN if number % 8 < 4 else recipe.LOSS, "loses": truth != CANT_TELL,
            "has_aqm": truth == AQM, "truth": truth, "line_mbps": 5 + draw.random() * 100,
            "depth_ms": 100.0, **{name: draw.random() for name in FEATURES},
            "loss_late": CLASSES.index(truth) + draw.random() * 1.2,
            "rise_q50_ms": -CLASSES.index(truth) + draw.random() * 1.2, "rise_max_ms": 80.0})
    return pandas.DataFrame(rows)


def test_shipped_trees_vote_as_those_that_were_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of the file, without scikit-learn; made twice, the file is the same. A sixth of
    the trees say it as well."""
    monkeypatch.setattr(train, "_TREES", 20)
    rows, names = _rows(300), list(FEATURES)
    fitted = train.fit(rows, names)
    assert train.as_bytes(fitted) == train.as_bytes(train.fit(rows, names))
    shares = numpy.maximum(train.voted(train.forest(rows, names, 20), rows[names]), 1e-3)
    logits = numpy.log(shares) @ numpy.array(fitted.whole["weights"]).T + fitted.whole["bias"]
    expected = numpy.exp(logits) / numpy.exp(logits).sum(axis=1, keepdims=True)
    found = fitted.probabilities(rows)
    assert found == pytest.approx(expected, abs=0.02)
    assert (found.argmax(axis=1) == [CLASSES.index(name) for name in rows["truth"]]).mean() > 0.9


def test_calibration_of_two_classes_tells_them_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others have no probability."""
    monkeypatch.setattr(train, "_TREES", 20)
    rows = _rows(300)
    rows = rows[rows["truth"].isin(CLASSES[1:3])].reset_index(drop=True)
    found = train.fit(rows, list(FEATURES)).probabilities(rows)
    assert (found.argmax(axis=1) == [CLASSES.index(name) for name in rows["truth"]]).mean() > 0.9
    assert found.max(axis=1).mean() > 0.8
    assert found[:, [0, 3]].max() < 1e-6


def test_prior_changes_the_numbers_of_lines_of_each_kind() -> None:
    """Where a tenth has an AQM instead of four tenths, an AQM is six times less likely by the odds
    against a queue without, and what can't be told lies between."""
    model = from_json({"features": [], "weights": [], "bias": [], "trees": [], "ranges": {},
                       "aqm_share": 0.4, "aqm_share_untold": 0.25})
    weights = dict(zip(CLASSES, prior_weights(model, 0.1), strict=True))
    assert weights[AQM] == pytest.approx(0.25)
    assert weights[DROP_TAIL] == weights[SHORT] == pytest.approx(1.5)
    assert weights[CANT_TELL] == pytest.approx(0.25 * 0.25 + 0.75 * 1.5)
    assert prior_weights(model, 0.4) == pytest.approx(numpy.ones(len(CLASSES)))
    found = reweighted(numpy.array([[0.4, 0.4, 0.1, 0.1]]), prior_weights(model, 0.1))[0]
    assert found.sum() == pytest.approx(1)
    assert found[0] / found[1] == pytest.approx(6)


def test_log_loss_is_that_of_the_true_class() -> None:
    """A probability of nothing counts as a thousandth."""
    found = numpy.array([[0.5, 0.5, 0, 0], [1.0, 0, 0, 0]])
    assert page.log_loss([AQM, DROP_TAIL], found) == pytest.approx(math.log(2) / 2)
    assert page.log_loss([AQM, AQM], found, [0, 1]) == pytest.approx(math.log(1000))


def test_reliability_says_how_often_a_probability_was_right() -> None:
    """A bin each; of eight that are 90 % sure, six are right."""
    sure = numpy.full((8, len(CLASSES)), 0.1 / 3)
    sure[:, 0] = 0.9
    (said, found), = page.reliability_by_bin([DROP_TAIL] * 6 + [AQM] * 2, sure).items()
    assert said == pytest.approx(0.9)
    assert found == (0.75, 8)
    assert page.reliability_by_bin([DROP_TAIL] * 4, sure[:4]) == {}


def test_one_lost_segment_makes_no_other_queue() -> None:
    """Wherever in downloads without a loss, of the lab and as M-Lab archives them, it is lost. It
    may leave too little to tell."""
    downloads = [one for path in sorted((GOLDEN / "infer").glob("*.flent.gz"))
                 for one in read_downloads(path) if not one.loses]
    sparse = [thin(one, random.Random(1)) for one in downloads]
    assert len(downloads) >= 5
    draw = random.Random(2)
    for one, before in zip(downloads + sparse, judge_all(downloads + sparse), strict=True):
        assert before.answer != AQM
        lossy = [table.with_losses(one, table._some_segments(one, draw, 1)) for _ in range(6)]
        assert {verdict.answer for verdict in judge_all(lossy)} <= {before.answer, CANT_TELL}


class _Judged(page.Unseen):
    """Runs with probabilities that are given, not found."""

    def __init__(self, rows: pandas.DataFrame, probabilities: Numbers) -> None:
        self.rows, self.judged = rows, numpy.ones(len(rows), dtype=bool)
        self._found = probabilities

    def of(self, mask: Any, prior: float | None = None) -> tuple[train.Rows, Numbers]:
        return self.rows[mask].reset_index(drop=True), self._found[mask]


def _sure(*names: str) -> Numbers:
    return numpy.array([[float(name == one) for one in CLASSES] for name in names])


def test_sentence_on_one_lost_segment_counts_the_answers_that_it_changes() -> None:
    """Of two downloads without a loss; the one with losses isn't counted."""
    rows = pandas.DataFrame({"cadence": [table.ARCHIVED, table.ONE_LOST] * 2 + [table.ARCHIVED],
                             "loses": [False] * 4 + [True]})
    changed = _sure(CANT_TELL, AQM, DROP_TAIL, SHORT, AQM)
    assert page._one_lost_sentence(_Judged(rows, changed)) == (
        "One lost segment, added to each of 2 downloads without a loss, changes 2 answers, 1 of "
        "them to `AQM`.")
    same = _sure(AQM, AQM, DROP_TAIL, DROP_TAIL, SHORT)
    assert "changes 0 answers, 0 of them" in page._one_lost_sentence(_Judged(rows, same))


def test_sentence_on_depths_counts_those_that_are_too_large() -> None:
    """Said are 72 ms, of 100 and of 50; a queue that wasn't recognized isn't counted."""
    rows = pandas.DataFrame({
        "cadence": table.ARCHIVED, "truth": DROP_TAIL, "world": ["plain", "plain", "loss", "wifi"],
        "depth_ms": [100.0, 50.0, 10.0, 1.0], "rise_max_ms": 80.0})
    found = _sure(DROP_TAIL, DROP_TAIL, AQM, DROP_TAIL)
    assert page._depth_sentence(_Judged(rows, found)) == (
        "The depth that is said, by the true depth: median 1.08, quartiles 0.90 to 1.26; not above "
        "it in 1 of 2 runs.")
    assert page._depth_sentence(_Judged(rows, _sure(*[AQM] * 4))) == (
        "No drop-tail queue of known depth was recognized.")


def test_table_of_queues_has_drop_tail_by_depth() -> None:
    """Right and wrong answers of each kind; Wi-Fi is left out."""
    rows = pandas.DataFrame({
        "cadence": table.ARCHIVED, "world": ["plain"] * 4 + ["wifi"],
        "aqm": ["bfifo", "bfifo", "bfifo", "codel", "no_aqm"],
        "depth_ms": [20.5, 30.0, math.nan, math.nan, 5.0],
        "truth": [DROP_TAIL, DROP_TAIL, SHORT, AQM, AQM]})
    found = _sure(DROP_TAIL, AQM, SHORT, CANT_TELL, AQM)
    assert page._queue_table(_Judged(rows, found)).splitlines()[2:] == [
        "| drop-tail, 20 to 60 ms | 2 | 3.45 | 100, 50 |", "| codel | 1 | 6.91 | 0, none |",
        "| policer | 1 | 0.00 | 100, 100 |"]


def test_tables_have_a_row_for_each_world_and_compare_with_not_looking(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows whose class shows are judged better than by the classes' shares, at which the log loss
    is that of four equal classes."""
    monkeypatch.setattr(page, "_TREES", 20)
    rows = _rows(240)
    unseen = page.Unseen(rows, train.quantile_masks(rows["line_mbps"]), list(FEATURES))
    lines = page._world_table(unseen).splitlines()
    cells = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in lines[2:]}
    assert {"the queue alone", "random loss, 0.001 to 2 %", "all, at M-Lab's cadence"} <= set(cells)
    for words in ("the queue alone", "random loss, 0.001 to 2 %"):
        count, ours, nothing = map(float, cells[words][:3])
        assert count == 120
        assert nothing == pytest.approx(math.log(4), abs=0.01)
        assert ours < nothing / 2
    assert page._class_table(unseen).splitlines()[2].startswith("| drop-tail, 60 | ")


def test_table_without_a_run_is_not_written(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An earlier one stays."""
    output = tmp_path / "table.parquet"
    output.write_bytes(b"earlier")
    monkeypatch.setattr(sys, "argv", ["table", str(GOLDEN / "infer" / "aqm_cubic.flent.gz"),
                                      "-o", str(output)])
    assert table.main() == 1
    assert output.read_bytes() == b"earlier"
    assert "infer: none of these files is a usable run" in capsys.readouterr().err


@pytest.mark.lab
def test_run_of_the_recipe_becomes_rows(tmp_path: Path) -> None:
    """Made in the lab, with the truth beside what the sender saw: BBR behind random loss, and a
    sender whose window is too small to fill the queue."""
    lossy = next(number for number in range(100) if recipe.line(number).world == recipe.LOSS)
    small = next(number for number in range(100) if recipe.line(number).world == recipe.WINDOW)
    for number in (lossy, small):
        assert recipe.make(tmp_path, range(number, number + 1), {}, {}) == 0
    rows = {(one["number"], one["cadence"]): one for one in table.rows([tmp_path])}
    quiet, lost = rows[small, table.ARCHIVED], rows[lossy, table.ARCHIVED]
    assert (quiet["truth"], quiet["drops"]) == (CANT_TELL, 0)
    assert quiet["base_rtt_ms"] == pytest.approx(recipe.line(small).rtt_ms, abs=0.1)
    assert quiet["rate_mbps"] < 0.8 * recipe.line(small).rate_mbps
    assert lost["loss_late"] == pytest.approx(0.0156, abs=0.004)
    assert lost["drops"] == 0
    assert lost["truth"] == CANT_TELL
    assert rows[lossy, table.FULL]["samples"] >= lost["samples"]

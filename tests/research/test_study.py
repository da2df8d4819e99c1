# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts on the study's statements, with runs that make them true and runs that make them
false."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy
import pytest

from flent_aqm.show.figures.gather import FigureRow
from research.validation import study
from research.validation.study import (
    AGREES,
    AQMS,
    CANT_TELL,
    DISAGREES,
    FEWEST,
    FINDINGS,
    FITTED,
    IDEAL,
    IN_PART,
    WAYS,
    Finding,
    MissingRuns,
)

_NUMBERS = count()


def run(aqm: str, mbps: float, *, rate: float = 100.0, burst: bool = True, cross: bool = False,
        delay_ms: float = 0.0, own_ms: float = 1.0, probe_ms: float = 1.0,
        samples: str = "") -> FigureRow:
    """A run with the same results in both directions."""
    return FigureRow(
        path=Path(f"{next(_NUMBERS)}.flent.gz"),
        settings={"aqm": aqm, "rate_mbps": rate, "rate_down_mbps": rate, "rate_up_mbps": rate,
                  "burst_shaping": burst, "cross_traffic": cross, "base_delay_ms": delay_ms},
        loaded_ms={way: numpy.full(10, probe_ms) for way in WAYS},
        mbps=dict.fromkeys(WAYS, mbps), own_latency_ms=dict.fromkeys(WAYS, own_ms), curves={},
        samples=samples)


def repetitions(aqm: str, middle_mbps: float, spread_mbps: float, *, cross: bool = False,
                own_ms: float = 1.0) -> Iterator[FigureRow]:
    """Five runs whose throughputs lie evenly around the middle."""
    for place in range(-2, 3):
        yield run(aqm, middle_mbps + place * spread_mbps, cross=cross, own_ms=own_ms)


def finding(words: str) -> Finding:
    """The statement that contains the words."""
    found, = [one for one in FINDINGS if words in one.statement]
    return found


def test_statement_by_which_the_timers_were_chosen_is_fitted() -> None:
    """With timers that are never late it is evidence, and a statement that fails is never
    fitted."""
    statement = finding("less than 700")
    slow, fast = ([run(aqm, mbps, rate=800.0, burst=False) for aqm in AQMS]
                  for mbps in (676.0, 765.0))
    assert statement.verdict(slow, "20us")[1] == FITTED
    assert statement.verdict(slow, IDEAL)[1] == AGREES
    assert statement.verdict(fast, "20us")[1] == DISAGREES
    assert not finding("close to 800").fitted


@pytest.mark.parametrize(("step_mbps", "step_ms", "verdict"), [
    (5.0, 0.0, AGREES), (0.0, 0.5, AGREES), (0.1, 0.0, DISAGREES), (0.0, 0.0, DISAGREES)])
def test_queues_differ_if_it_is_neither_chance_nor_invisible(
        step_mbps: float, step_ms: float, verdict: str) -> None:
    """A step of 0.1 Mbit/s from queue to queue is no chance, but below a percent."""
    rows = [one for number, aqm in enumerate(AQMS)
            for one in repetitions(aqm, 95 - number * step_mbps, 0.001,
                                   own_ms=1 + number * step_ms)]
    assert finding("distributions").judge(rows)[1] == verdict


def test_queues_that_differ_by_chance_alone_do_not_differ() -> None:
    """Medians 2 % apart, where each queue's runs spread over 40 %."""
    rows = [one for number, aqm in enumerate(AQMS) for one in repetitions(aqm, 95 - number, 10)]
    assert finding("distributions").judge(rows)[1] == DISAGREES


@pytest.mark.parametrize(("spreads", "verdict"), [
    ((3.0,) * 4, AGREES), ((1.0,) * 4, DISAGREES), ((3.0, 3.0, 1.0, 1.0), IN_PART)])
def test_throughput_is_more_variable_over_repetitions(
        spreads: tuple[float, ...], verdict: str) -> None:
    """Not over queues: these share the line differently, which is no variation of one of them. Nor
    does it count where nobody could see it."""
    rows = [one for aqm, spread, middle in zip(AQMS, spreads, (90, 60, 50, 40), strict=True)
            for one in (*repetitions(aqm, 95, 1), *repetitions(aqm, middle, spread * middle / 95,
                                                               cross=True))]
    assert finding("more variable").judge(rows)[1] == verdict
    steady = [one for aqm in AQMS for one in (*repetitions(aqm, 95, 0.01),
                                              *repetitions(aqm, 50, 0.1, cross=True))]
    assert finding("more variable").judge(steady)[1] == DISAGREES


def test_few_repetitions_tell_nothing() -> None:
    rows = [one for aqm in AQMS for cross in (False, True)
            for one in list(repetitions(aqm, 95, 1, cross=cross))[1:]]
    assert len(rows) == 8 * (FEWEST - 1)
    for words in ("more variable", "distributions"):
        assert finding(words).judge(rows)[1] == CANT_TELL


@pytest.mark.parametrize(("own_ms", "probe_ms", "verdict"), [
    (20.0, 20.0, AGREES), (20.0, 16.0, IN_PART), (16.0, 16.0, DISAGREES)])
def test_shift_by_delay_is_that_of_the_probes_too(
        own_ms: float, probe_ms: float, verdict: str) -> None:
    """The text has the throughput before and after."""
    rows = [run(aqm, 95.6 - shift * 0.14, burst=False, delay_ms=20.0 * shift,
                own_ms=1 + own_ms * shift, probe_ms=30 + probe_ms * shift)
            for aqm in AQMS for shift in (0, 1)]
    measured, told = finding("shifts latencies").judge(rows)
    assert told == verdict
    assert "no_aqm 95.6 → 95.5" in measured


def test_missing_cell_is_named() -> None:
    with pytest.raises(MissingRuns, match=r"rate_mbps 100\.0, burst shaping on"):
        finding("distributions").judge([])


def test_result_that_a_run_lacks_is_named() -> None:
    """As where the upload failed, or no packets were captured."""
    rows = [replace(run(aqm, 90.0, rate=100.0 * rate, burst=burst, cross=cross, delay_ms=delay_ms),
                    mbps={"download": 90.0}, own_latency_ms={"download": 1.0}, loaded_ms={})
            for aqm in AQMS for rate in range(1, 11) for burst in (False, True)
            for cross in (False, True) for delay_ms in ((0.0,) if rate > 1 else (0.0, 20.0))
            for _ in range(FEWEST)]
    for one in FINDINGS:
        with pytest.raises(MissingRuns, match=r"^\d+\.flent\.gz has no .+ of the upload; make "):
            one.judge(rows)


def test_run_that_repeats_another_counts_once(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
        ) -> None:
    """Sweeps share their first seed. Runs without a hash of samples are no repetitions."""
    rows = [replace(run("codel", 90.0, samples=samples), settings={
        "aqm": "codel", "test": "ndt7", "router_model": IDEAL})
        for samples in ("a", "a", "b", "", "")]
    judged: list[FigureRow] = []

    def judge(selected: Sequence[FigureRow]) -> tuple[str, str]:
        judged.extend(selected)
        return "", AGREES

    monkeypatch.setattr(study, "find_files", lambda results: [])
    monkeypatch.setattr(study, "gather", lambda paths, jobs: (rows, []))
    monkeypatch.setattr(study, "FINDINGS", (Finding("it is", judge),))
    monkeypatch.setattr(sys, "argv", ["study", str(tmp_path), "--router-model", IDEAL])
    assert study.main() == 0
    assert judged == [rows[0], *rows[2:]]
    assert "1 of 5 files repeats another one sample by sample" in capsys.readouterr().err

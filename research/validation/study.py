# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the study's findings with the lab's: the table of docs/results/study.md.

    .venv/bin/python -m research.validation.study results/paper-… results/more-… [-o docs]

Reads the runs of test `ndt7` with one router model from the folders, prints the table and, with -o,
writes it between the marks of results/study.md in that folder. A disagreement is a result, not a
failure; exit status 1 means that runs are missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy

from flent_aqm.base.errors import AqmError, BadResult
from flent_aqm.results.many_files import counted_once, find_files
from flent_aqm.results.metrics.run import load_run
from flent_aqm.show.figures.gather import FigureRow, gather
from research.validation import marked
from research.validation.stamp import made_of

AQMS = ("no_aqm", "codel", "sfq", "fq_codel")
WAYS = ("download", "upload")

AGREES, DISAGREES, CANT_TELL = "agrees", "**disagrees**", "can't tell"
# Verdicts of a statement that is no evidence, because a parameter of the lab was chosen by it, and
# of one that holds for one of several numbers only.
FITTED, IN_PART = "fitted", "in part"
# Timers of the router that are never late, with which nothing is fitted.
IDEAL = "ideal"

# Variation of throughput in steps of 100 ms: up to the first share it counts as stable, from the
# second one on as varying; in between there is no verdict.
STABLE, VARYING = 0.05, 0.15
# Steps of 100 ms to omit for slow start, and at the end of the transfer.
EDGE_STEPS = 10
# Fewest repetitions from which a deviation is computed.
FEWEST = 5
# Distributions differ if chance alone would make them differ so much in fewer cases than this, and
# if their medians are apart by more than this share, which NDT7's clients can show.
_BY_CHANCE, _VISIBLE = 0.01, 0.01

_Some = TypeVar("_Some")


@dataclass(frozen=True)
class Finding:
    """A statement of the study.

    Attributes:
        statement: the statement, Markdown.
        judge: function that gets the runs, and returns what the lab measured and the verdict
            (AGREES, DISAGREES, IN_PART or CANT_TELL). It raises MissingRuns if a cell has no run,
            or a run lacks a result that it needs.
        fitted: True if the statement was used to choose how late the router's timers are, or
            follows from that choice. verdict() then returns FITTED in place of AGREES, except for
            the router model IDEAL, whose timers are never late.
    """

    statement: str
    judge: Callable[[Sequence[FigureRow]], tuple[str, str]]
    fitted: bool = False

    def verdict(self, rows: Sequence[FigureRow], router_model: str) -> tuple[str, str]:
        """Return what the lab measured, and the verdict: that of `judge`, but FITTED in place of
        AGREES if the finding is `fitted` and the router model isn't IDEAL.

        Args:
            rows: the runs.
            router_model: the router model of the runs.

        Raises MissingRuns as `judge` does.
        """
        measured, verdict = self.judge(rows)
        fitted = self.fitted and router_model != IDEAL and verdict == AGREES
        return measured, FITTED if fitted else verdict


def main() -> int:
    """Read the runs of ndt7 with the router model of --router-model, judge the findings, print the
    table and, with -o, write it into the page. Return the exit status, 1 if cells or
    results of runs are missing or a file can't be used. Exit with status 2 if there are no data
    files, or with -o if no run is of that model, or the page can't be written."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, metavar="DOCS")
    parser.add_argument("--router-model", default="omnia", metavar="MODEL",
                        help="of the runs to take, as it stands in them (default: %(default)s)")
    args = parser.parse_args()
    try:
        rows, faults = gather(find_files(args.results), None)
    except AqmError as error:
        parser.error(str(error))
    for fault in faults:
        print(f"left out: {fault}", file=sys.stderr)
    # The first seed of a cell is in several of the sweeps.
    selected, repeated = counted_once([row for row in rows if row.has(
        test="ndt7", router_model=args.router_model)])
    if repeated:
        print(repeated, file=sys.stderr)
    lines = ["| the study | the lab | |", "|---|---|---|"]
    complete = not faults
    for finding in FINDINGS:
        try:
            measured, verdict = finding.verdict(selected, args.router_model)
        except MissingRuns as missing:
            measured, verdict, complete = str(missing), CANT_TELL, False
        lines.append(f"| {finding.statement} | {measured} | {verdict} |")
    text = "\n".join(lines)
    print(text)
    if args.output:
        try:
            marked.replace(args.output / "results" / "study.md", "findings", text,
                           made_of([load_run(row.path) for row in selected]))
        except (AqmError, ValueError) as error:  # made_of() raises ValueError
            parser.error(str(error))
    return 0 if complete else 1


class MissingRuns(BadResult):
    """BadResult because a cell has no run, or a run lacks a result. The text names the settings
    that no run has, or the file and what it lacks."""


def cell(rows: Sequence[FigureRow], *, burst: bool, cross: bool, delay_ms: float = 0.0,
         **settings: str | float) -> list[FigureRow]:
    """Return the runs of a cell.

    Args:
        rows: all runs.
        burst: whether the router shapes bursts.
        cross: whether there is cross traffic.
        delay_ms: added delay. By default only runs without it are returned.
        settings: further settings, by their names in rows.

    Raises MissingRuns if there are none.
    """
    members = [row for row in rows
               if row.has(burst_shaping=burst, cross_traffic=cross, base_delay_ms=delay_ms,
                          **settings)]
    if not members:
        words = ", ".join(f"{key} {value}" for key, value in settings.items())
        raise MissingRuns(f"no run of {words}, burst shaping {'on' if burst else 'off'}, cross "
                          f"traffic {'on' if cross else 'off'}, delay {delay_ms:g} ms")
    return members


def throughputs(rows: Sequence[FigureRow]) -> list[float]:
    """Return the throughputs in Mbit/s that NDT7 reports for both directions of each run, in one
    list, a run's download first. Raises MissingRuns if a run lacks one."""
    return [_mbps(row, way) for row in rows for way in WAYS]


def _mbps(row: FigureRow, way: str) -> float:
    return _result(row.mbps, way, row, "throughput")


def _own_latency_ms(row: FigureRow, way: str) -> float:
    return _result(row.own_latency_ms, way, row, "latency by NDT7")


def _result(by_way: Mapping[str, _Some], way: str, row: FigureRow, what: str) -> _Some:
    """Return the run's result in a direction. Raises MissingRuns if it has none.

    Args:
        by_way: direction -> result.
        way: "download" or "upload".
        row: the run.
        what: what the result is, for the message.
    """
    if way not in by_way:
        raise MissingRuns(f"{row.path.name} has no {what} of the {way}; make the run again")
    return by_way[way]


def variation(row: FigureRow) -> float:
    """Return the standard deviation of the upload's throughput (payload of captured packets) in
    steps of 100 ms, divided by its mean. The first and the last 10 steps don't count, so there must
    be more than 20; else it is NaN. Raises MissingRuns if the run has no capture of an upload."""
    mbps = _result(row.curves, "upload", row, "capture").mbps[EDGE_STEPS:-EDGE_STEPS]
    return float(mbps.std(dtype=float) / mbps.mean(dtype=float))


def underused_at_800(rows: Sequence[FigureRow]) -> tuple[str, str]:
    """Judge: less than 700 of 800 Mbit/s without burst shaping. It agrees if all runs of all queues
    without cross traffic and added delay are below 700 in both directions, else it disagrees.
    Return a text with the measured range, and the verdict. Raises MissingRuns if a queue has no
    run, or a run lacks a throughput."""
    mbps = [one for aqm in AQMS for one in throughputs(
        cell(rows, aqm=aqm, rate_mbps=800.0, burst=False, cross=False))]
    return _format_range(mbps, "Mbit/s"), AGREES if max(mbps) < 700 else DISAGREES


def used_at_800_with_bursts(rows: Sequence[FigureRow]) -> tuple[str, str]:
    """Judge: close to 800 Mbit/s with burst shaping. It agrees if all runs of all queues without
    cross traffic and added delay are above 95 % of the 765 that TCP can carry, in both directions,
    else it disagrees. Return a text with the measured range, and the verdict. Raises MissingRuns if
    a queue has no run, or a run lacks a throughput."""
    mbps = [one for aqm in AQMS for one in throughputs(
        cell(rows, aqm=aqm, rate_mbps=800.0, burst=True, cross=False))]
    return _format_range(mbps,
                         "Mbit/s"), AGREES if min(mbps) > 0.95 * 800 * 1448 / 1514 else DISAGREES


def underused_at_high_rates(rows: Sequence[FigureRow]) -> tuple[str, str]:
    """Judge: without burst shaping, only high rates are underused, with fq_codel and without cross
    traffic and added delay. It agrees if the median throughput, of runs and directions, exceeds 98
    % of what TCP can carry at one or more of 100, 200 and 300 Mbit/s, and is below 90 % at both 900
    and 1000. Else it disagrees. Return a text with the measured shares, and the verdict. Raises
    MissingRuns if a rate (100 to 1000 Mbit/s in steps of 100) has no run, or a run lacks a
    throughput."""
    shares = {}
    for rate in range(100, 1001, 100):
        mbps = throughputs(cell(rows, aqm="fq_codel", rate_mbps=float(rate), burst=False,
                                cross=False))
        shares[rate] = float(numpy.median(mbps)) / (rate * 1448 / 1514)
    low, high = max(shares[rate] for rate in (100, 200, 300)), max(shares[900], shares[1000])
    text = ", ".join(f"{rate}: {100 * share:.0f} %" for rate, share in shares.items())
    return f"share of what TCP can carry, fq_codel: {text}", (
        AGREES if low > 0.98 and high < 0.9 else DISAGREES)


def deviation(burst: bool, cross: bool, study_mbps: float
              ) -> Callable[[Sequence[FigureRow]], tuple[str, str]]:
    """Return a function that judges the standard deviation of throughput over repetitions of
    fq_codel at 900 Mbit/s without added delay: it agrees if that of at least one direction is
    within a factor of two of the study's, else it disagrees. The function returns a text with the
    measured deviations, and the verdict. With fewer than five runs the text is their number, and
    the verdict CANT_TELL. It raises MissingRuns without a run, or if one lacks a throughput.

    Args:
        burst: whether the router shapes bursts.
        cross: whether there is cross traffic.
        study_mbps: the study's standard deviation.
    """
    def judge(rows: Sequence[FigureRow]) -> tuple[str, str]:
        members = cell(rows, aqm="fq_codel", rate_mbps=900.0, burst=burst, cross=cross)
        if len(members) < FEWEST:
            return f"{len(members)} runs", CANT_TELL
        sds = {way: float(numpy.std([_mbps(row, way) for row in members], ddof=1)) for way in WAYS}
        text = ", ".join(f"{way} {sd:.2f}" for way, sd in sds.items())
        near = any(study_mbps / 2 <= sd <= study_mbps * 2 for sd in sds.values())
        return f"{text} Mbit/s, {len(members)} runs", AGREES if near else DISAGREES

    return judge


def differs_between_queues(rows: Sequence[FigureRow]) -> tuple[str, str]:
    """Judge: at 100 Mbit/s with burst shaping and without cross traffic and added delay, the
    distributions of NDT7's results differ between queues. It agrees if throughput or latency of
    some direction does, by the test of Kruskal and Wallis (p below 0.01) and by the medians (more
    than 1 % apart), else it disagrees. Return a text with the differences of the medians and their
    p-values, and the verdict. If a queue has fewer than five runs, return the least number of runs
    and CANT_TELL. Raises MissingRuns if a queue has none, or a run lacks one of the results."""
    from scipy.stats import kruskal

    members = [cell(rows, aqm=aqm, rate_mbps=100.0, burst=True, cross=False) for aqm in AQMS]
    if min(map(len, members)) < FEWEST:
        return f"{min(map(len, members))} runs of a queue", CANT_TELL
    apart, texts = False, []
    measures: tuple[tuple[str, Callable[[FigureRow, str], float]], ...] = (
        ("throughput", _mbps), ("latency", _own_latency_ms))
    for kind, value in measures:
        for way in WAYS:
            samples = [[value(row, way) for row in runs] for runs in members]
            medians = [float(numpy.median(values)) for values in samples]
            share = (max(medians) - min(medians)) / max(medians)
            alike = len({number for values in samples for number in values}) == 1
            chance = 1.0 if alike else float(kruskal(*samples).pvalue)
            apart = apart or (chance < _BY_CHANCE and share > _VISIBLE)
            texts.append(f"{kind} {way} by {100 * share:.2f} % (p = {chance:.2g})")
    return (f"100 Mbit/s, {len(members[0])} runs a queue; medians of the queues differ: "
            f"{', '.join(texts)}"), AGREES if apart else DISAGREES


def variable_with_cross(rows: Sequence[FigureRow]) -> tuple[str, str]:
    """Judge: throughput varies more over the repetitions of a cell with cross traffic, at 100
    Mbit/s with burst shaping and without added delay. What counts is the standard deviation by the
    mean, in the worse direction. It agrees if that more than doubles and exceeds 1 % with every
    queue, in part if only with some, else it disagrees. Return a text with the measured deviations,
    and the verdict. If a cell has fewer than five runs, return their number and CANT_TELL. Raises
    MissingRuns if a cell has none, or a run lacks a throughput."""
    texts, more = [], []
    for aqm in AQMS:
        shares = []
        for cross in (False, True):
            runs = cell(rows, aqm=aqm, rate_mbps=100.0, burst=True, cross=cross)
            if len(runs) < FEWEST:
                return f"{aqm}: {len(runs)} runs of a cell", CANT_TELL
            shares.append(max(float(numpy.std(mbps, ddof=1) / numpy.mean(mbps)) for mbps in (
                [_mbps(row, way) for row in runs] for way in WAYS)))
        texts.append(f"{aqm} {100 * shares[0]:.2f} → {100 * shares[1]:.2f} %")
        more.append(shares[1] > max(2 * shares[0], _VISIBLE))
    return ("standard deviation over repetitions at 100 Mbit/s, of the mean, larger of the "
            f"directions: {', '.join(texts)}"), (
        AGREES if all(more) else IN_PART if any(more) else DISAGREES)


def lowered_by_cross(rows: Sequence[FigureRow]) -> tuple[str, str]:
    """Judge: cross traffic lowers throughput much, with every queue. It agrees if throughput with
    it (mean of runs and directions), as a share of that without, is below 80 % with each queue, in
    the median of the rates from 100 to 1000 Mbit/s with burst shaping and without added delay. Else
    it disagrees. Return a text with the measured shares, and the verdict. Raises MissingRuns if a
    cell has no run, or a run lacks a throughput."""
    ratios = {}
    for aqm in AQMS:
        pairs = [[float(numpy.mean(throughputs(cell(
            rows, aqm=aqm, rate_mbps=float(rate), burst=True, cross=cross))))
            for cross in (True, False)] for rate in range(100, 1001, 100)]
        ratios[aqm] = float(numpy.median([with_cross / without for with_cross, without in pairs]))
    text = ", ".join(f"{aqm} {100 * ratio:.0f} %" for aqm, ratio in ratios.items())
    return f"with, as a share of without, median of the rates: {text}", (
        AGREES if max(ratios.values()) < 0.8 else DISAGREES)


def latency_raised_by_cross(rows: Sequence[FigureRow]) -> tuple[str, str]:
    """Judge: cross traffic raises NDT7's latency (MinRTT) much. It agrees if the median of all runs
    and directions, at rates from 100 to 1000 Mbit/s with burst shaping and without added delay,
    more than doubles with every queue, else it disagrees. Return a text with the measured medians,
    and the verdict. Raises MissingRuns if a cell has no run, or a run lacks NDT7's latency."""
    texts, raised = [], []
    for aqm in AQMS:
        medians = [_ndt7_latency_ms([
            row for rate in range(100, 1001, 100)
            for row in cell(rows, aqm=aqm, rate_mbps=float(rate), burst=True, cross=cross)])
            for cross in (False, True)]
        texts.append(f"{aqm} {medians[0]:.2f} → {medians[1]:.2f} ms")
        raised.append(medians[1] > 2 * medians[0])
    return f"NDT7's latency, median: {', '.join(texts)}", (
        AGREES if all(raised) else DISAGREES)


def steady(rate_mbps: float, burst: bool, cross: bool, stable: Sequence[str],
           varying: Sequence[str]) -> Callable[[Sequence[FigureRow]], tuple[str, str]]:
    """Return a function that judges upload throughput over time by its variation in steps of 100 ms
    (standard deviation by mean), in the median of a queue's runs without added delay. It agrees if
    that is at most 5 % with the queues of `stable` and at least 15 % with those of `varying`,
    disagrees if it is above 15 % with one of the former or below 5 % with one of the latter, and
    otherwise can't tell. The function returns a text with the values of all AQMS, and the verdict.
    It raises MissingRuns if one of AQMS has no run, or a run has no capture of an upload.

    Args:
        rate_mbps: rate of the runs.
        burst: whether the router shapes bursts.
        cross: whether there is cross traffic.
        stable: queues that keep it stable, by the study.
        varying: queues with which it varies, by the study.
    """
    def judge(rows: Sequence[FigureRow]) -> tuple[str, str]:
        variations = {aqm: float(numpy.median([variation(row) for row in cell(
            rows, aqm=aqm, rate_mbps=rate_mbps, burst=burst, cross=cross)])) for aqm in AQMS}
        text = ", ".join(f"{aqm} {100 * share:.1f} %" for aqm, share in variations.items())
        wrong = ([aqm for aqm in stable if variations[aqm] > VARYING]
                 + [aqm for aqm in varying if variations[aqm] < STABLE])
        right = (all(variations[aqm] <= STABLE for aqm in stable)
                 and all(variations[aqm] >= VARYING for aqm in varying))
        return f"standard deviation in steps of 100 ms: {text} of the mean", (
            DISAGREES if wrong else AGREES if right else CANT_TELL)

    return judge


def shifted_by_delay(rows: Sequence[FigureRow]) -> tuple[str, str]:
    """Judge: added delay raises latencies by a constant, of 20 ms at 100 Mbit/s without burst
    shaping and cross traffic. It agrees if NDT7's latency (MinRTT) and the median of the probes
    during the upload both rise by it within 1 ms with every queue, in part if only NDT7's does,
    else it disagrees. Return a text with the measured shifts and throughputs, and the verdict.
    Raises MissingRuns if a cell has no run, or a run lacks a throughput, NDT7's latency, or probes
    during an upload."""
    own, probes, rates, right, right_probes = [], [], [], [], []
    for aqm in AQMS:
        without, with_delay = (
            cell(rows, aqm=aqm, rate_mbps=100.0, burst=False, cross=False, delay_ms=delay_ms)
            for delay_ms in (0.0, 20.0))
        shift = _ndt7_latency_ms(with_delay) - _ndt7_latency_ms(without)
        own.append(f"{aqm} {shift:+.1f}")
        of_probes = _probes_ms(with_delay) - _probes_ms(without)
        probes.append(f"{aqm} {of_probes:+.1f}")
        before, after = (numpy.mean(throughputs(runs)) for runs in (without, with_delay))
        rates.append(f"{aqm} {before:.1f} → {after:.1f}")
        right.append(abs(shift - 20) < 1)
        right_probes.append(abs(of_probes - 20) < 1)
    return (f"20 ms added at 100 Mbit/s. NDT7's latency: {', '.join(own)} ms; median of the probes "
            f"during the upload: {', '.join(probes)} ms; throughput {', '.join(rates)} Mbit/s"), (
        DISAGREES if not all(right) else AGREES if all(right_probes) else IN_PART)


def _ndt7_latency_ms(rows: Sequence[FigureRow]) -> float:
    """Return NDT7's latency (MinRTT) in ms, as the median over these runs and both directions.
    Raises MissingRuns if a run lacks one."""
    return float(numpy.median([_own_latency_ms(row, way) for row in rows for way in WAYS]))


def _probes_ms(rows: Sequence[FigureRow]) -> float:
    return float(numpy.median(numpy.concatenate([
        _result(row.loaded_ms, "upload", row, "probes") for row in rows])))


def _format_range(values: Sequence[float], unit: str) -> str:
    return f"{min(values):.1f} to {max(values):.1f} {unit}, all queues and directions"


def _findings() -> Iterator[Finding]:
    yield Finding("distributions of the results differ between queues without cross traffic",
                  differs_between_queues)
    yield Finding("800 Mbit/s without burst shaping: less than 700", underused_at_800, fitted=True)
    yield Finding("800 Mbit/s with burst shaping: close to 800", used_at_800_with_bursts)
    yield Finding("without burst shaping the link is underused, above all at high rates",
                  underused_at_high_rates, fitted=True)
    yield Finding("fq_codel, 900 Mbit/s, neither burst shaping nor cross traffic: standard "
                  "deviation 1.51 Mbit/s", deviation(False, False, 1.51))
    yield Finding("fq_codel, 900 Mbit/s, burst shaping and cross traffic: standard deviation "
                  "138 Mbit/s", deviation(True, True, 138))
    yield Finding("cross traffic lowers throughput much", lowered_by_cross)
    yield Finding("cross traffic makes throughput more variable", variable_with_cross)
    yield Finding("cross traffic raises latency much", latency_raised_by_cross)
    yield Finding("upload over time, neither burst shaping nor cross traffic: stable with every "
                  "queue (100 Mbit/s)", steady(100.0, False, False, AQMS, ()))
    yield Finding("the same at 900 Mbit/s", steady(900.0, False, False, AQMS, ()))
    yield Finding("upload over time, both, 100 Mbit/s: stable with fq_codel and sfq only",
                  steady(100.0, True, True, ("fq_codel", "sfq"), ("no_aqm", "codel")))
    yield Finding("upload over time, both, 900 Mbit/s: varies with every queue",
                  steady(900.0, True, True, (), AQMS))
    yield Finding("added latency shifts latencies by a constant", shifted_by_delay)


FINDINGS = tuple(_findings())


if __name__ == "__main__":
    sys.exit(main())

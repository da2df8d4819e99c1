# SPDX-License-Identifier: GPL-3.0-or-later
"""Every sentence that a report can say first: with data that makes it true, and with data that
makes it false."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flent_aqm.show.report.gather import ReportRow

from .made import LOST, output, row

FAST, SLOW = [1.0] * 1000, [50.0] * 900 + [200.0] * 100
MEDIUM = [20.0] * 1000
LOSSY = [1.0] * 980 + [LOST] * 20
GONE = [1.0] * 400 + [LOST] * 600
NONE_LOST_BUT_SLOW = [300.0] * 1000

Rows = Sequence[ReportRow]


def both(one: Sequence[float], other: Sequence[float], runs: int = 1, **more: Any) -> list[
        ReportRow]:
    """Runs of two queues."""
    return [row(aqm, sent, **more) for aqm, sent in (("codel", one), ("no_aqm", other))
            for _ in range(runs)]


def spread(aqm: str, of_runs_ms: Sequence[float], mbps: Sequence[float] = ()) -> list[ReportRow]:
    """Runs of a queue, each of one latency."""
    return [row(aqm, [ms] * 1000, rate) for ms, rate in
            zip(of_runs_ms, mbps or [95.6] * len(of_runs_ms), strict=True)]


def rated(*pairs: tuple[Sequence[float], Sequence[float]], mbps: Sequence[tuple[float, float]] = ()
          ) -> list[ReportRow]:
    """codel and no_aqm at 10 Mbit/s, 20, …"""
    return [row(aqm, sent, carried, rate_mbps=10.0 * (at + 1))
            for at, pair in enumerate(pairs)
            for aqm, sent, carried in zip(("codel", "no_aqm"), pair,
                                          mbps[at] if mbps else (9.5, 9.5), strict=True)]


def sharing(*got: tuple[float, float, float]) -> list[ReportRow]:
    """Runs of codel and no_aqm beside cross traffic: what the test got, all flows together, and
    Jain's index."""
    return [row(aqm, sent, own, cross_traffic=True, more={
        "total_upload_mbps": total, "fairness_upload": fairness})
        for (aqm, sent), (own, total, fairness) in zip(
            (("codel", FAST), ("no_aqm", SLOW)), got, strict=True)]


MS = r"[\d.,]+( to [\d.,]+)? ms"
PERCENTILE = r"(median|\d+th percentile)"
WITHIN = rf"{PERCENTILE} {MS}"
MORE = rf"(; in \d+ conditions?, {PERCENTILE} {MS})*"
WHERE = r"(,? (each )?in (both conditions|all \d+ conditions|\d+ of \d+ conditions))?"
NAMES = r"[\w ,/]+"
MBPS = r"[\d.,]+( to [\d.,]+)? Mbit/s"
OF = r"( \([^)]*\))?"
CLAUSE = (rf"((up to )?\d+ % of (\w+ )?throughput( of all flows)?: {MBPS} with {NAMES}, "
          rf"[\d.,]+ with {NAMES}{OF}"
          rf"|no (\w+ )?throughput( of all flows)? that the runs could tell, as they overlap"
          rf"|no (\w+ )?throughput( of all flows)?, which was (up to )?[\d.,]+ times as high: "
          rf"{MBPS} with {NAMES}, [\d.,]+ with {NAMES}{OF}"
          rf"|less than 1 % of (\w+ )?throughput( of all flows)? in any of \d+ conditions"
          rf"|no (\w+ )?throughput( of all flows)?: {MBPS} with all"
          rf"|no (\w+ )?throughput( of all flows)?: {MBPS} with {NAMES}, {MBPS} with {NAMES})")
# All that a headline may consist of.
SENTENCES = (
    r"None of these runs has a latency under load: [^.]+\.",
    r"The tables below have the rest\.",
    r"\d+ conditions were measured\.",
    rf"With {NAMES}, at least half of the probes under load were lost\.",
    rf"With {NAMES}, the {PERCENTILE} of latency under load was {MS}( in \d+ runs)?\.",
    rf"Nothing to compare: no two runs are alike in all but the \w+(; they differ in {NAMES})?\.",
    rf"{NAMES} kept latency under load lowest{WHERE}( \([^)]* and [^)]*\))?: {WITHIN}{MORE}\.",
    (rf"With {NAMES}, the worst{WHERE}, (it was {MS}|{WITHIN}{MORE})"
     r"(, [\d.,]+( to [\d.,]+)? times as long)?"
     r"(, and in \d+ conditions? at least half of the probes were lost)?\."),
    rf"With {NAMES}, the worst{WHERE}, at least half of the probes were lost\.",
    (rf"All kept latency under load alike( in \d+ conditions?)?"
     rf"(, but for the probes that they lost)?: {WITHIN}{MORE}\."),
    (r"Whose latency under load was lower, the runs don't tell( in \d+ conditions?)?, as they "
     rf"overlap: {WITHIN}{MORE}\."),
    r"With all( in \d+ conditions?)?, at least half of the probes under load were lost\.",
    r"These runs don't tell their throughput\.",
    rf"It cost {CLAUSE}(; {CLAUSE})*\.",
    (rf"(In (the other condition|other conditions), )?\w+( throughput)?( of all flows)? differed "
     rf"by (up to )?\d+ %: {MBPS} with {NAMES}, [\d.,]+ with {NAMES}{OF}\."),
    (rf"Test and cross traffic share the line: the test's \w+ got [\d.,]+ of {MBPS} with {NAMES}, "
     rf"and [\d.,]+ of [\d.,]+ with {NAMES}, which left about [\d.,]+ for the other "
     rf"\(Jain's index [\d.]+ and [\d.]+(; [^)]*)?\)\."),
    (rf"Runs fall into two groups, so that a median is no typical value: (\w+ throughput|"
     rf"{PERCENTILE} of latency) with {NAMES} was [\d.,]+ (Mbit/s|ms) in \d+ runs, [\d.,]+ in "
     rf"\d+{OF}\."),
    r"So it is with \d+ other numbers?\.",
    rf"\w+( throughput)?( of all flows)?(, too,)? was alike: {MBPS}\.",
    rf"Up to [\d.]+ % of the probes were lost: with {NAMES}{OF}(, [\d.]+ % with {NAMES})?\.",
    r"A lost probe counts as later than any other\.",
    rf"What is compared differs in {NAMES}, too\.",
    (r"From \d+ runs, \d+( to \d+)? of each \w+( in each condition)?"
     r"(: how much of the difference is chance, (single|so few) runs don't tell)?\."),
    (r"(One more run has|\d+ more runs have) no latency under load, or no other \w+ to be "
     rf"compared with( that is alike in {NAMES})?\."),
)

# What is said; runs of which it is true; runs of which it is false, else as like as can be.
CASES: dict[str, tuple[Rows, Rows]] = {
    "None of these runs has a latency under load: no probe was sent under load. The tables":
        ([row("codel", [])], [row("codel", FAST)]),
    "2 conditions were measured.":
        ([row("codel", FAST), row("codel", FAST, rate_mbps=10.0)], [row("codel", FAST)]),
    "With codel, at least half of the probes under load were lost.":
        ([row("codel", GONE)], [row("codel", LOSSY)]),
    "With codel, the 99th percentile of latency under load was 1 ms.":
        ([row("codel", FAST)], [row("codel", LOSSY)]),
    "With codel, the 95th percentile of latency under load was 1 ms.":
        ([row("codel", LOSSY)], [row("codel", FAST)]),
    # 347 ms are the latency of neither run.
    "With codel, the 99th percentile of latency under load was 24 to 670 ms in 2 runs.":
        (spread("codel", (24.0, 670.0)), spread("codel", (24.0, 40.0))),
    "With codel, the 99th percentile of latency under load was 26 ms.":
        (spread("codel", (24.0, 28.0)), spread("codel", (24.0, 60.0))),
    "Nothing to compare: no two runs are alike in all but the queue.":
        ([row("codel", FAST)], both(FAST, SLOW)),
    "Nothing to compare: no two runs are alike in all but the queue; they differ in rate_mbps.":
        ([row("codel", FAST), row("no_aqm", SLOW, rate_mbps=10.0)], both(FAST, SLOW)),
    "they differ in cross_traffic and tcp_ecn.":
        ([row("pie", FAST, cross_traffic="video", tcp_ecn=False),
          row("fq_codel", SLOW, cross_traffic="call", tcp_ecn=True)],
         [row("pie", FAST, cross_traffic="call", tcp_ecn=True),
          row("fq_codel", SLOW, cross_traffic="call", tcp_ecn=True)]),
    "they differ in flows.":  # a parameter that one of them doesn't give
        ([row("pie", FAST, flows="4"), row("fq_codel", SLOW)], both(FAST, SLOW)),
    "codel kept latency under load lowest: 99th percentile 1 ms.":
        (both(FAST, SLOW), both(SLOW, FAST)),
    "codel and sfq kept latency under load lowest: 99th percentile 1 to "
    "1.4 ms.":
        ([*both(FAST, SLOW), row("sfq", [1.4] * 1000)],
         [*both(FAST, SLOW), row("sfq", [1.6] * 1000)]),
    "codel kept latency under load lowest in 2 of 3 conditions: "
    "99th percentile 1 ms.":
        (rated((FAST, SLOW), (FAST, SLOW), (SLOW, FAST)),
         rated((FAST, SLOW), (FAST, SLOW), (FAST, SLOW))),
    "lowest in all 3 conditions: 99th percentile 1 to 20 ms.":
        (rated((FAST, SLOW), (MEDIUM, SLOW), (FAST, SLOW)),
         rated((FAST, SLOW), (SLOW, MEDIUM), (FAST, SLOW))),
    "codel kept latency under load lowest in both conditions (10 Mbit/s and 20 Mbit/s): ":
        (rated((FAST, SLOW), (FAST, SLOW)), rated((FAST, SLOW), (SLOW, FAST))),
    "lowest, each in 1 of 2 conditions": (rated((FAST, SLOW), (SLOW, FAST)),
                                          rated((FAST, SLOW), (FAST, SLOW))),
    "lowest in both conditions (10 Mbit/s and 20 Mbit/s): 99th percentile 1 ms; "
    "in 1 condition, 95th percentile 1 ms.":
        (rated((FAST, SLOW), (LOSSY, SLOW)), rated((FAST, SLOW), (FAST, SLOW))),
    # At the furthest percentile that came back on both sides: 95 % of the lossy queue did.
    "codel kept latency under load lowest: 95th percentile 1 ms. With no_aqm, "
    "the worst, it was 300 ms, 300 times as long.":
        (both(LOSSY, NONE_LOST_BUT_SLOW), both(FAST, NONE_LOST_BUT_SLOW)),
    "codel kept latency under load lowest: median 10 ms. With no_aqm, "
    "the worst, it was 1,100 ms, 110 times as long.":
        (both([10.0] * 860 + [LOST] * 140, [1100.0] * 840 + [LOST] * 160),
         both([10.0] * 860 + [LOST] * 140, [10.0] * 840 + [LOST] * 160)),
    "With no_aqm, the worst, it was 200 ms, 200 times as long.":
        (both(FAST, SLOW), both(FAST, NONE_LOST_BUT_SLOW)),
    "With no_aqm, the worst, it was 20 ms.":  # not 1.4 times
        (both([14.0] * 1000, MEDIUM), both([10.0] * 1000, MEDIUM)),
    "With no_aqm, the worst, at least half of the probes were lost.":
        (both(FAST, GONE), both(FAST, [1.0] * 600 + [LOST] * 400)),
    "With no_aqm, the worst in both conditions, it was 200 ms, 200 times as long, and in 1 "
    "condition at least half of the probes were lost.":
        (rated((FAST, SLOW), (FAST, GONE)), rated((FAST, SLOW), (FAST, SLOW))),
    "With no_aqm, the worst in 2 of 3 conditions, it was 200 ms, 200 times as long.":
        (rated((FAST, SLOW), (FAST, SLOW), (SLOW, FAST)),
         rated((FAST, SLOW), (MEDIUM, SLOW), (SLOW, FAST))),
    "With no_aqm, the worst in both conditions, 99th percentile 200 ms; in 1 "
    "condition, 95th percentile 200 ms, 200 times as long.":
        (rated((FAST, SLOW), (LOSSY, SLOW)), rated((FAST, SLOW), (FAST, SLOW))),
    "All kept latency under load alike: 99th percentile 1 ms.":
        (both(FAST, FAST), both(FAST, SLOW)),
    "All kept latency under load alike, but for the probes that they lost: "
    "95th percentile 1 ms.": (both(FAST, LOSSY), both(LOSSY, LOSSY)),
    "All kept latency under load alike in 1 condition: 99th percentile 1 ms.":
        (rated((FAST, SLOW), (FAST, FAST)), rated((FAST, SLOW), (FAST, SLOW))),
    "Whose latency under load was lower, the runs don't tell, as they overlap: 99th percentile "
    "3 to 6 ms.":
        ([*spread("codel", (1, 3, 9)), *spread("no_aqm", (2, 6, 7))],
         [*spread("codel", (1, 3, 4)), *spread("no_aqm", (5, 6, 7))]),
    "Whose latency under load was lower, the runs don't tell in 1 condition":
        ([*rated((FAST, SLOW)), *spread("codel", (1, 9)), *spread("no_aqm", (2, 10))],
         [*rated((FAST, SLOW)), *spread("codel", (1, 2)), *spread("no_aqm", (9, 10))]),
    # One run of ten that is out of line doesn't hide what the others tell.
    "codel kept latency under load lowest: 99th percentile 4.5 ms.":
        ([*spread("codel", (1, 2, 3, 4, 5, 6, 7, 8)), *spread("no_aqm", (7, 16, 17, 18, 19, 20))],
         [*spread("codel", (1, 2, 3, 4, 5, 6, 7, 8)), *spread("no_aqm", (1, 2, 3, 18, 19, 20))]),
    "With all, at least half of the probes under load were lost.":
        (both(GONE, GONE), both(FAST, GONE)),
    "With all in 1 condition, at least half of the probes under load were lost.":
        (rated((FAST, SLOW), (GONE, GONE)), rated((FAST, SLOW), (FAST, GONE))),
    "These runs don't tell their throughput.":
        (both(FAST, SLOW, mbps={}), both(FAST, SLOW)),
    "It cost 10 % of throughput: 90 Mbit/s with codel, 100 with no_aqm.":
        ([row("codel", FAST, 90), row("no_aqm", SLOW, 100)],
         [row("codel", FAST, 100), row("no_aqm", SLOW, 90)]),
    "It cost up to 12 % of throughput: 8.8 Mbit/s with codel, 10 with no_aqm (10 Mbit/s).":
        (rated((FAST, SLOW), (FAST, SLOW), mbps=((8.8, 10), (19, 20))),
         rated((FAST, SLOW), (FAST, SLOW), mbps=((9.8, 10), (19, 20)))),
    "It cost no throughput that the runs could tell, as they overlap.":
        ([*spread("codel", (1, 1, 1), (8, 9, 12)), *spread("no_aqm", (9, 9, 9), (9, 10, 11))],
         [*spread("codel", (1, 1, 1), (7, 8, 8)), *spread("no_aqm", (9, 9, 9), (9, 10, 11))]),
    "It cost less than 1 % of throughput in any of 2 conditions.":
        (rated((FAST, SLOW), (FAST, SLOW), mbps=((9.95, 10), (20, 20))),
         rated((FAST, SLOW), (FAST, SLOW), mbps=((9.95, 10), (19, 20)))),
    # A full upload queue holds back the acknowledgements of the download.
    "It cost no download throughput, which was up to 5.8 times as high: 87 Mbit/s with codel, 15 "
    "with no_aqm (20 Mbit/s); up to 30 % of upload throughput: 7 Mbit/s with codel, 10 with no_aqm "
    "(20 Mbit/s).":
        ([row(aqm, sent, {"download": down, "upload": up}, rate_mbps=rate)
          for aqm, sent, down, up, rate in (
              ("codel", FAST, 34, 8, 10.0), ("no_aqm", SLOW, 22, 9, 10.0),
              ("codel", FAST, 87, 7, 20.0), ("no_aqm", SLOW, 15, 10, 20.0))],
         [row(aqm, sent, {"download": down, "upload": up}, rate_mbps=rate)
          for aqm, sent, down, up, rate in (
              ("codel", FAST, 34, 8, 10.0), ("no_aqm", SLOW, 34, 9, 10.0),
              ("codel", FAST, 87, 7, 20.0), ("no_aqm", SLOW, 80, 10, 20.0))]),
    "which was 1.1 times as high: 11 Mbit/s with codel, 10 with no_aqm (10 Mbit/s).":
        (rated((FAST, SLOW), (FAST, SLOW), mbps=((11, 10), (20, 20))),
         rated((FAST, SLOW), (FAST, SLOW), mbps=((10.9, 10), (20, 20)))),
    "It cost no throughput: 95.6 Mbit/s with all.":
        (both(FAST, SLOW), [row("codel", FAST, 95.6), row("no_aqm", SLOW, 80)]),
    # The best of all in throughput, too, and not alike: as it once was said.
    "It cost no throughput: 20.9 Mbit/s with fq_codel, 17.9 to 19.4 Mbit/s with no_aqm and codel.":
        ([row("no_aqm", SLOW, 19.4), row("codel", SLOW, 17.9), row("fq_codel", FAST, 20.9)],
         [row("no_aqm", SLOW, 20.9), row("codel", SLOW, 17.9), row("fq_codel", FAST, 19.4)]),
    # Down and up apart: their mean, 16.4, stands nowhere.
    "It cost no download throughput: 30 Mbit/s with codel, 25 Mbit/s with no_aqm; 30 % of upload "
    "throughput: 2.8 Mbit/s with codel, 4 with no_aqm.":
        ([row("codel", FAST, {"download": 30, "upload": 2.8}),
          row("no_aqm", SLOW, {"download": 25, "upload": 4.0})],
         [row("codel", FAST, {"download": 25, "upload": 4.0}),
          row("no_aqm", SLOW, {"download": 30, "upload": 2.8})]),
    # What the queues don't win in latency, they may lose in throughput.
    "It cost no throughput: 9.5 Mbit/s with all. In the other condition, throughput differed by "
    "30 %: 14 Mbit/s with codel, 20 with no_aqm.":
        (rated((FAST, SLOW), (FAST, FAST), mbps=((9.5, 9.5), (14, 20))),
         rated((FAST, SLOW), (FAST, FAST), mbps=((9.5, 9.5), (20, 20)))),
    "In other conditions, throughput differed by up to 30 %: 14 Mbit/s with codel, 20 with no_aqm "
    "(20 Mbit/s).":
        (rated((FAST, SLOW), (FAST, FAST), (GONE, GONE), mbps=((9.5, 9.5), (14, 20), (25, 30))),
         rated((FAST, SLOW), (FAST, SLOW), (GONE, GONE), mbps=((9.5, 9.5), (14, 20), (25, 30)))),
    "Throughput differed by 20 %: 8 Mbit/s with codel, 10 with no_aqm.":
        ([row("codel", FAST, 8), row("no_aqm", FAST, 10)],
         [row("codel", FAST, 10), row("no_aqm", FAST, 10)]),
    "Download throughput differed by 20 %: 8 Mbit/s with codel, 10 with no_aqm. Upload throughput, "
    "too, was alike: 5 Mbit/s.":
        ([row("codel", FAST, {"download": 8, "upload": 5}),
          row("no_aqm", FAST, {"download": 10, "upload": 5})],
         [row("codel", FAST, {"download": 10, "upload": 4}),
          row("no_aqm", FAST, {"download": 10, "upload": 5})]),
    # Of latency nothing is told, so nothing else is alike.
    "as they overlap: 99th percentile 3 to 6 ms. Throughput was alike: 95.6 Mbit/s.":
        ([*spread("codel", (1, 3, 9)), *spread("no_aqm", (2, 6, 7))],
         [*spread("codel", (1, 3, 4)), *spread("no_aqm", (5, 6, 7))]),
    "half of the probes under load were lost. Throughput was alike: 95.6 Mbit/s.":
        (both(GONE, GONE), both(FAST, FAST)),
    "Throughput, too, was alike: 9.95 to 10 Mbit/s.":
        ([row("codel", FAST, 9.95), row("no_aqm", FAST, 10)],
         [row("codel", FAST, 9.85), row("no_aqm", FAST, 10)]),
    # A drop-tail queue starves the cross traffic; a fair one gives each half of the same line.
    "It cost no upload throughput of all flows: 860 Mbit/s with all. Test and cross traffic share "
    "the line: the test's upload got 430 of 860 Mbit/s with codel, and 838 of 860 with no_aqm, "
    "which left about 22 for the other (Jain's index 1 and 0.53).":
        (sharing((430, 860, 1.0), (838, 860, 0.53)), sharing((838, 860, 0.53), (838, 860, 0.53))),
    "It cost 10 % of upload throughput of all flows: 774 Mbit/s with codel, 860 with no_aqm.":
        (sharing((387, 774, 1.0), (838, 860, 0.53)), sharing((430, 860, 1.0), (838, 860, 0.53))),
    "Runs fall into two groups, so that a median is no typical value: upload throughput with codel "
    "was 129 Mbit/s in 3 runs, 172 in 2.":
        ([*spread("codel", [1] * 5, (172, 129, 129, 172, 129)), row("no_aqm", SLOW)],
         [*spread("codel", [1] * 5, (172, 129, 140, 150, 160)), row("no_aqm", SLOW)]),
    "99th percentile of latency with codel was 1 ms in 2 runs, 4 in 2. So it is with 1 "
    "other number.":
        ([*spread("codel", (1, 4, 1, 4), (10, 20, 10, 20)), row("no_aqm", SLOW)],
         [*spread("codel", (1, 4, 2, 3), (10, 20, 10, 20)), row("no_aqm", SLOW)]),
    "Up to 2 % of the probes were lost: with no_aqm, 0 % with codel. A lost probe counts as later "
    "than any other.": (both(FAST, LOSSY), both(LOSSY, FAST)),
    "Up to 2 % of the probes were lost: with no_aqm and codel. A lost":
        (both(LOSSY, LOSSY), both(LOSSY, FAST)),
    "Up to 60 % of the probes were lost: with no_aqm (20 Mbit/s), 0 % with codel.":
        (rated((FAST, SLOW), (FAST, GONE)), rated((FAST, GONE), (FAST, SLOW))),
    "What is compared differs in shaper, too.":
        ([row("codel", FAST, shaper="htb"), row("no_aqm", SLOW, shaper="none")],
         [row("codel", FAST, shaper="htb"), row("no_aqm", SLOW, shaper="htb")]),
    "What is compared differs in up_aqm, too.":
        ([row("codel", FAST, up_aqm="codel"), row("no_aqm", SLOW, up_aqm="sfq")],
         [row("codel", FAST, up_aqm="codel"), row("no_aqm", SLOW, up_aqm="no_aqm")]),
    "From 2 runs, 1 of each queue: how much of the difference is chance, single runs don't tell.":
        (both(FAST, SLOW), both(FAST, SLOW, runs=2)),
    # Of two runs each, chance alone keeps one in three pairs of queues apart.
    "From 6 runs, 3 of each queue: how much of the difference is chance, so few runs don't tell.":
        (both(FAST, SLOW, runs=3), both(FAST, SLOW, runs=4)),
    "From 8 runs, 4 of each queue.": (both(FAST, SLOW, runs=4), both(FAST, SLOW, runs=3)),
    "From 5 runs, 1 to 2 of each queue in each condition: how much of the difference is chance":
        ([*rated((FAST, SLOW), (FAST, SLOW)), row("codel", FAST, rate_mbps=10.0)],
         rated((FAST, SLOW), (FAST, SLOW))),
    "One more run has no latency under load, or no other queue to be compared with.":
        ([*both(FAST, SLOW), row("codel", [])], both(FAST, SLOW)),
    "2 more runs have no latency under load, or no other queue to be compared with that is alike "
    "in rate_mbps.":
        ([*both(FAST, SLOW), row("codel", []), row("codel", FAST, rate_mbps=10.0)],
         [*both(FAST, SLOW), row("codel", []), row("codel", FAST)]),
}


def sentences(text: str) -> list[str]:
    """The sentences of a text: none of them has a full stop before a capital inside."""
    return re.split(r"(?<=\.) (?=[A-Z0-9]|codel|no_aqm|sfq|fq_codel|pie)", text)


@pytest.mark.parametrize("words", CASES)
def test_sentence_is_said_where_it_is_true_and_not_where_it_is_false(words: str) -> None:
    """Of data made for it."""
    true, false = CASES[words]
    assert words in output(true)
    assert words not in output(false)


@pytest.mark.parametrize("form", SENTENCES)
def test_every_form_of_a_sentence_is_among_the_cases(form: str) -> None:
    """No form without data that makes it true."""
    assert any(re.fullmatch(form, one) for true, _ in CASES.values()
               for one in sentences(output(true)))


LATENCY = st.lists(st.sampled_from([0.1, 1.0, 1.2, 30.0, LOST]), min_size=25, max_size=25).map(
    lambda kinds: [one for one in kinds for _ in range(40)])
RUN = st.builds(row, st.sampled_from(["codel", "no_aqm", "sfq"]), LATENCY | st.just([]),
                st.sampled_from([0.0, 8.0, 9.99, 10.0]) | st.just({})
                | st.just({"download": 7.0, "upload": 9.0}),
                rate_mbps=st.sampled_from([10.0, 20.0]))


@settings(deadline=None, max_examples=200)
@given(st.lists(RUN, min_size=1, max_size=12))
def test_no_other_sentence_is_ever_said(rows: list[ReportRow]) -> None:
    """Whatever the runs have, the report's sentences are of the forms that have cases; so none says
    "inf", "nan" or that 90 % were back within lost."""
    for one in sentences(output(rows)):
        assert any(re.fullmatch(form, one) for form in SENTENCES), one


def test_line_whose_router_nobody_asked_has_settings_in_place_of_queues() -> None:
    """A home line's titles are what its runs are compared as."""
    rows = [row("", sent, title=title) for title, sent in (("SQM on", FAST), ("SQM off", SLOW))]
    assert "SQM on kept latency under load lowest" in output(rows)
    assert "1 of each setting" in output(rows)
    assert "queue" not in output(rows)


def test_limit_of_p_is_divided_by_the_number_of_comparisons() -> None:
    """Seven runs each that overlap a little: one comparison tells them apart, twenty don't."""
    low, high = [10.0, 11, 12, 13, 14, 22.5, 24.5], [20.0, 21, 23, 24, 25, 26, 27]
    def rows(rate: float) -> list[ReportRow]:
        return [row(aqm, [ms] * 1000, rate_mbps=rate)
                for aqm, of in (("codel", low), ("no_aqm", high)) for ms in of]

    assert "codel kept latency under load lowest" in output(rows(10.0))
    many = [one for rate in range(1, 21) for one in rows(float(rate))]
    assert ("Whose latency under load was lower, the runs don't tell, as they overlap"
            in output(many))


def test_unsent_bytes_of_an_upload_are_no_cost() -> None:
    """LibreSpeed counts what it has written to its sockets: both queues carried the same, and the
    deeper one held more at the end. Where the line carried less, it is a cost."""
    def rows(*carried: float) -> list[ReportRow]:
        return [row(aqm, sent, own, more={"total_upload_mbps": total})
                for aqm, sent, own, total in zip(
                    ("codel", "no_aqm"), (FAST, SLOW), (13.1, 14.1), carried, strict=True)]

    what = "throughput (without headers and unsent bytes)"
    assert f"It cost no {what}: 11.5 Mbit/s with all." in output(rows(11.48, 11.48))
    assert f"It cost 5 % of {what}: 10.9 Mbit/s with codel, 11.5" in output(rows(10.9, 11.48))
    assert "without headers" not in output([row("codel", FAST, 11.4), row("no_aqm", SLOW, 11.48)])

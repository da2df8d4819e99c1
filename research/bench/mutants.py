# SPDX-License-Identifier: GPL-3.0-or-later
"""Insert small defects into the package, one at a time, and list those that no quick test sees.

    make mutants                                              every 10th defect of all modules
    make mutants MUTANTS_ARGUMENTS='--every 1 metrics/rpm'    all of one module
    make mutants MUTANTS_ARGUMENTS='--every 40 --keep'        and keep the list of survivors

A defect is one change at one place: a comparison turned, a sign changed, a number increased by
one, a condition negated, a switch returned. The tests that need no lab run against a copy of the
source tree. A defect survives if all of them pass. Defects that change nothing visible are listed
in EQUIVALENT, with the reason. At most MOST_SURVIVING of the defects tried in a folder of STRICT
may survive. SURVIVORS keeps the survivors, by folder.

A process collects a set of tests once and records which test calls which function. Each defect is
then tried in a fork of that process, whose function gets the defective code: tests that call the
function run, the quickest first, until one fails. Tests that start programs run, too, because these
read the defective file. A defect outside of functions, or in a function that is called at
import, needs a process that imports the package again, which takes seconds.
"""

from __future__ import annotations

import _posixsubprocess
import argparse
import ast
import gc
import importlib
import os
import pickle
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import NoReturn

import pytest

HERE = Path(__file__).resolve().parents[2]
PACKAGE = Path("flent_aqm")
# Folder or module -> the tests that state its rules, the quickest first. Of two that a module is
# in, the former counts.
TESTS = {
    "results/metrics": ("tests/results/metrics/test_worked_values.py",
                        "tests/results/metrics/test_edges.py", "tests/results/metrics",
                        "tests/results/score", "tests/results/recompute"),
    "results/status.py": ("tests/results/test_status.py",),
    "results/score": ("tests/results/score",),
    "results/share/archive.py": ("tests/results/share/test_archive_parts.py",
                                 "tests/sweep/replay/test_archive.py",
                                 "tests/results/share/test_batch_text.py"),
    "results/share/stock_test.py": ("tests/results/share/test_stock_test.py",),
    "results/share/open_in_flent.py": ("tests/results/share/test_open_in_flent.py",),
    "results/share/check.py": ("tests/results/share/test_stock_test.py",),
    "results/share": ("tests/results/share/test_limits.py",
                      "tests/results/share/test_whole_answers.py",
                      "tests/results/share/test_allowed.py", "tests/results/share/test_secrets.py",
                      "tests/results/share/test_batch_text.py"),
    "results/advice": ("tests/results/advice",),
    "results/reading": ("tests/results/reading", "tests/results/test_words.py",
                        "tests/results/test_find_files.py"),
    "results/many_files.py": ("tests/results/test_find_files.py",
                              "tests/results/test_many_files.py"),
    "results/export": ("tests/results/export/test_parts.py", "tests/results/export"),
    "results/grouping.py": ("tests/show/test_grouping.py", "tests/results/score"),
    "results/data_file.py": ("tests/results/metrics/test_data_file.py", "tests/results/reading"),
    "results": ("tests/results/metrics", "tests/results/reading", "tests/results/test_loaded.py",
                "tests/results/test_combined.py", "tests/results/test_many_files.py",
                "tests/results/score", "tests/show/test_grouping.py"),
    "sweep/resumed.py": ("tests/sweep/test_resumed.py",),
    "sweep/run.py": ("tests/sweep/test_run_files.py", "tests/sweep/test_resumed.py",
                     "tests/sweep/test_in_brief.py", "tests/sweep/test_steps.py"),
    "sweep/record.py": ("tests/sweep/test_record_cell.py",),
    "sweep/replay/archive.py": ("tests/sweep/replay/test_repeat_some.py",),
    "sweep/replay": ("tests/sweep/replay",),
    "sweep/speedtest.py": ("tests/sweep/test_speedtest_checks.py", "tests/sweep/test_steps.py"),
    "sweep/plan": ("tests/sweep/plan",),
    "sweep": ("tests/sweep/test_resumed.py", "tests/sweep/test_summary.py",
              "tests/sweep/test_whole_summary.py",
              "tests/sweep/test_in_brief.py", "tests/sweep/test_pool.py",
              "tests/sweep/test_steps.py", "tests/sweep/test_time_left.py",
              "tests/sweep/test_progress.py", "tests/sweep/test_preflight.py"),
    "parts/infer": ("tests/parts/infer",),
    "parts/scorecard": ("tests/parts/scorecard",),
    "parts/ssh/restore.py": ("tests/parts/ssh/test_restore.py", "tests/parts/ssh/test_answers.py"),
    "router": ("tests/router/test_expected.py", "tests/router/test_proof.py",
               "tests/router/test_metadata.py", "tests/router/test_dump.py", "tests/router"),
    "measure/parsers": ("tests/measure/parsers",),
    "base/whole_file.py": ("tests/base/test_whole_file.py", "tests/base"),
    "base": ("tests/base",),
    "spec": ("tests/spec", "tests/sweep/plan"),
    "show": ("tests/show/report/test_curves.py", "tests/show/report/test_findings.py",
             "tests/show/report/test_headline.py", "tests/show/test_grouping.py"),
    "servers": ("tests/servers",),
}
# Of these folders' defects at most that share may survive.
STRICT = ("results", "router", "sweep", "results/share", "parts/infer", "parts/scorecard")
MOST_SURVIVING = 0.05
SURVIVORS = HERE / "research" / "bench" / "results" / "mutants-survivors.txt"
# Module, line and change -> why no test can tell the defect from the code.
_LIMIT = "a limit with room to spare, by whose name tests go"
_EITHER_WAY = "sends more captures through the way for records of any size: the result is the same"
_EMPTY = "nothing is counted: the range is empty from any smaller number on, too"
_NARROW = "how columns share a terminal that is too narrow for them"
_BELOW = "neither is above the limit"
_QUICK = "texts are remembered only to be quicker, and a cleaned one is clean"
_NOT6 = "a larger number is one of IPv6, and none of these is private"
_WAIT = "how long and how often is tried again: only time tells"
EQUIVALENT = {
    "measure/parsers/cross.py: if took_ns is not None and (fastest_ns is None or took_ns < "
    "fastest_ns):: took_ns < fastest_ns -> took_ns <= fastest_ns": "the same number again",
    "measure/parsers/cross.py: for step in range(max(counted, default=-1) + 1)]: 1 -> 2": _EMPTY,
    "measure/parsers/pcap.py: first, last = min(counts, default=0), max(counts, default=-1): "
    "1 -> 2": _EMPTY,
    "measure/parsers/pcap_records.py: PIECE_BYTES = 4 << 20: 4 -> 5": _LIMIT,
    "measure/parsers/pcap_records.py: PIECE_BYTES = 4 << 20: 20 -> 21": _LIMIT,
    "measure/parsers/pcap.py: self.cut = False: False -> True": "the end of the file sets it",
    "measure/parsers/pcap.py: if len(data) < RECORD_HEADER_BYTES:: len(data) < "
    "RECORD_HEADER_BYTES -> len(data) <= RECORD_HEADER_BYTES": _EITHER_WAY,
    "measure/parsers/pcap.py: size = RECORD_HEADER_BYTES + captured: RECORD_HEADER_BYTES + "
    "captured -> RECORD_HEADER_BYTES - captured": _EITHER_WAY,
    "measure/parsers/pcap.py: if size < self.needed_bytes or not whole:: size < "
    "self.needed_bytes -> size <= self.needed_bytes": _EITHER_WAY,
    "measure/parsers/pcap.py: if size < self.needed_bytes or not whole:: not whole -> not not "
    "whole": _EITHER_WAY,
    "measure/parsers/pcap.py: if any(_lengths(key)[0] != captured for keys in counted.values() "
    "for key in keys):: _lengths(key)[0] != captured -> _lengths(key)[0] == captured":
        _EITHER_WAY,
    "measure/parsers/pcap.py: if any(_lengths(key)[0] != captured for keys in counted.values() "
    "for key in keys):: 0 -> 1": _EITHER_WAY,
    "measure/parsers/pcap.py: if payload > segment:: payload > segment -> payload >= segment":
        "a single segment is as long as what was on the wire",
    'results/status.py: "batches": [dict(files) for files in status.batches]}, indent=1) + "\\n"): '
    '1 -> 2': "how far the file's lines are indented",
    'results/score/shown.py: wide = console.options.update(width=10_000): 10000 -> 10001': _LIMIT,
    'results/score/shown.py: NO_TERMINAL, NARROW = 250, 110: 250 -> 251': _LIMIT,
    'results/score/shown.py: NO_TERMINAL, NARROW = 250, 110: 110 -> 111': _NARROW,
    'results/score/shown.py: table = Table(box=None, pad_edge=False, header_style="bold"): '
    'False -> True':
        "a blank before each line",
    'results/score/shown.py: table.add_column("metric", no_wrap=True): True -> False':
        _NARROW,
    'results/score/shown.py: table.add_column("value", justify="right", no_wrap=True): True '
    '-> False':
        _NARROW,
    'results/score/shown.py: table.add_column("unit", no_wrap=True): True -> False':
        _NARROW,
    'results/score/shown.py: table.add_column(heading, justify="left" if place < left else '
    '"right", no_wrap=True,: True -> False':
        _NARROW,
    'results/score/shown.py: table.add_column(heading, overflow="fold", no_wrap=heading == '
    '"metric"): heading == \'metric\' -> heading != \'metric\'':
        _NARROW,
    'results/score/shown.py: } for one in scored], indent=1) + "\\n"): 1 -> 2':
        "how far the lines are indented",
    'results/score/shown.py: return "\\n".join(textwrap.wrap(metric.name.replace("_", " "), '
    '10)): 10 -> 11':
        _LIMIT,
    'results/score/shown.py: if max(map(len, groups.values()), default=0) < 2:: 0 -> 1':
        _EMPTY,
    "parts/infer/command.py: _TOGETHER = 256: 256 -> 257": "how many are judged at a time: the "
    "verdicts are the same",
    "parts/infer/features.py: if first.size < 3 or first.std() < 1e-6 or second.std() < 1e-6:: "
    "first.std() < 1e-06 -> first.std() <= 1e-06": "only rounding makes them equal",
    "parts/infer/reading.py: if counts.max() > 1e15 or table[1:3].max() * ms > 1e7:: "
    "table[1:3].max() * ms > 10000000.0 -> table[1:3].max() * ms >= 10000000.0": _LIMIT,
    "parts/infer/reading.py: if counts.max() > 1e15 or table[1:3].max() * ms > 1e7:: "
    "1000000000000000.0 -> 1000000000000001.0": _LIMIT,
    "parts/infer/reading.py: if counts.max() > 1e15 or table[1:3].max() * ms > 1e7:: "
    "10000000.0 -> 10000001.0": _LIMIT,
    "parts/infer/reading.py: if counts.max() > 1e15 or table[1:3].max() * ms > 1e7:: "
    "counts.max() > 1000000000000000.0 -> counts.max() >= 1000000000000000.0": _LIMIT,
    "base/whole_file.py: _TRIES, _AGAIN_S = 50, 0.01: 50 -> 51": _WAIT,
    "base/whole_file.py: _TRIES, _AGAIN_S = 50, 0.01: 0.01 -> 1.01": _WAIT,
    "parts/infer/features.py: return {name: float(numpy.clip(feature.of(seen), -1e9, 1e9)): "
    "1000000000.0 -> 1000000001.0": _LIMIT,
    "parts/infer/reading.py: yield os.path.basename(member.name)[:80], inner: 80 -> 81":
        "how much of a name is shown",
    "parts/infer/features.py: if rise.std() < 1e-6 or flight.std() < 1e-6:: flight.std() < 1e-06 "
    "-> flight.std() <= 1e-06": "only rounding makes them equal",
    "parts/infer/reading.py: if len(rows) > MOST_SAMPLES:: len(rows) > MOST_SAMPLES -> len(rows) "
    ">= MOST_SAMPLES": _LIMIT,
    "parts/infer/reading.py: MOST_TESTS = 100_000: 100000 -> 100001": _LIMIT,
    "router/tc/dump.py: return sum(_U32.unpack_from(dict(_split_attributes(tin)).get("
    "_CAKE_TIN_MARKED, bytes(4)))[0]: 4 -> 5": "only the first four bytes are read",
    "parts/infer/reading.py: return bool(self.retransmitted_bytes[-1] > 0): 0 -> 1":
        "a retransmitted segment has more than one byte",
    "parts/infer/features.py: return float(part / whole) if whole > _NOTHING else 0.0: whole > "
    "_NOTHING -> whole >= _NOTHING": "only rounding makes them equal",
    'parts/infer/features.py: return f"{100 * value:.0f} %" if abs(value) >= 0.1 else f"{100 * '
    'value:.2g} %": abs(value) >= 0.1 -> abs(value) > 0.1': "a tenth is 10 % in both forms",
    "parts/infer/features.py: if first.size < 3 or first.std() < 1e-6 or second.std() < 1e-6:: "
    "second.std() < 1e-06 -> second.std() <= 1e-06": "only rounding makes them equal",
    "parts/infer/command.py: damaged += 1: 1 -> 2": "only whether there is any counts",
    "parts/infer/model.py: return shares / len(model.trees), spoke / len(model.trees): spoke / "
    "len(model.trees) -> spoke * len(model.trees)": "only which is the largest counts",
    "router/tc/read_back.py: return block.splitlines()[0][:200]: 200 -> 201":
        "how much of what was read a message quotes",
    "router/printed.py: if rate < 1000 or (rate % 1000 and rate < 1_000_000):: rate < 1000000 -> "
    "rate <= 1000000": "a million has no remainder, so its branch isn't asked for it",
    "router/printed.py: if rate < 1000 or (rate % 1000 and rate < 1_000_000):: 1000000 -> 1000001":
        "a million has no remainder, so its branch isn't asked for it",
    "router/tc/dump.py: NLM_F_REQUEST, NLM_F_DUMP = 0x1, 0x300: 768 -> 769":
        "the request has this bit by its other flag",
    "router/expected.py: while not (factor // rate_bytes_per_s & 1 << 31 or factor & 1 << 63):: "
    "63 -> 64": "only rates above 34 Gbit/s get there; of 400,000 times none was another",
    "results/advice/advice.py: if loss <= _SAME_SHARE:: loss <= _SAME_SHARE -> loss < "
    "_SAME_SHARE":
        "one less a share is never 0.01 as a binary fraction",
    "results/advice/speedtest.py: there_s = (window.length_s if window else 0.0) * len(names): "
    "0.0 -> 1.0": "without streams netperf used no time",
    "results/export/samples.py: \"more\": (empty[pyarrow.string()] if there <= _KNOWN else: there "
    "<= _KNOWN -> there < _KNOWN": "the other way gives as many nulls",
    "results/grouping.py: return (not number, float(value) if number else 0.0, str(value)): 0.0 -> "
    "1.0": "texts have True before it, numbers don't have it",
    "results/metrics/grades.py: enough = 1.0 if mbps >= needs.throughput_mbps else 0.0: 1.0 -> 2.0":
        "the other parts are at most 1",
    "results/metrics/grades.py: return min(max(1 - (measured - optimal) / (unusable - optimal), "
    "0.0), 1.0): 1.0 -> 2.0": "the throughput's part is at most 1",
    "results/score/group_formats.py: for settings, name, numbers in _rows(scored, requested, pool, "
    "names)], indent=1) + \"\\n\"): 1 -> 2": "how far the lines are indented",
    "results/grouping.py: return (2, 0.0, \"\"): 0.0 -> 1.0": "only None has a 2 before it",
    "results/grouping.py: return (2, 0.0, \"\"): 2 -> 3": "only that it is above 1 counts",
    "results/reading/for_flent.py: old_values = sum(map(len, data.whole[\"results\"].values())) if "
    "data.version == 1 else 0: 0 -> 1": "far below its limit either way",
    "results/grouping.py: return (0, float(_AQM_ORDER.index(str(value)) if known else "
    "len(_AQM_ORDER)), str(value)): 0 -> 1": "all of the setting's values but None have it",
    "results/many_files.py: jobs = min(jobs or len(os.sched_getaffinity(0)), len(files) // 4): 4 "
    "-> 5": "how many processes share the files",
    "results/many_files.py: yield from _with_progress(files, pool.imap(doing, files, "
    "chunksize=8)): 8 -> 9": "how many files a process gets at a time",
    "results/metrics/compare.py: held = numpy.flatnonzero(outside <= 1 - LEAST_LEVEL): outside <= "
    "1 - LEAST_LEVEL -> outside < 1 - LEAST_LEVEL": "levels are binary fractions, which 0.95 isn't",
    "results/metrics/compare.py: centre = array.mean() if array.size else 0.0: 0.0 -> 1.0":
        "without values the sum is 0 around any centre",
    "results/metrics/delay_parts.py: and spent.get(int(one.get(\"seq\", -1)), {}).get(\"ways\") == "
    "2]: 1 -> 2": "no passage has a number below 0",
    "results/metrics/percentiles.py: return math.ceil(round(SAMPLES_BEYOND / (min(percent, 100 - "
    "percent) / 100), 6)): 6 -> 7": "rounding errors are smaller by far",
    "results/metrics/table.py: if not size or size >= 1:: size >= 1 -> size > 1":
        "two decimals in both forms",
    "results/metrics/table.py: if not size or size >= 1:: 1 -> 2": "two decimals in both forms",
    "results/metrics/throughput.py: drops = drops[numpy.ptp(drops, axis=1) > 1e-9 * max("
    "float(numpy.abs(rates).max()), 1e-300)]: numpy.ptp(drops, axis=1) > 1e-09 * max("
    "float(numpy.abs(rates).max()), 1e-300) -> numpy.ptp(drops, axis=1) >= 1e-09 * max("
    "float(numpy.abs(rates).max()), 1e-300)": "only rounding makes them equal",
    "results/reading/for_flent.py: return 0: 0 -> 1": "far below the limit either way",
    "results/reading/for_flent.py: BEYOND_ALL_MEASURE = 1e18: 1e+18 -> 1e+18": "the same number",
    "results/reading/series.py: return {**sample, \"val\": 1000 / rate if rate and math.isfinite("
    "1000 / rate) else None}: 1000 -> 1001": "only a time at the end of what floats hold tells it",
    "results/reading/unpack.py: _PACKED_BYTES, _UNPACKED_BYTES = 1 << 15, 1 << 20: 20 -> 21":
        "how much is unpacked at a time",
    "results/reading/unpack.py: _PACKED_BYTES, _UNPACKED_BYTES = 1 << 15, 1 << 20: 1 -> 2":
        "how much is read and unpacked at a time",
    "results/reading/unpack.py: if time.thread_time() - self._began_s > limits.unpack_s:: "
    "time.thread_time() - self._began_s > limits.unpack_s -> time.thread_time() - self._began_s >= "
    "limits.unpack_s": _WAIT,
    "results/reading/series.py: if factor != 1:: 1 -> 2": "a factor of 1 changes no value",
    "results/metrics/queue.py: return -1.0: 1.0 -> 2.0": "only that it is below 0 counts",
    "results/metrics/flows.py: if flow.has_own_window or not expected.length_s > 0:: "
    "expected.length_s > 0 -> expected.length_s >= 0":
        "what samples cover is half of 0 s or more, which gives the same answer",
    "results/advice/advice.py: gains = {other: -share for other, share in losses.items() if share "
    "< -_SAME_SHARE}: share < -_SAME_SHARE -> share <= -_SAME_SHARE":
        "one less a share is never -0.01 as a binary fraction",
    "results/advice/advice.py: why = (f\" It is the fastest, to within {100 * _SAME_SHARE:.0f} %, "
    "of {len(good)} settings \": 100 -> 101": "1 when it is rounded",
    "results/metrics/compare.py: outside = 2 * binom.cdf(numpy.arange((count + 1) // 2), count, "
    "0.5): count + 1 -> count - 1": "the value in the middle never has the level",
    "results/metrics/throughput.py: return min(max(mean, -1.0), 1.0): 1.0 -> 2.0":
        "only rounding exceeds it",
    "results/metrics/compare.py: outside = 2 * binom.cdf(numpy.arange((count + 1) // 2), count, "
    "0.5): 1 -> 2": "the value in the middle never has the level",
    "results/metrics/latency.py: if 0 < percent < 100 and samples_beyond(samples, percent) < "
    "SAMPLES_BEYOND:: 0 -> 1": "no percentile of the table lies between 0 and 1",
    "parts/scorecard/figure.py: _LABEL_CHARACTERS = 17: 17 -> 18": _NARROW,
    "parts/scorecard/scores.py: _DRAWS, _SEED = 500, 1: 1 -> 2": "any draws do",
    "parts/scorecard/scores.py: _DRAWS, _SEED = 500, 1: 500 -> 501": "any draws do",
    "parts/scorecard/worst.py: RATE_MBPS, RTT_MS, BUFFER_MS = (10, 300), (5, 160), (10, 1000): "
    "300 -> 301": _LIMIT,
    "results/share/secrets.py: digits = match[1].replace(\".\", \"\")[::-1].ljust(32, \"0\"): "
    "32 -> 33": "only the first 32 digits are read",
    "results/share/secrets.py: if not kinds and not apart:: not kinds -> not not kinds": _QUICK,
    "results/share/secrets.py: if not kinds and not apart:: not apart -> not not apart": _QUICK,
    "results/share/secrets.py: if not kinds and not apart:: not kinds and (not apart) -> "
    "not kinds or not apart": _QUICK,
    "results/share/secrets.py: return self._zeros(match) if value < 1 << 32 and "
    "_is_private(value) else match[0]: value < 1 << 32 -> value <= 1 << 32": _NOT6,
    "results/share/secrets.py: return self._zeros(match) if value < 1 << 32 and "
    "_is_private(value) else match[0]: 32 -> 33": _NOT6,
    "results/share/secrets.py: return self._zeros(match) if value < 1 << 32 and "
    "_is_private(value) else match[0]: 1 -> 2": _NOT6,
    "results/share/secrets.py: return whole[:start - begin] + REPLACED + whole[end - "
    "begin:]: end - begin -> end + begin": "each pattern ends with the secret",
    "results/share/secrets.py: before, number = (match[1], match[2]) if match[1] else "
    "(match[3], match[4]): 3 -> 4": "of a telephone's number, nothing before it is written",
    "results/share/secrets.py: return f\"{before if match[1] else ''}{REPLACED}\": 1 -> 2":
        "the pattern has both groups or neither",
    "results/share/secrets.py: or patterns.NAME_BEHIND.match(whole[end:end + 2])): 2 -> 3":
        "the pattern is of two characters",
    "results/share/secrets.py: named = (patterns.NAME_BEFORE.search(whole[max(start - 2, "
    "0):start]): 2 -> 3": "the pattern is of two characters at most",
    "results/share/archive.py: names.append(re.split(r\"[^\\w.-]\", line, maxsplit=1)[0]): 1 -> 2":
        "only the part before the first place counts",
    "results/share/left_over.py: if word.count(\":\") > 1:: word.count(':') > 1 -> word.count(':') "
    ">= 1": "no IPv6 address has a single colon",
    "results/share/left_over.py: for place in range(len(parts) - 6):: len(parts) - 6 -> len(parts) "
    "+ 6": "from there on there are fewer than four numbers, which are no address",
    "results/share/left_over.py: numbers, between = parts[place:place + 7:2], set(parts[place + "
    "1:place + 6:2]): 7 -> 8": "the next number is two places on",
    "results/share/left_over.py: numbers, between = parts[place:place + 7:2], set(parts[place + "
    "1:place + 6:2]): 6 -> 7": "the next separator is two places on",
    "results/share/left_over.py: six = parts[place:place + 6]: 6 -> 7":
        "a word of more than six parts is none in any case",
    "results/share/check.py: GRACE_S = 3: 3 -> 4": _WAIT,
    "results/share/check.py: START_S, FILE_S = 60, 30: 60 -> 61": _WAIT,
    "results/share/check.py: START_S, FILE_S = 60, 30: 30 -> 31": _WAIT,
    "results/share/check.py: timeout=START_S + FILE_S * len(files),: FILE_S * len(files) -> FILE_S "
    "/ len(files)": _WAIT,
    "parts/scorecard/card.py: write_output(folder / NAME, json_text(content, indent=1) + "
    "\"\\n\"): 1 -> 2": "how far the lines are indented",
    "parts/scorecard/order.py: json_text(asdict(result), indent=1) + \"\\n\"): 1 -> 2":
        "how far the lines are indented",
    "parts/scorecard/worst_lines.py: json_text(worst_line.as_dict(), indent=1) + \"\\n\"): 1 -> 2":
        "how far the lines are indented",
    "parts/scorecard/terminal.py: made.add_column(column.heading.replace(\" \", \"\\n\", 1), "
    "justify=\"right\", no_wrap=True): True -> False": _NARROW,
    "parts/scorecard/terminal.py: if console.measure(made, options=console.options.update("
    "width=10_000)).maximum > console.width:: 10000 -> 10001": _LIMIT,
    "parts/scorecard/worst.py: for _ in range(0, 2 * runs, _ROUND):: 0 -> 1":
        "twice the number of runs is even, so that as many rounds begin",
    "parts/scorecard/columns.py: return (-tells.value if tells else 1.0,: 1.0 -> 2.0":
        "either comes after all shares",
    "parts/scorecard/scores.py: if _ratio_of_attribute(first, second, \"others_p95_ms\") >= "
    "APART_FACTOR), 1): 1 -> 2": "only whether the ideal is 0 counts",
    "parts/scorecard/scores.py: return _share_score(cases, 1): 1 -> 2":
        "only whether the ideal is 0 counts",
    "parts/scorecard/scores.py: _orders_scorer(lambda way: None if way.qoo is None else 100 - "
    "way.qoo, _LEAST_QOO)),: 100 -> 101": "only the difference of two counts",
    "parts/scorecard/scores.py: _compare_attribute(first, second, \"shown_ms\") > 0), cells, "
    "line)): _compare_attribute(first, second, 'shown_ms') > 0 -> _compare_attribute(first, "
    "second, 'shown_ms') >= 0": "what is a tenth apart is not equal",
    "parts/scorecard/words.py: and (way.rise_p95_ms or 0) > BAD_MS]: 0 -> 1": _BELOW,
    "parts/scorecard/words.py: and (way.rise_p95_ms or 0) > BAD_MS}: 0 -> 1": _BELOW,
    "parts/scorecard/figure.py: and ((way.rise_p95_ms or 0.0) > BAD_MS) is stalled]: 0.0 -> 1.0":
        _BELOW,
    "parts/scorecard/figure.py: tells_apart_axis.set_xlim(0, 100): 0 -> 1":
        "the mark at 0 widens the axis again",
    "parts/scorecard/figure.py: most_lines = max((_row_label(card).count(\"\\n\") + 1 for card in "
    "cards), default=1): 1 -> 2": "without a row its height does not count",
    "parts/scorecard/worst.py: seed=_SEED, n_startup_trials=_AT_RANDOM, n_ei_candidates="
    "_CANDIDATES, constant_liar=True)): True -> False": "any draws do",
    "parts/scorecard/worst.py: _AT_RANDOM, _CANDIDATES = 10, 64: 10 -> 11": "any draws do",
    "parts/scorecard/worst.py: _AT_RANDOM, _CANDIDATES = 10, 64: 64 -> 65": "any draws do",
    "parts/scorecard/worst.py: _ROUND, _SEED = 4, 1: 1 -> 2": "any draws do",
    "sweep/plan/places.py: section, indent, in_value = \"\", 0, False: 0 -> 1":
        "counts from the first key on, whose own takes its place",
    "sweep/pool.py: _LOOK_AGAIN_S = 0.5: 0.5 -> 1.5": _WAIT,
    "sweep/pool.py: _KILL_AGAIN_S = 0.05: 0.05 -> 1.05": _WAIT,
    "sweep/plan/arguments.py: text = as_text(batch.get(\"repetitions\", 1)).strip(): 1 -> 2":
        "only whether it is a whole number counts",
    "sweep/progress.py: expand=True,: True -> False": "the bar itself takes the width that is left",
    "sweep/summary.py: if console.measure(shown_table, options=console.options.update("
    "width=10_000): 10000 -> 10001": _LIMIT,
    "sweep/run.py: None if tools_log is None else gzip.compress(tools_log, 6, mtime=0),: 6 -> 7":
        "how hard the log is packed",
    "sweep/sweep.py: self._kept = 0  # runs whose data files a resumed sweep keeps: 0 -> 1":
        "start() sets it before it is read",
    "sweep/sweep.py: if isinstance(value, dict) and isinstance(old, dict):  # each parameter is a "
    "key: isinstance(value, dict) and isinstance(old, dict) -> isinstance(value, dict) or "
    "isinstance(old, dict)": "a key's values are of one type",
    "sweep/speedtest.py: CONNECT_LIMIT_S = 10: 10 -> 11": _WAIT,
    "sweep/time_left.py: if age_s > _expected_s(cell, factors):: age_s > _expected_s(cell, "
    "factors) -> age_s >= _expected_s(cell, factors)": "only rounding makes them equal",
    "results/metrics/latency.py: breaks = numpy.flatnonzero(numpy.diff(bad_s) >= pause_s): "
    "numpy.diff(bad_s) >= pause_s -> numpy.diff(bad_s) > pause_s":
        "times and 0.1 s are no binary fractions: only rounding makes them equal",
}
# Arguments that only forbid: what they would catch isn't done.
FORBIDDING = {"frozen", "eq", "strict", "allow_nan"}
# So many times longer than without a defect is endless, and thereby found.
ENDLESS = 5
# Processor time to import the package and to collect tests, with room.
IMPORT_S = 10.0
# By these a process starts others, or has one work for it that another test started.
STARTERS = (_posixsubprocess.fork_exec, os.fork, os.posix_spawn)
WORKERS = ("/tests/warm_flent.py", "/multiprocessing/connection.py", "/subprocess.py")
# What tests and modules import of others.
LIBRARIES = ("numpy", "scipy.stats", "orjson", "pytest", "pyarrow", "rich.table")

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is}
CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
JOINED: dict[type[ast.boolop], type[ast.boolop]] = {ast.And: ast.Or, ast.Or: ast.And}


# Package file and qualified name of a function, as tests call it; and of a defect's place. The name
# is empty outside of functions.
Function = tuple[str, str]


@dataclass(frozen=True)
class Mutant:
    """A module with one defect.

    Attributes:
        module: path of the module below the source tree.
        number: number of the line with the defect.
        change: module, text of the line, and the expression before and after, as a key of
            EQUIVALENT.
        function: qualified name of the outermost function whose body has the defect, "" outside of
            functions.
        source: the module's code with the defect, as a text without comments, so lines have other
            numbers.
        code: code compiled from the defective module, with the line numbers of the right one.
    """

    module: Path
    number: int
    change: str
    function: str
    source: str
    code: CodeType


@dataclass
class Called:
    """What the tests of a set did without a defect. Tests are given by pytest's node ids, functions
    as (path of the file below the source tree, qualified name).

    Attributes:
        times_s: test that passed -> its processor time.
        waited_s: test that passed -> time on the clock, which is longer on a busy machine.
        failed: tests that failed. try_all() adds the set's files and folders, as one text, if
            `pass_again` is False.
        functions: test that passed -> the functions of the package that it called.
        programs: tests that passed and started programs, or used programs that other tests started.
        at_import: functions of the package that were called while tests were collected.
        modules: paths of the package's modules that were imported then, below the source tree.
        pass_again: True if the tests also passed a second time without a defect, in a fork and with
            a time limit like those with which each defect is tried.
    """

    times_s: dict[str, float] = field(default_factory=dict)
    waited_s: dict[str, float] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    functions: dict[str, set[Function]] = field(default_factory=dict)
    programs: set[str] = field(default_factory=set)
    at_import: set[Function] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    pass_again: bool = True

    def tests_for(self, mutant: Mutant, *, imported_again: bool) -> list[str]:
        """Return the tests that could see the defect: first those that call its function, then
        those that start programs, each group from the quickest to the slowest.

        For a defect outside of functions, or with imported_again, those that call any function of
        its module are first, then all others that passed.

        Args:
            mutant: the defect.
            imported_again: True if the package is imported anew, so that any test could see it.
        """
        file = str(mutant.module)
        if not imported_again and mutant.function:
            calling = [test for test in self.times_s
                       if (file, mutant.function) in self.functions[test]]
            rest = self.programs.difference(calling)
        else:
            calling = [test for test in self.times_s
                       if any(of_file == file for of_file, _ in self.functions[test])]
            rest = set(self.times_s).difference(calling)
        return (sorted(calling, key=self.times_s.__getitem__)
                + sorted(rest & self.times_s.keys(), key=self.times_s.__getitem__))

    def took(self, tests: Iterable[str], more_s: float = 0.0) -> tuple[float, float]:
        """Return the processor time of tests, and their time on the clock, both in s.

        more_s: further processor time to add. The time on the clock grows by it, times the tests'
            ratio of clock to processor time if that is above 1.
        """
        listed = list(tests)
        took_s = sum(map(self.times_s.__getitem__, listed))
        waited_s = sum(map(self.waited_s.__getitem__, listed))
        return took_s + more_s, waited_s + more_s * max(1.0, waited_s / max(took_s, 1e-3))

    def needs_import(self, mutant: Mutant) -> bool:
        """Return whether the defect can only be tried in a process that imports the package anew:
        its module was imported while tests were collected, and it is outside of functions, or in a
        function that was called then."""
        file = str(mutant.module)
        return file in self.modules and (
            not mutant.function or (file, mutant.function) in self.at_import)


def main() -> int:
    """Try the defects that the command line selects, and print each survivor, and their number by
    folder. With --keep, also write them to SURVIVORS. Return the exit status: 1 if too many survive
    in a folder of STRICT, or tests fail without a defect, else 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="PART",
                        help="only modules whose path has this part, such as metrics/rpm")
    parser.add_argument("--every", type=int, default=10, metavar="N",
                        help="only each N-th defect of a module (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, metavar="N",
                        help="how many defects of a module to leave out before the first "
                             "(default: %(default)s)")
    parser.add_argument("--keep", action="store_true",
                        help=f"write the survivors of the folders tried to {SURVIVORS.name}")
    args = parser.parse_args()
    if args.every < 1:
        parser.error(f"--every {args.every}: expected 1 or more")
    if args.first < 0:
        parser.error(f"--first {args.first}: expected 0 or more")
    modules_of_tests: dict[tuple[str, ...], list[Path]] = {}
    seen: set[Path] = set()
    for place, tests in TESTS.items():
        for module in modules_of(place):
            if module not in seen and (
                    not args.modules or any(part in str(module) for part in args.modules)):
                modules_of_tests.setdefault(tests, []).append(module)
            seen.add(module)
    if not modules_of_tests:
        parser.error(f"no module of {', '.join(TESTS)} has {' or '.join(args.modules)} in its path")
    for library in LIBRARIES:
        importlib.import_module(library)
    tried: dict[str, int] = {}
    survivors: dict[str, list[str]] = {}
    failing: list[str] = []
    with tempfile.TemporaryDirectory(prefix="flent-aqm-mutants-") as folder:
        tree = copy_tree(Path(folder))
        for tests, modules in modules_of_tests.items():
            chosen = [mutant for module in modules
                      for mutant in mutants(tree, module, args.first, args.every)]
            if not chosen:
                continue
            called, outcomes = try_all(tree, tests, chosen)
            failing += called.failed
            for mutant, survived in zip(chosen, outcomes, strict=True):
                name = folder_of(mutant.module)
                tried[name] = tried.get(name, 0) + 1
                if survived:
                    survivors.setdefault(name, []).append(mutant.change)
            print(f"{' '.join(tests)}: {len(chosen)} defects, {sum(outcomes)} survived", flush=True)
    print(f"{sum(tried.values())} defects, {sum(map(len, survivors.values()))} survived")
    too_many = []
    for name, of_folder in sorted(tried.items()):
        left = len(survivors.get(name, ()))
        print(f"{name}: {left} of {of_folder} survived ({left / of_folder:.0%})")
        if name in STRICT and left > MOST_SURVIVING * of_folder:
            too_many.append(name)
    if args.keep:
        keep(tried, survivors, f"--every {args.every} --first {args.first}")
    if too_many:
        print(f"more than {MOST_SURVIVING:.0%} survived in {', '.join(too_many)}", file=sys.stderr)
    if failing:
        print(f"left out, as they fail without a defect: {', '.join(failing)}", file=sys.stderr)
    return 1 if too_many or failing else 0


def folder_of(module: Path) -> str:
    """Return the folder that a module's defects are counted for: the innermost of STRICT, else the
    first below the package, or the file's name of a module that is in none.

    module: path of the module below the source tree.
    """
    place = str(module.relative_to(PACKAGE))
    strict = [name for name in STRICT if place.startswith(f"{name}/")]
    return max(strict, key=len) if strict else place.partition("/")[0]


def keep(tried: Mapping[str, int], survivors: Mapping[str, Sequence[str]], how: str) -> None:
    """Write the survivors of the folders tried to the file SURVIVORS, in place of those that it had
    of these folders. Other folders' stay. The file is created if it doesn't exist.

    Args:
        tried: folder -> number of defects tried.
        survivors: folder -> the `change` of each surviving defect. A folder without any may be left
            out.
        how: options of this call, noted in the file.
    """
    sections: dict[str, str] = {}
    if SURVIVORS.is_file():
        for part in SURVIVORS.read_text().split("\n## ")[1:]:
            sections[part.partition(":")[0]] = part.rstrip("\n")
    for name, count in tried.items():
        lines = sorted(survivors.get(name, ()))
        sections[name] = "\n".join([
            f"{name}: {len(lines)} of {count} defects survived ({how})", *lines])
    SURVIVORS.write_text("# Defects that no quick test sees, by folder: module, line and change\n"
                         + "".join(f"\n## {sections[name]}\n" for name in sorted(sections)))


def modules_of(place: str) -> list[Path]:
    """Return the modules of a folder and of all folders in it, sorted, or the one module of a file,
    as paths from the source tree's top. Empty if nothing is at `place`.

    place: path of the folder or file below the package.
    """
    path = HERE / PACKAGE / place
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    return [file.relative_to(HERE) for file in files]


def mutants(top: Path, module: Path, first: int, every: int) -> Iterator[Mutant]:
    """Yield each `every`-th defect of a module from `first` on, in the order of ast.walk(). Those
    in EQUIVALENT count, but are not yielded. Arguments named in FORBIDDING, and bounds of slices in
    f-strings, get no defect.

    Args:
        top: folder of the source tree that has the module, and that tests run in.
        module: path of the module below that folder, which begins with PACKAGE.
        first: number of defects to leave out at the beginning.
        every: distance between the defects to try.
    """
    text = (top / module).read_text()
    tree, lines = ast.parse(text), text.splitlines()
    left_out = [node.value for node in ast.walk(tree)
                if isinstance(node, ast.keyword) and node.arg in FORBIDDING]
    # How much of what was read a message quotes.
    left_out += [node for output in ast.walk(tree) if isinstance(output, ast.FormattedValue)
                 for part in ast.walk(output) if isinstance(part, ast.Slice)
                 for node in ast.walk(part) if isinstance(node, ast.expr)]
    functions = functions_of(tree)
    places = ((node, attribute, defect) for node in ast.walk(tree) if node not in left_out
              for attribute, defect in defects_of(node))
    for node, attribute, defect in islice(places, first, None, every):
        right, before = getattr(node, attribute), ast.unparse(node)
        setattr(node, attribute, defect)
        number: int = node.lineno  # type: ignore[attr-defined]
        change = (f"{module.relative_to(PACKAGE)}: {lines[number - 1].strip()}: "
                  f"{before} -> {ast.unparse(node)}")
        if change not in EQUIVALENT:
            yield Mutant(module, number, change, functions.get(node, ""), ast.unparse(tree),
                         compile(ast.fix_missing_locations(tree), str(top / module), "exec"))
        setattr(node, attribute, right)


def functions_of(tree: ast.Module) -> dict[ast.AST, str]:
    """Return each node of a function's body -> the qualified name of the function, such as
    "Class.method", or that of the outermost one if they are nested. Decorators, defaults, and code
    outside of functions are left out."""
    found: dict[ast.AST, str] = {}

    def search(body: Sequence[ast.AST], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for statement in node.body:
                    found.update(dict.fromkeys(ast.walk(statement), prefix + node.name))
            elif isinstance(node, ast.ClassDef):
                search(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.If | ast.Try | ast.With):
                search(list(ast.iter_child_nodes(node)), prefix)

    search(tree.body, "")
    return found


def defects_of(node: ast.AST) -> Iterator[tuple[str, object]]:
    """Yield (name of the attribute, wrong value for it) for each defect that can be put into a node
    of the syntax tree: another operator (COMPARED, CALCULATED, JOINED), a second `not` behind a
    `not`, a number plus one, a switched True or False. The node is not changed; nothing is yielded
    for one without such a place."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            yield "ops", [*node.ops[:place], COMPARED[type(operator)](), *node.ops[place + 1:]]
    elif isinstance(node, ast.BinOp) and type(node.op) in CALCULATED:
        yield "op", CALCULATED[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        yield "op", JOINED[type(node.op)]()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "operand", ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        yield "value", not node.value if isinstance(node.value, bool) else node.value + 1


def copy_tree(folder: Path) -> Path:
    """Copy the package into `folder`, where its modules can be replaced, and make links there to
    all other files and folders at the checkout's top, except .git, .venv and results. Return
    `folder`.

    folder: an existing, empty folder.
    """
    for entry in HERE.iterdir():
        if entry.name == PACKAGE.name:
            shutil.copytree(entry, folder / entry.name,
                            ignore=shutil.ignore_patterns("__pycache__"))
        elif entry.name not in (".git", ".venv", "results"):
            (folder / entry.name).symlink_to(entry)
    return folder


def try_all(tree: Path, tests: Sequence[str], chosen: Sequence[Mutant]
            ) -> tuple[Called, list[bool]]:
    """Try defects with a set of tests, and print each that survives. Return what the tests did
    without a defect, and for each of `chosen` whether it survived.

    All defects count as survivors if no test passes, or if the tests fail when they are run again
    without a defect. A line on standard error says so; in the second case `failed` gets the names
    of the set.

    Args:
        tree: copy of the source tree.
        tests: files and folders of tests.
        chosen: the defects.
    """
    survived: dict[int, bool] = {}
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        run_tests(tree, tests, Collected(tree, chosen, writing))
    os.close(writing)
    called = Called()
    with os.fdopen(reading, "rb") as pipe:
        while True:
            try:
                found = pickle.load(pipe)
            except EOFError:
                break
            if isinstance(found, Called):
                called = found
            else:
                number, survived[number] = found
                tell(chosen[number], survived[number])
    os.waitpid(child, 0)
    if not called.times_s:
        print(f"{' '.join(tests)}: no test without a lab passes, so all defects survive",
              file=sys.stderr)
        return called, [True] * len(chosen)
    if not called.pass_again:
        called.failed.append(" ".join(tests))
        print(f"{' '.join(tests)}: they pass once and fail the second time without a defect, in a "
              "fork or by its time limit, so they tell nothing and all defects count as survivors",
              file=sys.stderr)
        return called, [True] * len(chosen)
    for number, mutant in enumerate(chosen):
        if number not in survived:
            selected = called.tests_for(mutant, imported_again=True)
            with defect_in(tree, mutant):
                survived[number] = succeeds(
                    partial(run_tests, tree, tests, Selected(selected)),
                    *called.took(selected, IMPORT_S))
            tell(mutant, survived[number])
    return called, [survived[number] for number in range(len(chosen))]


def tell(mutant: Mutant, survived: bool) -> None:
    """Print a line about a defect that survived. Print nothing for any other defect."""
    if survived:
        print(f"survived: {mutant.number} of {mutant.change}", flush=True)


@contextmanager
def defect_in(tree: Path, mutant: Mutant) -> Iterator[None]:
    """Context manager: the module's file in the copied tree contains the defect during the
    block."""
    file = tree / mutant.module
    before = file.read_text()
    file.write_text(mutant.source)
    try:
        yield
    finally:
        file.write_text(before)


def succeeds(work: Callable[[], NoReturn], took_s: float, waited_s: float) -> bool:
    """Run `work` in a fork. Return whether it ends with status 0 before its limits, and kill what
    is left of its process group. Each of its processes may take ENDLESS × `took_s` + 5 s of the
    processor; the fork may take 10 × (ENDLESS × the longer of both times + 5 s) on the clock.

    Args:
        work: function to run, which ends its process.
        took_s: processor time that it takes without a defect.
        waited_s: time on the clock that it takes without a defect, on this machine as it is now.
    """
    child = os.fork()
    if child == 0:
        os.setsid()
        limit_s = int(ENDLESS * took_s) + 5
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
        work()
    # What waits takes no processor time, and a busy machine is no defect.
    end = time.monotonic() + 10 * (ENDLESS * max(took_s, waited_s) + 5)
    status: int | None = None
    pause_s = 0.002
    while status is None and time.monotonic() < end:
        ended, waited = os.waitpid(child, os.WNOHANG)
        if ended:
            status = os.waitstatus_to_exitcode(waited)
        else:
            time.sleep(pause_s)
            pause_s = min(0.05, 2 * pause_s)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    return status == 0


class Selected:
    """A plugin of pytest that runs only given tests, in the order given.

    Args:
        tests: node ids of the tests.
    """

    def __init__(self, tests: Sequence[str]) -> None:
        self.place = {test: number for number, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Remove all but the given tests from the list `items`, and put it in the order given.
        pytest calls this hook."""
        items[:] = sorted((item for item in items if item.nodeid in self.place),
                          key=lambda item: self.place[item.nodeid])


class Collected:
    """A plugin of pytest that, in place of pytest's own run of the collected tests, records what
    they call, and tries the defects that need no new import of the package.

    Calls are recorded from the object's creation on. It writes to the pipe `out` a pickled Called,
    then for each defect tried a pickled tuple (its index in `chosen`, whether it survived).

    Args:
        tree: copy of the source tree.
        chosen: the defects.
        out: file descriptor of the pipe, which the object takes over.
    """

    def __init__(self, tree: Path, chosen: Sequence[Mutant], out: int) -> None:
        self.tree, self.chosen = tree, chosen
        self.out = os.fdopen(out, "wb")
        self.failed = False
        self.calls: set[Function] = set()
        self.starts_program = False
        self.of_fixture: dict[str, set[Function]] = {}
        sys.setprofile(self.record)

    def record(self, frame: FrameType, event: str, arg: object) -> None:
        """Record a call of a Python function in `calls`, as (path of its file, qualified name), and
        set `starts_program` if a program is started or a worker of another test is used.
        sys.setprofile() and threading.setprofile() call this method."""
        if event == "call":
            # The code object itself would not do: those of two files may be equal.
            self.calls.add((frame.f_code.co_filename, frame.f_code.co_qualname))
            if frame.f_code.co_filename.endswith(WORKERS):
                self.starts_program = True
        elif event == "c_call" and any(arg is starter for starter in STARTERS):
            self.starts_program = True

    def package_functions(self, calls: Iterable[Function]) -> set[Function]:
        """Return the functions of the package among those called, with the paths of their files
        below the source tree. A function inside of another one counts as the outer one. The code of
        a module ("<module>") or of a class counts as a function, too.

        calls: absolute path of the file, and qualified name, of each function that was called.
        """
        top = f"{self.tree}/"
        return {(file.removeprefix(top), name.partition(".<locals>")[0]) for file, name in calls
                if file.startswith(top + PACKAGE.name)}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        """Keep what a fixture of any scope but "function" calls in `of_fixture`, for all tests that
        use the fixture. pytest calls this hook around a fixture's set-up."""
        before, self.calls = self.calls, set()
        yield
        if fixturedef.scope != "function":
            self.of_fixture.setdefault(fixturedef.argname, set()).update(self.calls)
        self.calls |= before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Set `failed` if a test, its set-up or its tear-down failed. pytest calls this hook."""
        self.failed = self.failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Record what each test calls, then try the defects that need no new import, each in a
        process of its own, and write the results to the pipe. Tests that fail without a defect are
        left out. No defect is tried if the others don't pass a second time without one. Return
        True, which keeps pytest from running the tests itself. pytest calls this hook."""
        sys.setprofile(None)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(self.call_all(session), pipe)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            called: Called = pickle.load(pipe)
        os.waitpid(child, 0)
        items = {item.nodeid: item for item in session.items}
        # Without a defect the tests must pass in such a fork, else they would fail with each.
        called.pass_again = succeeds(
            partial(self.run_with, session, None, [items[test] for test in called.times_s]),
            *called.took(called.times_s))
        pickle.dump(called, self.out)
        self.out.flush()
        if not called.pass_again:
            return True
        for number, mutant in enumerate(self.chosen):
            if called.needs_import(mutant):
                continue
            selected = called.tests_for(mutant, imported_again=False)
            with defect_in(self.tree, mutant):
                survived = succeeds(
                    partial(self.run_with, session, mutant, [items[test] for test in selected]),
                    *called.took(selected))
            pickle.dump((number, survived), self.out)
            self.out.flush()
        return True

    def call_all(self, session: pytest.Session) -> Called:
        """Run all tests in this process, and return which failed, and of those that passed what
        each called and how long it took. Calls recorded before are taken for those of the
        collection. `pass_again` is left at True."""
        called = Called(at_import=self.package_functions(self.calls))
        called.modules = {str(Path(module.__file__).relative_to(self.tree))
                          for name, module in list(sys.modules.items())
                          if name.split(".")[0] == PACKAGE.name and module.__file__}
        all_calls: dict[str, set[Function]] = {}
        for place, item in enumerate(session.items):
            forget_results()
            self.calls, self.failed, self.starts_program = set(), False, False
            began_s, clock_s = sum(os.times()[:4]), time.monotonic()
            threading.setprofile(self.record)
            sys.setprofile(self.record)
            item.config.hook.pytest_runtest_protocol(
                item=item, nextitem=next(iter(session.items[place + 1:]), None))
            sys.setprofile(None)
            threading.setprofile(None)
            if self.failed:
                called.failed.append(item.nodeid)
                continue
            called.times_s[item.nodeid] = sum(os.times()[:4]) - began_s
            called.waited_s[item.nodeid] = time.monotonic() - clock_s
            all_calls[item.nodeid] = self.calls
            if self.starts_program:
                called.programs.add(item.nodeid)
        for item in session.items:
            if item.nodeid in all_calls:
                calls = all_calls[item.nodeid].union(
                    *(self.of_fixture.get(name, ()) for name in getattr(item, "fixturenames", ())))
                called.functions[item.nodeid] = self.package_functions(calls)
        return called

    def run_with(self, session: pytest.Session, mutant: Mutant | None,
                 items: Sequence[pytest.Item]) -> NoReturn:
        """Run tests with a defect until a test fails. End this process, with status 0 if all tests
        passed, else 1.

        Args:
            session: pytest's session.
            mutant: the defect, whose function is replaced in this process. None: no defect.
            items: the tests, in the order in which they run.
        """
        status = 1
        try:
            if mutant is None:
                forget_results()
            else:
                replace_function(mutant)
            for place, item in enumerate(items):
                item.config.hook.pytest_runtest_protocol(
                    item=item, nextitem=next(iter(items[place + 1:]), None))
                if self.failed:
                    break
            else:
                status = 0
        finally:
            os._exit(status)


def forget_results() -> None:
    """Clear the caches (functools) of the functions at the top level of the package's imported
    modules, so that each test calls what it uses. Caches of methods stay."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == PACKAGE.name:
            for value in list(vars(module).values()):
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()


def replace_function(mutant: Mutant) -> None:
    """Give the function that has the defect its defective code, wherever this process refers to it,
    and clear the caches of the package's functions (forget_results()). There is no way back. For a
    defect outside of functions, only caches are cleared.

    A module that is imported later has the defect from its file, into which defect_in() writes it.
    """
    defective = {(code.co_qualname, code.co_firstlineno): code for code in codes_in(mutant.code)}
    forget_results()
    for value in gc.get_objects():
        if isinstance(value, FunctionType) and value.__code__.co_filename == (
                mutant.code.co_filename):
            key = value.__code__.co_qualname, value.__code__.co_firstlineno
            if key[0].partition(".<locals>")[0] == mutant.function and key in defective:
                value.__code__ = defective[key]


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield all code objects inside of a code object, at any depth. The object itself is left
    out."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes_in(constant)


def run_tests(tree: Path, tests: Sequence[str], plugin: object) -> NoReturn:
    """Run the tests that need neither a lab nor a network namespace in this process, with a plugin
    and without output, until one fails. End the process with pytest's status. The package is
    imported anew, from `tree`.

    Args:
        tree: copy of the source tree, which becomes the working folder.
        tests: files and folders of tests.
        plugin: a plugin of pytest, such as Selected or Collected.
    """
    status = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.chdir(tree)
        # What tests start looks there, too; and the same second's two modules of the same length
        # would have one name among compiled ones.
        os.environ |= {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True
        sys.path[:] = [str(tree), *(place for place in sys.path if place not in ("", str(HERE)))]
        for name in [each for each in sys.modules if each.split(".")[0] == PACKAGE.name]:
            del sys.modules[name]
        status = int(pytest.main([
            "-q", "-x", "-p", "no:cacheprovider", "-m", "not lab and not netns",
            f"--basetemp={tree / 'basetemp'}", *tests], plugins=[plugin]))
    finally:
        os._exit(status)


if __name__ == "__main__":
    sys.exit(main())

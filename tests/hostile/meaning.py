# SPDX-License-Identifier: GPL-3.0-or-later
"""Data files each of whose parts is as it should be, and that contradict themselves: a run of
one test under the name of another, times that run backwards, keys that occur twice."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.files import GOLDEN, save

Whole = dict[str, Any]
Make = Callable[[Path], None]
Named = Iterator[tuple[str, Make]]
Change = Callable[[Whole], object]

ICMP, DOWNLOAD, CAPTURE = "Ping (ms) ICMP", "TCP download", "Capture"
START_S = 1767225603.0


@cache
def _text(run: str) -> str:
    return gzip.decompress((GOLDEN / f"{run}.flent.gz").read_bytes()).decode()


def _changed(change: Change, run: str = "runs/iperf3_download") -> Make:
    def make(path: Path) -> None:
        whole = json.loads(_text(run))
        change(whole)
        save(path, whole)

    return make


def _tests() -> list[str]:
    """All tests that Flent and this package define."""
    import flent

    folders = (Path(flent.__file__).parent / "tests", Path(__file__).parents[2] / "tests_defs")
    return sorted({path.stem for folder in folders for path in folder.glob("*.conf")})


RUNS = ("runs/iperf3_download", "runs/ndt7", "runs/aqm_flows", "runs/stock_rrul",
        "speedtests/responsiveness", "runs/speedtest_idle")


def misnamed() -> Named:
    """A run of each test of ours under the name of every test that there is."""
    for run in RUNS:
        for name in _tests():
            def named(whole: Whole, name: str = name) -> None:
                whole["metadata"]["NAME"] = name

            yield f"{run.rpartition('/')[2]}.{name}", _changed(named, run)


def _samples(change: Callable[[list[Whole]], list[Whole]], *series: str) -> Change:
    """Change the samples of these series, or of all."""
    def of(whole: Whole) -> None:
        for name in series or list(whole["raw_values"]):
            if name in whole["raw_values"]:
                whole["raw_values"][name] = change(whole["raw_values"][name])
    return of


def _each(**fields: Any) -> Callable[[list[Whole]], list[Whole]]:
    """Set fields of each sample: a value, or what gives one by number and sample."""
    def change(samples: list[Whole]) -> list[Whole]:
        return [one | {key: value(number, one) if callable(value) else value
                       for key, value in fields.items()} for number, one in enumerate(samples)]
    return change


def _shuffled(samples: list[Whole]) -> list[Whole]:
    return random.Random(37).sample(samples, len(samples))


SAMPLES: dict[str, Callable[[list[Whole]], list[Whole]]] = {
    "reversed": lambda samples: samples[::-1], "shuffled": _shuffled,
    "twice": lambda samples: samples * 2, "one": lambda samples: samples[:1],
    "two": lambda samples: samples[:2], "none": lambda samples: [],
    "no_fields": lambda samples: [{} for _ in samples],
    "same_time": _each(t=START_S), "backwards": _each(t=lambda n, one: START_S - n),
    "at_zero": _each(t=0), "before_1970": _each(t=lambda n, one: n - 50.0),
    "microseconds_apart": _each(t=lambda n, one: START_S + n * 1e-6),
    "steps_of_hours": _each(t=lambda n, one: START_S + 3600 * n),
    "one_far": lambda samples: [*samples[:-1], *(
        one | {"t": START_S + 300_000} for one in samples[-1:])],
    "no_times": _each(t=None), "no_values": _each(val=None),
    "gaps_between": _each(val=lambda n, one: one.get("val") if n % 2 else None),
    "zero": _each(val=0), "minus_zero": _each(val=-0.0), "negative": _each(val=-5.0),
    "tiny": _each(val=5e-324), "huge": _each(val=9.9e17), "whole": _each(val=7),
    "tiny_and_huge": _each(val=lambda n, one: (5e-324, 9.9e17)[n % 2]),
    "true": _each(val=True), "numbers_as_text": _each(val=lambda n, one: str(one.get("val"))),
    "times_as_text": _each(t=lambda n, one: str(one.get("t"))),
    "nested": _each(val=lambda n, one: [one.get("val")]),
    "objects": _each(val=lambda n, one: {"val": one.get("val")}),
    "long_whole": _each(val=10**17 + 1), "long_seq": _each(seq=2**63),
    "seq_down": _each(seq=lambda n, one: -n), "seq_same": _each(seq=7),
    "seq_of_65536": _each(seq=lambda n, one: n * 65536), "seq_text": _each(seq="7"),
    "no_interval": _each(dur=0), "interval_of_hours": _each(dur=3600.0),
    "interval_tiny": _each(dur=5e-324), "interval_negative": _each(dur=-0.2),
    "lost_up": _each(lost_dir="up", val=None), "lost_odd": _each(lost_dir=["up"], val=None),
    "one_way_odd": _each(owd_up=9e17, owd_down=-9e17), "one_way_none": _each(owd_up=None),
    "bytes_fall": _each(bytes_acked=lambda n, one: 10**15 - n, bytes_sent=0),
    "bytes_text": _each(bytes_acked="many"), "window_odd": _each(tcp_cwnd=-1, tcp_rtt=9e17),
    "streams_odd": _each(streams={"": {"tcp_rtt": None}, "5": {}, "x" * 99: {"retransmits": -1}}),
    "streams_list": _each(streams=[{"tcp_rtt": 1}]),
    "counters_fall": _each(down_backlog_bytes=lambda n, one: -n, down_drops=lambda n, one: -n),
    "flows_of_each": _each(flows=lambda n, one: [[n, n, n]] * 3),
}


def samples() -> Named:
    """What a series can't have measured, of each series alone and of all at once."""
    for name, change in SAMPLES.items():
        yield f"all.{name}", _changed(_samples(change))
        yield f"ping.{name}", _changed(_samples(change, ICMP, "Ping (ms) UDP irtt"))
        yield f"flow.{name}", _changed(_samples(change, DOWNLOAD, "TCP upload"), "runs/ndt7")
        yield f"queue.{name}", _changed(_samples(change, "Queues", CAPTURE), "runs/aqm_flows")


def _meta(series: str, **fields: Any) -> Change:
    return lambda whole: whole["metadata"]["SERIES_META"][series].update(fields)


def _metadata(**fields: Any) -> Change:
    return lambda whole: whole["metadata"].update(fields)


def _requested(**fields: Any) -> Change:
    return lambda whole: whole["metadata"]["AQM"]["requested"].update(fields)


def _renamed(old: str, new: str) -> Change:
    def change(whole: Whole) -> None:
        for part in (whole["raw_values"], whole["results"], whole["metadata"]["SERIES_META"]):
            if old in part:
                part[new] = part.pop(old)
    return change


def _steps(change: Callable[[int], list[Any]]) -> Change:
    def of(whole: Whole) -> None:
        whole["x_values"] = change(len(whole["x_values"]))
        for name, values in whole["results"].items():
            whole["results"][name] = (values * 2)[:len(whole["x_values"])]
    return of


def _aqm(**fields: Any) -> Change:
    return lambda whole: whole["metadata"]["AQM"].update(fields)


PLACES = ("../../pwned", "/tmp/flent-aqm-pwned", "a/b", "a\\b", "..", ".", "con", "a:b", "~root",
          "-o", "x" * 180, "%(prefix)s", "pwned\u202egnp", "e\u0301" * 60, "\u0627\u0644\u0639",
          "\u200b", "\ufeff", "\U0001f469\u200d\U0001f4bb", "None", "nan", "1e5", "''", "a,b",
          "a;b=c", "a::b", "{aqm}", "$aqm", "<b>", "&amp;", "a|b", "`id`", "#", "*", "[x]")


def contradictions() -> Named:
    """Parts that don't fit each other, or that lead out of a folder where they become a name."""
    changes: dict[str, Change] = {
        "window_backwards": _meta(DOWNLOAD, LOAD_START=START_S + 3, LOAD_END=START_S + 1),
        "window_empty": _meta(DOWNLOAD, LOAD_START=START_S + 1, LOAD_END=START_S + 1),
        "window_before": _meta(DOWNLOAD, LOAD_START=START_S - 900, LOAD_END=START_S - 800),
        "window_behind": _meta(DOWNLOAD, LOAD_START=START_S + 800, LOAD_END=START_S + 900),
        "window_half": _meta(DOWNLOAD, LOAD_START=START_S + 1, LOAD_END=None),
        "window_tiny": _meta(DOWNLOAD, LOAD_START=START_S + 1, LOAD_END=START_S + 1 + 1e-6),
        "steps_down": _steps(lambda count: [0.2 * n for n in range(count)][::-1]),
        "steps_same": _steps(lambda count: [1.0] * count),
        "steps_none": _steps(lambda count: []), "steps_one": _steps(lambda count: [0.0]),
        "steps_gaps": _steps(lambda count: [None] * count),
        "steps_negative": _steps(lambda count: [-0.2 * n for n in range(count)]),
        "steps_far": _steps(lambda count: [1e15 * n for n in range(count)]),
        "steps_more": lambda whole: whole["x_values"].extend([9.0, 9.2]),
        "results_short": lambda whole: whole["results"][ICMP].pop(),
        "results_gaps": lambda whole: [whole["results"].update(
            {name: [None] * len(values)}) for name, values in whole["results"].items()],
        "results_no": lambda whole: whole["results"].clear(),
        "results_others": lambda whole: whole.update(results={"x": [1] * len(whole["x_values"])}),
        "raw_no": lambda whole: whole["raw_values"].clear(),
        "meta_no": lambda whole: whole["metadata"]["SERIES_META"].clear(),
        "meta_only": lambda whole: (whole["raw_values"].clear(), whole["results"].clear()),
        "units_swapped": lambda whole: (_meta(ICMP, UNITS="Mbits/s")(whole),
                                        _meta(DOWNLOAD, UNITS="ms")(whole)),
        "units_none": _meta(ICMP, UNITS=None), "units_same": _meta(DOWNLOAD, UNITS="ms"),
        "runner_swapped": _meta(ICMP, RUNNER="AqmCaptureRunner"),
        "runner_queue": _meta(DOWNLOAD, RUNNER="AqmQdiscRunner"),
        "runner_new": _meta(ICMP, RUNNER="Of2031Runner"), "runner_odd": _meta(ICMP, RUNNER=[1]),
        "series_swapped": lambda whole: (_renamed(ICMP, "x")(whole), _renamed(
            DOWNLOAD, ICMP)(whole), _renamed("x", DOWNLOAD)(whole)),
        "capture_is_ping": lambda whole: whole["raw_values"].update(
            Capture=whole["raw_values"][ICMP]),
        "capture_bad": _meta(CAPTURE, CAPTURE={"complete": "no", "packets": -1}),
        "length_short": _metadata(LENGTH=1, TOTAL_LENGTH=1),
        "length_swapped": _metadata(LENGTH=900, TOTAL_LENGTH=1),
        "step_longer": _metadata(STEP_SIZE=1e5), "step_tiny": _metadata(STEP_SIZE=1e-9),
        "time_bad": _metadata(TIME="2026-13-45T99:99:99.000000Z", T0="yesterday"),
        "time_far": _metadata(**dict.fromkeys(("TIME", "T0"), "9999-12-31T23:59:59.999999Z")),
        "time_old": _metadata(**dict.fromkeys(("TIME", "T0"), "0001-01-01T00:00:00.000000Z")),
        "time_number": _metadata(TIME=1767225600, T0=1767225600),
        "time_zone": _metadata(TIME="2026-01-01T00:00:00+14:00", T0="2026-01-01T00:00:00+14:00"),
        "hosts_same": _metadata(HOSTS=["server"] * 500, HOST="server"),
        "hosts_none": _metadata(HOSTS=[]), "hosts_odd": _metadata(HOSTS=["", "a b", "\u202e"]),
        "failed_many": _metadata(FAILED_RUNNERS=10**6),
        "failed_text": _metadata(FAILED_RUNNERS="x"),
        "upload_is_asked": _metadata(TEST_PARAMETERS={"upload_streams": "0,0", "flows": "1xcubic"}),
        "rate_none": _requested(rate_up_mbps=None, rate_down_mbps=None),
        "rate_small": _requested(rate_up_mbps=1e-12, rate_down_mbps=1e-12),
        "rate_large": _requested(rate_up_mbps=1e17, rate_down_mbps=9e17),
        "rate_text": _requested(rate_up_mbps="50", rate_down_mbps="50"),
        "rate_mixed": _requested(rate_up_mbps="fast", rate_down_mbps=[50]),
        "delay_negative": _requested(base_delay_ms=-20),
        "delay_text": _requested(base_delay_ms="20"),
        "seed_long": _requested(seed=10**40), "seed_text": _requested(seed="1"),
        "cross_new": _requested(cross_traffic="of 2031"),
        "cross_list": _requested(cross_traffic=[1]),
        "model_new": _requested(router_model="of 2031+x=1"), "queue_new": _requested(aqm="of_2031"),
        "queue_true": _requested(aqm=True), "queue_number": _requested(aqm=7),
        "key_new": _requested(of_2031={"a": [1]}), "schema_new": _aqm(schema=99, of_2031=[1]),
        "schema_text": _aqm(schema="new"), "testbed_new": _requested(testbed="moon"),
        "applied_empty": _aqm(after={}, before={}), "counters_fall": lambda whole: whole[
            "metadata"]["AQM"].update(before=whole["metadata"]["AQM"]["after"],
                                      after=whole["metadata"]["AQM"]["before"]),
        "batch_no": _metadata(BATCH_NAME=None, BATCH_TIME=None, BATCH_UUID=None),
        "parameters_numbers": _metadata(TEST_PARAMETERS={"a": 1, "1": None, "b": True}),
        "remote_odd": _metadata(REMOTE_METADATA={"x": {"SYSCTLS": 5}}, EGRESS_INFO=[1],
                                SYSCTLS="x"),
        "newer_flent": _metadata(FLENT_VERSION="99.0", OF_2031={"deep": [{"er": 1}]}),
        "aqm_twice": lambda whole: whole.update(AQM=whole["metadata"]["AQM"]),
        "everything_text": lambda whole: whole.update(json.loads(re.sub(
            r'(?<=": )-?\d[\d.e+-]*', lambda match: f'"{match[0]}"', json.dumps(whole)))),
        "everything_null": lambda whole: whole["metadata"].update(
            {key: None for key in whole["metadata"] if key not in ("NAME", "SERIES_META")}),
    }
    for name, change in changes.items():
        yield name, _changed(change)
    for number, text in enumerate(PLACES):
        yield f"place{number}.series", _changed(_renamed(ICMP, text))
        yield f"place{number}.queue", _changed(_requested(aqm=text, router_model=text))
        yield f"place{number}.batch", _changed(_metadata(
            BATCH_NAME=text, BATCH_TITLE=text, DATA_FILENAME=text, TITLE=text, HOST=text))
        yield f"place{number}.test", _changed(_metadata(NAME=text))
        yield f"place{number}.cross", _changed(_requested(
            cross_traffic=text, kernel=text, topology=text, shaper=text, testbed=text))


TWICE = ("metadata", "raw_values", "results", "version", "x_values")
TWICE_INSIDE = ("NAME", "TITLE", "HOSTS", "SERIES_META", "AQM", "LENGTH", "UNITS", "RUNNER", "t",
                "val", "seq", "requested", "aqm", "rate_down_mbps", DOWNLOAD, ICMP)


def texts() -> Named:
    """JSON that readers may understand in several ways."""
    text = _text("runs/iperf3_download")
    for key in TWICE:
        for number, value in enumerate(("null", "{}", "[]", "1")):
            yield f"top.{key}{number}", _as_text(f'{{"{key}": {value}, {text.lstrip()[1:]}')
            yield f"end.{key}{number}", _as_text(f'{text.rstrip()[:-1]}, "{key}": {value}}}')
    for key in TWICE_INSIDE:
        for number, value in enumerate(("null", '"x"', "[1]")):
            yield f"inside.{key}{number}", _as_text(re.sub(
                rf'"{re.escape(key)}":', f'"{key}": {value}, "{key}":', text))
            yield f"behind.{key}{number}", _as_text(re.sub(
                rf'"{re.escape(key)}": *("[^"]*"|[\d.]+)', rf'\g<0>, "{key}": {value}', text))
    for name, old, new in (
            ("single_quotes", '"', "'"), ("trailing_comma", "}", ",}"), ("comments", ":", ": /**/"),
            ("tabs", " ", "\t"), ("blanks", ",", ", " * 9),
            ("escaped_keys", '"val"', '"v\\u0061l"'),
            ("upper", '"val"', '"VAL"'), ("no_break", ": ", ":\u00a0"), ("plus", ": 1", ": +1"),
            ("exponent", "1767225604", "17672256.04e2"), ("digits", "47.", "\u0664\u0667."),
            ("nan", "47.", "NaN"), ("long_numbers", "47.", "47." + "3" * 400),
            ("lone_surrogates", "TCP", "\\ud83dTCP"), ("bom_inside", "TCP", "\ufeffTCP"),
            ("nul", "TCP", "\\u0000TCP"), ("overlong", "TCP", "\\u0054CP")):
        yield name, _as_text(text.replace(old, new))


def _as_text(text: str) -> Make:
    def make(path: Path) -> None:
        path.write_bytes(gzip.compress(text.encode("utf-8", "surrogatepass"), 1))
    return make


def members() -> Named:
    """Archives in several parts: whole, cut between parts, of other kinds behind each other."""
    text = _text("runs/stock_ping").encode()
    parts = [text[at:at + 4000] for at in range(0, len(text), 4000)]
    packed = [gzip.compress(part) for part in parts]
    for name, content in {
            "in_parts": b"".join(packed), "parts_reversed": b"".join(packed[::-1]),
            "part_missing": b"".join(packed[1:]), "last_missing": b"".join(packed[:-1]),
            "part_twice": b"".join(packed[:1] + packed), "cut_in_second": b"".join(packed)[
                :len(packed[0]) + 30],
            "cut_in_trailer": b"".join(packed)[:-3],
            "wrong_size": b"".join(packed)[:-4] + b"\0" * 4,
            "wrong_sum": b"".join(packed)[:-8] + b"\1" * 8,
            "zeros_between": (b"\0" * 700).join(packed),
            "plain_behind": packed[0] + b"".join(parts[1:]), "byte_a_part": b"".join(
                gzip.compress(bytes([one])) for one in text[:3000]),
            "second_file": gzip.compress(text) + gzip.compress(_text("runs/ndt7").encode()),
            "object_behind": gzip.compress(text + b"{}"), "lines": gzip.compress(
                text.replace(b", ", b",\n"))}.items():
        yield name, partial(_write, content)


def _write(content: bytes, path: Path) -> None:
    path.write_bytes(content)


FAMILIES: dict[str, Callable[[], Named]] = {
    "misnamed": misnamed, "samples": samples, "contradictions": contradictions, "texts": texts,
    "members": members}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Hostile data files, made by rule: what a careless tool or a stranger might hand over.

Each family is a list of (name, what makes the file). A file is a real one with something
wrong in it, so that readers get as far as they can.
"""

from __future__ import annotations

import bz2
import copy
import gzip
import json
import lzma
import os
import random
import socket
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from tests.files import RUNS, load

from . import meaning

GOLDEN = RUNS
SUFFIX = ".flent.gz"

Whole = dict[str, Any]
Make = Callable[[Path], None]
Named = Iterator[tuple[str, Make]]

ICMP = "Ping (ms) ICMP"
DOWNLOAD = "TCP download"


@cache
def _text(test: str) -> bytes:
    return gzip.decompress((GOLDEN / f"{test}{SUFFIX}").read_bytes())


def _whole(test: str) -> Whole:
    whole: Whole = json.loads(_text(test))
    return whole


def _packed(content: bytes) -> Make:
    return lambda path: _write(path, gzip.compress(content, 1))


def _plain(content: bytes) -> Make:
    return lambda path: _write(path, content)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _json(whole: Whole) -> bytes:
    """As Flent writes it; orjson knows neither long numbers nor halves of characters."""
    return json.dumps(whole).encode()


def _changed(change: Callable[[Whole], object], test: str = "iperf3_download",
             dumps: Callable[[Whole], bytes] = _json) -> Make:
    def make(path: Path) -> None:
        whole = _whole(test)
        change(whole)
        _write(path, gzip.compress(dumps(whole), 1))

    return make


def _set(place: str, value: Any, test: str = "iperf3_download") -> Make:
    """Another value at a path of keys, with / between them."""
    def change(whole: Whole) -> None:
        tree: Any = whole
        *above, last = place.split("/")
        for key in above:
            tree = tree[int(key) if isinstance(tree, list) else key]
        tree[int(last) if isinstance(tree, list) else last] = value

    return _changed(change, test)


def _replaced(old: bytes, new: bytes, test: str = "iperf3_download") -> Make:
    text = _text(test)
    assert old in text, old
    return _packed(text.replace(old, new, 1))


def structure() -> Named:
    """Other types, missing parts, other versions, text that is not quite JSON."""
    for number, content in enumerate((
            b"", b"null", b"[]", b"5", b'"x"', b"true", b"{}", b"{" * 1000, b"[" * 5000,
            b"[" * 1020 + b"]" * 1020, b'{"a":' * 900 + b"1" + b"}" * 900, b'{"version": 4}',
            b'{"version": 4, "metadata": {}, "raw_values": {}}',
            b'{"metadata": {}, "x_values": [], "results": {}}', b"\xef\xbb\xbf{}",
            _text("stock_ping") * 2, _text("stock_ping")[:-1], b"// c\n" + _text("stock_ping"),
            _text("stock_ping").decode().encode("utf-16"), b"\xff\xfe" + _text("stock_ping"))):
        yield f"text{number}", _packed(content)
    for place in ("metadata", "metadata/SERIES_META", f"metadata/SERIES_META/{ICMP}",
                  "raw_values", f"raw_values/{ICMP}", f"raw_values/{ICMP}/0", "results",
                  f"results/{ICMP}", "x_values", "metadata/TEST_PARAMETERS", "metadata/AQM",
                  "metadata/AQM/requested", "metadata/AQM/after", "metadata/AQM/after/applied",
                  "metadata/HOSTS"):
        values: tuple[Any, ...] = (None, [], "x", 7, {"a": [{"b": 1}]})
        for number, value in enumerate(values):
            yield f"{place.replace('/', '.')}{number}", _set(place, copy.deepcopy(value))
    for version in (0, 1, 2, 3, 5, -1, 4.0, "4", True, 10**30):
        yield f"version{version}"[:20], _set("version", version)
    for key in ("NAME", "TITLE", "TIME", "T0", "HOST", "LOCAL_HOST", "LENGTH", "TOTAL_LENGTH",
                "STEP_SIZE", "DATA_FILENAME", "SERIES_META", "TEST_PARAMETERS"):
        def without(whole: Whole, key: str = key) -> None:
            whole["metadata"].pop(key, None)

        yield f"without.{key}", _changed(without)


def _lasting(whole: Whole, flows: int, length_s: float) -> None:
    """Flows of few samples over a long time, at other rates each."""
    meta = whole["metadata"]["SERIES_META"].pop(DOWNLOAD)
    start_s = whole["raw_values"].pop(DOWNLOAD)[0]["t"]
    meta |= {"LOAD_START": start_s, "LOAD_END": start_s + length_s}
    for number in range(flows):
        whole["metadata"]["SERIES_META"][f"{DOWNLOAD}::{number}"] = meta
        whole["raw_values"][f"{DOWNLOAD}::{number}"] = [
            {"t": start_s + length_s * step / 100, "dur": length_s / 100,
             "val": 1.0 + number * step % 7} for step in range(1, 101)]


def sizes() -> Named:
    """More of everything than any test makes; small on disk, as it repeats."""
    sample = {"t": 1767225605.0, "val": 1.5, "seq": 1}
    many: dict[str, Callable[[Whole], object]] = {
        "series": lambda whole: whole["metadata"]["SERIES_META"].update(
            {f"Ping (ms) {n}": {"UNITS": "ms"} for n in range(50_000)}),
        "raw_series": lambda whole: whole["raw_values"].update(
            {f"Ping (ms) {n}": [sample] for n in range(50_000)}),
        "flows": lambda whole: (
            whole["metadata"]["SERIES_META"].update(
                {f"TCP download::{n}": {"UNITS": "Mbits/s"} for n in range(990)}),
            whole["raw_values"].update(
                {f"TCP download::{n}": whole["raw_values"][DOWNLOAD] for n in range(990)})),
        "probes": lambda whole: (
            whole["metadata"]["SERIES_META"].update(
                {f"Ping (ms) {n}": whole["metadata"]["SERIES_META"][ICMP] for n in range(990)}),
            whole["raw_values"].update(
                {f"Ping (ms) {n}": whole["raw_values"][ICMP] for n in range(990)})),
        "samples": lambda whole: whole["raw_values"].update({ICMP: [
            {"t": 1767225600 + n / 100, "val": 1.5, "seq": n} for n in range(150_000)]}),
        "too_many_samples": lambda whole: whole["raw_values"].update({ICMP: [sample] * 1_500_000}),
        "empty_samples": lambda whole: whole["raw_values"].update({ICMP: [{}] * 600_000}),
        "gaps": lambda whole: whole["raw_values"].update({ICMP: [
            {"t": 1767225600 + n, "val": 1.5, "seq": 10_000 * n} for n in range(400)]}),
        "gaps_of_many": lambda whole: (
            whole["metadata"]["SERIES_META"].update(
                {f"Ping (ms) {n}": whole["metadata"]["SERIES_META"][ICMP] for n in range(300)}),
            whole["raw_values"].update({f"Ping (ms) {n}": [
                {"t": 1767225600, "val": 1.5, "seq": 0},
                {"t": 1767229600, "val": 1.5, "seq": 4_900_000}] for n in range(300)})),
        "udp_rr_gaps": lambda whole: (
            whole["metadata"]["SERIES_META"].update({"Ping (ms) UDP": {
                "UNITS": "ms", "RUNNER": "UdpRttRunner"}}),
            whole["raw_values"].update({"Ping (ms) UDP": [
                {"t": 1767225600 + (n if n % 50 else n * 40), "val": 1.5, "dur": 1e-4}
                for n in range(2000)]})),
        "udp_rr_stalls": lambda whole: (
            whole["metadata"]["SERIES_META"].update({f"Ping (ms) UDP {n}": {
                "UNITS": "ms", "RUNNER": "UdpRttRunner"} for n in range(900)}),
            whole["raw_values"].update({f"Ping (ms) UDP {n}": [
                {"t": 1767225600 + step * 1e-4, "val": 1.5, "dur": 1e-4} for step in range(3)]
                for n in range(900)})),
        "lasting_flows": lambda whole: _lasting(whole, 2, 420_000.0),
        "lasting_many_flows": lambda whole: _lasting(whole, 900, 900.0),
        "flows_over_years": lambda whole: _lasting(whole, 2, 3e8),
        "hosts": lambda whole: whole["metadata"].update(HOSTS=["server"] * 90_000),
        "parameters": lambda whole: whole["metadata"]["TEST_PARAMETERS"].update(
            {f"p{n}": "1" for n in range(40_000)}),
        "metadata": lambda whole: whole["metadata"].update(
            {f"KEY{n}": {"a": n} for n in range(200_000)}),
        "fields": lambda whole: whole["raw_values"][ICMP][0].update(
            {f"f{n}": n for n in range(200_000)}),
        "steps": lambda whole: (
            whole.update(x_values=list(range(900_000))),
            whole["results"].clear(), whole["results"].update({ICMP: [1.0] * 900_000})),
        "results": lambda whole: whole["results"].update(
            {f"r{n}": [None] * len(whole["x_values"]) for n in range(9_000)}),
        "lists": lambda whole: whole.update(more=[[]] * 3_000_000),
        "nulls": lambda whole: whole.update(more=[None] * 7_000_000),
        "tools": lambda whole: whole["metadata"]["AQM"].update(
            tools={f"tool{n}": "1" for n in range(30_000)}),
        "errors": lambda whole: whole["metadata"]["SERIES_META"][ICMP].update(
            ERROR=["it failed"] * 90_000),
        "warnings": lambda whole: whole["metadata"]["AQM"].update(warnings=["odd"] * 90_000),
    }
    for name, change in many.items():
        yield name, _changed(change, dumps=orjson.dumps)  # ten times as fast
    long = "x" * 1_500_000
    for place in ("metadata/NAME", "metadata/TITLE", "metadata/NOTE", "metadata/HOST",
                  "metadata/LOCAL_HOST", "metadata/BATCH_NAME", "metadata/TIME",
                  "metadata/AQM/requested/aqm", "metadata/TEST_PARAMETERS/cross_traffic",
                  f"metadata/SERIES_META/{ICMP}/UNITS", f"metadata/SERIES_META/{ICMP}/COMMAND",
                  f"raw_values/{ICMP}/3/val", f"raw_values/{ICMP}/3/lost_dir"):
        yield f"long.{place.replace('/', '.')}", _set(place, long)
    for name, text in (("key", "k" * 5_000_000), ("emoji", "x" * 20_000_000 + "\U0001f600"),
                       ("dots", "10.1.2." * 200_000), ("colons", "a:" * 500_000),
                       ("dashes", "-" * 900_000), ("dollars", "$" * 900_000)):
        yield f"note.{name}", _set("metadata/NOTE", text)

        # Its end is as much too long, and costs each reader less than what the note has shown.
        def named(whole: Whole, text: str = text[-5_000_000:]) -> None:
            whole["raw_values"][text] = [sample]

        yield f"series.{name}", _changed(named)


def numbers() -> Named:
    """Numbers that are none, or none that could have been measured."""
    marked = json.dumps({"t": 1}).encode()  # what the text is found by
    for number, text in enumerate((
            b"1e999", b"-1e999", b"NaN", b"Infinity", b"-Infinity", b"1" + b"0" * 400,
            b"9" * 4000, b"-" + b"9" * 4000, b"1e-999", b"0x10", b"1_000", b"01", b"+1", b"1.",
            b"18446744073709551616", b"1e308", b"-0.0")):
        for place in (f"raw_values/{ICMP}/3/val", f"raw_values/{ICMP}/3/t", "metadata/LENGTH"):
            def make(path: Path, text: bytes = text, place: str = place) -> None:
                _set(place, {"t": 1})(path)
                content = gzip.decompress(path.read_bytes())
                assert marked in content
                _write(path, gzip.compress(content.replace(marked, text, 1), 1))

            yield f"{number}.{place.rpartition('/')[2]}", make
    odd: dict[str, tuple[Any, ...]] = {
            "val": (-1, 1e17, 1e300, True, "20", {}, {"a": 1}, [1]),
            "t": (0, -1e9, 1e12, 1e300, "now", {}, None),
            "seq": (-1, 2**40, 2**62, 1.5, 1e300, "7"), "dur": (0, -1, 1e-300, 1e300, "x")}
    for key, values in odd.items():
        for number, value in enumerate(values):
            for series in (ICMP, DOWNLOAD):
                yield f"{series[:3]}.{key}{number}", _set(f"raw_values/{series}/3/{key}", value)
    for key in ("LENGTH", "TOTAL_LENGTH", "STEP_SIZE", "DELAY"):
        for number, value in enumerate((-1, 0, 1e-300, 1e300, "10", [10])):
            yield f"{key}{number}", _set(f"metadata/{key}", value)
    for number, value in enumerate((1e300, -5.0, "x", {})):
        yield f"x{number}", _set("x_values/3", value)
        yield f"result{number}", _set(f"results/{ICMP}/3", value)
    for key in ("LOAD_START", "LOAD_END", "MEAN_VALUE"):
        for number, value in enumerate((0, 1e300, -1, "x", 1e17, 1e16)):
            yield f"{key}{number}", _set(f"metadata/SERIES_META/{DOWNLOAD}/{key}", value)
    for number, value in enumerate((0, -1, 1e300, "100", "=1+1", [], True)):
        yield f"rate{number}", _set("metadata/AQM/requested/rate_down_mbps", value)
        yield f"seed{number}", _set("metadata/AQM/requested/seed", value)


TEXTS = {
    "half": "\ud800", "escape": "\x1b[2J\x1b]0;pwned\x07", "bidi": "a\u202egnp.exe",
    "nul": "a\0b", "lines": "a\nb\r\nc\u2028d", "formula": "=cmd|' /C calc'!A0",
    "at": "@SUM(1+1)*cmd|' /C calc'!A0", "math": "$\\frac{$", "math_deep": "$" + "{" * 150 + "$",
    "format": "%s%n%x{0}{a.b}", "html": "</script><svg onload=alert(1)>", "markup": "[bold]x[/]",
    "quotes": "\"'`;${HOME}$(id)", "path": "../../../../etc/passwd", "zalgo": "e" + "\u0301" * 5000,
    "wide": "\U0001f600" * 3000, "blank": "", "spaces": "   ", "private": "\ue000\U000f0000"}


def strings() -> Named:
    """Text that a terminal, a spreadsheet, a browser or matplotlib would obey, or choke on."""
    places = ("metadata/TITLE", "metadata/NAME", "metadata/NOTE", "metadata/HOST",
              "metadata/BATCH_NAME", "metadata/TIME", "metadata/AQM/requested/aqm",
              "metadata/TEST_PARAMETERS/cross_traffic", f"metadata/SERIES_META/{ICMP}/UNITS")
    for name, text in TEXTS.items():
        for place in places:
            yield f"{name}.{place.rpartition('/')[2]}", _set(place, text)

        def renamed(whole: Whole, text: str = text) -> None:
            whole["metadata"]["NAME"] = "nobody_has_it"
            for part in (whole["raw_values"], whole["results"], whole["metadata"]["SERIES_META"]):
                part[f"{text} (ms)"] = part.pop(ICMP)

        def keyed(whole: Whole, text: str = text) -> None:
            whole["metadata"]["TEST_PARAMETERS"][text] = "1"
            whole["metadata"][text] = {text: text}

        yield f"{name}.series", _changed(renamed)
        yield f"{name}.keys", _changed(keyed)


def parameters() -> Named:
    """Counts that a test definition makes as many runners of, in every way to write one."""
    for number, value in enumerate((
            "1000000", "+1000000", "1_000_000", " 1000000 ", "\uff11000000", 1_000_000, 1e6,
            "9" * 30, "1,1000000", "-1", "x", [1], {"a": 1}, None)):
        for test, key in (("tcp_nup", "upload_streams"), ("tcp_ndown", "download_streams"),
                          ("rrul_var", "bidir_streams"), ("cpu_stress", "n_cpu_runners"),
                          ("ping_exp", "uploads"), ("tcp_compete", "streams")):
            def change(whole: Whole, test: str = test, key: str = key, value: Any = value) -> None:
                whole["metadata"]["NAME"] = test
                whole["metadata"]["TEST_PARAMETERS"][key] = value

            yield f"{test}{number}", _changed(change, "stock_ping")
    for key in ("ping_hosts", "cpu_stats_hosts", "stream_delays", "flows", "ccs"):
        for number, value in enumerate((",".join("abc" for _ in range(3000)), "+" * 9000, "1e9")):
            yield f"{key}{number}", _set(f"metadata/TEST_PARAMETERS/{key}", value)


# Of each kind that JSON has, where another one is expected.
ODD_VALUES: tuple[Any, ...] = (
    None, [], {}, "", "x", -1, 1e300, True, [[1], "a"], {"a": {"b": [None]}}, [{"t": "x"}] * 3,
    "9" * 400)
WRITTEN_BY_US = ("runs/iperf3_download", "runs/ndt7", "runs/aqm_flows", "runs/router_model",
                 "speedtests/cloudflare", "speedtests/webrtc_call", "speedtests/responsiveness")


def objects() -> Named:
    """Another value for each part, at any depth, of what this package writes into metadata, and
    for each field of a sample."""
    turn = 0
    for name in WRITTEN_BY_US:
        whole: Whole = load(GOLDEN.parent / f"{name}{SUFFIX}")
        places = list(_places(whole["metadata"]["AQM"], ("metadata", "AQM")))
        places += _places(whole["metadata"]["SERIES_META"], ("metadata", "SERIES_META"))
        places += [("raw_values", series, 0, field) for series, samples in
                   whole["raw_values"].items() if samples for field in samples[0]]
        for number, place in enumerate(places):
            turn += 1
            yield (f"{name.partition('/')[2]}.{number}",
                   partial(_put, whole, place, ODD_VALUES[turn % len(ODD_VALUES)]))


def _places(tree: Any, above: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Paths to all parts of a tree, of a list the first."""
    inner = tree.items() if isinstance(tree, dict) else list(enumerate(tree))[:1] \
        if isinstance(tree, list) else ()
    for key, value in inner:
        yield (*above, key)
        yield from _places(value, (*above, key))


def _put(whole: Whole, place: tuple[Any, ...], value: Any, path: Path) -> None:
    tree: Any = whole
    for key in place[:-1]:
        tree = tree[key]
    # Back again behind it: to copy all of a run takes longer than to write it.
    there, tree[place[-1]] = tree[place[-1]], value
    _write(path, gzip.compress(_json(whole), 1))
    tree[place[-1]] = there


def _blanks(mega: int) -> bytes:
    """A gzip file of so many million blanks: a million is packed, and that repeated."""
    blanks = b" " * 1_000_000
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    packed = packer.compress(blanks) + packer.flush(zlib.Z_FULL_FLUSH)
    check = 0
    for _ in range(mega):
        check = zlib.crc32(blanks, check)
    empty_last_block = b"\x03\0"
    return (b"\x1f\x8b\x08" + b"\0" * 7 + packed * mega + empty_last_block
            + struct.pack("<LL", check, len(blanks) * mega))


def archives() -> Named:
    """gzip and bzip2 files that are cut, damaged, or archives of very much."""
    good = gzip.compress(_text("stock_ping"))
    empty = gzip.compress(b"", mtime=0)
    for number, cut in enumerate((1, 5, 9, 10, 11, 20, len(good) // 2, len(good) - 9,
                                  len(good) - 1)):
        yield f"cut{number}", _plain(good[:cut])
    draw = random.Random(197)
    for number in range(12):
        damaged = bytearray(good)
        damaged[draw.randrange(len(good))] ^= 1 << draw.randrange(8)
        yield f"bit{number}", _plain(bytes(damaged))
    header = b"\x1f\x8b\x08"
    rest = good[10:]
    for name, content in {
            "members": empty * 9_000 + good, "many_members": empty * 500_000,
            "members_last": good + empty * 500_000, "padded": good + b"\0" * 20_000_000,
            "garbage": good + b"garbage", "twice": good + good, "nested": gzip.compress(good),
            "name": header + b"\x08" + b"\0" * 6 + b"n" * 30_000_000 + b"\0" + rest,
            "comment": header + b"\x10" + b"\0" * 6 + b"\x1b[2J" * 1000 + b"\0" + rest,
            "extra": header + b"\x04" + b"\0" * 6 + b"\xff\xff" + b"x" * 65535 + rest,
            "no_end_of_name": header + b"\x08" + b"\0" * 6 + b"n" * 5_000_000,
            "reserved": header + b"\xe0" + good[4:], "method": b"\x1f\x8b\x07" + good[3:],
            "bomb": _blanks(400), "zlib": zlib.compress(b"{}"),
            "bomb_in_front": _blanks(60) + good,
            "stored": gzip.compress(_text("stock_ping"), 0), "plain": _text("stock_ping"),
            "bzip2": bz2.compress(_text("stock_ping")), "xz": lzma.compress(b"{}"),
            "zeros": b"\0" * 1_000_000}.items():
        yield name, _plain(content)


def kinds(folder: Path) -> Iterator[Path]:
    """Whatever else can have a data file's name: nothing of it is regular, or ends soon."""
    def at(name: str) -> Path:
        return folder / f"kind.{name}{SUFFIX}"

    os.mkfifo(at("fifo"))
    at("link_to_fifo").symlink_to(at("fifo"))
    for name, target in (("zero", "/dev/zero"), ("tty", "/dev/tty"), ("ptmx", "/dev/ptmx"),
                         ("null", "/dev/null"), ("full", "/dev/full"), ("stdin", "/dev/stdin"),
                         ("random", "/dev/urandom"), ("memory", "/proc/self/mem"),
                         ("kmsg", "/proc/kmsg"), ("folder", "/proc"), ("itself", ""),
                         ("nowhere", "/nowhere/at/all"), ("long", "/" + "x" * 3000),
                         ("too_long", "/" + "x" * 300)):
        at(name).symlink_to(target or at(name))
    at("directory").mkdir()
    with at("sparse").open("wb") as file:
        file.truncate(3 << 30)
    with at("sparse_tail").open("wb") as file:
        file.write(gzip.compress(_text("stock_ping")))
        file.truncate(3 << 30)
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(folder)  # a socket's path has at most 107 characters
        try:
            listening.bind(at("socket").name)
        finally:
            os.chdir(here)
    at("empty").touch()
    yield from sorted(folder.glob(f"kind.*{SUFFIX}"))


NAMES = (b"\xff\xfe", b"\x1b[2J\x1b]0;pwned\x07", b"a\nb", b"=cmd|' ! calc'!A0", b"-o", b"--help",
         b"[bold]x", b"$\\frac{$", b"%s%n", "a\u202egnp".encode(), b"<svg onload=x>",
         b"'\"`$(id)", b" ", b"x" * 240, b"...", b"@x", b"\\", b"caf\xc3\xa9", b"10.77.1.2")


def names(folder: Path) -> Iterator[Path]:
    """Names that terminals, spreadsheets or options take for something else."""
    for name in NAMES:
        path = os.path.join(os.fsencode(folder), name + SUFFIX.encode())
        with open(path, "wb") as file:
            file.write((GOLDEN / f"stock_ping{SUFFIX}").read_bytes())
        yield Path(os.fsdecode(path))


CONTENT: dict[str, Callable[[], Named]] = {
    "structure": structure, "sizes": sizes, "numbers": numbers, "strings": strings,
    "parameters": parameters, "objects": objects, "archives": archives, **meaning.FAMILIES}
THIN = ("structure", "numbers", "strings", "parameters", "objects", *meaning.FAMILIES)
PLACES: dict[str, Callable[[Path], Iterator[Path]]] = {"kinds": kinds, "names": names}


# Of every so many-th, only each so many-th: they have thousands, or many of a kind.
THINNER = {"objects": 12, "misnamed": 12, "samples": 2, "contradictions": 2, "texts": 2}


def make_family(family: str, folder: Path, every: int = 1) -> list[Path]:
    """Make the files of a family in a folder; gives their paths. every: of the families that
    vary one thing in many places, only each so many-th."""
    folder.mkdir(parents=True, exist_ok=True)
    if family in PLACES:
        return list(PLACES[family](folder))
    made = []
    for name, make in islice(CONTENT[family](), None, None,
                             every * THINNER.get(family, 1) if family in THIN else 1):
        path = folder / f"{family}.{name}{SUFFIX}"
        assert not path.exists(), path
        make(path)
        made.append(path)
    return made

# SPDX-License-Identifier: GPL-3.0-or-later
"""NDT7 downloads of a file: a data file of Flent's, or JSON as M-Lab archives it.

M-Lab's is one object for each test (github.com/m-lab/ndt-server, data/result.go: NDT7Result), alone
in a file, or a line each; its archives are tar files of such files, and BigQuery's exports have the
object under "raw". Times in it are in us, and those
of the kernel's TCP_INFO. Only the sender's TCP_INFO tells of the queue, so uploads are left out:
M-Lab archives the receiver's.
"""

from __future__ import annotations

import io
import itertools
import os
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy

from flent_aqm.base.errors import BadResult
from flent_aqm.results.data_file import DataFile, Numbers, a_number, as_data_file
from flent_aqm.results.reading.limits import limits
from flent_aqm.results.reading.parse import parse
from flent_aqm.results.reading.unpack import unpack_file, unpack_member

# M-Lab's server measures about 40 times; a program that asks each ms has no more to tell.
MOST_SAMPLES = 20_000
MOST_TESTS = 100_000
# Fewer than these are no test of ten seconds.
FEWEST_SAMPLES = 8
_LONGEST_S = 3600.0
# The word that a tar file has at this place (POSIX ustar).
_TAR_WORD, _TAR_WORD_AT = b"ustar", 257
_ARCHIVED = (".json", ".json.gz")


class UploadsOnly(BadResult):
    """A file has tests, all of which are uploads, which nothing is wrong with. count: how many."""

    def __init__(self, message: str, count: int) -> None:
        super().__init__(message)
        self.count = count


class _NotUsable(BadResult):
    """A download tells nothing of its queue, for this reason."""


@dataclass(frozen=True, eq=False)
class Download:
    """What a sender knew. at_s: since it began, ascending; of the others, at these times: round
    trips in ms (smoothed, and the least so far), bytes since it began. bbr: whether BBR decided how
    fast it sent. name: of the test, in a file with several."""

    name: str
    bbr: bool
    at_s: Numbers
    rtt_ms: Numbers
    min_rtt_ms: Numbers
    acked_bytes: Numbers
    sent_bytes: Numbers
    retransmitted_bytes: Numbers

    @property
    def throughput_mbps(self) -> float:
        """Mean, of what arrived."""
        return float(self.acked_bytes[-1] * 8e-6 / self.at_s[-1])

    @property
    def loses(self) -> bool:
        """Whether anything was sent again."""
        return bool(self.retransmitted_bytes[-1] > 0)


def read_downloads(path: Path) -> list[Download]:
    """Return the NDT7 downloads in a file or in M-Lab's archive of files. Raises BadResult, with
    the path and, where all downloads are of no use, the reason of the first; UploadsOnly where
    there are uploads alone."""
    found = _Found()
    try:
        whole = unpack_file(path, limits())
        for download in itertools.islice(_downloads(whole, path, found), MOST_TESTS):
            found.downloads.append(download)
    except OSError as error:
        raise BadResult(f"{path}: {error.strerror or error}") from None
    except (ValueError, BadResult) as error:
        raise BadResult(f"{path}: {error}") from None
    if found.downloads:
        return found.downloads
    if found.reasons:
        raise BadResult(f"{path}: {found.reasons[0]}")
    if found.uploads:
        raise UploadsOnly(f"{path}: {found.uploads} uploads and no download; only a download's "
                          "sender, the server, tells of the queue", found.uploads)
    raise BadResult(f"{path}: no NDT7 download with the sender's TCP_INFO; expected a data "
                    "file of a test ndt7…, or JSON of M-Lab's NDT7 archive")


@dataclass
class _Found:
    """What a file has: downloads, reasons why others are of no use, and how many uploads."""

    downloads: list[Download] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    uploads: int = 0


def _downloads(text: bytearray, path: Path, found: _Found) -> Iterator[Download]:
    """Yield the downloads of a file's text. found: gets what else there is."""
    if text[_TAR_WORD_AT:_TAR_WORD_AT + len(_TAR_WORD)] == _TAR_WORD:
        for name, inner in _in_archive(text):
            yield from _of_tests(_tests(inner), name, found)
    elif b"raw_values" in text:  # no word of M-Lab's
        try:
            yield from of_data_file(as_data_file(parse(text), path))
        except _NotUsable as fault:
            found.reasons.append(str(fault))
    else:
        yield from _of_tests(_tests(text), "", found)


def _in_archive(text: bytearray) -> Iterator[tuple[str, bytearray]]:
    """Yield name and text of each JSON file in a tar file. Nothing of it is written to a disk.
    Raises BadResult where all of them together go beyond the limits."""
    allowed = limits()
    left = allowed.unpacked_bytes
    try:
        with tarfile.open(fileobj=io.BytesIO(text)) as archive:
            for member in archive:
                if not member.isreg() or not member.name.endswith(_ARCHIVED):
                    continue
                file = archive.extractfile(member)
                assert file is not None, "it is a regular file"
                inner = unpack_member(file, member.name, replace(allowed, unpacked_bytes=left))
                left -= len(inner)
                yield os.path.basename(member.name)[:80], inner
    except (tarfile.TarError, EOFError) as error:
        raise BadResult(f"damaged ({error})") from None


def _tests(text: bytearray) -> list[Any]:
    """Return the tests of a file: a line each, or one object that has line ends in it. Raises
    BadResult."""
    try:
        return [parse(line) for line in text.splitlines() if line.strip()]
    except BadResult:
        return [parse(text)]


def _of_tests(tests: Sequence[Any], name: str, found: _Found) -> Iterator[Download]:
    for number, test in enumerate(tests, 1):
        called = name or _uuid(test) or (f"test {number}" if len(tests) > 1 else "")
        try:
            download = _of_mlab(test, called)
        except _NotUsable as fault:
            found.reasons.append(f"{called}: {fault}" if called else str(fault))
            continue
        if download is not None:
            yield download
        elif isinstance(_part(test, "Upload"), dict):
            found.uploads += 1


def of_data_file(data: DataFile) -> Iterator[Download]:
    """Yield the downloads of a data file. Raises BadResult."""
    requested = data.metadata.get("AQM", {})
    requested = requested.get("requested", {}) if isinstance(requested, dict) else {}
    cc = requested.get("ndt7_cc", "bbr") if isinstance(requested, dict) else "bbr"
    for name, meta in data.series_meta.items():
        begun_s = a_number(meta.get("LOAD_START"))
        if meta.get("RUNNER") != "AqmNdt7Runner" or not name.endswith("download") \
                or begun_s is None:
            continue
        rows = [(at_s - begun_s, *values) for sample in data.raw_values.get(name, [])
                if (at_s := a_number(sample.get("t"))) is not None
                and (values := _numbers(sample, _OURS)) is not None]
        yield _download("", cc == "bbr", rows, ms=1.0)


_OURS = ("tcp_rtt", "tcp_min_rtt", "bytes_acked", "bytes_sent", "bytes_retrans")
_MLABS = ("RTT", "MinRTT", "BytesAcked", "BytesSent", "BytesRetrans")
_SINCE_4_19 = ("BytesSent", "BytesRetrans")


def _numbers(sample: Mapping[str, Any], names: Sequence[str]) -> tuple[float, ...] | None:
    """Return the values; None where one is missing."""
    values = tuple(a_number(sample.get(name)) for name in names)
    return None if None in values else values  # type: ignore[return-value]


def _part(test: Any, name: str) -> Any:
    """Return a part of an archived test, None where it has none."""
    if not isinstance(test, dict):
        return None
    inner = test.get("raw")
    return (inner if isinstance(inner, dict) else test).get(name)


def _of_mlab(test: Any, name: str) -> Download | None:
    """Return the download of an archived test; None where it has none. Raises _NotUsable with the
    reason, BadResult beyond the limits."""
    part = _part(test, "Download")
    measured = part.get("ServerMeasurements") if isinstance(part, dict) else None
    if not isinstance(measured, list):
        return None
    rows, bbr = [], False
    absent: dict[str, int] = {}
    for one in measured:
        tcp = one.get("TCPInfo") if isinstance(one, dict) else None
        if not isinstance(tcp, dict):
            continue
        bbr = bbr or bool(one.get("BBRInfo"))
        values = _numbers(tcp, ("ElapsedTime", *_MLABS))
        if values is not None:
            rows.append((values[0] / 1e6, *values[1:]))
            continue
        for key in ("ElapsedTime", *_MLABS):
            absent[key] = absent.get(key, 0) + (a_number(tcp.get(key)) is None)
    if len(rows) < FEWEST_SAMPLES and sum(absent.values()) > len(rows):
        key = max(absent, key=lambda each: absent[each])
        raise _NotUsable(f"its TCP_INFO has no {key}"
                         + (", which Linux has since 4.19" if key in _SINCE_4_19 else ""))
    return _download(name, bbr, rows, ms=1e-3)


def _uuid(test: Any) -> str:
    """Return the name that M-Lab's server gave to a test's download, "" if there is none."""
    part = _part(test, "Download")
    uuid = part.get("UUID") if isinstance(part, dict) else None
    return uuid if isinstance(uuid, str) else ""


def _download(name: str, bbr: bool, rows: Sequence[tuple[float, ...]], ms: float) -> Download:
    """Return a download. ms: of one unit of round trips. Raises _NotUsable for fewer samples than
    tell anything, BadResult for more than the limits."""
    if len(rows) > MOST_SAMPLES:
        raise BadResult(f"{len(rows):,} measurements in one download; expected {MOST_SAMPLES:,} at "
                        "most")
    # In order of time, each moment once, from when the first data was acknowledged.
    usable = sorted({row[0]: row for row in rows if 0 < row[0] <= _LONGEST_S
                     and min(row[1:]) >= 0 and row[3] > 0}.values())
    if len(usable) < FEWEST_SAMPLES:
        raise _NotUsable(f"only {len(usable)} measurements with data; {FEWEST_SAMPLES} or more "
                         "tell of a queue")
    table = numpy.array(usable, dtype=float).T
    counts = numpy.maximum.accumulate(table[3:], axis=1)
    if counts.max() > 1e15 or table[1:3].max() * ms > 1e7:
        raise BadResult("a download has counters or round trips beyond any network's")
    return Download(name, bbr, table[0], table[1] * ms, table[2] * ms, *counts)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Read NDT7 downloads from Flent's data files, or from JSON of M-Lab's archive.

M-Lab's JSON has an object per test (github.com/m-lab/ndt-server, data/result.go: NDT7Result),
either alone in a file or one per line. Its archives are tar files of such files. BigQuery's exports
have the object under "raw". Times are in us, as in the kernel's TCP_INFO. Uploads are left out:
only the sender's TCP_INFO shows the queue, and M-Lab archives the receiver's.
"""

from __future__ import annotations

import io
import itertools
import os
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy

from flent_aqm.base.errors import BadResult, cause_of
from flent_aqm.base.words import counted
from flent_aqm.results.data_file import DataFile, Numbers, a_number, as_data_file
from flent_aqm.results.reading.limits import limits
from flent_aqm.results.reading.parse import parse
from flent_aqm.results.reading.unpack import unpack_file, unpack_member

# Most samples of a download. M-Lab's server takes about 25. A sample per ms would be fewer.
MOST_SAMPLES = 20_000
MOST_TESTS = 100_000
# Most characters of a test's name: those of M-Lab's archive have about 90.
LONGEST_NAME = 120
# Least number of samples of a file that is read. More are needed to judge it: refusal.py.
FEWEST_SAMPLES = 8
_LONGEST_S = 3600.0
# Magic word of a tar file and its offset (POSIX ustar).
_TAR_WORD, _TAR_WORD_AT = b"ustar", 257
_ARCHIVED = (".json", ".json.gz")


class UploadsOnly(BadResult):
    """A file of M-Lab's, JSON or an archive, has uploads and no download. Uploads aren't judged.

    Attributes:
        count: number of uploads.
    """

    def __init__(self, message: str, count: int) -> None:
        super().__init__(message)
        self.count = count


class NoDownload(BadResult):
    """A file that can be read has no NDT7 download: it is of another test, or a data file whose
    download failed. Uploads of a data file don't count."""


class _NotUsable(BadResult):
    """A download lacks data, such as enough measurements, so it is left out of those that are read.
    The text is the reason."""


@dataclass(frozen=True, eq=False)
class Download:
    """The sender's TCP statistics during a download. Each array has an element per sample.

    Attributes:
        name: name of the test: that of its file in an archive, else the download's UUID, else "test
            N" in a file of several tests. "" for a single test without UUID and for a data file.
        bbr: True if BBR controlled the rate.
        at_s: time since the download began, ascending.
        rtt_ms: smoothed round-trip time.
        min_rtt_ms: least round-trip time so far.
        acked_bytes: acknowledged bytes since the download began.
        sent_bytes: sent bytes since the download began, with retransmissions.
        retransmitted_bytes: retransmitted bytes since the download began.
        window_share: share of the download's time, from 0 to 1, in which the receiver's window kept
            the sender from sending. None if it isn't known, as in a data file.
        buffer_share: the same for the sender's own buffer.
        idle_share: share of the time in which nothing was in flight, None if it isn't known.
    """

    name: str
    bbr: bool
    at_s: Numbers
    rtt_ms: Numbers
    min_rtt_ms: Numbers
    acked_bytes: Numbers
    sent_bytes: Numbers
    retransmitted_bytes: Numbers
    window_share: float | None = None
    buffer_share: float | None = None
    idle_share: float | None = None

    @property
    def throughput_mbps(self) -> float:
        """Mean rate of acknowledged bytes, in Mbit/s."""
        return float(self.acked_bytes[-1] * 8e-6 / self.at_s[-1])

    @property
    def loses(self) -> bool:
        """Whether anything was retransmitted."""
        return bool(self.retransmitted_bytes[-1] > 0)


def read_downloads(path: Path) -> list[Download]:
    """Return the NDT7 downloads in a file: a data file, M-Lab's JSON, or a tar file of M-Lab's
    archive. Unusable downloads are left out if there is a usable one. After 100,000 usable
    downloads (MOST_TESTS) the rest is ignored.

    Raises UploadsOnly, a BadResult, if a file of M-Lab's has uploads and no download, NoDownload,
    another BadResult, if a file has no download otherwise. Raises BadResult with the path if the
    file can't be read, is damaged or exceeds the limits, if a download has too many samples or
    impossible values, or if it has downloads and none is usable, for the reason that the first one
    isn't.
    """
    found = _Found()
    try:
        whole = unpack_file(path, limits())
        for download in itertools.islice(_read_content(whole, path, found), MOST_TESTS):
            found.downloads.append(download)
    except OSError as error:
        raise BadResult(f"{path}: {cause_of(error)}") from None
    except (ValueError, BadResult) as error:
        raise BadResult(f"{path}: {error}") from None
    if found.downloads:
        return found.downloads
    if found.reasons:
        raise BadResult(f"{path}: {found.reasons[0]}")
    if found.uploads:
        raise UploadsOnly(f"{path}: {counted(found.uploads, 'upload')} and no download; the "
                          "queue is inferred from TCP_INFO of a download's sender, the server",
                          found.uploads)
    raise NoDownload(f"{path}: no NDT7 download with the sender's TCP_INFO; expected a data "
                     "file of a test ndt7… whose download succeeded, or JSON of M-Lab's NDT7 "
                     "archive")


@dataclass
class _Found:
    """Contents of a file, as far as it was read.

    Attributes:
        downloads: the usable downloads.
        reasons: why downloads are unusable, a text for each.
        uploads: number of tests of a file of M-Lab's with an upload and no download.
    """

    downloads: list[Download] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    uploads: int = 0


def _read_content(text: bytearray, path: Path, found: _Found) -> Iterator[Download]:
    """Yield the usable downloads of a file's content: a tar file with M-Lab's JSON, a data file, or
    else M-Lab's JSON. The content decides, not the path.

    Args:
        text: the content, unpacked.
        path: path of the file.
        found: gets the reasons of unusable downloads, and of M-Lab's files the number of tests
            with an upload and no download.

    Raises BadResult if the content is damaged or exceeds the limits, or if a download has too many
    samples or impossible values.
    """
    if text[_TAR_WORD_AT:_TAR_WORD_AT + len(_TAR_WORD)] == _TAR_WORD:
        for name, inner in _json_in_archive(text):
            with _named(name):
                yield from _downloads_of_tests(_parse_tests(inner), name, found)
    elif b"raw_values" in text:  # no word of M-Lab's
        yield from downloads_of_data_file(as_data_file(parse(text), path), found.reasons)
    else:
        try:
            tests = _parse_tests(text)
        except BadResult as fault:
            raise BadResult(f"{fault}; expected a data file, or M-Lab's JSON or tar file") from None
        yield from _downloads_of_tests(tests, "", found)


def _json_in_archive(text: bytearray) -> Iterator[tuple[str, bytearray]]:
    """Yield name and content of each regular file NAME.json or NAME.json.gz in a tar file: the name
    without folders, at most 120 characters (LONGEST_NAME) of it, and the unpacked content. Other
    files are passed over. Nothing is written to disk.

    Args:
        text: the tar file, not compressed.

    Raises BadResult if the tar file or such a file in it is damaged, if the contents together
    exceed the limit of size, or if one alone exceeds a limit. If it is one file's fault, the
    message begins with "its NAME: ".
    """
    allowed = limits()
    left = allowed.unpacked_bytes
    try:
        with tarfile.open(fileobj=io.BytesIO(text), mode="r:") as archive:
            for member in archive:
                if not member.isreg() or not member.name.endswith(_ARCHIVED):
                    continue
                file = archive.extractfile(member)
                assert file is not None, "it is a regular file"
                name = os.path.basename(member.name)[:LONGEST_NAME]
                with _named(name):
                    inner = unpack_member(file, member.name, allowed)
                left -= len(inner)
                if left < 0:
                    raise BadResult("the files in it, unpacked, have together more than "
                                    f"{allowed.unpacked_bytes >> 20} MiB{allowed.hint}")
                yield name, inner
            # tarfile takes a wrong header after the first for the archive's end.
            if text[archive.offset:archive.offset + tarfile.BLOCKSIZE] != bytes(tarfile.BLOCKSIZE):
                raise BadResult("damaged tar file (it has no end, or a wrong header after some "
                                "files); get it again")
    # tarfile has no TarError for wrong numbers in extended headers.
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise BadResult(f"damaged tar file ({cause_of(error)}); get it again") from None


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Context manager: begin the message of each BadResult that the block raises with the name of
    the file in the archive that it is about."""
    try:
        yield
    except BadResult as error:
        raise BadResult(f"its {name}: {error}") from None


def _parse_tests(text: bytearray) -> list[Any]:
    """Parse a file with one JSON value per line, or with a single one of several lines. Return the
    values, which need not be objects. Empty for a blank text. Raises BadResult if it is neither.
    The message names the first faulty line if a value stands before it."""
    tests: list[Any] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            tests += [parse(line)] if line.strip() else []
        except BadResult as fault:
            try:
                return [parse(text)]
            except BadResult:
                if not tests:
                    raise
            # As a single value, it would be wrong where the second line's value begins.
            raise BadResult(f"line {number}: {fault}") from None
    return tests


def _downloads_of_tests(tests: Sequence[Any], name: str, found: _Found) -> Iterator[Download]:
    """Yield the usable downloads of M-Lab's tests. Each is called `name`. If that is "", it is
    called by the UUID that M-Lab's server gave it, otherwise "test N", counted from 1, or "" if
    there is only one test.

    Args:
        tests: the parsed JSON of the tests. What isn't a test with a download is passed over.
        name: name of the file in an archive, "" otherwise.
        found: gets the number of tests with an upload and no download, and the reasons of unusable
            downloads.

    Raises BadResult if a download has too many samples or impossible values.
    """
    for number, test in enumerate(tests, 1):
        called = name or _download_uuid(test) or (f"test {number}" if len(tests) > 1 else "")
        try:
            download = _download_of_test(test, called)
        except _NotUsable as fault:
            found.reasons.append(f"{called}: {fault}" if called else str(fault))
            continue
        if download is not None:
            yield download
        elif isinstance(_test_part(test, "Upload"), dict):
            found.uploads += 1


def downloads_of_data_file(data: DataFile, reasons: list[str]) -> Iterator[Download]:
    """Yield the usable NDT7 downloads of a data file that this package's runner measured. Other
    series are ignored, and so are those without the time at which the load began.

    Args:
        data: the data file.
        reasons: gets the reason of each unusable download.

    Raises BadResult if a download has too many samples or impossible values.
    """
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
        try:
            yield _make_download("", cc == "bbr", rows, ms=1.0)
        except _NotUsable as fault:
            reasons.append(str(fault))


# Fields of a sample in a data file, and the same fields in M-Lab's TCP_INFO.
_OURS = ("tcp_rtt", "tcp_min_rtt", "bytes_acked", "bytes_sent", "bytes_retrans")
_MLABS = ("RTT", "MinRTT", "BytesAcked", "BytesSent", "BytesRetrans")
_SINCE_4_19 = ("BytesSent", "BytesRetrans")
# Times in M-Lab's TCP_INFO in which the sender was limited or busy, in us since the beginning.
_TIMES = ("RWndLimited", "SndBufLimited", "BusyTime")
_WHOLE = re.compile(r"-?[0-9]{1,18}")


def _numbers(sample: Mapping[str, Any], names: Sequence[str]) -> tuple[float, ...] | None:
    """Return the numbers under these names, as _count() reads them. None if one is missing or can't
    be read so."""
    values = tuple(_count(sample.get(name)) for name in names)
    return None if None in values else values  # type: ignore[return-value]


def _count(value: Any) -> float | None:
    """Return a number, or the whole number of up to 18 digits that a text is: BigQuery exports
    integers as texts. None for any other value."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return float(value)
    return a_number(value)


def _test_part(test: Any, name: str) -> Any:
    """Return a part of M-Lab's test, which may be any JSON value. None if the test lacks it or
    isn't a JSON object. If the test has an object "raw", the part is looked for only in that.

    Args:
        test: the parsed JSON of the test.
        name: "Download" or "Upload".
    """
    if not isinstance(test, dict):
        return None
    inner = test.get("raw")
    return (inner if isinstance(inner, dict) else test).get(name)


def _download_of_test(test: Any, name: str) -> Download | None:
    """Return the download of M-Lab's test, None if it has none with a list of the server's
    measurements.

    Args:
        test: the parsed JSON of the test.
        name: name for the download.

    Raises _NotUsable if fewer than 8 measurements (FEWEST_SAMPLES) are usable, BadResult if there
    are more than 20,000 measurements with all fields (MOST_SAMPLES), or a counter or round trip is
    impossibly large.
    """
    part = _test_part(test, "Download")
    measured = part.get("ServerMeasurements") if isinstance(part, dict) else None
    if not isinstance(measured, list):
        return None
    rows, incomplete, bbr = [], 0, False
    shares: tuple[float | None, ...] = (None, None, None)
    absent: dict[str, int] = {}
    for one in measured:
        tcp = one.get("TCPInfo") if isinstance(one, dict) else None
        if not isinstance(tcp, dict):
            continue
        bbr = bbr or bool(one.get("BBRInfo"))
        values = _numbers(tcp, ("ElapsedTime", *_MLABS))
        if values is not None:
            rows.append((values[0] / 1e6, *values[1:]))
            shares = tuple(_time_share(tcp.get(key), values[0]) for key in _TIMES)
            continue
        incomplete += 1
        for key in ("ElapsedTime", *_MLABS):
            absent[key] = absent.get(key, 0) + (_count(tcp.get(key)) is None)
    if not rows and not absent:
        raise _NotUsable(f"no TCPInfo in its {counted(len(measured), 'measurement')}"
                         if measured else "it has no measurements")
    if len(rows) < FEWEST_SAMPLES and sum(absent.values()) > len(rows):
        key = max(absent, key=lambda each: absent[each])
        few = "" if absent[key] == len(rows) + incomplete else (
            f" in {absent[key]} of {len(rows) + incomplete} measurements")
        raise _NotUsable(f"its TCP_INFO has no number {key}{few}"
                         + (", which Linux has since 4.19" if key in _SINCE_4_19 else ""))
    window, buffer, busy = shares
    return replace(_make_download(name, bbr, rows, ms=1e-3), window_share=window,
                   buffer_share=buffer, idle_share=None if busy is None else 1 - busy)


def _time_share(spent_us: Any, elapsed_us: float) -> float | None:
    """Return the share of a time in the elapsed time, at most 1. None if the time is missing, no
    number or below 0, or no time has elapsed."""
    spent = _count(spent_us)
    if spent is None or spent < 0 or elapsed_us <= 0:
        return None
    return min(spent / elapsed_us, 1.0)


def _download_uuid(test: Any) -> str:
    """Return the name that M-Lab's server gave to a test's download, "" if there is none."""
    part = _test_part(test, "Download")
    uuid = part.get("UUID") if isinstance(part, dict) else None
    return uuid if isinstance(uuid, str) else ""


def _make_download(name: str, bbr: bool, rows: Sequence[tuple[float, ...]],
                   ms: float) -> Download:
    """Return a download from rows of samples in any order; its samples are sorted by time. Of rows
    with equal times the last one counts. Rows without acknowledged data, with a negative value, or
    with a time that isn't above 0 and at most 3600 s are left out. A counter that falls keeps its
    greatest value so far.

    Args:
        name: name of the test.
        bbr: True if BBR controlled the rate.
        rows: time in s, smoothed and least round-trip time, acknowledged, sent and retransmitted
            bytes.
        ms: ms per unit of the round-trip times.

    Raises _NotUsable if fewer than 8 rows (FEWEST_SAMPLES) are left. Raises BadResult if there are
    more than 20,000 rows (MOST_SAMPLES), or a counter or round trip is impossibly large.
    """
    if len(rows) > MOST_SAMPLES:
        raise BadResult(f"{len(rows):,} measurements in one download; expected {MOST_SAMPLES:,} at "
                        "most")
    # Sorted by time, each time once, beginning with the first acknowledged data.
    usable = sorted({row[0]: row for row in rows if 0 < row[0] <= _LONGEST_S
                     and min(row[1:]) >= 0 and row[3] > 0}.values())
    if len(usable) < FEWEST_SAMPLES:
        raise _NotUsable(
            f"only {len(usable)} of {counted(len(rows), 'measurement')} with complete TCP_INFO can "
            f"be used; expected {FEWEST_SAMPLES} or more, each with a time of its own above 0 and "
            f"up to {_LONGEST_S:,g} s, acknowledged data, and no negative value")
    table = numpy.array(usable, dtype=float).T
    counts = numpy.maximum.accumulate(table[3:], axis=1)
    if counts.max() > 1e15:
        raise BadResult(f"a download has a counter of {counts.max():,.17g} bytes, which is "
                        "impossible; expected 1e15 at most: get the file again")
    if table[1:3].max() * ms > 1e7:
        # To the digit, so that it is never shown as what is allowed.
        raise BadResult(f"a download has a round trip of {table[1:3].max() * ms / 1000:,.16g} s, "
                        "which is impossible; expected 10,000 s at most: get the file again")
    return Download(name, bbr, table[0], table[1] * ms, table[2] * ms, *counts)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Apply a function to each of many data files, on all processor cores.

Each process holds one file in memory.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from flent_aqm.base.errors import BadResult, ConfigError, a_defect, cause_of, why_unreadable
from flent_aqm.base.regular_file import open_regular
from flent_aqm.base.waiting import with_progress
from flent_aqm.base.words import plain
from flent_aqm.results.data_file import (
    NETPERF_WRAPPER_SUFFIX,
    SUFFIX,
    SUFFIXES,
    TOOLS_LOG_SUFFIX,
    DataFile,
    read_data_file,
)
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.status import NAME as STATUS

Result = TypeVar("Result")

# Bytes at the beginning by which a data file is recognised, and zlib's window size for gzip.
_BEGINNING_BYTES, _WITH_GZIP_HEADER = 1 << 16, 31
# Starting processes takes longer than reading fewer files than this.
FEWEST_FOR_PROCESSES = 16


def find_files(paths: Sequence[Path]) -> list[Path]:
    """Return the paths in their order, with each folder replaced by the data files in and below it,
    sorted by path, without hidden files and symbolic links (see files_below(), which prints a line
    for some). Hidden folders are searched, too. Each path is returned once. A file that is named
    itself may have any suffix.

    Named files of a sweep that are no data files are left out, because `*` of a shell matches them:
    its sweep.json, *.debug.log.gz, and NAME.log or NAME.pcap with NAME.flent.gz beside it. Raises
    ConfigError if a path does not exist or can't be looked up, if a folder has no data files or
    can't be read, or if `paths` names only files that are left out. Empty if `paths` is.
    """
    files: dict[Path, None] = {}
    for path in paths:
        # os.path: Path.is_dir() and exists() raise where a folder above can't be looked into.
        if os.path.isdir(path):
            below = sorted(files_below(path))
            if not below:
                raise ConfigError(f"{path}: {_why_no_files(path)}")
            files.update(dict.fromkeys(below))
        elif why := _why_unusable(path):
            raise ConfigError(f"{path}: {why}; expected a data file or a folder of data files")
        elif not _is_of_sweep(path):
            files[path] = None
    if paths and not files:
        raise ConfigError(f"{paths[0]}: a log, capture or status of a sweep, not a data file; "
                          f"expected *{SUFFIX}")
    return list(files)


def _is_of_sweep(path: Path) -> bool:
    """Return whether a file is a sweep's status (sweep.json), the output of a run's tools
    (*.debug.log.gz), or another log or capture, NAME.log or NAME.pcap, with NAME.flent.gz beside
    it."""
    return path.name == STATUS or path.name.endswith(TOOLS_LOG_SUFFIX) or (
        path.suffix in (".log", ".pcap") and os.path.exists(path.with_suffix(SUFFIX)))


def _why_no_files(folder: Path) -> str:
    """Return the reason why no data file was found in and below a folder: it can't be read, or it
    has none."""
    if why := why_unreadable(folder):
        return f"this folder can't be read: {why}"
    names = ", ".join(f"*{suffix}" for suffix in SUFFIXES)
    return (f"no data files ({names}, or netperf-wrapper's *{NETPERF_WRAPPER_SUFFIX}) in this "
            "folder or below it; hidden files, links, and folders that can't be read are left out")


def _why_unusable(path: Path) -> str:
    """Return the reason why a path can't be looked up, such as "not found". Return "" if there is
    something at the path, even a file that can't be read or a link to nothing."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return "not found"
    except (OSError, ValueError) as error:
        return cause_of(error)
    return ""


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the data files in and below a folder, in any order: those with one of SUFFIXES, and
    *.json.gz with a key of a data file near its beginning. Folders that can't be read, links to
    folders, and hidden files are skipped. Hidden folders are not.

    Symbolic links with one of these suffixes, hidden ones too, are skipped with a line on standard
    error, and not looked into: in a folder from somebody else, a link may lead to any file.
    """
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith((*SUFFIXES, NETPERF_WRAPPER_SUFFIX)) and os.path.islink(
                    os.path.join(place, name)):
                print(f"flent-aqm: skipped: {plain(os.path.join(place, name))}: a symbolic link in "
                      "a folder is not followed; name the link itself to read its file",
                      file=sys.stderr)
            elif not name.startswith(".") and (
                    name.endswith(SUFFIXES) or (name.endswith(NETPERF_WRAPPER_SUFFIX)
                                                and _is_of_netperf_wrapper(Path(place, name)))):
                yield Path(place, name)


def _is_of_netperf_wrapper(path: Path) -> bool:
    """Return whether the beginning of a gzip file has a key of a data file. Files of other programs
    have the same suffix. False if it can't be read or is not compressed by gzip."""
    try:
        with open_regular(path) as file:
            text = zlib.decompressobj(_WITH_GZIP_HEADER).decompress(file.read(_BEGINNING_BYTES),
                                                                    _BEGINNING_BYTES)
    except (OSError, zlib.error):
        return False
    return any(word in text for word in (b'"metadata":', b'"x_values":', b'"raw_values":'))


class Sampled(Protocol):
    """Interface of a run that records which samples it has.

    Attributes:
        path: path of its data file.
        settings: name of a setting -> value.
        samples: hash of its samples, "" if it has none.
    """

    @property
    def path(self) -> Path: ...

    @property
    def settings(self) -> Mapping[str, object]: ...

    @property
    def samples(self) -> str: ...


SampledRun = TypeVar("SampledRun", bound=Sampled)


def counted_once(runs: Sequence[SampledRun]) -> tuple[list[SampledRun], str]:
    """Return the runs in their order, only the first of each measurement, and a line about the
    repetitions that were left out, "" if there are none.

    Runs with the same samples and settings are one measurement, such as copies of a file, or runs
    of the lab with the same seed. They would count several times in every interval. Runs without
    samples are repetitions only if they have the same path.
    """
    first: dict[object, SampledRun] = {}
    kept, copies = [], []
    for run in runs:
        key = (run.samples, frozenset(run.settings.items())) if run.samples else run.path
        if first.setdefault(key, run) is run:
            kept.append(run)
        else:
            copies.append((run, first[key]))
    if not copies:
        return kept, ""
    again, of = copies[0]
    return kept, (f"{len(copies)} of {len(runs)} files repeat another one sample by sample, such "
                  f"as {plain(again.path)} and {plain(of.path)}: the same run, which counts once")


def each_run(
    files: Sequence[Path], work: Callable[[Run], Result], jobs: int | None = None
) -> Iterator[tuple[Path, Result | BadResult]]:
    """Yield each file's path with the result of `work` for the run in it, in the order of the
    files. The result is a BadResult if the file can't be read or is damaged, or if `work` raised an
    error: with the text of a BadResult, otherwise with a text that calls the error a bug. Progress
    is shown on a terminal.

    Args:
        files: data files.
        work: a function of a module, or partial() of one, because it may be sent to other
            processes, see each_file(). Pickle must accept its result.
        jobs: largest number of processes, None for one per core. 1 reads all files in this process.
    """
    return each_file(files, partial(_work_on_run, work), jobs)


def each_file(
    files: Sequence[Path], work: Callable[[DataFile], Result], jobs: int | None = None
) -> Iterator[tuple[Path, Result | BadResult]]:
    """Yield each file's path with the result of `work` for its content, in the order of the files.
    The result is a BadResult if the file can't be read or is damaged, or if `work` raised an error:
    with the text of a BadResult, otherwise with a text that calls the error a bug. 16
    (FEWEST_FOR_PROCESSES) or more files are read by other processes, unless `jobs`, or the number
    of cores, allows only one. Progress is shown on a terminal.

    Args:
        files: data files.
        work: a function of a module, or partial() of one, because it may be sent to other
            processes. Its result is sent back, so pickle must accept it.
        jobs: largest number of processes, None for one per core. At most one process is used for
            every four files. 1 reads all files in this process.
    """
    doing = partial(_result_or_error, work)
    jobs = min(jobs or len(os.sched_getaffinity(0)), len(files) // 4)
    if len(files) < FEWEST_FOR_PROCESSES or jobs < 2:
        yield from _with_progress(files, map(doing, files))
        return
    # Each process is forked from a server that has imported all modules. Forking this process could
    # copy a thread's lock.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["flent_aqm.results.many_files", work_module(work)])
    with context.Pool(jobs) as pool:
        yield from _with_progress(files, pool.imap(doing, files, chunksize=8))


def _with_progress(
    files: Sequence[Path], results: Iterable[Result | BadResult]
) -> Iterator[tuple[Path, Result | BadResult]]:
    """Yield each file with its result, in the order of the files, and show the progress on a
    terminal.

    Args:
        files: the files.
        results: an iterator that does the work: a result for each file, in the same order.
    """
    return with_progress(zip(files, results, strict=True), len(files), "reading data files")


def work_module(work: Callable[..., object]) -> str:
    """Return the name of the module in which a function is defined. For a partial() it is that of
    the function inside, and for partial(_work_on_run, f) that of f."""
    while isinstance(work, partial):
        work = work.args[0] if work.func is _work_on_run else work.func
    return str(work.__module__)


def _work_on_run(work: Callable[[Run], Result], data: DataFile) -> Result:
    """Return the result of `work` for the run in a data file. Raises BadResult as as_run() does,
    and what `work` raises."""
    return work(as_run(data))


def _result_or_error(work: Callable[[DataFile], Result], path: Path) -> Result | BadResult:
    """Return the result of `work` for a file. If reading the file or `work` raises BadResult,
    return a BadResult with its text. For any other error, return a BadResult that begins with the
    path and calls the error a bug."""
    try:
        return work(read_data_file(path))
    except BadResult as error:
        return BadResult(str(error))
    except Exception as error:  # an error in one file must not affect the others
        return BadResult(f"{path}: {a_defect(error)}")

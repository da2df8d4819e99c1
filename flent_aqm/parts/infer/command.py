# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm infer`: print the kind of queue of NDT7 downloads, and how probable it is."""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path

from flent_aqm.base.errors import BadResult, ConfigError, why_unreadable
from flent_aqm.base.json_text import json_text
from flent_aqm.base.words import counted, plain
from flent_aqm.parts.infer.classes import CANT_TELL, LEAST_PROBABILITY
from flent_aqm.parts.infer.features import FEATURES
from flent_aqm.parts.infer.model import PRIOR, QueueVerdict, judge_all
from flent_aqm.parts.infer.reading import (
    LONGEST_NAME,
    Download,
    NoDownload,
    UploadsOnly,
    read_downloads,
)
from flent_aqm.results.many_files import find_files
from flent_aqm.results.status import NAME as STATUS

# Number of downloads that the model judges at a time.
_TOGETHER = 256
# Suffixes of the files of M-Lab's archive in a folder.
_ENDS = (".json", ".json.gz", ".jsonl", ".jsonl.gz", ".tgz", ".tar.gz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `flent-aqm infer`: the files, --prior and --format. Also set the
    parser's description."""
    parser.description = (
        "Say which kind of queue NDT7 downloads went through: drop-tail and how deep it is at "
        "least; an AQM, alone or with flow queueing; a policer or a short buffer; or that it can't "
        "be told. Reads data files of Flent's and JSON of M-Lab's archive, one object or a line "
        "each, or its .tgz files as they are.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE",
                        help="data file, JSON of M-Lab's archive, or a folder of either")
    parser.add_argument("--prior", type=_read_share, default=PRIOR, metavar="SHARE",
                        help="share of lines with an AQM among those that were tested, between 0 "
                             f"and 1, as far as you know it (default: {PRIOR:g})")
    parser.add_argument("--format", choices=("text", "json"), default="text",
                        help="json: a line for each download, with probabilities and features")


def _read_share(text: str) -> float:
    """Return a share between 0 and 1 from the command line, both excluded. Raises
    ArgumentTypeError if the text is something else."""
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is no share of lines; expected a number above 0 and below 1, such as "
            "0.1")
    return share


def main(args: argparse.Namespace) -> int:
    """Print a line for each usable download, as JSON with --format json, and messages on skipped
    files to standard error. Files in a folder that have only uploads, or are of other tests, are
    not named: a last message counts the uploads of all files that have nothing else, unless the
    only file was named, and another one the files of other tests.

    Return the exit status, 1 if a file was skipped because read_downloads() raised another
    BadResult, if a file that the user named has no download, or if there was no download at all.

    Raises ConfigError for paths that _find_files() refuses.
    """
    damaged = uploads = judged = others = 0
    files = _find_files(args.files)
    for path in files:
        try:
            downloads = read_downloads(path)
            judged += len(downloads)
            for begin in range(0, len(downloads), _TOGETHER):
                some = downloads[begin:begin + _TOGETHER]
                for one, verdict in zip(some, judge_all(some, args.prior), strict=True):
                    print(_format_json(path, one, verdict, args.prior) if args.format == "json"
                          else _format_text(path, one, verdict))
        except UploadsOnly as fault:
            uploads += fault.count
            if path in args.files:  # in a folder of an archive, half of all files are uploads
                damaged += 1
                print(f"flent-aqm: skipped: {plain(fault)}", file=sys.stderr)
        except BadResult as fault:
            if isinstance(fault, NoDownload) and path not in args.files:
                others += 1
                continue
            damaged += 1
            print(f"flent-aqm: skipped: {plain(fault)}", file=sys.stderr)
    if others:
        print(f"flent-aqm: {counted(others, 'file')} left out: the queue is inferred from NDT7's "
              "downloads with the sender's TCP_INFO, and they have none", file=sys.stderr)
    if uploads and (len(files) > 1 or not damaged):
        print(f"flent-aqm: {counted(uploads, 'upload')} left out: the queue is inferred from "
              "TCP_INFO of a download's sender, the server", file=sys.stderr)
    return 1 if damaged or not judged else 0


def _find_files(paths: list[Path]) -> list[Path]:
    """Return the paths in their order, with each folder replaced by the files in it and its
    subfolders: first those with a suffix of M-Lab's archive (_ENDS), then the data files, each
    sorted by path. Each path is returned once. A sweep's status file, symbolic links and hidden
    files in folders are left out; a line on standard error names each link with the suffix of a
    data file. A sweep's status file, logs and captures are left out as well if they are named.

    Raises ConfigError if a path doesn't exist or can't be looked up, if a folder has no such files
    or can't be read, or if all files that are named are left out.
    """
    files: dict[Path, None] = {}
    # Of several named files, as of `results/*`, logs and captures are left out.
    several = [path for path in paths if not os.path.isdir(path)]
    named = set(find_files(several)) if several else set()
    for path in paths:
        if not os.path.isdir(path):
            if path in named:
                files[path] = None
            continue
        archived = sorted(
            one for one in path.rglob("*") if one.name.endswith(_ENDS) and one.name != STATUS
            and not one.name.startswith(".") and not one.is_symlink() and not one.is_dir())
        files.update(dict.fromkeys(archived))
        try:
            files.update(dict.fromkeys(find_files([path])))
        except ConfigError as fault:
            if not archived and why_unreadable(path):
                raise
            if not archived:
                raise ConfigError(f"{fault}; files of M-Lab's archive would be "
                                  f"{', '.join(f'*{end}' for end in _ENDS)}") from None
    return list(files)


def _format_text(path: Path, download: Download, verdict: QueueVerdict) -> str:
    """Return the line for a person: path, name of the test if it has one, answer, least depth of a
    drop-tail queue, probability, and the most important feature. If the answer is CANT_TELL, it is
    followed by one of three things: the reason against a judgement, the probability of CANT_TELL if
    that is 0.7 or more, or the three likeliest classes."""
    name = plain(f"{path}: {download.name[:LONGEST_NAME]}: " if download.name else f"{path}: ")
    if verdict.reason:
        return f"{name}{CANT_TELL}: {verdict.reason}"
    if (verdict.probability or 0) >= LEAST_PROBABILITY and verdict.answer == CANT_TELL:
        return (f"{name}{CANT_TELL} ({verdict.probability:.0%}): nothing happened by which queues "
                "differ")
    if verdict.answer == CANT_TELL:
        shares = sorted(verdict.probabilities.items(), key=lambda pair: -pair[1])
        likely = ", ".join(f"{kind} {share:.0%}" for kind, share in shares[:3])
        return f"{name}{CANT_TELL} ({likely})"
    depth = "" if verdict.depth_ms is None else f", at least {verdict.depth_ms:.0f} ms deep"
    deciding = FEATURES[verdict.deciding]
    return (f"{name}{verdict.answer}{depth} ({verdict.probability:.0%}), above all by "
            f"{deciding.words}: {deciding.shown(verdict.features[verdict.deciding])}")


def _format_json(path: Path, download: Download, verdict: QueueVerdict, prior: float) -> str:
    """Return the line as JSON with the keys file, test, answer, reason, probability, probabilities,
    prior, depth_at_least_ms, deciding, throughput_mbps and features. Measured values are rounded.
    reason, probability, depth_at_least_ms and deciding are null if the verdict has none. `prior` is
    the share of lines with an AQM that the probabilities rest on."""
    return json_text({
        "file": str(path), "test": download.name, "answer": verdict.answer,
        "reason": verdict.reason or None,
        "probability": None if verdict.probability is None else round(verdict.probability, 3),
        "probabilities": {name: round(share, 3) for name, share in verdict.probabilities.items()},
        "prior": prior,
        "depth_at_least_ms": None if verdict.depth_ms is None else round(verdict.depth_ms, 1),
        "deciding": verdict.deciding or None,
        "throughput_mbps": round(download.throughput_mbps, 3),
        "features": {name: round(value, 6) for name, value in verdict.features.items()}})

# SPDX-License-Identifier: GPL-3.0-or-later
"""Collect facts of a run for the report: testbed, versions, and the router's settings.

The settings are those that were requested and those that the router's kernel reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flent_aqm.base.words import counted
from flent_aqm.results.data_file import DataFile, a_number
from flent_aqm.results.metrics.run import Run, probe_line
from flent_aqm.show.looks import DASH
from flent_aqm.spec.queues.table import QUEUES
from flent_aqm.sweep.replay.recorded import looks_repeatable

LONGEST = 200
MOST_TOLD = 12


@dataclass(frozen=True)
class Proof:
    """The router's settings as requested and as its kernel reported them.

    Attributes:
        aqm: name of the download's queue, by which proofs are sorted.
        mbps: the download's rate, by which proofs are sorted. 0 if it is not recorded.
        requested: the requested settings as text.
        applied: the reported settings as text, for the download and the upload.
        fault: in what the reported queue or rate differs from the requested one, and whether
            settings changed during the run, as text. "" if there is nothing of that.
    """

    aqm: str
    mbps: float
    requested: str
    applied: tuple[str, ...]
    fault: str


@dataclass(frozen=True)
class RunFacts:
    """Facts of a run for the report's page.

    Attributes:
        by_heading: heading on the page, such as "kernel" -> value, as text. Facts that are not
            recorded are missing.
        proof: the router's settings, None if the file lacks the requested or the reported ones.
        repeatable: whether `replay` and `why` take the file, see looks_repeatable().
        virtual_s: duration of the run on the lab's clock, None if it is not recorded.
        wall_s: duration of the run on the host's clock, None if it is not recorded.
        with_programs: whether `replay` and `why` take the file with --run-programs alone.
    """

    by_heading: Mapping[str, str]
    proof: Proof | None
    repeatable: bool
    virtual_s: float | None
    wall_s: float | None
    with_programs: bool = False


def facts_of(data: DataFile, run: Run) -> RunFacts:
    """Return the facts of a data file. Facts that it doesn't record are left out."""
    aqm, metadata = run.aqm, data.metadata
    kernel = aqm.get("kernel")
    kernel = kernel if isinstance(kernel, dict) else {}
    by_heading = {
        "batch": metadata.get("BATCH_NAME"), "batch began": metadata.get("BATCH_TIME"),
        "test": run.test, "latency probe": probe_line(run.probe) if run.probes else None,
        "testbed": aqm.get("testbed"),
        "router model": aqm.get("router_model"),
        "kernel": kernel.get("version") or metadata.get("KERNEL_RELEASE"),
        "kernel's name": kernel.get("name"),
        "kernel's hash": kernel.get("hash"), "flent-aqm": aqm.get("flent_aqm"),
        "Flent": metadata.get("FLENT_VERSION"), "server": metadata.get("HOST"),
        "client": metadata.get("LOCAL_HOST"), "seed": aqm.get("seed"),
        "length as set, s": metadata.get("LENGTH")}
    tools = aqm.get("tools")
    for name, version in sorted(tools.items()) if isinstance(tools, dict) else ():
        if version and name != "flent":
            by_heading[f"tool: {name[:40]}"] = version
    return RunFacts({heading: _text(value) for heading, value in by_heading.items()
                  if value not in (None, "")},
                 proof_of(aqm), looks_repeatable(aqm), a_number(aqm.get("virtual_s")),
                 a_number(aqm.get("wall_s")),
                 not looks_repeatable(aqm) and looks_repeatable(aqm, run_programs=True))


def proof_of(aqm: Mapping[str, Any]) -> Proof | None:
    """Return the requested and the reported settings of the router from a file's object AQM. None
    if either is missing. Reported are the settings after the run."""
    requested = aqm.get("requested")
    moments = [_object_at(aqm, moment, "applied") for moment in ("before", "after")]
    if not isinstance(requested, dict) or not moments[1]:
        return None
    of_upload = requested.get("up_aqm")
    queues = {"down": str(requested.get("aqm", "")),
              "up": str(of_upload or requested.get("aqm", ""))}
    # Without a shaper, the rates of the settings limit nothing.
    no_shaper = requested.get("shaper") == "none"
    settings, applied, faults = [], [], []
    for direction, wanted in queues.items():
        device = _object_at(moments[1], direction)
        mbps = None if no_shaper else a_number(requested.get(f"rate_{direction}_mbps"))
        settings.append(f"{direction} {mbps:g} Mbit/s" if mbps is not None else direction)
        reported_mbps = a_number(device.get("rate_mbps"))
        parameters = _object_at(device, "qdisc_parameters")
        applied.append(f"{direction}: {_text(device.get('shaper'))} "
                       f"{_text(device.get('rate_mbps'))} Mbit/s, "
                       f"burst {_text(device.get('burst_bytes'))} bytes; "
                       f"{_text(device.get('qdisc'))} " + " ".join(
                           f"{name}={_text(value)}" for name, value in sorted(parameters.items())))
        kind = QUEUES[wanted].kind if wanted in QUEUES else wanted
        if device.get("qdisc") != kind:
            faults.append(f"{direction}: {_text(device.get('qdisc'))} in place of {wanted}")
        if (mbps is not None and reported_mbps is not None
                and abs(reported_mbps - mbps) > mbps / 1000):
            faults.append(f"{direction}: {reported_mbps:g} in place of {mbps:g} Mbit/s")
    if moments[0] and moments[0] != moments[1]:
        faults.append("changed during the run")
    words = [*_queue_words(requested, ""),
             *(["up:", *_queue_words(requested, "up_")] if of_upload else []),
             "no shaper" if no_shaper else ", ".join(settings),
             "burst " + ("set" if requested.get("burst_shaping") else "default")]
    rate = a_number(requested.get("rate_down_mbps"))
    return Proof(queues["down"][:LONGEST], rate or 0.0, "; ".join(words)[:2 * LONGEST],
                 tuple(text[:3 * LONGEST] for text in applied), "; ".join(faults)[:LONGEST])


def _queue_words(requested: Mapping[str, Any], prefix: str) -> list[str]:
    """Return a list of the requested queue's name, "" if it is not recorded, and its parameters as
    NAME=VALUE, sorted by name.

    Args:
        requested: the requested settings.
        prefix: "up_" for the upload's own queue, "" for the queue of both directions, or of the
            download if the upload has its own.
    """
    parameters = _object_at(requested, f"{prefix}aqm_parameters")
    return [str(requested.get(f"{prefix}aqm", "")),
            *(f"{name}={_text(value)}" for name, value in sorted(parameters.items()))]


def combine_facts(runs: Sequence[Mapping[str, str]]) -> list[tuple[str, list[str]]]:
    """Return the facts of many runs together: (heading, values) in the order in which headings
    first occur, without the seed. If runs differ, or some lack the heading, each value has the
    number of its runs behind it, and only the most frequent values are listed, see _with_counts().

    Args:
        runs: heading -> value, for each run.
    """
    by_heading: dict[str, dict[str, int]] = {}
    for run in runs:
        for heading, value in run.items():
            counts = by_heading.setdefault(heading, {})
            counts[value] = counts.get(value, 0) + 1
    return [(heading, _with_counts(counts, len(runs))) for heading, counts in by_heading.items()
            if heading != "seed"]


def seeds(runs: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the different seeds of the runs as text, sorted, numbers first and by size. Runs
    without a seed are left out.

    Args:
        runs: heading -> value, for each run.
    """
    return sorted({one["seed"] for one in runs if "seed" in one},
                  key=lambda text: (not text.isdigit(), len(text), text))


def _with_counts(counts: Mapping[str, int], runs: int) -> list[str]:
    """Return the values, the most frequent first, each with the number of its runs behind it:
    "VALUE (3 runs)". A value that all runs share has no number. At most MOST_TOLD values are
    returned, and "and N more" for the rest.

    Args:
        counts: value -> number of its runs.
        runs: number of all runs.
    """
    if len(counts) == 1 and sum(counts.values()) == runs:
        return list(counts)
    most = sorted(counts.items(), key=lambda pair: -pair[1])
    lines = [f"{value} ({counted(count, 'run')})" for value, count in most[:MOST_TOLD]]
    return lines + [f"and {len(most) - MOST_TOLD} more"] * (len(most) > MOST_TOLD)


def _object_at(tree: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return the object under a path of keys, an empty one if there is none."""
    inner: Any = tree
    for key in keys:
        inner = inner.get(key) if isinstance(inner, dict) else None
    return inner if isinstance(inner, dict) else {}


def _text(value: Any) -> str:
    """Return a value as text of at most LONGEST characters, DASH for None. Floats have six
    significant digits."""
    if isinstance(value, float):
        return f"{value:g}"
    return DASH if value is None else str(value)[:LONGEST]

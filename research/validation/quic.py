# SPDX-License-Identifier: GPL-3.0-or-later
"""Table and picture of docs/results/quic.md, from two calls of batches/quic.batch.

    .venv/bin/flent -B batches/quic.batch --batch-override output_path=results/quic/1
    .venv/bin/flent -B batches/quic.batch --batch-override output_path=results/quic/2
    .venv/bin/python -m research.validation.quic results/quic [-o docs]

Prints the table. With -o, writes it between its marks on the page in that folder, and the picture
beside it. The second call only shows which runs had the same samples.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from flent_aqm.base.errors import AqmError
from flent_aqm.results.metrics.run import Run, load_run
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.show.looks import DASH
from research.validation.marked import replace
from research.validation.stamp import made_of

PAGE, PART = "results/quic.md", "three stacks"
PICTURE = "results/img/quic.png"
STACKS = ("aioquic", "quic-go", "quinn")
QUEUES = ("no_aqm", "codel", "fq_codel", "cake")


def lines(runs: Mapping[tuple[str, str, bool], Run]) -> Iterator[str]:
    """Yield the lines of a Markdown table, with a row for each stack and queue. It has throughput,
    latency of probes, and round trips of the stack's own connection without other traffic; and
    throughput of both flows and fairness beside a Cubic flow. DASH stands for a metric that the run
    doesn't have, or whose percentile is a lost probe. Raises ValueError if a log has no results of
    the client, OSError if it can't be read.

    Args:
        runs: (stack, queue, whether a Cubic flow ran beside) -> run, as by_place() returns it.
    """
    yield ("| stack | queue | alone: Mbit/s | others' latency, ms: median, p99 | its own round "
           "trips, ms: median, p99 | beside Cubic: Mbit/s, Cubic's | Jain's index |")
    yield "|" + "---|" * 7
    for stack in STACKS:
        for queue in QUEUES:
            alone, beside = runs[stack, queue, False], runs[stack, queue, True]
            printed = of_client(alone)
            mbps, total = (_metric(beside, f"{name}_download_mbps")
                           for name in ("throughput", "total"))
            yield (f"| {stack} | {queue} | {_shown(_metric(alone, 'throughput_download_mbps'))} | "
                   f"{_shown(_metric(alone, 'latency_loaded_median_ms'), 1)}, "
                   f"{_shown(_metric(alone, 'latency_loaded_p99_ms'), 1)} | "
                   f"{printed['rtt_median_ms']:.1f}, {printed['rtt_p99_ms']:.1f} | "
                   f"{_shown(mbps)}, "
                   f"{_shown(None if mbps is None or total is None else total - mbps)} | "
                   f"{_shown(_metric(beside, 'fairness_download'), 2)} |")


def of_client(run: Run) -> Mapping[str, float]:
    """Return the results that the client of a run printed, from the last such line of the log
    beside the run's file: "download_mbps", and "rtt_median_ms" and "rtt_p99_ms", which the server
    measured. Raises ValueError if the log has no such line or it is damaged, OSError if the log
    can't be read."""
    log = run.path.with_name(run.path.name.removesuffix(".flent.gz") + ".log").read_text()
    line = next((one for one in reversed(log.splitlines()) if one.startswith("{\"download_mbps")),
                None)
    if line is None:
        raise ValueError(f"{run.path}: the log beside it has no results of the client, a line that "
                         "begins with {\"download_mbps; make the run again")
    try:
        parsed: Mapping[str, float] = json.loads(line)
    except ValueError as fault:
        raise ValueError(f"{run.path}: the client's results in the log beside it are damaged "
                         f"({fault}); make the run again") from None
    return parsed


def by_place(folder: Path) -> dict[tuple[str, str, bool], Run]:
    """Return the runs of a folder by stack, queue, and whether a Cubic flow ran beside. Of several
    runs with the same three, the last by name of its file is returned. Raises ValueError if runs
    are missing or of another program, BadResult if a file is damaged."""
    found = {}
    for path in sorted(folder.glob("*.flent.gz")):
        run = load_run(path)
        program = str(run.settings.get("client_program", ""))
        stack = next((one for one in STACKS if f"/{one}/" in program), "")
        if not stack:
            raise ValueError(f"{path}: its client_program is {program[:60]!r}; expected a run of "
                             "batches/quic.batch, whose program lies below a folder "
                             f"{', '.join(f'/{one}/' for one in STACKS)}; take other files out of "
                             "the folder")
        found[stack, str(run.settings["aqm"]), bool(run.settings.get("cross_traffic"))] = run
    missing = [f"{stack} {queue}{' beside Cubic' * cross}" for stack in STACKS for queue in QUEUES
               for cross in (False, True) if (stack, queue, cross) not in found]
    if missing:
        raise ValueError(f"{folder}: no runs of {', '.join(missing)}; expected all of batches/"
                         "quic.batch")
    return found


def same(first: Mapping[tuple[str, str, bool], Run], second: Mapping[tuple[str, str, bool], Run]
         ) -> str:
    """Return a sentence on how many runs had the same samples, and results printed by the client,
    in both calls of the batch, and one that names the others, if there are any. Raises ValueError
    if a log has no results of the client, OSError if it can't be read.

    Args:
        first: (stack, queue, whether a Cubic flow ran beside) -> run of the first call.
        second: the same of the second call.
    """
    other = [f"{stack} {queue}{', beside Cubic' * cross}"
             for (stack, queue, cross), run in first.items()
             if run.samples != second[stack, queue, cross].samples
             or of_client(run) != of_client(second[stack, queue, cross])]
    return (f"Made twice: {len(first) - len(other)} of {len(first)} runs had the same samples, "
            "to the last digit, and printed the same." + (
                f" Not: {'; '.join(other)}." if other else ""))


def draw(runs: Mapping[tuple[str, str, bool], Run], path: Path) -> None:
    """Draw throughput over time of each stack alone, a panel for each queue, and save the picture
    to `path`. Raises ValueError if one of these runs doesn't have exactly one download flow,
    OSError if the picture can't be saved.

    Args:
        runs: (stack, queue, whether a Cubic flow ran beside) -> run, as by_place() returns it.
        path: path of the picture.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    for axes, queue in zip(figure.subplots(2, 2, sharex=True, sharey=True).flat, QUEUES,
                           strict=True):
        for stack in STACKS:
            (flow,) = [one for one in runs[stack, queue, False].speed_test
                       if one.direction == "download"]
            axes.plot(flow.at_s - flow.start_s, flow.mbps, label=stack, linewidth=1)
        axes.set_title(queue, loc="left")
        axes.set_ylim(0, 22)
        axes.grid(alpha=0.3)
    figure.supxlabel("Time since the first data (s)")
    figure.supylabel("Throughput (Mbit/s, payload per 100 ms)")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=len(STACKS))
    figure.savefig(path, dpi=100)


def _metric(run: Run, name: str) -> float | None:
    value = METRICS[name].of(run)
    return value if isinstance(value, float) else None


def _shown(value: float | None, digits: int = 2) -> str:
    return DASH if value is None else f"{value:.{digits}f}"


def main(words: Sequence[str] | None = None) -> int:
    """Print the table and, with -o, draw the picture and write the table into the page. Return the
    exit status, 1 if runs or results of a client are missing, a file can't be read or is damaged,
    or picture or page can't be written.

    Args:
        words: the command line without the program's name, None for that of this process.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with the folders 1 and 2")
    parser.add_argument("-o", dest="docs", type=Path)
    args = parser.parse_args(words)
    try:
        first, second = by_place(args.folder / "1"), by_place(args.folder / "2")
        text = "\n".join([*lines(first), "", same(first, second)])
        print(text)
        if args.docs:
            draw(first, args.docs / PICTURE)
            replace(args.docs / PAGE, PART, text, made_of(list(first.values())))
    except (AqmError, ValueError, OSError) as fault:
        print(fault, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

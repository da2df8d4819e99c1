# SPDX-License-Identifier: GPL-3.0-or-later
"""Write tables of results/speed-tests.md and results/scores.md, from batches/speedtests.batch.

    .venv/bin/python -m research.validation.speedtests estimates results/speedtests-all-… [-o docs]
    .venv/bin/python -m research.validation.speedtests parameters results/speedtests-parameters-…
    .venv/bin/python -m research.validation.speedtests unsent results/speedtests-unsent-… [-o docs]
    .venv/bin/python -m research.validation.speedtests real_time results/speedtests-real-… [-o docs]

estimates: scores computed from NDT7's runs, compared with the live clients' on the same cells;
parameters: values that the responsiveness drafts discuss, and how well each distinguishes queues;
unsent: responsiveness by how much unsent data senders may leave in their kernels;
real_time: each client in the lab, compared with the same in network namespaces. Prints the table
and, with -o, writes it between its marks on the page in that folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy

from flent_aqm.base.errors import AqmError, BadResult, NotAvailable
from flent_aqm.results.data_file import DataFile, read_data_file
from flent_aqm.results.grouping import collect
from flent_aqm.results.many_files import find_files
from flent_aqm.results.metrics.grades import AIM_WORDS
from flent_aqm.results.metrics.rpm import ietf_rpm, p90_ms
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.show.figures.speedtests import SHOWN, value_of
from flent_aqm.show.looks import DASH
from research.validation import marked
from research.validation.stamp import made_of

Lines = Iterator[str]
PAGES = {"estimates": "results/scores.md", "parameters": "results/scores.md",
         "unsent": "results/scores.md", "real_time": "results/speed-tests.md"}
# The settings of a cell, without its test.
CELL = ("aqm", "rate_down_mbps", "base_delay_ms", "cross_traffic")
FULL_QUEUE = "no_aqm"

# Label, metric of NDT7's run, live client's test and metric.
ESTIMATES = (
    ("RPM, the draft's", "rpm_ietf_estimate", "responsiveness", "responsiveness_rpm"),
    ("its foreign part", "rpm_foreign_estimate", "responsiveness",
     "responsiveness_foreign_rpm_upload"),
    ("its loaded part", "rpm_loaded_estimate", "responsiveness",
     "responsiveness_loaded_rpm_upload"),
    ("RPM, goresponsiveness'", "rpm_goresponsiveness_estimate", "responsiveness",
     "responsiveness_go_rpm"),
    ("the same, with P90", "rpm_goresponsiveness_p90_estimate", "responsiveness",
     "responsiveness_go_p90_rpm"),
    ("Ookla-style, upload, ms", "ookla_style_iqm_upload_ms", "ookla_style",
     "ookla_style_client_latency_iqm_upload_ms"),
    ("Ookla-style, download, ms", "ookla_style_iqm_download_ms", "ookla_style",
     "ookla_style_client_latency_iqm_download_ms"),
    ("Cloudflare, upload, ms", "aim_loaded_latency_upload_ms", "cloudflare",
     "cloudflare_loaded_latency_upload_ms"),
    ("Cloudflare, download, ms", "aim_loaded_latency_download_ms", "cloudflare",
     "cloudflare_loaded_latency_download_ms"),
)
AIM = ("streaming", "gaming", "rtc")


def estimates(files: Sequence[DataFile]) -> Lines:
    """Yield the lines of two Markdown tables. The first has each estimate from NDT7's run as a
    share of the value of the live client in the same cell: median, quartiles and range over all
    cells with both, and separate medians for the full queue and the others. Estimates without such
    a cell are left out. The second counts, for each of AIM, the cells by how many classes the
    estimate is better than the live one, -1 or less to +4. Of several runs of a test in a cell the
    last one counts."""
    cells = collect([as_run(file) for file in files], lambda run: tuple(
        run.settings.get(name) for name in CELL))
    by_test = {cell: {run.test: run for run in runs} for cell, runs in cells.items()}
    yield ("| score | cells | estimate / live: median | quartiles | range | through drop-tail | "
           "through the others |")
    yield "|" + "---|" * 7
    for label, estimate, test, live in ESTIMATES:
        shares: dict[tuple[object, ...], float] = {}
        for cell, runs in by_test.items():
            both = _metric_value(runs.get("ndt7"), estimate), _metric_value(runs.get(test), live)
            if both[0] is not None and both[1]:
                shares[cell] = both[0] / both[1]
        if not shares:
            continue
        low, middle, high = numpy.percentile(list(shares.values()), (25, 50, 75))
        apart = [[share for cell, share in shares.items() if (cell[0] == FULL_QUEUE) is full]
                 for full in (True, False)]
        yield (f"| {label} | {len(shares)} | {middle:.2f} | {low:.2f}{DASH}{high:.2f} | "
               f"{min(shares.values()):.2f}{DASH}{max(shares.values()):.2f} | "
               + " | ".join(f"{numpy.median(one):.2f}" if one else "" for one in apart) + " |")
    yield ""
    steps = range(-1, len(AIM_WORDS))
    yield "| AIM's word, by how many classes the estimate is better | -1 or less | " + " | ".join(
        f"{step:+d}" for step in steps[1:]) + " |"
    yield "|" + "---|" * (1 + len(steps))
    for experience in AIM:
        better = [
            AIM_WORDS.index(word) - AIM_WORDS.index(reported) for runs in by_test.values()
            if (word := _aim_word(runs.get("ndt7"), f"aim_{experience}"))
            and (reported := _aim_word(runs.get("cloudflare"), f"cloudflare_aim_{experience}"))]
        counts = [sum(max(one, -1) == step for one in better) for step in steps]
        yield f"| {experience} | " + " | ".join(map(str, counts)) + " |"


# How to reduce the probes' times to one: a name, and the share of the fastest to average, or None
# for the 90th percentile.
TRIMMINGS: tuple[tuple[str, float | None], ...] = (
    ("all", 1.0), ("fastest 95 %", 0.95), ("fastest 50 %", 0.5), ("fastest 5 %", 0.05),
    ("P90", None))


def parameters(files: Sequence[DataFile]) -> Lines:
    """Yield the lines of a Markdown table: a row for each interval and number of connections. For
    each trimming it has the lowest RPM of the managed queues divided by that of the full queue,
    each of the worse direction. The larger the ratio, the better users can distinguish them. It
    also has the test's duration, and both RPMs without the slowest 5 %. Of several runs with one
    queue in a row the last one counts for the RPMs. Raises BadResult if a row lacks a run of the
    full queue or of another one, or a file lacks foreign or self probes, NotAvailable if it has
    none of a kind in the last four intervals of a direction."""
    yield ("| interval, s | connections | test lasts, s | " + " | ".join(
        name for name, _ in TRIMMINGS) + " | RPM, drop-tail | RPM, worst of the others |")
    yield "|" + "---|" * (5 + len(TRIMMINGS))
    groups = collect(files, lambda file: (
        float(_parameter(file, "interval_s")), int(_parameter(file, "most_connections"))))
    for (interval_s, connections), members in sorted(groups.items()):
        of_queue = {str(as_run(file).settings["aqm"]): file for file in members}
        rpm = {aqm: {name: min(_draft_rpm(file, way, 4 * interval_s, kept)
                               for way in ("download", "upload"))
                     for name, kept in TRIMMINGS} for aqm, file in of_queue.items()}
        if FULL_QUEUE not in rpm or len(rpm) == 1:
            raise BadResult(f"{members[0].path}: of its interval and connections there are runs of "
                            f"{', '.join(rpm)} only; expected {FULL_QUEUE} and another queue")
        full = rpm.pop(FULL_QUEUE)
        worst = {name: min(one[name] for one in rpm.values()) for name, _ in TRIMMINGS}
        lasts_s = [window.end_s - window.start_s for file in members
                   if (window := as_run(file).load_window) is not None]
        yield (f"| {interval_s:g} | {connections} | {min(lasts_s):.0f}{DASH}{max(lasts_s):.0f} | "
               + " | ".join(f"{worst[name] / full[name]:.1f}" for name, _ in TRIMMINGS)
               + f" | {full['fastest 95 %']:.0f} | {worst['fastest 95 %']:.0f} |")


# Columns of the table "unsent": heading, and metric of the test responsiveness by direction.
_UNSENT = (("RPM (draft)", "responsiveness_rpm"), ("foreign", "responsiveness_foreign_rpm"),
           ("loaded", "responsiveness_loaded_rpm"),
           ("goresponsiveness' mean", "responsiveness_go_rpm"),
           ("its P90", "responsiveness_go_p90_rpm"))


def unsent(files: Sequence[DataFile]) -> Lines:
    """Yield the lines of a Markdown table with a row for each run of the test responsiveness: the
    queue, its parameters `unsent` and `most_connections`, and its values in round trips per minute,
    all of the direction with the lower RPM by the draft's formula. The full queue comes first, and
    of each queue the runs whose senders are limited by their kernels alone. Raises BadResult if
    a run has no RPM."""
    yield ("| queue | unsent | connections | "
           + " | ".join(heading for heading, _ in _UNSENT) + " |")
    yield "|" + "---|" * (3 + len(_UNSENT))

    def place(file: DataFile) -> tuple[bool, str, bool, str, int]:
        aqm, limit = str(as_run(file).settings["aqm"]), _parameter(file, "unsent")
        return (aqm != FULL_QUEUE, aqm, limit != "kernel", limit,
                int(_parameter(file, "most_connections")))

    for file in sorted(files, key=place):
        run = as_run(file)
        rpms = {way: rpm for way in ("download", "upload")
                if (rpm := _metric_value(run, f"responsiveness_rpm_{way}")) is not None}
        if not rpms:
            raise BadResult(f"{file.path}: it has no RPM; expected a run of the test "
                            "responsiveness")
        worse = min(rpms, key=rpms.__getitem__)
        values = [_metric_value(run, f"{name}_{worse}") for _, name in _UNSENT]
        yield (f"| {run.settings['aqm']} | {_parameter(file, 'unsent')} | "
               f"{_parameter(file, 'most_connections')} | "
               + " | ".join(DASH if value is None else f"{value:.0f}" for value in values) + " |")


def _parameter(file: DataFile, name: str) -> str:
    return str(file.metadata.get("TEST_PARAMETERS", {}).get(name, "0"))


def _draft_rpm(file: DataFile, way: str, last_s: float, kept: float | None) -> float:
    """Return the draft's RPM from the probes of a direction that returned in the last `last_s`
    seconds before the last of them did.

    Args:
        file: the data file of a responsiveness test.
        way: "download" or "upload".
        last_s: length of the period.
        kept: share of the fastest times to average, 1 for all. At least one time is kept. None for
            the 90th percentile.

    Raises BadResult if the file lacks foreign or self probes, NotAvailable if the period has none
    of one kind.
    """
    samples = file.raw_values.get(f"TCP {way}", [])
    times_of = {name: [(one["t"] + one[name] / 1000, one[name]) for one in samples if name in one]
                for name in ("foreign_tcp_ms", "foreign_http_ms", "self_http_ms")}
    if not all(times_of.values()):
        raise BadResult(f"{file.path}: its {way} lacks foreign or self probes; expected a run of "
                        "the test responsiveness")
    end_s = max(at for times in times_of.values() for at, _ in times)
    late_ms = {name: [ms for at, ms in times if at > end_s - last_s]
               for name, times in times_of.items()}
    if missing := [name for name, times_ms in late_ms.items() if not times_ms]:
        raise NotAvailable(f"{file.path}: the last {last_s:g} s of its {way} have no probe "
                           f"{missing[0]!r}; expected some of each kind; make the run again")
    means = {name: _reduced_ms(times_ms, kept) for name, times_ms in late_ms.items()}
    foreign_ms = (means["foreign_tcp_ms"] + means["foreign_http_ms"]) / 2
    return ietf_rpm(foreign_ms, means["self_http_ms"])


def _reduced_ms(times_ms: Sequence[float], kept: float | None) -> float:
    ordered = numpy.sort(times_ms)
    if kept is None:
        return p90_ms(ordered)
    return float(ordered[:max(1, int(ordered.size * kept))].mean())


def real_time(files: Sequence[DataFile]) -> Lines:
    """Yield the lines of a Markdown table, a row for each client, and for each direction: its
    throughput in the lab in Mbit/s, as the median of the runs, and by how many % the best run in
    namespaces differs from that. The best one, because disturbances in real time only slow a run
    down. A direction without throughputs from both testbeds has an empty cell, clients with no
    other ones are left out."""
    yield "| client | download, Mbit/s, difference | upload |"
    yield "|---|---|---|"
    runs = [as_run(file) for file in files]
    for test, shown in SHOWN.items():
        cells = []
        for name in shown.rates:
            values = {testbed: sorted(
                value for run in runs
                if run.test == test and run.settings.get("testbed") == testbed
                and (value := _metric_value(run, name)) is not None)
                for testbed in ("virtual", "netns")}
            virtual, real = values["virtual"], values["netns"]
            if not virtual or not real:
                cells.append("")
                continue
            middle = float(numpy.median(virtual))
            cells.append(f"{middle:.2f}, {(real[-1] / middle - 1) * 100:+.1f} %")
        if any(cells):
            yield f"| {' '.join(shown.label.split())} | {' | '.join(cells)} |"


def _metric_value(run: Run | None, name: str) -> float | None:
    return None if run is None else value_of(run, name)


def _aim_word(run: Run | None, name: str) -> str | None:
    value, word = _metric_value(run, name), METRICS[name].word
    # The text may have a number beside the word.
    return None if value is None or word is None else next(
        one for one in AIM_WORDS if one in word(value).split())


PARTS: Mapping[str, Callable[[Sequence[DataFile]], Lines]] = {
    "estimates": estimates, "parameters": parameters, "unsent": unsent,
    "real_time": real_time}


def main() -> int:
    """Read the data files, print the table that the command line names and, with -o, write it into
    its page. Return the exit status, 1 if there are no data files, one is unsuitable, or the page
    can't be written."""
    parser = argparse.ArgumentParser(prog="python -m research.validation.speedtests",
                                     description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=sorted(PARTS))
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, metavar="DOCS")
    args = parser.parse_args()
    try:
        files = [read_data_file(path) for path in find_files(args.results)]
        text = "\n".join(PARTS[args.part](files))
        print(text)
        if args.output:
            marked.replace(args.output / PAGES[args.part], args.part, text,
                           made_of([as_run(file) for file in files]))
    except (AqmError, ValueError) as error:
        print(f"speedtests: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

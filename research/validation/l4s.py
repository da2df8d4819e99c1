# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the tables of docs/results/l4s.md, from runs of the batches l4s and l4s_links.

    .venv/bin/flent -B batches/papers.batch -b l4s
    .venv/bin/python -m research.validation.l4s results/l4s-… [-o docs]
    .venv/bin/flent -B batches/papers.batch -b l4s_links
    .venv/bin/python -m research.validation.l4s --links results/l4s_links-… [-o docs]

Prints the table and, with -o, writes it between its marks on the page in that folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence

from flent_aqm.base.defaults import ACCECN
from flent_aqm.results.metrics.flows import Flow
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.results.metrics.throughput import mean_mbps
from flent_aqm.results.metrics.window import Window
from flent_aqm.show.looks import DASH
from research.validation import from_runs

ECNS = ("accurate", "classic")
PAGE, PART, LINKS = "results/l4s.md", "scenario 6", "links"
WAY = "upload"
# Seconds left out of 60 s of load, in which both flows find their shares.
SETTLED_S = 20.0
CLASSIC = ("cubic", "reno")
# The batch's queue, identified by its parameters -> its name here, and the published ratio of
# Prague's rate to the classic flow's, both with ECN. Source: s6_steady_state.md of
# github.com/heistp/l4s-tests, commit e9713f6.
PUBLISHED: Mapping[tuple[str, str], tuple[str, Mapping[str, float]]] = {
    ("fq_codel", ""): ("fq_codel, one queue", {"cubic": 24, "reno": 42}),
    ("fq_codel", "1ms"): ("fq_codel, one queue, 1 ms of 20", {"cubic": 27, "reno": 37}),
    ("pie", ""): ("pie", {"cubic": 23, "reno": 60}),
    ("pie", "5ms"): ("pie, 100 packets, 5 ms", {"cubic": 20, "reno": 26}),
    ("red", "150000"): ("red, 150000 bytes", {"cubic": 27, "reno": 27}),
    ("red", "400000"): ("red, 400000 bytes", {"cubic": 22, "reno": 26}),
    ("dualpi2", ""): ("dualpi2", {}),
}
# Parameters by which queues of one kind differ.
TOLD_BY = {"fq_codel": "target", "pie": "target", "red": "limit"}


def lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of a Markdown table: its head, and a row for each queue of PUBLISHED and each
    classic flow of CLASSIC, in this order, with both flows' rates, their ratio, the published ratio
    and the probe's median. Pairs without a run are left out, and so are runs of other queues or
    flows. Of several runs the last one counts. Raises ValueError if a run doesn't have exactly two
    flows, NotAvailable if it has none, or is too short for a stable rate."""
    yield ("| queue | classic flow | scalable, Mbit/s | classic, Mbit/s | ratio | published ratio, "
           "Prague | probe under load, median, ms |")
    yield "|" + "---|" * 7
    by_pair = {(_queue_key(run), _control(_scalable_and_classic(run)[1])): run for run in runs}
    for queue, (name, published) in PUBLISHED.items():
        for control in CLASSIC:
            run = by_pair.get((queue, control))
            if run is None:
                continue
            scalable, classic = _stable_rates_mbps(run)
            latency = METRICS["latency_loaded_median_ms"].of(run)
            yield (f"| {name} | {control} | {scalable:.2f} | "
                   f"{classic:.2f} | {ratio(scalable / classic)} | "
                   f"{ratio(published[control]) if published else DASH} | "
                   f"{f'{latency:.1f}' if isinstance(latency, float) else DASH} |")


def lines_of_links(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of a Markdown table: its head, and a row for each queue and link, in the
    order of PUBLISHED, then by the link's name. For each of ECNS a column has the classic flow's
    rate in Mbit/s and the ratio of the scalable flow's rate to it. Two further columns have the
    probe's median in ms and its loss in %, each with a value per ECN, in the order of ECNS. DASH
    stands for an ECN without a run, and for a probe's value that the run doesn't have. Of several
    runs of the same queue, link and ECN, the last one counts.

    Raises ValueError if a run's queue is not in PUBLISHED, or a run doesn't have exactly two flows,
    NotAvailable if it has no flows, or is too short for a stable rate.
    """
    yield (f"| queue | link | {' | '.join(f'{ecn} ECN: classic flow, ratio' for ecn in ECNS)} | "
           "probe, median ms | probes lost, % |")
    yield "|" + "---|" * 6
    places = list(PUBLISHED)
    by_place = {(_queue_key(run), _link(run), _ecn(run)): run for run in runs}
    for queue, link in sorted({key[:2] for key in by_place},
                              key=lambda key: (places.index(key[0]), key[1])):
        pair = [by_place.get((queue, link, ecn)) for ecn in ECNS]
        shares = [_share(run) if run else DASH for run in pair]
        probes = [", ".join(f"{one:.1f}" if isinstance(one, float) else DASH
                            for one in (run and METRICS[name].of(run) for run in pair))
                  for name in ("latency_loaded_median_ms", "loss_loaded_pct")]
        yield (f"| {PUBLISHED[queue][0]} | {link or 'constant rate'} | "
               f"{' | '.join([*shares, *probes])} |")


def _share(run: Run) -> str:
    """Return the classic flow's rate in Mbit/s and the ratio of the scalable flow's rate to it as
    text, such as "1.50, 23:1". Raises ValueError if the run doesn't have exactly two flows,
    NotAvailable if it has none, or is too short for a stable rate."""
    scalable, classic = _stable_rates_mbps(run)
    return f"{classic:.2f}, {ratio(scalable / classic)}"


def _link(run: Run) -> str:
    return str(run.settings.get("link_down_access") or run.settings.get("link_access") or "")


def _ecn(run: Run) -> str:
    return "accurate" if run.settings.get("tcp_ecn") == ACCECN else "classic"


def ratio(value: float) -> str:
    """Return a ratio as text, such as "23:1", or "0.8:1" with a decimal below 1.5."""
    return f"{value:.0f}:1" if value >= 1.5 else f"{value:.1f}:1"


def _queue_key(run: Run) -> tuple[str, str]:
    """Return the run's queue in the form of PUBLISHED's keys: its name, and the value of the
    parameter by which queues of its kind differ there (target or limit), "" for its default or for
    a queue without one."""
    aqm = str(run.settings.get("aqm"))
    setting = run.settings.get(f"aqm_{TOLD_BY[aqm]}") if aqm in TOLD_BY else None
    return aqm, "" if setting is None else str(setting)


def _scalable_and_classic(run: Run) -> tuple[Flow, Flow]:
    """Return the scalable flow and the classic one, whose congestion control is one of CLASSIC. If
    neither flow has such a control, the second one is taken for the classic flow, if both have, the
    first one. Raises ValueError if the run doesn't have exactly two flows, NotAvailable if it has
    none."""
    one, other = run.flows_of(WAY)
    return (other, one) if _control(one) in CLASSIC else (one, other)


def _control(flow: Flow) -> str:
    """Return the congestion control from a name such as "TCP upload 1xcubic": what follows the last
    x."""
    return flow.name.rpartition("x")[2]


def _stable_rates_mbps(run: Run) -> tuple[float, float]:
    """Return the mean rate in Mbit/s of the scalable flow and of the classic one, from SETTLED_S
    after the scalable flow's first sample to its last one. Raises ValueError if the run doesn't
    have exactly two flows, NotAvailable if it has none, or is too short."""
    scalable, classic = _scalable_and_classic(run)
    window = Window(float(scalable.at_s.min()) + SETTLED_S, float(scalable.at_s.max()))
    return mean_mbps(scalable, window), mean_mbps(classic, window)


def main() -> int:
    """Print the table of the runs on the command line, with --links that of links and ECN, and with
    -o write it into the page. Return the exit status, 1 if the runs can't be read or don't suit, or
    the page can't be written."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    from_runs.add_arguments(parser, PAGE)
    parser.add_argument("--links", action="store_true", help="the table of links and ECN")
    args = parser.parse_args()
    if args.links:
        return from_runs.make(args, PAGE, LINKS, lines_of_links)
    return from_runs.make(args, PAGE, PART, lines)


if __name__ == "__main__":
    sys.exit(main())

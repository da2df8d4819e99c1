# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw backlog, drops and marks of the router's queues over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.queue_samples import QueueSamples
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.groups import RunGroup, looks_within
from flent_aqm.show.looks import Look
from flent_aqm.show.plots.axes import from_zero, shade_load, start_s
from flent_aqm.show.plots.chart import ChartPlotter, about
from flent_aqm.show.plots.observed import queues_in
from flent_aqm.show.plots.tcp_info import WAY_LINES, loads_both_at_once


class AqmQueuesPlotter(ChartPlotter):
    """Backlog of the router's queues in packets, and below it drops and, if there are any, marks,
    counted since the first sample. Runs without samples are left out. For one run, each sampled
    direction. For several, the first run of each group, in the directions that any of the tests
    loads."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        sampled = {id(run): queues_in(result)
                   for run, result in zip(runs, results, strict=True)}
        with_samples = [run for run in runs if sampled[id(run)]]
        # Groups are asked for among runs with samples only: without any there are none.
        drawn = (_queue_lines(with_samples, sampled, self.groups_of(
            with_samples, own_colours=loads_both_at_once(with_samples))) if with_samples else [])
        self.note_first_runs(with_samples, len({id(run) for _, _, run, _ in drawn}))
        if not drawn:
            failed = next((run.queue_failure for run in runs if run.queue_failure), "")
            raise NotAvailable("the router's queues were " + (
                "not sampled in " + ("this run" if len(runs) == 1 else "these runs")
                + (f": {failed}" if failed else "; give runs of tests of flent-aqm, which sample "
                   "them in the lab and in namespaces")
                if not with_samples else
                "sampled, but not in a direction that a test is known to load"))
        rows: list[tuple[str, Callable[[QueueSamples], Numbers]]] = [
            ("backlog\n(packets)", lambda queue: queue.backlog_packets),
            ("drops so far", lambda queue: numpy.cumsum(queue.drops))]
        if any(queue.marks.any() for _, _, _, queue in drawn):
            rows.append(("marks so far", lambda queue: numpy.cumsum(queue.marks)))
        else:
            self.note("no packet was marked")
        axes = self.grid(len(rows), 1, sharex=True,
                         height_ratios=(2, *([1] * (len(rows) - 1))))
        for axis, (name, values) in zip(axes, rows, strict=True):
            for label, look, run, queue in drawn:
                begin_s = 0.0 if self.absolute_time else start_s(run)
                line, = axis.plot(queue.at_s - begin_s, values(queue), color=look.colour,
                                  linestyle=look.line, linewidth=1.2, label=label,
                                  drawstyle="default" if axis is axes[0] else "steps-post")
                if axis is axes[0] and label not in [one.get_label() for one in self.handles]:
                    self.handles.append(line)
            axis.set_ylabel(name)
            from_zero([axis])
            shade_load(axis, [run for _, _, run, _ in drawn], absolute=bool(self.absolute_time))
        axes[-1].set_xlabel("time (s)")
        self.note(about(runs, sum(queue.at_s.size for _, _, _, queue in drawn)))


def _queue_lines(runs: Sequence[Run], sampled: dict[int, dict[str, QueueSamples]],
           groups: Sequence[RunGroup]) -> list[tuple[str, Look, Run, QueueSamples]]:
    """Return the lines to draw, as label, look, run and queue. For one run, all sampled directions.
    For several runs, the first run of each group, and those of its sampled directions that any of
    the tests loads. May be empty.

    Args:
        runs: runs with samples.
        sampled: id() of a run -> direction -> its queue.
        groups: the groups of runs.
    """
    if len(runs) == 1:
        run, = runs
        looks = looks_within(run, list(sampled[id(run)]))
        return [(f"{direction} queue", looks[direction], run, queue)
                for direction, queue in sampled[id(run)].items()]
    loaded = {flow.direction for run in runs for flow in run.speed_test} - {""}
    # If directions are loaded one after the other, they can be told apart by their time.
    both = loads_both_at_once(runs)
    return [(f"{group.label}, {direction}" if both else group.label,
             group.look.lined(WAY_LINES[direction]) if both else group.look, run, queue)
            for group in groups for run in group.runs[:1]
            for direction, queue in sampled[id(run)].items() if direction in loaded]

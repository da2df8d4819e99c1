# SPDX-License-Identifier: GPL-3.0-or-later
"""Repeats a recorded run with captures on the router, and checks that it is the same run.

The captures start with the router's queue, before the second in which the test begins, and sleep
until the run has ended (guest/ring.py). So a run with captures has the same samples as one without,
and the SHA-256 of the samples shows it each time.
"""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy

from flent_aqm.base.errors import BadResult, LabError
from flent_aqm.base.words import counted
from flent_aqm.lab.path_model import path_models
from flent_aqm.lab.place import CommandResult, read_text
from flent_aqm.lab.protocol import FlentRun
from flent_aqm.lab.virtual import Lab, VirtualTestbed
from flent_aqm.parts.why.ledger import (
    FRAMES_A_BLOCK,
    Ledger,
    parse_devices,
    read_ledger,
)
from flent_aqm.parts.why.probe_series import flow_of, with_series
from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.router.hook import routers_of
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep.replay.again import again
from flent_aqm.sweep.replay.compare import differences, other_versions
from flent_aqm.sweep.replay.recorded import RecordedRun, why_programs_differ
from flent_aqm.sweep.run import samples_sha256

MODEM = "modem"
_GUEST = Path(__file__).parent / "guest"
# Namespace -> its devices towards the client and away from it.
_DEVICES = {MODEM: ("lan", "wan")}
_ROUTERS_DEVICES = ("down", "up")
# Frames and their acknowledgements, with room for small packets; length of a test in seconds.
_FRAME_BYTES, _WITH_ACKS, _USUAL_S = 1514, 2.0, 30.0
_MORE = 1.15
# Blocks of 1 MiB in the guest's memory of 1.5 GiB.
_FEWEST_BLOCKS, _MOST_BLOCKS = 64, 640


class Watched(Lab):
    """A guest that captures the packets of its routers, and of the modem if there is one, once
    capture() was called, before start().

    kept: folder on the host to which the captures are moved when the run has ended. capture() sets
    it.
    """

    kept: Path

    def capture(self, kept: Path, scenario: Scenario, blocks: int, drop_filter: str) -> None:
        """Have the guest's scripts capture, by additions to the run's folder. Call it once, before
        start().

        Args:
            kept: folder on the host to which wait() moves the captures.
            scenario: settings of the run.
            blocks: number of 1 MiB blocks of memory for all captures together, of which each gets
                the same part.
            drop_filter: line of shell that makes the router drop a packet, "" for none.
        """
        self.kept = kept
        names = namespaces(scenario)
        for script in ("why.sh", "why_start.sh", "ring.py", "drop.py"):
            shutil.copy(_GUEST / script, self.folder / "guest")
        start = shlex.join(["sh", "/run/lab/guest/why_start.sh", str(blocks // len(names)),
                            *names])
        apply = self.folder / "apply.sh"
        apply.write_text(f"{apply.read_text().rstrip()} && {start}\n{drop_filter}")
        with (self.folder / "settings.sh").open("a") as settings:
            settings.write('PATH_MODELS="${PATH_MODELS:-} why:why.sh"\n')

    def wait(self) -> CommandResult:
        """Wait until the run has ended, move its captures to `kept`, and return the command's
        result. There are no captures if the test was refused before its queue was set up. Raises as
        Lab.wait(), and LabError if the router could not drop the packet of --drop-packet, or if a
        capture failed or has lost packets."""
        result = super().wait()
        out = self.stdout.parent
        if not (out / "why_pids").exists():
            return result  # the test was refused before its queue was set up; the caller says why
        if fault := " ".join(read_text(out / "why_drop").split()):
            raise LabError(f"--drop-packet: the router could not drop the packet: {fault[-200:]}; "
                           "name another packet, or leave --drop-packet out")
        for name in namespaces(self._scenario):
            text = read_text(out / f"why_devices-{name}")
            dropped = re.search(r"^dropped (\d+)$", text, re.MULTILINE)
            if not dropped:
                last = read_text(out / f"why_errors-{name}").splitlines()[-1:]
                raise LabError(f"the capture on {name} failed: "
                               f"{last[0][:200] if last else 'it printed nothing'}; explain it "
                               "again, or if memory or disk was short, a shorter run, or one with "
                               "fewer packets")
            if int(dropped[1]):
                raise LabError(f"the capture on {name} had no room for "
                               f"{counted(int(dropped[1]), 'packet')}: it has memory for "
                               f"{100 * (_MORE - 1):.0f} % more than the recorded run's queues "
                               f"sent, up to {_MOST_BLOCKS} MiB for all captures; explain a "
                               "shorter run, or a change that sends fewer packets")
            for made in (f"why-{name}.ring", f"why_devices-{name}"):
                shutil.move(out / made, self.kept / made)
        return result


class WatchedTestbed(VirtualTestbed):
    """The virtual lab with captures.

    Args:
        kept: existing folder on the host to which the captures of a run are moved.
        packets: number of packets that the router's queues sent in the recorded run, None if it
            isn't known. The memory of the captures is chosen by it.
        drop_filter: line of shell that makes the router drop a packet, "" for none.
    """

    lab = Watched

    def __init__(self, kept: Path, packets: int | None, drop_filter: str = "") -> None:
        super().__init__()
        self._kept, self._packets, self._drop_filter = kept, packets, drop_filter

    def place(self, scenario: Scenario, run: FlentRun) -> Lab:
        """Return a guest that runs Flent on its client and captures, not started yet. The caller
        closes it. Raises an AqmError if it can't be made."""
        lab = super().place(scenario, run)
        assert isinstance(lab, Watched)
        lab.capture(self._kept, scenario, _blocks(scenario, self._packets), self._drop_filter)
        return lab


@dataclass(frozen=True)
class WatchedRun:
    """A run with its packets.

    Attributes:
        data: content of the run's data file.
        cell: the run's cell. Its folder was temporary, and is gone.
        run: the same data as metrics read it. Its first latency series is the explained one.
        ledgers: name of the router, or "modem" -> its packets, the nearest to the client first.
            Packets leave a modem's queue before the delay of the link that is in its place.
    """

    data: Mapping[str, Any]
    cell: Cell
    run: Run
    ledgers: Mapping[str, Ledger]

    @cached_property
    def base_rtt_ns(self) -> int:
        """Round trip without queues in ns: the base delay, and the median of the own delay of a
        link in the modem's place in each direction."""
        own_ns = [float(numpy.median(passage.own_delay_ns[passage.departure_no >= 0]))
                  for ledger in self.ledgers.values() for passage in (ledger.up, ledger.down)
                  if passage.own_delay_ns.any()]
        return round(self.cell.scenario.path.base_delay_ms * 1e6 + sum(own_ns))

    @cached_property
    def packets(self) -> Mapping[tuple[str, str], Mapping[int, int]]:
        """(router, direction) -> (number of a probe -> row of its packet, or of its reply's), of
        the explained series, as ProbeFlow.rows() returns it. Raises BadResult if the series is not
        in the capture."""
        flow = flow_of(self.run, self.run.probe, next(iter(self.ledgers.values())))
        return {(name, direction): flow.rows(ledger, direction)
                for name, ledger in self.ledgers.items() for direction in ("up", "down")}


def _blocks(scenario: Scenario, packets: int | None) -> int:
    """Return the number of 1 MiB blocks that hold the packets of a run in all of its captures, from
    64 (_FEWEST_BLOCKS) to 640 (_MOST_BLOCKS).

    Args:
        scenario: settings of the run.
        packets: number of packets that the router's queues sent in the recorded run, None if it
            isn't known. Then the run is taken to fill the line for 30 s (_USUAL_S).
    """
    router = scenario.router
    if packets is None:
        packets = round((router.rate_up_mbps + router.rate_down_mbps) * 1e6 / 8 / _FRAME_BYTES
                        * _WITH_ACKS * _USUAL_S)
    # Each capture has each packet twice, and with an IFB device, the router's has those of the
    # download once more. A run with something changed may have more packets.
    names = namespaces(scenario)
    times = 2 * len(names) + (len(names) - (MODEM in names) if router.ingress == "ifb" else 0)
    needed = times * _MORE * packets / FRAMES_A_BLOCK
    return round(min(max(needed, _FEWEST_BLOCKS), _MOST_BLOCKS))


def _packets(data: Mapping[str, Any]) -> int | None:
    """Return the number of packets that the router's queues sent in a run, from the kernel's
    counters in its data file. None unless the file has them for both directions."""
    counters = data["metadata"].get("AQM", {}).get("after", {}).get("counters", {})
    sent = [max((one["packets"] for one in counters.get(way, {}).values()
                 if isinstance(one, dict) and isinstance(one.get("packets"), int)), default=0)
            for way in ("down", "up")]
    return sum(sent) if all(sent) else None


def namespaces(scenario: Scenario) -> Sequence[str]:
    """Return the network namespaces in which packets are captured, the nearest to the client first:
    the names of the routers, then MODEM if the path has a modem or a model in its place."""
    has_modem = scenario.replaces_modem or scenario.path.modem_up_mbps is not None
    return [*routers_of(scenario), *([MODEM] if has_modem else [])]


def watch(cell: Cell, was: Mapping[str, Any], drop_filter: str = "", series: str = ""
          ) -> WatchedRun:
    """Run a cell with captures, without a comparison with the recorded run. Nothing is kept on the
    disk. Raises AqmError if the run, a capture or the drop of a packet fails, or if the run has no
    such series.

    Args:
        cell: the run.
        was: content of the recorded run's data file, whose counters tell how many packets to
            expect.
        drop_filter: line of shell that makes the router drop a packet, "" for none.
        series: name of the explained latency series, "" for the best.
    """
    with tempfile.TemporaryDirectory(prefix="flent-aqm-why-") as name:
        folder = Path(name)
        cell = replace(cell, folder=folder)
        data = again(cell, WatchedTestbed(folder, _packets(was), drop_filter))
        run = with_series(as_run(as_data_file(data, cell.data_file)), series)
        ledgers = {}
        for one in namespaces(cell.scenario):
            near, far = _DEVICES.get(one, _ROUTERS_DEVICES)
            devices = parse_devices((folder / f"why_devices-{one}").read_text())
            ledgers[one] = read_ledger(folder / f"why-{one}.ring", devices, near, far)
        if MODEM in ledgers:
            ledgers[MODEM] = _without_own_delays(ledgers[MODEM], cell.scenario, data)
        return WatchedRun(data, cell, run, ledgers)


def _without_own_delays(ledger: Ledger, scenario: Scenario, data: Mapping[str, Any]) -> Ledger:
    """Return the packets of the modem, which leave its queue before the own delay of a link that is
    in the modem's place. Unchanged without such a link. Raises ConfigError if the link can't be
    computed, such as from a trace that was moved meanwhile.

    Args:
        ledger: the packets as captured.
        scenario: settings of the run.
        data: content of its data file, with the counters of the link.
    """
    for model in path_models(scenario):
        reported = data["metadata"]["AQM"].get(model.name)
        for direction in ("up", "down"):
            passage = ledger.passage(direction)
            own_ns = model.own_delays_ns(scenario, reported, direction, passage.arrived_ns,
                                         passage.left_ns)
            if own_ns is not None:
                changed: Any = {direction: passage.without_own_delay(own_ns)}
                ledger = replace(ledger, **changed)
    return ledger


def run_again(path: Path, was: RecordedRun, series: str = "") -> WatchedRun:
    """Repeat the run of a data file with captures.

    Args:
        path: the data file, for messages.
        was: its content and cell.
        series: name of the explained latency series, "" for the best.

    Raises AqmError if the run can't be repeated, and BadResult, with the first difference, if the
    repeated run has other samples than the file.
    """
    now = watch(was.cell, was.data, series=series)
    if samples_sha256(was.data) != samples_sha256(now.data):
        versions = other_versions(was.data["metadata"], now.data["metadata"])
        first = differences(was.data, now.data)[0]
        others = f"; made with another {', '.join(one.where for one in versions)}" \
            if versions else ""
        programs = why_programs_differ(was.cell)
        mend = ("use those versions, or measure" if versions else "measure")
        raise BadResult(f"{path}: not explained, because the repeated run is another one: "
                        f"{first}{others}{programs and '; '}{programs}; {mend} the run again, and "
                        "explain the new file")
    return now


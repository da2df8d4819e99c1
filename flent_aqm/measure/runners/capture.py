# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures TCP and UDP headers on the client, for throughput over time: a runner for Flent."""

from __future__ import annotations

import ipaddress
import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from flent_aqm.base import defaults
from flent_aqm.base.errors import AqmError, BadResult, cause_of
from flent_aqm.base.flent_api import RunnerCheckError, lookup_host
from flent_aqm.base.shell import run
from flent_aqm.measure.load_window import END, SOURCE, START, TRANSFERS
from flent_aqm.measure.parsers.captured_flows import CapturedFlow, read_flows
from flent_aqm.measure.parsers.pcap import (
    Capture,
    FlowClasses,
    parse_tcpdump_counts,
    read_capture,
    snap_length,
)
from flent_aqm.measure.parsers.pcap_records import FILE_HEADER_BYTES, RECORD_HEADER_BYTES
from flent_aqm.measure.parsers.transfers import LEAST_BYTES
from flent_aqm.measure.runners.part import MORE
from flent_aqm.measure.runners.process import Parsed, SupervisedRunner, program_path, text_of

STEP_S = 0.1
# Largest capture: 7.6 million packets over IPv4, which is 25 s of 1 Gbit/s in both directions with
# the ACKs. It is smaller if the temporary folder is small, which in the lab's guest is memory.
MAX_CAPTURE_BYTES = 512 << 20
SHARE_OF_FREE_ROOM = 0.75
# The kernel keeps packets in this buffer until tcpdump reads them: 0.2 s of full-sized packets at
# 10 Gbit/s.
KERNEL_BUFFER_KIB = 16384
# Bytes per packet in captures that are kept: whole TCP headers with options.
KEPT_SNAP_BYTES = 128


class AqmCaptureRunner(SupervisedRunner):
    """Runs tcpdump on the device towards the host, for `length` seconds or until the capture has
    reached its largest size.

    Keys of the data set:
        host: the server.
        more_hosts: further servers, reached through the same device.
        length: seconds.
        ports: ports of the test's servers.
        every_port: True for a test whose ports aren't known before: packets between client and
            servers are captured whatever their port, and each flow that read_flows() returns
            becomes a series of its own. Flows of `ports` and `cross_port` don't.
        not_ports: with every_port, ports whose packets aren't captured, such as a probe's.
        cross_port: port of cross traffic.
        keep: True to keep the capture beside the data file.
        round_trips: True for round trips of the flows' own packets by TCP's time stamps, which
            `keep` includes. Without effect with every_port.

    Series, in Mbit/s every 100 ms: upload, download (payload of the test), upload_wire,
    download_wire (its whole frames), and if packets of cross traffic were captured, the same with
    the prefix "cross_". Raw samples have all of them by these names, `dur` (s), and as `val`
    upload + download.
    """

    def __init__(self, *, host: str, length: float, ports: Sequence[int],
                 more_hosts: Sequence[str] = (), keep: bool = False, round_trips: bool = False,
                 cross_port: int = defaults.IPERF3_CROSS_PORT, every_port: bool = False,
                 not_ports: Sequence[int] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.hosts = [host, *more_hosts]
        self.run_for_s = length
        self.keep = keep
        self.round_trips = round_trips
        self.ports = {**dict.fromkeys(ports, ""), cross_port: "cross_"}
        self.every_port = every_port
        self.not_ports = list(not_ports)
        self.addresses: list[str] = []
        self.device = ""
        self.servers: frozenset[int] = frozenset()
        self.ip_version = 4
        self.segment_bytes = 0
        self.max_packets = 0

    def check(self) -> None:
        """Determine device and addresses, and build tcpdump's command line. Flent calls it before
        the test. Raises RunnerCheckError if tcpdump isn't found, if the device towards the first
        host can't be determined, or if there is no room for temporary files, RuntimeError if a host
        can't be resolved."""
        program = program_path("tcpdump")
        addresses = self.addresses = [str(lookup_host(host, self.settings.IP_VERSION)[4][0])
                                      for host in self.hosts]
        address = addresses[0]
        self.ip_version = ipaddress.ip_address(address).version
        self.device = _egress_device(address)
        if self.device != "lo":  # on loopback both ends have the same address
            self.servers = frozenset(
                int(ipaddress.ip_address(one)) & 0xFFFFFFFF for one in addresses)
        headers = 40 if self.ip_version == 4 else 60
        self.segment_bytes = _mtu(self.device) - headers
        # As short as possible: the number of tcpdump's writes influences a run.
        snap = KEPT_SNAP_BYTES if self.keep else snap_length(self.ip_version,
                                                             stamps=self.round_trips)
        free = shutil.disk_usage(tempfile.gettempdir()).free
        room = min(MAX_CAPTURE_BYTES, int(free * SHARE_OF_FREE_ROOM))
        self.max_packets = (room - FILE_HEADER_BYTES) // (RECORD_HEADER_BYTES + snap)
        if self.max_packets < 1:
            raise RunnerCheckError(f"{tempfile.gettempdir()} has no room for a capture: {free:,} "
                                   "bytes are free; make room, or set TMPDIR to another folder")
        ports = " or ".join(f"port {port}" for port in self.ports)
        if self.every_port:
            ports = " and ".join(f"not port {port}" for port in self.not_ports) or "ip or ip6"
        hosts = " or ".join(f"host {one}" for one in addresses)
        self.command = shlex.join([
            str(program), "-i", self.device, "-n", "-p", "-s", str(snap),
            "-B", str(KERNEL_BUFFER_KIB), "-c", str(self.max_packets), "-w", "-",
            f"(tcp or udp) and ({hosts}) and ({ports})"])
        super().check()

    def fork(self) -> int:
        # Ubuntu's AppArmor profile lets tcpdump write to files of this name only.
        self.stdout, self.stderr = self.open_output(".pcap"), self.open_output()
        return 0

    @property
    def out(self) -> str:
        """Text that Flent logs as standard output: the size of the capture, in place of its bytes.
        """
        return f"({os.fstat(self.stdout.fileno()).st_size} bytes of pcap)\n"

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        """Return the throughput by series, raw samples, and metadata with a description of the
        capture under CAPTURE. With every_port, its flows are in the metadata under MORE. With keep,
        copy it beside the data file. A capture that is cut off or lacks packets is no error, but
        isn't `complete` under CAPTURE.

        Raises BadResult if no packet was captured, with every_port if no flow was, or with keep if
        the copy's file exists, ParseError if the file isn't a pcap file or tcpdump's counts are
        missing, OSError if the copy can't be written.
        """
        counts = parse_tcpdump_counts(text_of(error))
        capture = read_capture(
            cast(BinaryIO, cast(Any, output).buffer), self.ip_version,
            FlowClasses(self.ports, self.segment_bytes, self.servers,
                        "" if self.every_port else None), STEP_S)
        about: dict[str, Any] = {
            "packets": counts.captured, "dropped_by_kernel": counts.dropped,
            "foreign_packets": capture.external,
            "complete": not self.stopped_early and not counts.dropped and not capture.cut,
        }
        if self.stopped_early:
            about["note"] = (f"stopped at {self.max_packets} packets: "
                             "the series end before the load does")
        if self.keep:
            about["file"] = self._keep_capture(output)
        if not capture.steps:
            other = (", or are of another protocol than TCP and UDP, or of a port that is left out "
                     f"({', '.join(map(str, self.not_ports))})" if self.every_port else "")
            raise BadResult(f"no packet of the test was captured on {self.device}: the load did "
                            "not start, or another host than client sends it, or its packets take "
                            "another path, or go to another address than "
                            f"{' or '.join(self.addresses)}{other}")
        raw = _raw_values(capture)
        names = [name for name in raw[0] if name not in ("t", "dur", "val")]
        series = {name: [[one["t"], one[name]] for one in raw] for name in names}
        ends_s = raw[-1]["t"] if self.stopped_early else self.ended_s
        more = self._flows(output) if self.every_port else {}
        return series, raw, {
            "CAPTURE": about, **({MORE: more} if more else {}),
            TRANSFERS: ([asdict(one) for one in capture.transfers], ends_s)}

    def _flows(self, output: IO[str]) -> dict[str, Parsed]:
        """Return what read_flows() finds in the capture, by name: series, raw samples and metadata
        of each flow. Flows of the test's ports and of cross traffic are left out. Raises BadResult
        if there are none.

        Names are such as "TCP 443 upload". With several servers, the host is before the port ("TCP
        example.org:443 upload"). Further flows of the same name get " #2", " #3" and so on.
        """
        binary = cast(BinaryIO, cast(Any, output).buffer)
        binary.seek(0)
        flows = read_flows(binary, self.addresses, self.ports, STEP_S)
        if not flows:
            left_out = ", ".join(map(str, [*self.ports, *self.not_ports]))
            raise BadResult(f"no flow of TCP or UDP between {' or '.join(self.hosts)} and the host "
                            f"called client carried {LEAST_BYTES} bytes or more, ports {left_out} "
                            "apart: the command sent less, or from or to another host")
        named: dict[str, Parsed] = {}
        for flow in flows:
            place = str(flow.server_port)
            if len(self.addresses) > 1:
                place = f"{self.hosts[self.addresses.index(flow.server)]}:{place}"
            number, name = 1, f"{flow.protocol} {place} {flow.direction}"
            while name in named:
                number += 1
                name = f"{flow.protocol} {place} {flow.direction} #{number}"
            named[name] = _as_series(flow)
        return named

    @property
    def stopped_early(self) -> bool:
        """True if tcpdump wasn't stopped: if it succeeded, it ended by itself at its limit of
        `max_packets`. Valid only after its end."""
        return not self.stopped_by

    def _keep_capture(self, output: IO[str]) -> str:
        """Copy the capture to the folder of data files, under the data file's name with the ending
        .pcap. Return this name, without the folder. Raises BadResult if the file exists, OSError if
        it can't be written."""
        settings = self.settings
        # Flent's default name for a data file, if the batch sets none, begins the same way.
        own = f"{settings.NAME}-{settings.TIME.isoformat().replace(':', '')}"
        stem = getattr(settings, "DATA_FILENAME", None) or own
        target = Path(settings.DATA_DIR) / f"{stem.removesuffix('.flent.gz')}.pcap"
        source = cast(Any, output).buffer
        source.seek(0)
        try:
            with target.open("xb") as file:
                shutil.copyfileobj(source, file, 1 << 20)
        except FileExistsError:
            raise BadResult(f"the capture can't be kept: {target} exists already; move it, or "
                            "write the data file to another folder") from None
        return target.name


def _egress_device(address: str) -> str:
    """Return the name of the network device through which packets to this address leave. Raises
    RunnerCheckError if there is none, or if `ip` can't be run."""
    try:
        device = json.loads(run(["ip", "-j", "route", "get", address]))[0]["dev"]
    except (AqmError, ValueError, LookupError) as fault:
        raise RunnerCheckError("cannot determine the network device through which packets to "
                               f"{address} leave: {cause_of(fault)}") from None
    return str(device)


def _mtu(device: str) -> int:
    """Return the MTU of a device in bytes, 1500 if it is unknown."""
    try:
        return int(Path("/sys/class/net", device, "mtu").read_text())
    except OSError:
        return 1500  # /sys may belong to another network namespace


def _as_series(flow: CapturedFlow) -> Parsed:
    """Return series, raw samples and metadata of a captured flow: its payload in Mbit/s in each
    step of STEP_S from its first to its last data, 0 in steps without data. A sample's time is the
    step's end."""
    samples: list[dict[str, Any]] = [
        {"t": round((step + 1) * STEP_S, 6), "dur": STEP_S,
         "val": flow.steps.get(step, 0) * 8e-6 / STEP_S}
        for step in range(min(flow.steps), max(flow.steps) + 1)]
    about: dict[str, Any] = {
        "protocol": flow.protocol, "server_port": flow.server_port,
        "client_port": flow.client_port, "payload_bytes": flow.payload_bytes,
        "packets": flow.packets}
    if flow.protocol == "TCP":
        about |= {"retransmitted_packets": flow.retransmitted_packets,
                  "retransmitted_bytes": flow.retransmitted_bytes}
    return [[one["t"], one["val"]] for one in samples], samples, {
        "RUNNER": "AqmProgramRunner", "UNITS": "Mbits/s", START: flow.first_s, END: flow.last_s,
        SOURCE: "capture", "FLOW": about,
        "MEAN_VALUE": flow.mean_mbps}


def _raw_values(capture: Capture) -> list[dict[str, Any]]:
    """Return one raw sample per step, in order of time: throughputs in Mbit/s under the names of
    the runner's series, their time `t` (end of the step in epoch seconds), `dur` (s), and as `val`
    upload + download."""
    kinds = sorted({kind for step in capture.steps for kind, _ in step} | {""})
    factor = 8e-6 / capture.step_s
    samples = []
    for index, step in enumerate(capture.steps):
        sample: dict[str, Any] = {}
        for kind in kinds:
            for direction in ("upload", "download"):
                amount = step.get((kind, direction))
                sample[f"{kind}{direction}"] = amount.payload_bytes * factor if amount else 0.0
                sample[f"{kind}{direction}_wire"] = amount.wire_bytes * factor if amount else 0.0
        end_s = capture.start_s + (index + 1) * capture.step_s
        samples.append({"t": end_s, "dur": capture.step_s,
                        "val": sample["upload"] + sample["download"], **sample})
    return samples

# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs cross traffic of other users: a video call, adaptive video, web pages. Runners for Flent.

Keys of the data sets:
    client: name in TOOLS.
    host, port: the server.
    length: seconds, unless kill_after ends it earlier.

Series: throughput in Mbit/s. Raw samples have `val` and `dur` (s), or what users notice: frame_ms
and frame_lost, segment_mbps and stalled_ms, page_ms. See docs/reference/data-format.md.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import IO, Any

from flent_aqm.base.errors import BadResult
from flent_aqm.base.flent_api import lookup_host, normalise_host
from flent_aqm.measure.load_window import received
from flent_aqm.measure.parsers.cross import (
    FRAMES_PER_S,
    PACKET_BYTES,
    PACKETS_PER_FRAME,
    CrossTraffic,
    parse_call,
    parse_lines,
)
from flent_aqm.measure.runners.part import PARTS
from flent_aqm.measure.runners.process import Parsed, SupervisedRunner, program_path, text_of
from flent_aqm.tools.table import TOOLS


class _CrossRunner(SupervisedRunner):
    """Base class of the runners of a call and of this package's cross-traffic clients. Being
    stopped is their normal end.

    Keys of the data set:
        client: name in TOOLS.
        host, port: the server.
        length: seconds, unless kill_after ends it earlier.

    Series: throughput in Mbit/s. Raw samples have `val` and `dur` (s), or what users notice.

    Attributes:
        args: words of the tool's command line, from check() on.
        why_no_rates: message about a direction without rates, with the fields direction, host and
            port.
    """

    endless = True
    args: list[str]
    why_no_rates: str

    def __init__(self, *, client: str, host: str, port: int, length: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.client = client
        self.host = host
        self.port = port
        self.run_for_s = length

    def address(self) -> str:
        """Return the server's address, of the IP version of the test. Raises RuntimeError if the
        host can't be resolved."""
        address_info = lookup_host(normalise_host(self.host), self.settings.IP_VERSION)
        return str(address_info[4][0])

    def series_of(self, traffic: CrossTraffic, direction: str = "download") -> Parsed:
        """Return one direction as series, raw samples and metadata for Flent. A client that
        receives nothing has a rate of 0. Raises BadResult if there are no rates.

        Args:
            traffic: the traffic of this direction, from the parsed output of the client.
            direction: "upload" or "download".
        """
        if not traffic.rates:
            raise BadResult(self.why_no_rates.format(direction=direction, host=self.host,
                                                     port=self.port))
        return (
            [[one["t"], one["val"]] for one in traffic.rates],
            sorted([*traffic.rates, *traffic.events], key=lambda one: one["t"]),
            {**received(traffic.rates, self.started_s), **self.load(self.port, direction),
             "MEAN_VALUE": sum(one["val"] for one in traffic.rates) / len(traffic.rates)})


class AqmCallRunner(_CrossRunner):
    """Runs a video call in both directions: irtt's packets at a call's pace (the upload), and its
    server's answers, which are the part "download" (under PARTS in the metadata).

    Keys of the data set: client (name in TOOLS), host and port of the server, length in s, unless
    kill_after ends it earlier.

    The series is the upload's throughput in Mbit/s. Raw samples also have what users notice.
    """

    # irtt sends none before its server has answered.
    why_no_rates = (f"none of the call's packets of {PACKET_BYTES} bytes is known to have arrived "
                    "in the {direction}, though irtt reached its server at port {port} of {host} "
                    "before; check that the path carries such packets: limit of the queue, losses, "
                    "outages, MTU")

    def check(self) -> None:
        """Build irtt's command line. Flent calls it before the test. Raises RunnerCheckError if
        irtt isn't found, RuntimeError if the host can't be resolved."""
        program = program_path("irtt")
        address = normalise_host(self.address(), bracket_v6=True)
        self.command = shlex.join([
            str(program), "client", "-Q", "-i",
            f"{round(1e9 / FRAMES_PER_S / PACKETS_PER_FRAME)}ns", "-l", str(PACKET_BYTES),
            "-d", f"{2 * (self.run_for_s or 0) + 60:g}s", "-o", "OUTPUT",
            f"{address}:{self.port}"])
        super().check()

    def fork(self) -> int:
        # When it is stopped, irtt writes its result only to a file.
        written = self.open_written(".json")
        self.args = [written if one == "OUTPUT" else one for one in self.args]
        return super().fork()

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        """Parse irtt's JSON in the file `written`, in place of `output`. Return the upload as
        series, raw samples and metadata, with the download as a part in the metadata. Raises
        ParseError if the JSON is damaged or has no packets, BadResult if a direction has no data,
        OSError if the file can't be read."""
        call = parse_call(Path(self.written).read_text(encoding="utf-8"))
        upload = self.series_of(call["upload"], "upload")
        upload[2][PARTS] = {"download": self.series_of(call["download"])}
        return upload


class AqmCrossRunner(_CrossRunner):
    """Runs one of this package's cross-traffic clients, which only download: adaptive video, web
    pages or bulk over QUIC.

    Keys of the data set: client (name in TOOLS), host and port of the server, length in s, unless
    kill_after ends it earlier.

    The series is the download's throughput in Mbit/s. Raw samples also have what users notice.
    """

    title = "cross traffic"
    why_no_rates = ("the cross-traffic client of port {port} of {host} was stopped by force before "
                    "it printed what had arrived; repeat the run")

    def check(self) -> None:
        self.command = shlex.join([sys.executable, "-P", "-m", TOOLS[self.client].module,
                                   self.address(), str(self.port)])
        super().check()

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        return self.series_of(parse_lines(text_of(output)))

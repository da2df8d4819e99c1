# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs an NDT7 client for one direction: the crate's, M-Lab's, or a browser. A runner for Flent."""

from __future__ import annotations

import ipaddress
import re
import shlex
import socket
import sys
from typing import IO, Any

from flent_aqm.base import defaults
from flent_aqm.base.errors import BadResult, ParseError
from flent_aqm.base.flent_api import RunnerCheckError, lookup_host, normalise_host
from flent_aqm.base.shell import find_program
from flent_aqm.measure.parsers.ndt7 import Subtest, parse_ndt7, rates_mbps
from flent_aqm.measure.runners.process import Parsed, SupervisedRunner, program_path, text_of
from flent_aqm.servers.ndt7.spec import EARLY_EXIT, EARLY_EXIT_MB
from flent_aqm.setup.optional import find, find_mlab_client, maker_of_client
from flent_aqm.tools.ndt7 import SCRIPT

PROGRAM = "ndt7-client"
# Value of `client` for headless Chromium with M-Lab's ndt7.js, see measure/ndt7_browser.py.
BROWSER = "browser"

# Seconds after which a client is considered hung. The protocol lets a client wait 15 s for the end
# of a download, and 7 s each for the connection and the last message.
WATCHDOG_S = 30

# If the server reports that the test began within so many seconds after the client's start, the
# server's clock is considered the same as this machine's. Its time is then more exact than that of
# the client's start.
_SAME_CLOCK_S = 3.0
_REFUSED = re.compile("connection refused", re.IGNORECASE)
_DOES_IT_RUN = "; does `flent-aqm serve ndt7` or another NDT7 server run there?"


class AqmNdt7Runner(SupervisedRunner):
    """Runs one NDT7 download or upload.

    Keys of the data set:
        host, port: the server.
        direction: "download" or "upload".
        tls: True for wss, with any certificate.
        client: "crate", "mlab" or "browser". None for the program that is found first on PATH.
        early_exit: True to request that a download ends after 250 MB. False in a browser.

    Series: throughput at the receiver in Mbit/s. Raw samples have `val` and `dur` (s), or the
    server's TCP_INFO: tcp_rtt, tcp_min_rtt, tcp_rtt_var (ms), bytes_acked, bytes_sent,
    bytes_retrans, bytes_received.
    """

    def __init__(self, *, host: str, direction: str, port: int = defaults.NDT7_PORT,
                 tls: bool = False, client: str | None = None, early_exit: bool = False,
                 **kwargs: Any) -> None:
        kwargs.setdefault("watchdog_timer", WATCHDOG_S)
        super().__init__(**kwargs)
        self.host = host
        self.direction = direction
        self.port = port
        self.tls = tls
        self.client = client
        self.early_exit = early_exit and direction == "download"

    def check(self) -> None:
        """Build the client's command line. Flent calls it before the test. An installed program is
        started with --help to tell whose it is. Raises RunnerCheckError if the client isn't
        installed, is unknown, isn't the requested one, or can't use the server's address, OSError
        if it can't be started. Raises RuntimeError if the host of a client other than the crate's
        can't be resolved."""
        if self.client == BROWSER:
            self.title = "ndt7.js in Chromium"
            self.command = shlex.join(self._browser_words())
        else:
            self.command = shlex.join(self._program_words())
        super().check()

    def _browser_words(self) -> list[str]:
        """Return the command line of the browser's client. Raises RunnerCheckError if Chromium or
        ndt7.js is missing, RuntimeError if the host can't be resolved."""
        library, chromium = find(SCRIPT), find_program("chromium")
        if library is None or chromium is None:
            missing = [name for name, found in (("chromium", chromium), ("ndt7.js", library))
                       if found is None]
            raise RunnerCheckError("NDT7 in a browser needs chromium and M-Lab's ndt7.js; not "
                                   f"found: {' and '.join(missing)}; run: "
                                   "flent-aqm setup --speedtests browser ndt7-js")
        return [sys.executable, "-P", "-m", "flent_aqm.measure.ndt7_browser", str(library),
                str(chromium), "wss" if self.tls else "ws", f"{self._address()}:{self.port}",
                self.direction]

    def _program_words(self) -> list[str]:
        """Return the command line of the installed client, which is started with --help to tell
        whose it is. Raises RunnerCheckError if it is missing, unknown, not the requested client, or
        can't use the host's address, OSError if it can't be started, and RuntimeError if it is
        M-Lab's and the host can't be resolved."""
        program = find_mlab_client() if self.client == "mlab" else program_path(PROGRAM)
        if program is None:
            raise RunnerCheckError(f"no {PROGRAM} of M-Lab's was found that this user may execute "
                                   "and that answers --help; see flent-aqm doctor")
        out, err = self.run_simple([str(program), "--help"])
        maker = maker_of_client(out + err)
        if maker is None:
            last = (err or out).strip().rpartition("\n")[2]
            ends = f"and ends with {last[-200:]!r}" if last else "and prints nothing"
            raise RunnerCheckError(f"{program} --help has the options of neither M-Lab's NDT7 "
                                   f"client nor that of the Rust crate, {ends}; install one of "
                                   "these; run: flent-aqm setup")
        if self.client not in (None, maker):
            raise RunnerCheckError(f"ndt7_client={self.client} was requested, but {program} is "
                                   + ("M-Lab's client; run: flent-aqm setup, which installs that "
                                      "of the Rust crate" if maker == "mlab" else
                                      "the client of the Rust crate; remove it, and run: flent-aqm "
                                      "setup --speedtests ndt7-client-go")
                                   + "; or leave ndt7_client out")
        words = self._crate_words() if maker == "crate" else self._mlab_words()
        return [str(program), *words]

    def _crate_words(self) -> list[str]:
        """Return the options of the Rust crate's client, without the program. Raises
        RunnerCheckError if it can't use the host's address."""
        tls = ["--no-verify"] if self.tls else []
        version = [f"--ipv{self.settings.IP_VERSION}"] if self.settings.IP_VERSION else []
        if self.early_exit:
            return ["--service-url", self._service_url(self._crate_host()), *tls,
                    "--format", "json", *version]
        return ["--server", f"{self._crate_host()}:{self.port}", "--no-locate",
                *(tls or ["--no-tls"]), "--format", "json", *version,
                "--no-upload" if self.direction == "download" else "--no-download"]

    def _crate_host(self) -> str:
        """Return the host for the crate's client. A name or an IPv4 address stays as it is. For an
        IPv6 address, that is the system's name of the address, for example from /etc/hosts, because
        the client looks an address in brackets up as a name. Raises RunnerCheckError if the address
        has no name, or if the name doesn't lead back to it."""
        host = str(normalise_host(self.host))
        if ":" not in host:
            return host
        try:
            name = socket.getnameinfo((host, 0), socket.NI_NAMEREQD)[0]
            addresses = {one[4][0] for one in socket.getaddrinfo(name, None, socket.AF_INET6)}
        except OSError:
            addresses = set()
        if str(ipaddress.IPv6Address(host)) not in addresses:
            raise RunnerCheckError(
                f"ndt7-client of the Rust crate can't take the IPv6 address {host} itself, and the "
                "system found no name that resolves to it; give the server's name, add a name for "
                "the address to /etc/hosts, or use M-Lab's client (ndt7_client=mlab)")
        return name

    def _mlab_words(self) -> list[str]:
        """Return the options of M-Lab's client, without the program. Raises RuntimeError if the
        host can't be resolved."""
        # It has no option for the IP version, so it gets an address.
        words = ["-scheme", "wss", "-no-verify"] if self.tls else ["-scheme", "ws"]
        words += ["-format", "json"]
        if self.early_exit:
            return ["-service-url", self._service_url(self._address()), *words]
        other = "upload" if self.direction == "download" else "download"
        return ["-server", f"{self._address()}:{self.port}", *words, f"-{other}=false"]

    def _address(self) -> str:
        """Return the server's address of the test's IP version, an IPv6 address in brackets. Raises
        RuntimeError if the host can't be resolved."""
        address_info = lookup_host(normalise_host(self.host), self.settings.IP_VERSION)
        return str(normalise_host(address_info[4][0], bracket_v6=True))

    def _service_url(self, address: str) -> str:
        """Return the URL of a download that the server is to end early. The installed clients have
        no option for that, but both accept a URL.

        Args:
            address: name or address of the server, an IPv6 address in brackets.
        """
        return (f"{'wss' if self.tls else 'ws'}://{address}:{self.port}/ndt/v7/{self.direction}"
                f"?{EARLY_EXIT}={EARLY_EXIT_MB}")

    def complaint(self, error: IO[str]) -> str:
        """Return the client's last line on standard error, "" if there is none. If its connection
        was refused, the server follows, which the crate's client doesn't name."""
        said = super().complaint(error)
        if not _REFUSED.search(said):
            return said
        return f"{said} by {self.host}, port {self.port}{_DOES_IT_RUN}"

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        """Parse the client's output. Return the throughput at the receiver as series, raw samples,
        and metadata with the load's times and NDT7's results under NDT7. Raises BadResult if the
        client reports an error, did not complete the test, or has no byte count of the receiver,
        ParseError if the output isn't a client's."""
        try:
            report = parse_ndt7(text_of(output))
        except ParseError as fault:
            said = self.complaint(error)
            raise ParseError(f"{fault}{f'; on standard error: {said}' if said else ''}") from None
        subtest = report.subtests.get(self.direction)
        if subtest is not None and subtest.errors:
            # ndt7.js only tells the event of a WebSocket that failed: browsers hide the cause.
            hidden = self.client == BROWSER and set(subtest.errors) == {"error"}
            said = ("its WebSocket failed, and browsers don't tell why" if hidden else
                    "; ".join(subtest.errors))
            raise BadResult("the NDT7 client reports an error of the "
                            f"{self.direction} with {self.host}, port {self.port}: {said}"
                            + (_DOES_IT_RUN if hidden or _REFUSED.search(said) else ""))
        if subtest is None or not subtest.complete:
            raise BadResult(f"the NDT7 client did not complete the {self.direction}: "
                            f"{self.last_words(output, error)}")
        throughput = subtest.throughput_mbps
        if throughput is None:
            receiver = "client" if self.direction == "download" else "server"
            raise BadResult(f"NDT7 {self.direction}: the client's output has no byte count of the "
                            f"receiver, the {receiver}, so the throughput is unknown: none arrived "
                            f"during the test, or this {receiver} reports none")
        start_s = self._start_of(subtest)
        raw = _raw_values(subtest, start_s)
        series = [[one["t"], one["val"]] for one in raw if "val" in one]
        return series, raw, {
            "MEAN_VALUE": throughput,
            "LOAD_START": start_s,
            "LOAD_END": start_s + subtest.progress()[-1].elapsed_s,
            # own_clock: a server on another machine has another clock.
            **self.load(self.port, self.direction, own_clock=start_s == self.started_s,
                        zero_s=start_s),
            "NDT7": {
                "throughput_mbps": throughput,
                "latency_ms": subtest.min_rtt_ms,
                "retransmission_pct": subtest.retransmission_pct,
                "client": "ndt7-js (M-Lab, Chromium)" if self.client == BROWSER else report.client,
                "uuid": subtest.uuid,
                "summary_of_client": dict(report.summary),
            },
        }

    def _start_of(self, subtest: Subtest) -> float:
        """Return the start of the test in epoch seconds: the server's if it lies less than
        _SAME_CLOCK_S after the client's start, so that both clocks are considered the same,
        otherwise the client's start."""
        theirs = subtest.started_s
        if theirs is not None and 0 <= theirs - self.started_s < _SAME_CLOCK_S:
            return theirs
        return self.started_s


def _raw_values(subtest: Subtest, start_s: float) -> list[dict[str, Any]]:
    """Return the raw samples of a test that began at start_s (epoch seconds), sorted by time `t`
    (epoch seconds): rates as `val` (Mbit/s) and `dur` (s), and the server's TCP_INFO under the
    names that AqmNdt7Runner lists, as far as it is reported."""
    rates = [{"t": start_s + end_s, "val": mbps, "dur": length_s}
             for end_s, length_s, mbps in rates_mbps(subtest.progress())]
    tcp = [{"t": start_s + one.elapsed_s, **{key: value for key, value in (
        ("tcp_rtt", one.rtt_ms), ("tcp_min_rtt", one.min_rtt_ms), ("tcp_rtt_var", one.rtt_var_ms),
        ("bytes_acked", one.bytes_acked), ("bytes_sent", one.bytes_sent),
        ("bytes_retrans", one.bytes_retrans), ("bytes_received", one.bytes_received),
    ) if value is not None}} for one in subtest.tcp]
    return sorted(rates + tcp, key=lambda one: one["t"])

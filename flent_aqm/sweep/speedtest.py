# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a test speedtest_… with Flent, and checks its programs, server and ping host beforehand."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base import defaults, environment
from flent_aqm.base.errors import (
    BadResult,
    CommandFailed,
    ConfigError,
    TestbedError,
    ToolMissing,
    cause_of,
)
from flent_aqm.base.shell import NOT_FOUND, find_program, run
from flent_aqm.base.whole_file import written_whole
from flent_aqm.base.words import last_line
from flent_aqm.results.data_file import SUFFIX, DataFile, read_data_file
from flent_aqm.sweep.run import first_error_of_flent

# Pings begin so long before the load, and end so long after the planned end of the load.
MARGIN_S = 2
DOT_S = 1.0
CONNECT_LIMIT_S = 10
PINGS = 4
# Exit status of ping and fping if no ping was answered. Others stand for other faults, such as a
# missing right.
_UNANSWERED = 1
PING_LIMIT_MS = 1000
_FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}


@dataclass(frozen=True)
class SpeedtestRequest:
    """Settings of a speed test, or of a test of the idle line.

    Attributes:
        test: name of the test definition.
        host: name or address of the netperf server. A test of the idle line sends nothing to it.
        ip_version: 4 or 6.
        length_s: duration in s of the load, of each direction if they come one after the other. On
            an idle line that of the pings.
        streams: number of TCP connections in each direction, 0 to measure an idle line.
        ping_host: name or address of the host to ping.
        passphrase: passphrase of the netperf server, "" if it requires none.
    """

    test: str
    host: str
    ip_version: int
    length_s: int
    streams: int
    ping_host: str
    passphrase: str


def measure(request: SpeedtestRequest, dots: bool, keep: Path | None) -> DataFile:
    """Run a speed test, and return its data file. Must be called in the main thread, because it
    handles signals.

    Args:
        request: settings of the test.
        dots: print a dot per second to standard error.
        keep: path to which the data file is copied, in place of an older file, also if one of the
            test's tools failed, but not if the file is damaged. None keeps no copy.

    Raises BadResult if Flent wrote no data file, the file is damaged, or one of the test's tools
    failed, with the first error, ConfigError if `keep` can't be written, KeyboardInterrupt at
    SIGTERM and SIGHUP, too.
    """
    with tempfile.TemporaryDirectory(prefix="flent-aqm-speedtest-") as name:
        folder = Path(name)
        output = _run_flent(_command_line(request, folder), {
            # Files with the tools' output are written there, so they are removed with the folder.
            "TMPDIR": name, environment.WITHOUT_PLOTS: "1",
            # The data file records test parameters, so the passphrase must not be one.
            environment.NETPERF_PASSPHRASE: request.passphrase}, dots)
        files = list(folder.glob(f"*{SUFFIX}"))
        if not files:
            raise BadResult(first_error_of_flent(output))
        data = read_data_file(files[0])
        if keep is not None:
            try:
                with written_whole(keep) as target:
                    target.write(files[0].read_bytes())
            except OSError as error:
                raise ConfigError(f"-o: can't write {keep}: {cause_of(error)}; the speed test ran, "
                                  "but its data file is lost: give another FILE, and run it again"
                                  ) from None
    for about in data.series_meta.values():
        if isinstance(about.get("ERROR"), list) and about["ERROR"]:
            raise BadResult(str(about["ERROR"][0]))
    return data


def _command_line(request: SpeedtestRequest, folder: Path) -> list[str]:
    """Return the words of Flent's command line for a speed test. The passphrase is not in it.

    Args:
        request: settings of the test.
        folder: folder to which Flent writes the data file.
    """
    parameters = {"probes": "ping", "ping_host": request.ping_host}
    if request.streams:
        parameters["streams"] = str(request.streams)
    return [
        # The user's .flentrc is not meant for this test.
        sys.executable, "-P", "-m", "flent", request.test, "--rcfile", os.devnull,
        f"-{request.ip_version}", f"--host={request.host}", f"--length={request.length_s}",
        f"--delay={MARGIN_S if request.streams else 0}", f"--data-dir={folder}",
        *(f"--test-parameter={name}={value}" for name, value in parameters.items())]


def _run_flent(words: list[str], settings: dict[str, str], dots: bool) -> str:
    """Run Flent, wait for its end, and return its standard error, whatever its exit status. SIGTERM
    or SIGHUP raise KeyboardInterrupt meanwhile. If anything is raised, Flent is killed with its
    tools. Must be called in the main thread.

    Args:
        words: the command line.
        settings: environment variables to add to those of this process, of which only
            environment.DISABLE is left out.
        dots: print a dot per second to standard error, and a line end at the end.
    """
    variables = {**os.environ, **settings}
    variables.pop(environment.DISABLE, None)
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        flent = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=output,
            env=variables, start_new_session=True)
        # A killed test must not go on loading the line.
        before = {number: signal.signal(number, _raise_interrupt)
                  for number in (signal.SIGTERM, signal.SIGHUP)}
        try:
            while True:
                try:
                    flent.wait(DOT_S)
                    break
                except subprocess.TimeoutExpired:
                    if dots:
                        print(".", end="", file=sys.stderr, flush=True)
        finally:
            _kill_if_running(flent)
            for number, handler in before.items():
                signal.signal(number, handler)
            if dots:
                print(file=sys.stderr)
        output.seek(0)
        return output.read()


def _raise_interrupt(number: int, frame: object) -> None:
    """Signal handler: raise KeyboardInterrupt."""
    raise KeyboardInterrupt


def _kill_if_running(flent: subprocess.Popen[bytes]) -> None:
    """Kill Flent, if it is still running, with all its tools, which are in its process group."""
    if flent.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(flent.pid, signal.SIGKILL)
        flent.wait()


def check_tools() -> None:
    """Raise ToolMissing if find_program() doesn't find netperf, or neither fping nor ping."""
    if find_program("netperf") is None:
        raise ToolMissing(f"netperf is {NOT_FOUND}; see flent-aqm doctor")
    if not (find_program("fping") or find_program("ping")):
        raise ToolMissing("neither fping nor ping is installed, on PATH and executable by this "
                          "user; see flent-aqm doctor")


def check_server(host: str, ip_version: int, *, is_default: bool = False) -> None:
    """Open a TCP connection to the control port of a netperf server, at the first address of the
    host, and close it.

    Args:
        host: name or address of the server.
        ip_version: 4 or 6.
        is_default: True if the user has not named the server, for the message.

    Raises ConfigError if the name has no address of that IP version or can't be looked up,
    TestbedError if no connection can be made within CONNECT_LIMIT_S seconds.
    """
    address = _address("netperf server", host, ip_version, "-H")
    try:
        socket.create_connection((address, defaults.NETPERF_PORT), CONNECT_LIMIT_S).close()
    except OSError as error:
        if error.errno == errno.ENETUNREACH:  # routers report it, too
            raise TestbedError(f"no IPv{ip_version} route to the netperf server {host} from this "
                               "machine, or from a router on the way to it; connect this machine, "
                               "name another server with -H"
                               + ("" if _is_ip(host) else f", or give -{10 - ip_version}")
                               ) from None
        why = (f"no answer in {CONNECT_LIMIT_S} s" if isinstance(error, TimeoutError)
               else cause_of(error))
        if is_default:
            raise TestbedError(
                f"no connection to the default netperf server {host} (IPv{ip_version}, port "
                f"{defaults.NETPERF_PORT}): {why}; name another server with -H") from None
        raise TestbedError(
            f"-H: no connection to a netperf server at {host} (IPv{ip_version}, port "
            f"{defaults.NETPERF_PORT}): {why}; "
            "start netserver there, or name another host") from None


def check_ping(host: str, ip_version: int) -> None:
    """Ping a host as a check. Raises ConfigError if the name has no address of that IP version or
    can't be looked up, ToolMissing if there is no ping program, TestbedError if none of 4 pings is
    answered or the program fails."""
    address = _address("host to ping", host, ip_version, "-p")
    try:
        if find_program("fping"):
            run(["fping", f"-{ip_version}", "-q", "-r", str(PINGS - 1), "-B", "1",
                 "-t", str(PING_LIMIT_MS), address])
        else:
            run(["ping", f"-{ip_version}", "-q", "-c", str(PINGS), "-i", "0.2",
                 "-W", str(PING_LIMIT_MS // 1000), address])
    except CommandFailed as error:
        if error.returncode != _UNANSWERED:
            raise TestbedError(f"pinging {host} failed: {error}") from None
        said = last_line(error.stderr)  # busybox's ping ends so for any fault
        raise TestbedError(f"none of {PINGS} pings to {host} (IPv{ip_version}) was answered: "
                           + (f"{error.argv[0]} printed {said[:200]!r}" if said else
                              "it is not reachable, or doesn't answer pings")
                           + "; name another host with -p") from None


def _is_ip(host: str) -> bool:
    """Return whether a host is given by its IP address, which has one version."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _address(what: str, host: str, ip_version: int, option: str) -> str:
    """Return the first address of a host, as text.

    Args:
        what: what the host is for, for the message.
        host: name or address.
        ip_version: 4 or 6.
        option: command-line option that names another host, for the message.

    Raises ConfigError if the host has no address of that IP version, or its name can't be looked
    up.
    """
    try:
        addresses = socket.getaddrinfo(host, None, _FAMILIES[ip_version], socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        why = error.strerror if isinstance(error, socket.gaierror) else "not a host name"
        if not isinstance(error, socket.gaierror):
            how = f"give another host with {option}"
        elif error.errno in (socket.EAI_NONAME, socket.EAI_NODATA, socket.EAI_ADDRFAMILY):
            how = f"give another host with {option}, or -{10 - ip_version}"
        else:  # not the name's fault: no other would be found either
            how = f"connect this machine, mend its name server, or give an address with {option}"
        raise ConfigError(f"{what}: no IPv{ip_version} address found for {host[:100]!r}: {why}; "
                          f"{how}") from None
    return str(addresses[0][4][0])

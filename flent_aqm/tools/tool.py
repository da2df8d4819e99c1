# SPDX-License-Identifier: GPL-3.0-or-later
"""The record Tool, and the records in it, by which a module describes a speed test, probe or load.

Defaults are what most tools have. Each Flent that runs one of this package's tests imports all
these modules, so they import little.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flent_aqm.base.switch import OFF, ON

LOWER, HIGHER, NEITHER = "lower", "higher", "neither"
WAYS = ("download", "upload")
_BETTER = {"ms": LOWER, "%": LOWER, "packets": LOWER, "bytes": LOWER, "Mbit/s": HIGHER,
           "RPM": HIGHER, "1/s": HIGHER, "": NEITHER}
DEBIAN, GO, NPM, PYPI = "Debian", "Go", "npm", "PyPI"


@dataclass(frozen=True)
class Number:
    """A number that a tool shows its user, or that its maker's formula computes from such ones."""

    # Key in SPEEDTEST.numbers of a data file.
    name: str
    # Unit and description of the metric.
    unit: str
    description: str
    # LOWER, HIGHER or NEITHER is better, if the unit doesn't decide it as _BETTER says.
    wanted: str = ""

    @property
    def better(self) -> str:
        """LOWER, HIGHER or NEITHER: which values of this number are better."""
        return self.wanted or _BETTER[self.unit]


def both(name: str, unit: str, description: str, wanted: str = "") -> tuple[Number, ...]:
    """Return two numbers, for download and upload. {} in `name` and `description` becomes the
    direction."""
    return tuple(Number(name.format(way), unit, description.format(way), wanted) for way in WAYS)


@dataclass(frozen=True)
class Program:
    """A program, script for a browser, or Python module that only some tests need."""

    # Name by which a run finds it on PATH; of a module, its import name.
    name: str
    # Where set-up gets it: DEBIAN, GO, NPM or PYPI; "" if set-up can't get it.
    source: str = ""
    # Name of the package at that source.
    package: str = ""
    # Pinned version; "" if the system's release decides.
    version: str = ""
    # For the documents.
    maker: str = ""
    licence: str = ""
    # Name for `flent-aqm setup --speedtests`; "" if it is `name`.
    setup: str = ""
    # Path of the file that is used, in an NPM package.
    file: str = ""
    # For messages: who needs what, such as "quic_download needs the package aioquic". "" if it is
    # needed by the test of the same name.
    why: str = ""
    # Other names of the program on PATH.
    also: tuple[str, ...] = ()
    # Environment variable with the path of its folder.
    variable: str = ""

    @property
    def setup_name(self) -> str:
        """Name for `flent-aqm setup --speedtests`."""
        return self.setup or self.name

    @property
    def is_script(self) -> bool:
        """True for a script, which the system can't start as a program."""
        return bool(self.variable or self.file)


@dataclass(frozen=True)
class Server:
    """A server that tests need, and how it is started."""

    name: str
    # Variable of the lab's scripts -> ports on which the server listens. The port for the tool's
    # client is the last.
    ports: Mapping[str, tuple[int, ...]]
    # Commands of a POSIX shell, one per line, that run until they are killed. A command that begins
    # with `serve` is `flent-aqm serve`.
    start: str
    # Lines of shell that the lab runs before and after it starts the commands.
    before: str = ""
    after: str = ""
    # Path of the commands' log in the lab; "" for /run/NAME.log.
    log: str = ""
    # Protocol of all ports: tcp or udp.
    protocol: str = "tcp"
    # A program that has to be on PATH, and a Python module that has to be installed, if any.
    program: str | None = None
    module: str | None = None
    # Test parameter that sets the port.
    parameter: str = ""
    # Clients speak TLS to it.
    tls: bool = False
    # server_testbed can start it on a machine behind ssh.
    behind_ssh: bool = True
    # `flent-aqm lab` starts it.
    in_lab: bool = True
    # For a server that starts slowly: `flent-aqm lab` starts it only if its command has one of
    # these words. Empty: it always does.
    words: tuple[str, ...] = ()

    @property
    def every_port(self) -> list[int]:
        """All ports on which the server listens."""
        return [port for ports in self.ports.values() for port in ports]

    @property
    def port(self) -> int:
        """The port for the tool's client."""
        return self.every_port[-1]


@dataclass(frozen=True)
class Form:
    """The values that a test parameter may have."""

    # Regular expression that matches a whole value.
    pattern: str
    # The same in words, for messages.
    expected: str
    # The parameter is also an option of the client.
    for_client: bool = True


FLAG = Form(f"(?i){'|'.join((*ON, *OFF))}", "yes or no", for_client=False)
STREAMS = Form("[1-9]|[1-5][0-9]|6[0-4]", "1 to 64")


@dataclass(frozen=True)
class Shown:
    """How the figure of all speed tests shows a tool. Names of metrics lack the tool's prefix."""

    label: str
    # Metrics of the latency that the tool shows while it loads the line. The figure takes the
    # largest, or the smallest of metrics in RPM.
    latency: tuple[str, ...] = ()
    # Pairs of a metric and a format string for it, in which {} becomes the metric's word.
    verdict: tuple[tuple[str, str], ...] = ()
    # Metrics of download and upload rate. Empty for a test that doesn't fill the line.
    rates: tuple[str, str] | tuple[()] = ("download_mbps", "upload_mbps")
    # Text between the verdicts.
    between: str = "\n"
    # Name of the test; "" if it is the tool's.
    test: str = ""


@dataclass(frozen=True)
class Cross:
    """How a tool makes cross traffic. It uses the port of the tool's server."""

    # Value of the key `cross_traffic`.
    word: str
    # Directions of the cross traffic. None: those of the load, or what cross_direction says.
    directions: tuple[str, ...] | None
    # Runner of the data sets.
    runner: str = "aqm_cross"


@dataclass(frozen=True)
class OtherTests:
    """Tests that aren't called like the tool that they need, such as Flent's own."""

    # Beginning of the tests' names.
    prefix: str
    # Servers to start, in this order.
    servers: tuple[Server, ...]


@dataclass(frozen=True)
class Tool:
    """A speed test, a probe or a load."""

    # The names of its tests begin with this name, if has_test.
    name: str
    # Server of most runs.
    server: Server
    # Dotted name of the module that is its client, run by `python -m` as client.py describes.
    module: str = ""
    # How the test works, in a sentence for the documents, and the source of that sentence.
    method: str = ""
    source: str = ""
    # Numbers that the tool shows.
    numbers: tuple[Number, ...] = ()
    # Prefix of the metrics of these numbers; "" if it is `name`.
    prefix: str = ""
    # No test takes longer on a line of 10 Mbit/s or more. If takes_length, the time of each
    # direction comes on top.
    longest_s: float = 0.0
    # Its option `length` sets the time of each direction.
    takes_length: bool = False
    # Its data goes to the server's port plus this number.
    data_port: int = 0
    # Programs of client and server, the client's first. Those that every set-up has are names.
    programs: tuple[Program | str, ...] = ()
    # Further programs that some runs need.
    sometimes: tuple[Program, ...] = ()
    # Its other servers, and a function that returns the server for a run's test parameters and its
    # key `ndt7_server`.
    servers: tuple[Server, ...] = ()
    choose: Callable[[Mapping[str, object]], Server] | None = None
    # Function that returns the programs for the same, in place of `programs`.
    choose_programs: Callable[[Mapping[str, object]], tuple[Program | str, ...]] | None = None
    # Further tests that need this tool.
    other_tests: tuple[OtherTests, ...] = ()
    # Test parameters of its own by name, without the port.
    parameters: Mapping[str, Form] = field(default_factory=dict)
    # Function that returns why test parameters exclude each other, "" if they don't.
    together: Callable[[Mapping[str, object]], str] | None = None
    has_test: bool = True
    # How it makes cross traffic, and how the figure shows it, if it does.
    cross: Cross | None = None
    shown: Shown | None = None

    def server_of(self, settings: Mapping[str, object]) -> Server:
        """Return the server for a run. settings: its test parameters and its key `ndt7_server`."""
        return self.choose(settings) if self.choose else self.server

    def program_names(self, settings: Mapping[str, object]) -> tuple[str, ...]:
        """Return the names of the programs for a run. settings: as for server_of()."""
        programs = self.choose_programs(settings) if self.choose_programs else self.programs
        return tuple(one if isinstance(one, str) else one.name for one in programs)

    def metric(self, name: str) -> str:
        """Return the name of the metric for the number `name`."""
        return f"{self.prefix or self.name}_{name}"

    def options(self, parameters: Mapping[str, object], refuse: Callable[[str], object]
                ) -> dict[str, str]:
        """Return the client's options among a run's test parameters.

        Args:
            parameters: the run's test parameters by name.
            refuse: called with a message for each value that is not allowed. It is Flent's
                test_error, which may return.
        """
        options: dict[str, str] = {}
        for name, form in self.parameters.items():
            value = str(parameters.get(name, ""))
            if name in parameters and not re.fullmatch(form.pattern, value):
                refuse(f"{name}: {value!r} is not known; expected {form.expected}")
            elif name in parameters and form.for_client:
                options[name] = value
        if self.together and (fault := self.together(parameters)):
            refuse(fault)
        return options

# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines the record Tool, by which a module describes a speed test, probe or load.

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
    """A number that a tool shows its user, or that its maker's formula computes from such numbers.

    Attributes:
        name: key in SPEEDTEST.numbers of a data file, and end of the metric's name.
        unit: unit of the metric: "ms", "%", "packets", "bytes", "Mbit/s", "RPM", "1/s", or "" for
            none.
        description: text about the metric for the documents.
        wanted: LOWER, HIGHER or NEITHER, which values are better. "" if the unit decides that.
    """

    name: str
    unit: str
    description: str
    wanted: str = ""

    @property
    def better(self) -> str:
        """Whether lower or higher values of this number are better: LOWER, HIGHER or NEITHER.
        Raises KeyError if `wanted` is "" and the unit is unknown."""
        return self.wanted or _BETTER[self.unit]


def both(name: str, unit: str, description: str, wanted: str = "") -> tuple[Number, ...]:
    """Return two numbers, for download and upload, in this order.

    Args:
        name: Number.name. {} becomes "download" or "upload".
        unit: Number.unit.
        description: Number.description. {} becomes "download" or "upload".
        wanted: Number.wanted.
    """
    return tuple(Number(name.format(direction), unit, description.format(direction), wanted)
                 for direction in WAYS)


@dataclass(frozen=True)
class Program:
    """A program, script for a browser, or Python module that only some tests need.

    Attributes:
        name: name by which a run finds it on PATH. For a Python module, its import name.
        source: where set-up gets it: DEBIAN, GO, NPM or PYPI. "" if set-up can't get it.
        package: name of the package at that source.
        version: pinned version, "" if the system's release decides.
        maker: its maker, for the documents.
        licence: its licence, for the documents.
        setup: name for `flent-aqm setup --speedtests`, "" if it is `name`.
        file: for a script, the path of its file in an NPM package. "" for others.
        why: clause for messages on who needs what, such as "quic_download needs the package
            aioquic". "" if a message is to name the tests whose tools have the program.
        also: other names under which the program is looked for on this machine.
        variable: for a script, the environment variable with the path of its folder. "" if there is
            none.
    """

    name: str
    source: str = ""
    package: str = ""
    version: str = ""
    maker: str = ""
    licence: str = ""
    setup: str = ""
    file: str = ""
    why: str = ""
    also: tuple[str, ...] = ()
    variable: str = ""

    @property
    def setup_name(self) -> str:
        """Name for `flent-aqm setup --speedtests`."""
        return self.setup or self.name

    @property
    def is_script(self) -> bool:
        """True for a script, which the system can't start as a program: it is found by a variable,
        or is a file of a package, so that `variable` or `file` is set."""
        return bool(self.variable or self.file)


@dataclass(frozen=True)
class Server:
    """A server that tests need, and how it is started.

    Attributes:
        name: name of the server, unique among all tools.
        ports: variable of the lab's scripts -> ports on which the server listens. The last one of
            all is the one for clients, see `port`.
        start: commands of a POSIX shell, one per line, that run until they are killed. A command
            whose first word is `serve` is `flent-aqm serve`.
        before: lines of shell that the lab runs before it starts the commands.
        after: lines of shell that the lab runs after it starts the commands.
        log: path of the commands' log in the lab, "" for /run/NAME.log.
        protocol: protocol of all ports, "tcp" or "udp".
        program: program that has to be on PATH, if any.
        module: Python module that has to be installed, if any.
        parameter: test parameter that sets the port, "" if there is none.
        tls: True if clients speak TLS to it.
        behind_ssh: True if server_testbed can start it on a machine behind ssh.
        in_lab: True if `flent-aqm lab` starts it.
        words: for a server that starts slowly, `flent-aqm lab` starts it only if its command, or a
            file that the command names, has one of these words, or `doctor`, or if there is no
            command but a shell. Empty if it always does.
    """

    name: str
    ports: Mapping[str, tuple[int, ...]]
    start: str
    before: str = ""
    after: str = ""
    log: str = ""
    protocol: str = "tcp"
    program: str | None = None
    module: str | None = None
    parameter: str = ""
    tls: bool = False
    behind_ssh: bool = True
    in_lab: bool = True
    words: tuple[str, ...] = ()

    @property
    def every_port(self) -> list[int]:
        """All ports on which the server listens, in the order of `ports`."""
        return [port for ports in self.ports.values() for port in ports]

    @property
    def port(self) -> int:
        """Port to which a speed test's client or cross traffic connects, unless a test parameter
        sets another one: the last in `every_port`. Tests of iperf3 connect to another port of its
        server."""
        return self.every_port[-1]


@dataclass(frozen=True)
class Form:
    """The values that a test parameter may have.

    Attributes:
        pattern: regular expression that matches a whole value.
        expected: the accepted values in words, for messages.
        for_client: True if the parameter is also an option of the client.
    """

    pattern: str
    expected: str
    for_client: bool = True


FLAG = Form(f"(?i){'|'.join((*ON, *OFF))}", "yes or no", for_client=False)
STREAMS = Form("[1-9]|[1-5][0-9]|6[0-4]", "1 to 64")


@dataclass(frozen=True)
class Shown:
    """How the figure of all speed tests and the scorecard show a tool. In a Tool, names of metrics
    are without the tool's prefix, or those of metrics that all tests have. Figure and scorecard use
    copies with the full names, as METRICS has them.

    Attributes:
        label: name of the tool in the figure, "" if it isn't in it.
        latency: metrics of the latency that the tool shows while it loads the line, in ms or RPM.
            The figure takes the largest in ms; RPM are converted.
        verdict: pairs of a metric and a format string for it, in which {} becomes the metric's
            word, or its value if it has no words. {:.0f} and the like become its value.
        rates: metrics of download and upload rate. Empty for a test that doesn't fill the line.
        between: text between the verdicts.
        test: name of the test, "" if it is the tool's.
    """

    label: str
    latency: tuple[str, ...] = ()
    verdict: tuple[tuple[str, str], ...] = ()
    rates: tuple[str, str] | tuple[()] = ("download_mbps", "upload_mbps")
    between: str = "\n"
    test: str = ""


@dataclass(frozen=True)
class Cross:
    """How a tool makes cross traffic. It uses the port of the tool's server, unless the test
    parameter cross_port sets another one.

    Attributes:
        word: value of the key `cross_traffic`.
        directions: directions of the cross traffic, "upload" and "download". None for those of the
            load, or what the test parameter cross_direction says.
        runner: name of the runner, in Flent's test definitions, that starts the client.
    """

    word: str
    directions: tuple[str, ...] | None
    runner: str = "aqm_cross"


@dataclass(frozen=True)
class OtherTests:
    """Tests that aren't called like the tool that they need, such as Flent's own.

    Attributes:
        prefix: beginning of the tests' names.
        servers: servers to start, in this order.
    """

    prefix: str
    servers: tuple[Server, ...]


@dataclass(frozen=True)
class Tool:
    """A speed test, a probe or a load.

    Attributes:
        name: the names of its tests begin with this name, if has_test.
        server: server of most runs.
        module: dotted name of the module that is its client, run by `python -m`. That of a speed
            test gets the arguments that client.py describes, that of cross traffic the server's
            address and port. "" if another program is the client.
        method: how the test works, in a sentence for the documents.
        source: source of that sentence.
        numbers: numbers that the tool shows.
        overhead_factor: factor, for headers, by which the throughput that it shows is larger than
            that of the data.
        prefix: prefix of the metrics of these numbers, "" if it is `name`.
        longest_s: no test takes longer on a line of 10 Mbit/s or more, in s. If takes_length, the
            time of each direction comes on top.
        takes_length: True if its option `length` sets the time of each direction.
        data_port: its data goes to the server's port plus this number.
        programs: programs of client and server, the client's first. Programs that every set-up has
            are given by name.
        sometimes: further programs that some runs need.
        servers: its other servers, which some runs need.
        choose: function that returns the server for a run's test parameters and its key
            `ndt7_server`. None if it is always `server`.
        choose_programs: function that returns the programs for the same, in place of `programs`.
        other_tests: further tests that need this tool.
        parameters: test parameters of its own by name, without the port.
        together: function of the test parameters that returns why they exclude each other, "" if
            they don't.
        has_test: True if there are tests that begin with `name`.
        cross: how it makes cross traffic, None if it doesn't.
        shown: how the figure shows it, None if it doesn't.
    """

    name: str
    server: Server
    module: str = ""
    method: str = ""
    source: str = ""
    numbers: tuple[Number, ...] = ()
    overhead_factor: float = 1.0
    prefix: str = ""
    longest_s: float = 0.0
    takes_length: bool = False
    data_port: int = 0
    programs: tuple[Program | str, ...] = ()
    sometimes: tuple[Program, ...] = ()
    servers: tuple[Server, ...] = ()
    choose: Callable[[Mapping[str, object]], Server] | None = None
    choose_programs: Callable[[Mapping[str, object]], tuple[Program | str, ...]] | None = None
    other_tests: tuple[OtherTests, ...] = ()
    parameters: Mapping[str, Form] = field(default_factory=dict)
    together: Callable[[Mapping[str, object]], str] | None = None
    has_test: bool = True
    cross: Cross | None = None
    shown: Shown | None = None

    def server_of(self, settings: Mapping[str, object]) -> Server:
        """Return the server for a run.

        settings: the run's test parameters, and the key `ndt7_server`.
        """
        return self.choose(settings) if self.choose else self.server

    @property
    def client_programs(self) -> tuple[Program | str, ...]:
        """The `programs` that the client starts: all but each Program that is the program of one of
        the servers. The first of `programs`, and those given by name, are always among them."""
        of_servers = {server.program for server in (self.server, *self.servers)}
        return tuple(program for number, program in enumerate(self.programs)
                     if not number or not isinstance(program, Program)
                     or program.name not in of_servers)

    def program_names(self, settings: Mapping[str, object]) -> tuple[str, ...]:
        """Return the names of the programs that client and server need for a run, the client's
        first.

        settings: the run's test parameters, and the key `ndt7_server`.
        """
        programs = self.choose_programs(settings) if self.choose_programs else self.programs
        return tuple(program if isinstance(program, str) else program.name for program in programs)

    def metric(self, name: str) -> str:
        """Return the name of the metric for a number of the tool: the tool's prefix, or else its
        name, then _ and `name`.

        name: Number.name.
        """
        return f"{self.prefix or self.name}_{name}"

    def options(self, parameters: Mapping[str, object], refuse: Callable[[str], object]
                ) -> dict[str, str]:
        """Return the client's options among a run's test parameters, name -> value as text.
        Parameters that the tool doesn't have are ignored. Those that aren't for the client are
        checked, and left out.

        Args:
            parameters: the run's test parameters by name.
            refuse: called with a message for each value that is not allowed, and for parameters
                that exclude each other. It is Flent's test_error, which may return. Then the result
                lacks the values that are not allowed.
        """
        options: dict[str, str] = {}
        for name, form in self.parameters.items():
            value = str(parameters.get(name, ""))
            if name in parameters and not re.fullmatch(form.pattern, value):
                refuse(f"{name}: {value[:60]!r} is not accepted; expected {form.expected}")
            elif name in parameters and form.for_client:
                options[name] = value
        if self.together and (fault := self.together(parameters)):
            refuse(fault)
        return options

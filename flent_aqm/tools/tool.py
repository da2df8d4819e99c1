# SPDX-License-Identifier: GPL-3.0-or-later
"""The records of which a tool's module makes one: Tool. What isn't given is as most have it.

These modules are read by each Flent that runs a test of ours, so they import little.
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
    """One that a tool tells its user, or that follows from it by its maker's formula.

    name: in a data file's SPEEDTEST.numbers; unit and description: as a metric's; wanted: LOWER,
    HIGHER or NEITHER, where it isn't what its unit says.
    """

    name: str
    unit: str
    description: str
    wanted: str = ""

    @property
    def better(self) -> str:
        """Which is better, as a metric's."""
        return self.wanted or _BETTER[self.unit]


def both(name: str, unit: str, description: str, wanted: str = "") -> tuple[Number, ...]:
    """Return one for each direction; {} in name and description stands for it."""
    return tuple(Number(name.format(way), unit, description.format(way), wanted) for way in WAYS)


@dataclass(frozen=True)
class Program:
    """What only some tests need: a program, a script for a browser, or, of PYPI, a module.

    name: by which a run finds it; source: where set-up gets it, DEBIAN, GO, NPM or PYPI, "" where
    nowhere; package: its name there; version: the pinned one, "" where the system's release
    decides; maker, licence: for the documents; setup: of `flent-aqm setup --speedtests`, its name
    where it is empty; file: of NPM, what is used of it; why: who needs what, for messages, where it
    isn't the test of that name; also: other names on PATH; variable: of the environment, that names
    its folder.
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
        """What set-up calls it."""
        return self.setup or self.name

    @property
    def is_script(self) -> bool:
        """Whether it is no program that the system could start."""
        return bool(self.variable or self.file)


@dataclass(frozen=True)
class Server:
    """ports: variable of scripts in the lab -> the ports that it listens on, that of the tool's
    client last; start: commands, a line each, of a POSIX shell, that run until they are ended, of
    which one with `serve` at its beginning is of `flent-aqm serve`; before, after: what the shell
    of the lab does besides; log: of all of them there. protocol: of all ports; program: of others,
    to be on PATH, module: a Python module that isn't everywhere; parameter: of tests, for the port;
    tls: clients of it speak TLS; behind_ssh: server_testbed can start it; in_lab: `flent-aqm lab`
    starts it; words: of a command there that needs it, as it takes time to start; of the others
    none."""

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
        """All that it listens on."""
        return [port for ports in self.ports.values() for port in ports]

    @property
    def port(self) -> int:
        """That of the tool's client."""
        return self.every_port[-1]


@dataclass(frozen=True)
class Form:
    """Values that a test parameter may have: a regular expression, and that in words. for_client:
    it is one of the client's options, too."""

    pattern: str
    expected: str
    for_client: bool = True


FLAG = Form(f"(?i){'|'.join((*ON, *OFF))}", "yes or no", for_client=False)
STREAMS = Form("[1-9]|[1-5][0-9]|6[0-4]", "1 to 64")


@dataclass(frozen=True)
class Shown:
    """How the figure of all speed tests shows one. Names of metrics lack the tool's prefix.

    label; rates: metrics of download and upload, none of a test that takes no more of the line than
    it needs; latency: metrics of what it shows of latency while it loads the line, of which the
    largest counts, in ms or, for RPM, of which the smallest; verdict: metrics and a form for each,
    {} for its word; between: them; test: where it isn't the tool's name.
    """

    label: str
    latency: tuple[str, ...] = ()
    verdict: tuple[tuple[str, str], ...] = ()
    rates: tuple[str, str] | tuple[()] = ("download_mbps", "upload_mbps")
    between: str = "\n"
    test: str = ""


@dataclass(frozen=True)
class Cross:
    """How a tool makes cross traffic. word: of cross_traffic; directions: which it has, None: those
    of the load, or what cross_direction says; runner: of its data sets. Its port is its server's.
    """

    word: str
    directions: tuple[str, ...] | None
    runner: str = "aqm_cross"


@dataclass(frozen=True)
class Tool:
    """A speed test, a probe or a load.

    name: the names of its tests begin with it, where it has_test; module: which is its client, run
    by `python -m` as client.py says; method, source: sentences, and where they are from; numbers:
    that it tells; prefix: of their metrics, its name where it is empty; longest_s: no test of it
    takes longer on a line of 10 Mbit/s or more, but for the time of each direction where it
    takes_length, as its option length; data_port: so many ports after the server's its data goes;
    programs: of client and server, the client's first,
    by name alone those that every set-up has; sometimes: what some runs need besides; server: its
    usual one; servers: its others; choose: gives that of a run with these test parameters;
    parameters: its own, by name, besides the port; together: says why some of them can't be.
    """

    name: str
    server: Server
    module: str = ""
    method: str = ""
    source: str = ""
    numbers: tuple[Number, ...] = ()
    prefix: str = ""
    longest_s: float = 0.0
    takes_length: bool = False
    data_port: int = 0
    programs: tuple[Program | str, ...] = ()
    sometimes: tuple[Program, ...] = ()
    servers: tuple[Server, ...] = ()
    choose: Callable[[Mapping[str, object]], Server] | None = None
    parameters: Mapping[str, Form] = field(default_factory=dict)
    together: Callable[[Mapping[str, object]], str] | None = None
    has_test: bool = True
    cross: Cross | None = None
    shown: Shown | None = None

    def server_of(self, parameters: Mapping[str, object]) -> Server:
        """Return its server in a run with these test parameters."""
        return self.choose(parameters) if self.choose else self.server

    def metric(self, name: str) -> str:
        """Return the name of the metric of one of its numbers."""
        return f"{self.prefix or self.name}_{name}"

    def options(self, parameters: Mapping[str, object], refuse: Callable[[str], object]
                ) -> dict[str, str]:
        """Return those of a run's test parameters that are the client's options. refuse: Flent's
        test_error, which reports a text and may return."""
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

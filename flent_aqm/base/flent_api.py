# SPDX-License-Identifier: GPL-3.0-or-later
"""What our runners and plotters use of Flent, under the names that Flent gives it.

ProcessRunner     runs self.command, then hands its output to parse(), in a run by
                  itself in another process: what parse() changes on self is lost there
DelegatingRunner  a runner made of other runners (add_child)
RunnerBase        the base of both
NullRunner        a runner that gives an empty series
RegexpRunner      a ProcessRunner that parses line by line
IrttRunner, PingRunner  Flent's latency probes
NetperfDemoRunner  Flent's netperf stream
ComputingRunner   computes a series from others
RunnerCheckError  raised by check(): the run can't start, its text says why
ParseError        raised by parse(): the tool's output is of no use
Glob              a pattern over series names, for `apply_to`
get_logger        Flent's loggers
normalise_host    a host name without Flent's suffixes, brackets around IPv6 on request
lookup_host       the address of a host, by getaddrinfo
which             path of a program, looked up once: which(name, fail=RunnerCheckError)
"""

from __future__ import annotations

from flent.loggers import get_logger
from flent.runners import (
    ComputingRunner,
    DelegatingRunner,
    IrttRunner,
    NetperfDemoRunner,
    NullRunner,
    ParseError,
    PingRunner,
    ProcessRunner,
    RegexpRunner,
    RunnerBase,
    RunnerCheckError,
)
from flent.util import Glob, lookup_host, normalise_host, which

__all__ = [
    "ComputingRunner",
    "DelegatingRunner",
    "Glob",
    "IrttRunner",
    "NetperfDemoRunner",
    "NullRunner",
    "ParseError",
    "PingRunner",
    "ProcessRunner",
    "RegexpRunner",
    "RunnerBase",
    "RunnerCheckError",
    "get_logger",
    "lookup_host",
    "normalise_host",
    "which",
]

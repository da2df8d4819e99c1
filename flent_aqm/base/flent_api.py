# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports the classes and functions of Flent that this package's runners use, under Flent's names.

ProcessRunner     runs self.command and hands its output to parse(); parse() runs in
                  another process, where changes of self are lost
DelegatingRunner  a runner made of other runners (add_child)
RunnerBase        the base of both
NullRunner        returns an empty series
RegexpRunner      a ProcessRunner that parses line by line
IrttRunner, PingRunner  Flent's latency probes
NetperfDemoRunner  Flent's netperf stream
ComputingRunner   computes a series from others
RunnerCheckError  raised by check(): the run can't start, its text says why
ParseError        raised by parse(): the tool's output can't be used
Glob              a pattern over series names, for `apply_to`
get_logger        Flent's loggers
normalise_host    a host name without Flent's suffixes, brackets around IPv6 on request
lookup_host       the address of a host, by getaddrinfo
which             path of a program: which(name, fail=RunnerCheckError)
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

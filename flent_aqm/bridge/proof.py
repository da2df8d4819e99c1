# SPDX-License-Identifier: GPL-3.0-or-later
"""Records the router's settings in the data file, read back before and after the run.

Flent gathers metadata just before and just after the test. If a scenario is requested
(FLENT_AQM_SCENARIO), the router is read at the same times. If it reports other settings than
requested, the run ends without a data file.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from flent_aqm.base import environment
from flent_aqm.bridge.one_shell import OneShell
from flent_aqm.spec.testbeds import VIRTUAL

Function = Callable[..., None]


def get_command_output(stock: Any) -> OneShell | None:
    """Return a OneShell in place of Flent's object that runs the commands for its metadata. None,
    which keeps Flent's object, if no scenario is requested.

    stock: Flent's object.
    """
    return OneShell(stock) if os.environ.get(environment.SCENARIO) else None


def record_metadata(stock: Function) -> Function | None:
    """Return a replacement for the function that gathers metadata before the test. None, which
    keeps Flent's function, if no scenario is requested.

    The replacement calls Flent's function, ends the shell of its commands, and adds the object AQM
    with the scenario, the router's settings and counters ("before") and warnings about the router,
    which it also prints to standard error. In the virtual lab it then waits for the next full
    second. It raises ConfigError if the scenario isn't valid, RouterDisagrees if the settings
    differ from it, CommandFailed or ParseError if the router can't be read.

    stock: Flent's function.
    """
    @wraps(stock)
    def record_metadata(results: Any, extended: bool, hostnames: Sequence[str]) -> None:
        scenario = _requested_scenario()
        stock(results, extended, hostnames)
        _close_shell()
        warnings, before = _read_and_prove(scenario)
        for line in warnings:
            print(f"WARNING: {line}", file=sys.stderr)
        results.meta("AQM", {
            "testbed": scenario.lab.testbed,
            **scenario.described(),
            "seed": scenario.lab.seed,
            "requested": scenario.as_dict(),
            "before": before,
            "warnings": warnings,
        })
        if scenario.lab.testbed == VIRTUAL:
            _wait_for_full_second()

    return record_metadata if os.environ.get(environment.SCENARIO) else None


def record_postrun_metadata(stock: Function) -> Function | None:
    """Return a replacement for the function that gathers metadata after the test. None, which keeps
    Flent's function, if no scenario is requested.

    The replacement calls Flent's function, ends the shell of its commands, and adds the router's
    settings and counters after the test ("after") to the object AQM, which the replacement for
    record_metadata() has made. Raises RouterDisagrees if settings differ from the scenario,
    CommandFailed or ParseError if the router can't be read.

    stock: Flent's function.
    """
    @wraps(stock)
    def record_postrun_metadata(results: Any, extended: bool, hostnames: Sequence[str]) -> None:
        stock(results, extended, hostnames)
        _close_shell()
        _, results.meta("AQM")["after"] = _read_and_prove(_requested_scenario())

    return record_postrun_metadata if os.environ.get(environment.SCENARIO) else None


def _close_shell() -> None:
    """End the shell of the OneShell that get_command_output() returned, so that only the test's own
    processes run during the test."""
    from flent import metadata

    metadata.get_command_output.close()


def _wait_for_full_second() -> None:
    """Wait until the next full second of virtual time, so that the test begins at the same time no
    matter how many programs the set-up and read-back have started. Each start takes 100 us. Call it
    only in the lab's guest."""
    subprocess.run(["perl", f"{os.environ['GUEST_DIR']}/full_second.pl"], check=True)


def _requested_scenario() -> Any:
    """Return the requested scenario from the environment, which must have one. Raises ConfigError
    if it isn't valid."""
    from flent_aqm.spec.scenario import Scenario

    return Scenario.from_json(os.environ[environment.SCENARIO])


def _read_and_prove(scenario: Any) -> tuple[list[str], dict[str, Any]]:
    """Read the settings of all routers back and compare them with the scenario.

    Return warnings about conditions that hide the AQM's effect, and metadata with settings and
    counters of the first router. If there are other routers, their metadata are in it, under
    "routers" and their names, and their warnings begin with their names.

    Raises RouterDisagrees if a setting differs, CommandFailed or ParseError if a router can't be
    read.
    """
    from flent_aqm.router import proof
    from flent_aqm.router.hook import routers_of
    from flent_aqm.router.warnings import warnings

    first, *others = routers_of(scenario)
    report = proof.read_back(scenario, first)
    proof.prove(scenario, report, first)
    warning_texts, read_back = warnings(scenario, report), proof.as_metadata(report)
    further = {}
    for router in others:
        report = proof.read_back(scenario, router)
        proof.prove(scenario, report, router)
        warning_texts += [f"{router}: {line}" for line in warnings(scenario, report)]
        further[router] = proof.as_metadata(report)
    return warning_texts, {**read_back, **({"routers": further} if further else {})}

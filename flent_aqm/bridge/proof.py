# SPDX-License-Identifier: GPL-3.0-or-later
"""Proof in the data file: the router's settings, read back before and after the run.

Where a scenario was asked for (FLENT_AQM_SCENARIO), Flent gathers its metadata just
before and just after the test; there the router is read, too. A router that reports
other settings than asked for ends the run, before the test or after it, without a file.
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

Function = Callable[..., None]


def get_command_output(stock: Any) -> OneShell | None:
    """Replace what runs the commands that metadata is gathered with."""
    return OneShell(stock) if os.environ.get(environment.SCENARIO) else None


def record_metadata(stock: Function) -> Function | None:
    """Replace what gathers metadata before the test."""
    @wraps(stock)
    def record_metadata(results: Any, extended: bool, hostnames: Sequence[str]) -> None:
        scenario = _scenario()
        stock(results, extended, hostnames)
        _close_shell()
        warnings, before = _proved(scenario)
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
        if scenario.lab.testbed == "virtual":
            _wait_for_full_second()

    return record_metadata if os.environ.get(environment.SCENARIO) else None


def record_postrun_metadata(stock: Function) -> Function | None:
    """Replace what gathers metadata after the test."""
    @wraps(stock)
    def record_postrun_metadata(results: Any, extended: bool, hostnames: Sequence[str]) -> None:
        stock(results, extended, hostnames)
        _close_shell()
        _, results.meta("AQM")["after"] = _proved(_scenario())

    return record_postrun_metadata if os.environ.get(environment.SCENARIO) else None


def _close_shell() -> None:
    """During the test nothing but its own processes is there."""
    from flent import metadata

    metadata.get_command_output.close()


def _wait_for_full_second() -> None:
    """Have the test begin at the same moment of virtual time, however many programs the router's
    set-up and read-back have started: each takes 100 us."""
    subprocess.run(["perl", f"{os.environ['GUEST_DIR']}/full_second.pl"], check=True)


def _scenario() -> Any:
    from flent_aqm.spec.scenario import Scenario

    return Scenario.from_json(os.environ[environment.SCENARIO])


def _proved(scenario: Any) -> tuple[list[str], dict[str, Any]]:
    """Return what would hide the AQM, and the read-back: of the router, and under `routers` of
    each further one."""
    from flent_aqm.router import proof
    from flent_aqm.router.hook import routers_of
    from flent_aqm.router.warnings import warnings

    first, *others = routers_of(scenario)
    report = proof.read_back(scenario, first)
    proof.prove(scenario, report, first)
    output, read_back = warnings(scenario, report), proof.as_metadata(report)
    further = {}
    for router in others:
        report = proof.read_back(scenario, router)
        proof.prove(scenario, report, router)
        output += [f"{router}: {line}" for line in warnings(scenario, report)]
        further[router] = proof.as_metadata(report)
    return output, {**read_back, **({"routers": further} if further else {})}

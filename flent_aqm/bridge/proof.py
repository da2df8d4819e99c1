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

Function = Callable[..., None]


def get_command_output(stock: Any) -> OneShell | None:
    """Return a OneShell to replace Flent's object that runs the commands for its metadata. Return
    None, which keeps Flent's, if no scenario is requested."""
    return OneShell(stock) if os.environ.get(environment.SCENARIO) else None


def record_metadata(stock: Function) -> Function | None:
    """Return a replacement for the function that gathers metadata before the test. Return None,
    which keeps Flent's, if no scenario is requested.

    The replacement adds the object AQM with the router's settings, and raises RouterDisagrees if
    they differ from the scenario.
    """
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
    """Return a replacement for the function that gathers metadata after the test. Return None,
    which keeps Flent's, if no scenario is requested.

    The replacement adds the router's settings after the test to the object AQM, and raises
    RouterDisagrees if they differ from the scenario.
    """
    @wraps(stock)
    def record_postrun_metadata(results: Any, extended: bool, hostnames: Sequence[str]) -> None:
        stock(results, extended, hostnames)
        _close_shell()
        _, results.meta("AQM")["after"] = _proved(_scenario())

    return record_postrun_metadata if os.environ.get(environment.SCENARIO) else None


def _close_shell() -> None:
    """End the shell, so that only the test's own processes run during the test."""
    from flent import metadata

    metadata.get_command_output.close()


def _wait_for_full_second() -> None:
    """Wait until the next full second of virtual time, so that the test begins at the same time no
    matter how many programs the set-up and read-back have started. Each start takes 100 us."""
    subprocess.run(["perl", f"{os.environ['GUEST_DIR']}/full_second.pl"], check=True)


def _scenario() -> Any:
    """Return the requested scenario from the environment."""
    from flent_aqm.spec.scenario import Scenario

    return Scenario.from_json(os.environ[environment.SCENARIO])


def _proved(scenario: Any) -> tuple[list[str], dict[str, Any]]:
    """Read all routers back and compare them with the scenario.

    Return warnings about conditions that hide the AQM's effect, and the settings and counters of
    the first router, with those of the others under `routers`. Raises RouterDisagrees.
    """
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

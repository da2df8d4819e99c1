# SPDX-License-Identifier: GPL-3.0-or-later
"""Proof in the data file: the router's settings, read back before and after the run.

Where a scenario was asked for (FLENT_AQM_SCENARIO), Flent gathers its metadata just
before and just after the test; there the router is read, too. A router that reports
other settings than asked for ends the run, before the test or after it, without a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import wraps
from typing import Any

from flent_aqm.base import environment
from flent_aqm.bridge.one_shell import OneShell


def patch(module: Any) -> None:
    """Patch flent.metadata."""
    text = os.environ.get(environment.SCENARIO)
    if not text:
        return
    stock_before, stock_after = module.record_metadata, module.record_postrun_metadata
    commands = OneShell(module.get_command_output, module.TIMEOUT)
    module.get_command_output = commands

    @wraps(stock_before)
    def record_metadata(results: Any, extended: bool, hostnames: Sequence[str]) -> None:
        from flent_aqm.asked.scenario import Scenario

        scenario = Scenario.from_json(text)
        stock_before(results, extended, hostnames)
        commands.close()  # nothing but the test's own processes is there during the test
        warnings, before = _proved(scenario)
        for line in warnings:
            print(f"WARNING: {line}", file=sys.stderr)
        results.meta("AQM", {
            "testbed": scenario.lab.testbed,
            "router_model": scenario.router.router_model,
            **scenario.models_in_full(),
            "seed": scenario.lab.seed,
            "requested": scenario.as_dict(),
            "before": before,
            "warnings": warnings,
        })

    @wraps(stock_after)
    def record_postrun_metadata(results: Any, extended: bool, hostnames: Sequence[str]) -> None:
        from flent_aqm.asked.scenario import Scenario

        stock_after(results, extended, hostnames)
        commands.close()
        _, results.meta("AQM")["after"] = _proved(Scenario.from_json(text))

    module.record_metadata = record_metadata
    module.record_postrun_metadata = record_postrun_metadata


def _proved(scenario: Any) -> tuple[list[str], dict[str, Any]]:
    """Return what would hide the AQM, and the read-back: of the router, and under `routers` of
    each further one."""
    from flent_aqm.bridge.exit_status import reported
    from flent_aqm.router import proof
    from flent_aqm.router.hook import routers_of
    from flent_aqm.router.warnings import warnings

    with reported():
        first, *others = routers_of(scenario)
        report = proof.read_back(scenario, first)
        proof.prove(scenario, report, first)
        said, told = warnings(scenario, report), proof.as_metadata(report)
        further = {}
        for router in others:
            report = proof.read_back(scenario, router)
            proof.prove(scenario, report, router)
            said += [f"{router}: {line}" for line in warnings(scenario, report)]
            further[router] = proof.as_metadata(report)
        return said, {**told, **({"routers": further} if further else {})}

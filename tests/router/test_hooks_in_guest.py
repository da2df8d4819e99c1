# SPDX-License-Identifier: GPL-3.0-or-later
"""The router hooks against the kernel itself, under dash and under BusyBox's ash."""

from __future__ import annotations

import json
import shlex
import shutil
from itertools import product

import pytest

from flent_aqm import defaults
from flent_aqm.parsers.tc import parse_read_back
from flent_aqm.router.apply import apply_command, read_back_command
from flent_aqm.router.metadata import as_metadata
from flent_aqm.router.proof import differences
from flent_aqm.scenario import Scenario

pytestmark = pytest.mark.lab

RATES_MBPS = (0.064, 0.768, 4, 33.333333, 100, 300, 500, 900, 1000, 1234.567891, 10_000, 40_000)
SHELLS = ("dash", "busybox sh")


def with_shell(name: str) -> str:
    """Shell code after which `sh` is another shell, on the client and on the router."""
    if not shutil.which(name.split()[0]):
        pytest.skip(f"{name.split()[0]} is not installed")
    path = shutil.which(name.split()[0])
    return f"mkdir -p /tmp/shell; ln -sf {path} /tmp/shell/sh; PATH=/tmp/shell:$PATH; "


@pytest.mark.parametrize("shell", SHELLS)
def test_every_aqm_and_rate_when_applied_is_what_the_kernel_reports(in_guest, shell) -> None:
    """Each AQM, rate and burst setting, one after the other, reads back as computed."""
    scenarios = [
        Scenario(aqm=aqm, rate_down_mbps=down, rate_up_mbps=up, burst_shaping=burst)
        for aqm, burst in product(defaults.AQMS, (False, True))
        for down, up in zip(RATES_MBPS[::2], RATES_MBPS[1::2], strict=True)]
    code = with_shell(shell)
    for scenario in scenarios:
        code += shlex.join(apply_command(scenario)) + " || exit\n"
        code += shlex.join(read_back_command(scenario)) + " || exit\n"
    reports = [parse_read_back(line) for line in in_guest(code).splitlines()]
    assert len(reports) == len(scenarios)
    assert [differences(*pair) for pair in zip(scenarios, reports, strict=True)] == (
        [[]] * len(scenarios))

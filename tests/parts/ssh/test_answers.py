# SPDX-License-Identifier: GPL-3.0-or-later
"""What is made of a router's answers, without a router."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base import paths
from flent_aqm.base.errors import TestbedError
from flent_aqm.parts.ssh import answers
from flent_aqm.parts.ssh.probe import check_devices, parse_probe
from flent_aqm.parts.ssh.restore import bursts
from flent_aqm.router.expected import burst_bytes, old_ticks
from flent_aqm.router.printed import size_text
from flent_aqm.setup import tools
from flent_aqm.spec.queues.units import parse_psched

CLOCK = parse_psched("000003e8 00000040 000f4240 3b9aca00")
ANSWER = """format 1
route management mgmt
link down up 1000 - no -
link mgmt up 1000 - no -
link up up 1000 - no -
end
"""


def test_router_that_does_not_tell_which_device_carries_ssh_is_refused() -> None:
    """Any of them might be it; with it told, the others are taken."""
    devices = {"dev_down": "down", "dev_up": "up"}
    check_devices(parse_probe(ANSWER), devices)
    with pytest.raises(TestbedError, match="doesn't tell which of its devices carries the ssh"):
        check_devices(parse_probe(ANSWER.replace("route management mgmt\n", "")), devices)


@pytest.mark.parametrize("kbit", [64, 999, 3333, 8419, 13_000, 100_700, 940_000, 9_999_999])
def test_burst_that_old_tc_shows_rounded_is_told_so_that_it_comes_back(kbit: int) -> None:
    """Shown with its ticks, as HTB's, and without, as TBF's."""
    rate = kbit * 125
    burst = bursts("tc utility, iproute2-5.15.0", CLOCK)
    for size_bytes in (1600, 15 * 1024, 30 * 1024 + 7):
        ticks = old_ticks(size_bytes, rate, CLOCK)
        shown = size_text(burst_bytes(ticks, rate, CLOCK))
        by_ticks, by_size = (int(burst(f"{shown}/1", f"{kbit}Kbit", known).removesuffix("b"))
                             for known in (f"{ticks:08x}", ""))
        assert old_ticks(by_ticks, rate, CLOCK) == ticks
        assert size_text(burst_bytes(old_ticks(by_size, rate, CLOCK), rate, CLOCK)) == shown


@pytest.mark.parametrize("burst_words", [
    ("many", "1Mbit", ""), ("1600b/1", "fast", "0f"), ("1600b/1", "0bit", "0f"),
    ("1600b/1", "1Mbit", "xyz"), ("9" * 40 + "b", "1Mbit", ""), ("1600b", "9" * 40 + "Gbit", "")])
def test_burst_of_another_form_stays_as_it_is(burst_words: tuple[str, str, str]) -> None:
    """Whatever the router says, at once and without a fault."""
    assert bursts("whatever", CLOCK)(*burst_words) == burst_words[0].partition("/")[0]


def test_irtt_is_found_where_a_sweep_finds_it(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the cache, not on PATH; without any the way to get it is told."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(paths, "caches", lambda: [tmp_path])
    monkeypatch.setattr(tools, "caches", lambda: [tmp_path])
    assert answers.irtt_answer("127.0.0.1") == (
        "irtt is not installed here; run: flent-aqm setup")
    program = tmp_path / "bin" / "irtt"
    program.parent.mkdir()
    for status, answer in ((0, ""), (1, "UDP 2112: no valid response")):
        program.write_text(f"#!/bin/sh\nexit {status}\n")
        program.chmod(0o755)
        assert answers.irtt_answer("127.0.0.1") == answer

# SPDX-License-Identifier: GPL-3.0-or-later
"""The router hooks against the kernel itself, under dash and under BusyBox's ash."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from itertools import product

import pytest

from flent_aqm.base import paths
from flent_aqm.router.hook import apply_command, read_back_command
from flent_aqm.router.proof import differences
from flent_aqm.router.tc.read_back import parse_read_back
from flent_aqm.spec.queues.table import QUEUES
from flent_aqm.spec.scenario import Scenario

from ..on_router import UNDO, apply

pytestmark = pytest.mark.lab
InGuest = Callable[[str], str]

RATES_MBPS = (0.064, 0.768, 4, 33.333333, 100, 300, 500, 900, 1000, 1234.567891, 10_000, 40_000)

# DualPI2 needs a newer tc than the system's.
EVERY_TC_HAS = [name for name, queue in QUEUES.items() if not queue.needs_new_tc]

# Name -> arguments, and what the one line must tell.
REFUSED = {
    "unknown setting": ("apply testbed=virtual rate=5 -- x", "unknown setting 'rate=5'"),
    "device that isn't there": ("apply testbed=virtual dev_up=wan0 -- x", "no device 'wan0'"),
    "device that is a path": ("undo testbed=virtual dev_up=../../net/up", "not a valid name"),
    "one device twice": ("apply testbed=virtual dev_up=down -- x", "both 'down'"),
    "no lines": ("apply testbed=virtual", "lines for tc are missing"),
    "no testbed": ("apply dev_up=up -- x", "testbed is missing"),
    "unknown testbed": ("apply testbed=moon -- x", "'moon'; known: virtual, netns"),
    "ssh": ("apply testbed=ssh://root@r -- x", "only a sweep may apply on a router"),
    "read by ssh": ("read-back testbed=ssh://root@r", "only a sweep may read-back on a router"),
    "probe of the lab": ("probe testbed=virtual", "only for testbed=netns or ssh"),
    "unknown command": ("put testbed=virtual", "known: apply, read-back, undo"),
    "no command": ("", "known: apply, read-back, undo"),
}


@pytest.fixture(params=["dash", "busybox"])
def shell(request: pytest.FixtureRequest) -> str:
    """Code after which `sh` is the shell in question, on the client and on the router."""
    path = shutil.which(request.param)
    if path is None:
        pytest.fail(f"{request.param} is not installed; run make packages")
    return f"mkdir /tmp/shell; ln -s {path} /tmp/shell/sh; export PATH=/tmp/shell:$PATH\n"


def test_settings_when_applied_one_after_the_other_are_reported_as_computed(
        in_guest: InGuest, shell: str) -> None:
    """Each AQM at some rates, and one with and without burst shaping at all of them, reads
    back without difference."""
    scenarios = [
        Scenario().but(aqm=aqm, rate_down_mbps=down, rate_up_mbps=up)
        for aqm, (down, up) in product(EVERY_TC_HAS, ((0.768, 33.333333), (900, 40_000)))]
    scenarios += [
        Scenario().but(aqm="fq_codel", rate_down_mbps=down, rate_up_mbps=up, burst_shaping=burst)
        for burst in (False, True)
        for down, up in zip(RATES_MBPS[::2], RATES_MBPS[1::2], strict=True)]
    code = shell
    for scenario in scenarios:
        code += shlex.join(apply_command(scenario)) + " || exit\n"
        code += shlex.join(read_back_command(scenario)) + " || exit\n"
    texts = re.findall(r"@format .*?@end\n", in_guest(code), re.DOTALL)
    reports = [parse_read_back(text) for text in texts]
    mismatches = [differences(*pair) for pair in zip(scenarios, reports, strict=True)]
    assert mismatches == [[]] * len(scenarios)


def test_bad_arguments_when_given_are_refused_and_change_nothing(
        in_guest: InGuest, shell: str) -> None:
    """Each ends with status 2 and one line that names the fault; the queues stay as they were."""
    code = shell + f"{apply(aqm='codel')}; on_router tc -r qdisc >/tmp/before\n"
    for arguments, _ in REFUSED.values():
        code += (f'sh "$FLENT_AQM_HOOKS/on_router.sh" {arguments} 2>&1; echo "status $?"\n'
                 'on_router tc -r qdisc | cmp - /tmp/before && echo unchanged\n')
    lines = iter(in_guest(code).splitlines())
    for name, (_, fault) in REFUSED.items():
        output = next(lines)
        assert output.startswith("router hook: "), name
        assert fault in output, name
        assert [next(lines), next(lines)] == ["status 2", "unchanged"], name
    assert list(lines) == []


def test_undo_when_queues_are_on_gives_the_default_queues_back(
        in_guest: InGuest, shell: str) -> None:
    """After undo, done twice, each device has the queue that it booted with."""
    printed = in_guest(shell + f"""
        on_router tc qdisc >/tmp/before
        {apply(aqm='fq_codel')}; {UNDO} && {UNDO} && on_router tc qdisc | cmp - /tmp/before
        on_router tc qdisc add dev up root handle 1: prio
        {apply(aqm='sfq')} && {UNDO} && on_router tc qdisc | cmp - /tmp/before && echo same
    """)
    assert printed == "same\n"


def test_apply_when_the_kernel_refuses_takes_back_what_was_done(
        in_guest: InGuest, shell: str) -> None:
    """Refused after the first changes: status 1, tc's reason, default queues."""
    printed = in_guest(shell + f"put() {{ {apply(aqm='fq_codel')}; }}\n" + """
        on_router tc qdisc >/tmp/before
        fake_tc <<'END'
case $* in
*-batch*) sed '/dev up parent 1:1/s/$/ quantum 2000000/' | "$real_tc" "$@" ;;
*) exec "$real_tc" "$@" ;;
esac
END
        put 2>&1; echo "status $?"; real_tc_again
        on_router tc qdisc | cmp - /tmp/before && echo same
    """)
    message, *rest = printed.splitlines()
    assert re.search(r"tc refused a line for fq_codel, which .*, or for the shaper", message)
    assert "Invalid quantum" in message
    assert rest == ["status 1", "same"]


def test_apply_when_the_router_lacks_something_changes_nothing(
        in_guest: InGuest, shell: str) -> None:
    """A value that only the kernel refuses, a qdisc that tc or the kernel doesn't know: status
    1, one line, the queues of before, and no device is left over."""
    printed = in_guest(shell + f"pie() {{ {apply(aqm='pie')}; }}\n{apply(aqm='sfq')}\n"
                       f"odd() {{ {apply(aqm='fq_codel', aqm_quantum=2_000_000)}; }}\n" + """
        on_router tc -r qdisc >/tmp/before; on_router ip link >/tmp/links
        check() {
            echo "status $?"
            on_router tc -r qdisc | cmp - /tmp/before &&
                on_router ip link | cmp - /tmp/links && echo same
        }
        odd 2>&1; check
        fake_tc <<'END'
case $* in
*help) echo 'Unknown qdisc "pie", hence option "help" is unparsable' >&2; exit 1 ;;
*) exec "$real_tc" "$@" ;;
esac
END
        pie 2>&1; check; real_tc_again
        fake_tc <<'END'
case $* in
*-batch*) echo 'Error: Specified qdisc kind is unknown.' >&2; exit 1 ;;
*) exec "$real_tc" "$@" ;;
esac
END
        pie 2>&1; check; real_tc_again
    """)
    lines = printed.splitlines()
    assert lines[1::3] == ["status 1"] * 3
    assert lines[2::3] == ["same"] * 3
    for line, reason in zip(lines[::3], ("Invalid quantum", "tc doesn't know pie",
                                         "kind is unknown"), strict=True):
        assert reason in line
        assert "nothing was changed" in line


def test_apply_when_terminated_takes_back_what_was_done(in_guest: InGuest, shell: str) -> None:
    """SIGTERM while tc works: the queues are the default ones afterwards, the status tells."""
    printed = in_guest(shell + f"put() {{ {apply(aqm='sfq')}; }}\n" + """
        on_router tc qdisc >/tmp/before
        fake_tc <<'END'
lines=$(cat)
printf '%s\n' "$lines" | "$real_tc" "$@"
case $lines in *"$mark"*) kill -TERM $PPID ;; esac
END
        for mark in flent-probe 'class add'; do
            export mark
            put 2>/dev/null; echo "status $?"
            on_router "$real_tc" qdisc | cmp - /tmp/before && echo same
        done
        on_router ip link show flent-probe 2>&1
        true
    """)
    assert printed == "status 1\nsame\n" * 2 + 'Device "flent-probe" does not exist.\n'


def test_proof_when_called_in_the_guest_reads_back_without_heavy_imports(
        in_guest: InGuest) -> None:
    """read_back() starts the hook itself; neither it nor what it imports needs numpy."""
    printed = in_guest(f"""
        {apply(aqm='sfq')}
        export PYTHONPATH={shlex.quote(str(paths.PACKAGE.parent))}
        exec "$PYTHON" - <<'END'
import sys
from flent_aqm.router import proof
from flent_aqm.spec.scenario import Scenario

asked = Scenario().but(aqm="sfq", rate_down_mbps=100, rate_up_mbps=20)
report = proof.read_back(asked)
proof.prove(asked, report)
print(proof.as_metadata(report)["applied"]["up"]["rate_mbps"], "numpy" in sys.modules)
END
    """)
    assert printed == "20.0 False\n"

# SPDX-License-Identifier: GPL-3.0-or-later
"""Compose the command that measures a router, with queues that it has and tests that can run."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from flent_aqm.base.paths import resource_dir
from flent_aqm.parts.ssh.answers import ServerAnswer, server_testbed
from flent_aqm.parts.ssh.needs import KIND_OF_AQM
from flent_aqm.parts.ssh.probe import RouterProperties
from flent_aqm.tools.irtt import SERVER as IRTT

# Queues and shapers for a first measurement, in order of preference.
_QUEUES = ("no_aqm", "codel", "pie", "sfq", "fq_codel", "cake")
_SHAPERS = ("htb", "tbf", "hfsc")
# Tests of the batch `quick` -> the server of each.
_TESTS = {"ndt7": "ndt7", "iperf3_upload": "iperf3"}
_BATCH = "aqm_sweep.batch"


def queues(facts: RouterProperties, among: Collection[str] = _QUEUES) -> list[str]:
    """Return the AQMs of `among` whose kind of qdisc the router has, in the same order. A kind that
    the router wasn't asked for counts as missing.

    Args:
        facts: what the router told.
        among: names of AQMs (default: those for a first measurement).
    """
    return [aqm for aqm in among if facts.kinds.get(KIND_OF_AQM[aqm], "?") == ""]


def _shapers(facts: RouterProperties) -> list[str]:
    """Return which of the shapers htb, tbf and hfsc the router has, in this order of preference."""
    return [one for one in _SHAPERS if facts.kinds.get(one, "?") == ""]


def missing_on_router(facts: RouterProperties) -> str:
    """Return what the router lacks for a first measurement, such as "none of the shapers htb, tbf,
    hfsc". "" if it has one of these shapers, and one of the queues that such a measurement uses.

    Args:
        facts: what the router told.
    """
    if not _shapers(facts):
        return f"none of the shapers {', '.join(_SHAPERS)}"
    return "" if queues(facts) else f"none of the queues {', '.join(_QUEUES)}"


def override_aqms(names: Sequence[str]) -> str:
    """Return Flent's option that measures the AQMs `names` in place of the batch's own, such as
    "--batch-override aqm=codel,pie"."""
    return f"--batch-override aqm={','.join(names)}"


def batch_command(testbed: str, server: str, facts: RouterProperties,
                  answers: Sequence[ServerAnswer], *, by_sweep: bool = False) -> str:
    """Return the command line of `flent` that measures the router, for the user's shell, with the
    batch file in the current folder's `batches` if there is one, otherwise this package's.

    Args:
        testbed: the router, ssh://[user@]host[:port].
        server: name or address of the server.
        facts: what the router told.
        answers: results of the check of the server's programs.
        by_sweep: let the sweep start the servers over ssh, whatever the check found.

    Returns:
        The command, quoted, in lines of which all but the last end with a backslash. "" if no test
            can run: irtt's server, the servers of both tests of the batch (ndt7 and iperf3), all
            shapers or all queues are missing.
    """
    reachable = {one.server for one in answers if not one.why}
    tests = list(_TESTS) if by_sweep else [test for test, name in _TESTS.items() if any(
        one == name or one.startswith(f"{name}-") for one in reachable)]
    if not (by_sweep or IRTT.name in reachable) or not tests or missing_on_router(facts):
        return ""
    shapers = _shapers(facts)
    words = [f"testbed={testbed}", f"hosts={server}",
             *([server_testbed(server)] if by_sweep else []), f"aqm={','.join(queues(facts))}",
             *([f"test_name={tests[0]}"] if len(tests) < len(_TESTS) else []),
             *([f"shaper={shapers[0]}"] if shapers[0] != _SHAPERS[0] else [])]
    here = Path("batches") / _BATCH
    batch = here if here.is_file() else resource_dir("batches") / _BATCH
    return f"flent -B {shlex.quote(str(batch))} -b quick" + "".join(
        f" \\\n    --batch-override {shlex.quote(word)}" for word in words)

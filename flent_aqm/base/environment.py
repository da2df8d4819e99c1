# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment variables of this package: what each tells, who sets it, who reads it.

Most of them are the contract between the two Flents: the one on the host, which hands out
runs, and the one beside the tools, which measures. Shell scripts, batches and
bridge/hook.py, which may import next to nothing, write the names out; a test holds all of
them to this table.
"""

from __future__ import annotations

from dataclasses import dataclass

# This Flent measures one run; its batch is written by the other one.
CELL = "FLENT_AQM_CELL"
# The command runs inside the lab, on the virtual clock.
IN_LAB = "FLENT_AQM_IN_LAB"
# The scenario that is measured, as JSON; the router is proved against it.
SCENARIO = "FLENT_AQM_SCENARIO"
# The folder router_hooks, as the run's commands see it.
HOOKS = "FLENT_AQM_HOOKS"
# The file that a shell reads to put the run's queue onto the router.
APPLY = "FLENT_AQM_APPLY"
# This Flent draws nothing: matplotlib and our plots stay away.
WITHOUT_PLOTS = "FLENT_AQM_WITHOUT_PLOTS"
# A router behind ssh: the open connection, the sweep's hold on it, its devices.
SSH_CONTROL = "FLENT_AQM_SSH_CONTROL"
SSH_TOKEN = "FLENT_AQM_SSH_TOKEN"
DEV_DOWN = "FLENT_AQM_DEV_DOWN"
DEV_UP = "FLENT_AQM_DEV_UP"
# From the user.
DISABLE = "FLENT_AQM_DISABLE"
KERNEL = "FLENT_AQM_KERNEL"
DEBIAN_URI = "FLENT_AQM_DEBIAN_URI"
# A folder with a copy of librespeed/speedtest.
LIBRESPEED = "FLENT_AQM_LIBRESPEED"
# A file of Python with the user's own speed test.
OWN_TOOL = "FLENT_AQM_OWN_TOOL"
# Data files are trusted, and may be as large as our own.
LARGE_FILES = "FLENT_AQM_LARGE_FILES"
# Between flent-aqm speedtest and its Flent.
NETPERF_PASSPHRASE = "FLENT_AQM_NETPERF_PASSPHRASE"

USER = "the user"


@dataclass(frozen=True)
class Variable:
    """set_by, read_by: files, from the top of the source tree, or USER."""

    set_by: tuple[str, ...]
    read_by: tuple[str, ...]


VARIABLES: dict[str, Variable] = {
    CELL: Variable(
        ("flent_aqm/lab/protocol.py",),
        ("flent_aqm/bridge/batch.py", "flent_aqm/bridge/collect.py",
         "flent_aqm/bridge/data_files.py", "flent_aqm/bridge/definitions.py")),
    IN_LAB: Variable(
        ("flent_aqm/lab/virtual.py",),
        ("batches/papers.batch", "batches/rfc7928.batch", "flent_aqm/spec/jitter.py",
         "flent_aqm/commands/speedtest.py", "flent_aqm/measure/runners/iperf3.py",
         "flent_aqm/measure/runners/netperf.py", "flent_aqm/lab/virtual.py",
         "tests_defs/aqm_netperf.inc")),
    SCENARIO: Variable(
        ("flent_aqm/lab/guest_files.py",),
        ("flent_aqm/spec/jitter.py", "flent_aqm/spec/scenario.py",
         "flent_aqm/bridge/proof.py", "flent_aqm/parts/speedtests/iperf2_bounceback.py")),
    HOOKS: Variable(
        ("flent_aqm/lab/guest_files.py",),
        ("flent_aqm/setup/tools.py", "router_hooks/on_router.sh")),
    APPLY: Variable(("flent_aqm/lab/guest_files.py",), ("flent_aqm/spec/cell.py",)),
    WITHOUT_PLOTS: Variable(
        ("flent_aqm/lab/protocol.py", "flent_aqm/sweep/home_line/measure.py"),
        ("flent_aqm/bridge/hook.py", "flent_aqm/tools/client.py")),
    SSH_CONTROL: Variable(
        ("flent_aqm/parts/ssh/connection.py",), ("router_hooks/on_router.sh",)),
    SSH_TOKEN: Variable(("flent_aqm/parts/ssh/testbed.py",), ("router_hooks/on_router.sh",)),
    DEV_DOWN: Variable(
        ("flent_aqm/parts/ssh/testbed.py",),
        ("flent_aqm/lab/guest_files.py", "router_hooks/on_router.sh")),
    DEV_UP: Variable(
        ("flent_aqm/parts/ssh/testbed.py",),
        ("flent_aqm/lab/guest_files.py", "router_hooks/on_router.sh")),
    OWN_TOOL: Variable(
        (USER, "flent_aqm/parts/scorecard/command.py", "flent_aqm/lab/guest_files.py"),
        ("flent_aqm/tools/own.py",)),
    LARGE_FILES: Variable((USER,), ("flent_aqm/results/reading/limits.py",)),
    DISABLE: Variable(
        (USER, "flent_aqm/results/share/check.py"),
        ("flent_aqm/bridge/hook.py", "flent_aqm/sweep/home_line/measure.py")),
    KERNEL: Variable((USER,), ("flent_aqm/setup/kernel/locate.py",)),
    DEBIAN_URI: Variable((USER,), ("flent_aqm/setup/apt.py",)),
    LIBRESPEED: Variable(
        (USER,), ("flent_aqm/parts/speedtests/librespeed.py",)),
    NETPERF_PASSPHRASE: Variable(
        ("flent_aqm/sweep/home_line/measure.py",), ("flent_aqm/measure/runners/netperf.py",)),
}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the router in qemu: packets per second, then the runs of batches/prediction.batch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from flent_aqm.base.errors import ConfigError, ToolMissing, cause_of
from flent_aqm.base.paths import cache_to_write, resource_dir
from flent_aqm.base.shell import find_program, run
from flent_aqm.base.words import counted, end_of
from flent_aqm.setup.tools import find_tool

HERE = Path(__file__).resolve().parent
FLENT = Path(sys.executable).with_name("flent")
SERVER, ROUTER = "198.51.100.2", "ssh://root@203.0.113.1"
_NEEDED = ("qemu-system-x86_64", "busybox", "dropbear", "dropbearkey", "ssh", "unshare", "taskset",
           "tc", "ip", "ethtool", "iperf3")
_FLOODS = "packets"  # the file with packets per second


def measure(folder: Path, repetitions: int) -> None:
    """Build the router if needed, and write all runs into the folder, whose old runs are deleted,
    with the files that packets_per_s() and about() read. This takes real time, so keep the machine
    idle.

    Args:
        folder: folder for the runs. It is created.
        repetitions: runs of each cell, and number of floods.

    Raises ConfigError without root and two cores or if the measurement fails, ToolMissing without a
    program, CommandFailed if the router can't be built.
    """
    cores = sorted(os.sched_getaffinity(0))
    if os.geteuid() or len(cores) < 2:
        raise ConfigError("the router in qemu needs root, for namespaces, and two cores; here are "
                          f"{counted(len(cores), 'core')} and user id {os.geteuid()}")
    irtt = find_tool("irtt")
    missing = [name for name in _NEEDED if find_program(name) is None]
    if missing or irtt is None:
        missing += ["irtt"] if irtt is None else []
        raise ToolMissing(f"{', '.join(missing)} {'are' if len(missing) > 1 else 'is'} not "
                          "installed; on Debian: apt-get "
                          "install qemu-system-x86 busybox dropbear-bin openssh-client ethtool "
                          "iproute2 iperf3; irtt comes with `make setup`")
    machine = cache_to_write() / "slow-router"
    run(["sh", HERE / "machine.sh", machine], timeout_s=600)
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob("*.flent.gz"), folder / _FLOODS):
        old.unlink(missing_ok=True)
    batch = {"testbed": ROUTER, "hosts": SERVER, "output_path": folder, "repetitions": repetitions}
    flent = [str(FLENT), "-B", str(resource_dir("batches") / "prediction.batch"),
             *(word for key, value in batch.items()
               for word in ("--batch-override", f"{key}={value}"))]
    done = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
         "sh", HERE / "network.sh", sys.executable, "-m",
         "research.validation.prediction.flood", SERVER, folder / _FLOODS,
         str(repetitions), *flent],
        check=False, cwd=HERE.parents[2],
        env={**os.environ, "MACHINE": str(machine), "IRTT": str(irtt),
             "ROUTER_CORE": str(cores[-1]), "HOST_CORE": str(cores[0])})
    if done.returncode:
        raise ConfigError(f"the measurement ended with {end_of(done.returncode)}; the reason is "
                          "above")
    (folder / "machine.json").write_text(json.dumps(_describe_machine(machine), indent=1) + "\n")


def packets_per_s(folder: Path) -> list[float]:
    """Return the packets per second that the router forwarded each time that measure() flooded it.
    Raises ConfigError if the file with them is missing, empty, or has something else than numbers.
    folder: that of measure()."""
    try:
        floods = [float(line) for line in (folder / _FLOODS).read_text().split()]
        if not floods:
            raise ValueError("it is empty")
    except (OSError, ValueError) as error:
        raise _unreadable(folder / _FLOODS, error) from None
    return floods


def about(folder: Path) -> Mapping[str, str]:
    """Return what was measured, and where, as measure() noted it: "kernel", "qemu", "cpu", "date"
    and "load", see _describe_machine(). Raises ConfigError if the file with it is missing or no
    JSON. folder: that of measure()."""
    try:
        read = json.loads((folder / "machine.json").read_text())
    except (OSError, ValueError) as error:
        raise _unreadable(folder / "machine.json", error) from None
    return {str(name): str(value) for name, value in read.items()}


def _unreadable(path: Path, error: Exception) -> ConfigError:
    """Return the error for a file of the measurement that can't be read."""
    return ConfigError(f"{path}: can't read this file of the measurement ({cause_of(error)}); "
                       "measure again with --only measure")


def _describe_machine(machine: Path) -> dict[str, str]:
    """Return facts about the router, the machine that emulates it, and that machine's load, as
    texts: "kernel" (the Debian package of the router's), "qemu" (line with the version), "cpu"
    ("unknown" if Linux doesn't tell), "date" (now, in UTC) and "load" (average of the last five
    minutes). Raises OSError if the router has not been built, ToolMissing without qemu.

    Args:
        machine: folder of the emulated router.
    """
    version = run(["qemu-system-x86_64", "--version"]).partition("\n")[0]
    cpu = next((line.partition(":")[2].strip() for line in
                Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")),
               "unknown")
    return {"kernel": (machine / "name").read_text().strip(), "qemu": version, "cpu": cpu,
            "date": run(["date", "-u", "+%Y-%m-%d %H:%M UTC"]).strip(),
            "load": f"{os.getloadavg()[1]:.1f}"}


def middle(values: list[float]) -> float:
    """Return the median as a float. `values` must not be empty."""
    return float(median(values))

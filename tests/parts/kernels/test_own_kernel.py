# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel with a queue and a congestion control that nobody here knows, from the C files to
the data file; and what becomes of runs when such code is at fault.

The kernel is built from the objects that set-up has kept: some seconds of compiling, and one
link. Where set-up has kept none, as its kernel is older than that, or another user's, the tests
are skipped: a whole kernel takes ten minutes.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.base.errors import ConfigError, LabError, LabTimeout
from flent_aqm.base.paths import cache_to_write, resource_dir
from flent_aqm.lab import virtual
from flent_aqm.lab.kernel_faults import LEAK_KB
from flent_aqm.lab.virtual import Lab
from flent_aqm.router.hook import apply_command
from flent_aqm.setup.kernel import patching, recipe
from flent_aqm.setup.kernel.build import ARCHITECTURE
from flent_aqm.setup.kernel.tree import NOTES, KernelTree
from flent_aqm.spec.scenario import Scenario
from tests.files import load

CODE = Path(__file__).parents[2] / "own_code"
BIN = Path(sys.executable).parent
NAME, CONTROL, QUEUE = "suite-own", "halfreno", "headdrop"

pytestmark = pytest.mark.lab


def run(*words: object, cwd: Path | None = None,
        **variables: str) -> subprocess.CompletedProcess[str]:
    """Run one of the project's commands; no mistake of a user's ends in a traceback."""
    done = subprocess.run([str(BIN / str(words[0])), *map(str, words[1:])], cwd=cwd, timeout=1500,
                          check=False, capture_output=True, text=True,
                          env={**os.environ, **variables})
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def kept() -> Path:
    """The source of set-up's kernel, with its objects."""
    source = recipe.stock_source()
    folder = cache_to_write() / "trees" / (f"{source.package}_{source.version}" if source else "-")
    if not (folder / NOTES).is_dir():
        pytest.skip(f"set-up has kept no objects in {folder}; flent-aqm kernel build makes them")
    return folder


@pytest.fixture(scope="module")
def kernel(kept: Path) -> Iterator[str]:
    """The kernel's name."""
    build = ("flent-aqm", "kernel", "build", NAME, "--qdisc", CODE / "sch_headdrop.c",
             CODE / "sch_faulty.c", "--tcp", CODE / "tcp_halfreno.c", "--tc", CODE / "q_headdrop.c")
    done = run(*build)
    assert done.returncode == 0, done.stderr
    assert f"{NAME}: Linux " in done.stdout
    # Set-up's kernel, which the variable replaces, is none of what is built.
    again = run(*build, FLENT_AQM_KERNEL="/usr/bin/true")
    assert (again.returncode, "is there already" in again.stdout) == (0, True), again.stderr
    yield NAME
    run("flent-aqm", "kernel", "remove", NAME)


@dataclass(frozen=True)
class Runs:
    """What a sweep left."""

    done: subprocess.CompletedProcess[str]
    folder: Path

    def data(self, part: str) -> Any:
        """The one data file whose name has that part."""
        path, = (path for path in self.folder.glob("*.flent.gz") if part in path.name)
        return load(path)


@pytest.fixture(scope="module")
def runs(kernel: str, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """A known queue on both kernels; the unknown one; CAKE; and three mistakes."""
    folder = tmp_path_factory.mktemp("runs")
    shutil.copy(resource_dir("batches") / "base.batch", folder)
    (folder / "try.batch").write_text(f"""\
[Batch::common]
abstract = yes
inherits = base
output_path = results
test_name = aqm_flows
rate_mbps = 20
base_delay_ms = 20
length = 3
[Batch::both]
inherits = common
aqm = pie
kernel = {kernel}, stock
[Batch::unknown]
inherits = common
aqm = {QUEUE}
aqm_options = limit 50
kernel = {kernel}
test_parameters = flows=1x{CONTROL}
[Batch::tins]
inherits = common
aqm = cake
kernel = {kernel}
[Arg::warns]
txqueuelen = 1001
[Arg::leaks]
txqueuelen = 1002
[Arg::crashes]
txqueuelen = 1003
[Arg::crashes_late]
txqueuelen = 1008
[Arg::holds]
txqueuelen = 1010
length = 12
[Batch::faults]
inherits = common
aqm = faulty
kernel = {kernel}
for_fault = warns, leaks, crashes, crashes_late, holds
filename_extra = ${{txqueuelen}}
""")
    words = [word for name in ("both", "unknown", "tins", "faults") for word in ("-b", name)]
    return Runs(run("flent", "-B", "try.batch", *words, cwd=folder), folder / "results")


def test_the_same_queue_on_two_kernels_gives_the_same_samples(runs: Runs) -> None:
    """With the same seed: what differs between kernels is their code's doing alone."""
    mine, stock = (runs.data(f"-pie-20mbit-burst0-cross0-01{end}.") for end in (f"-{NAME}", ""))
    assert mine["metadata"]["AQM"]["seed"] == stock["metadata"]["AQM"]["seed"]
    assert mine["results"] == stock["results"]
    assert mine["metadata"]["AQM"]["requested"]["kernel"] == NAME
    assert mine["metadata"]["AQM"]["kernel"]["name"] == NAME
    assert stock["metadata"]["AQM"]["requested"]["kernel"] == "stock"
    assert "name" not in stock["metadata"]["AQM"]["kernel"]
    assert mine["metadata"]["AQM"]["kernel"]["hash"] != stock["metadata"]["AQM"]["kernel"]["hash"]


def test_an_unknown_queue_is_measured_with_its_options_proven(runs: Runs) -> None:
    """By what the user's own part of tc reports, and under a control that nobody knows."""
    data = runs.data(f"-{QUEUE}-")
    aqm = data["metadata"]["AQM"]
    assert aqm["requested"]["aqm_parameters"] == {"options": "limit 50"}
    for way in ("down", "up"):
        applied = aqm["after"]["applied"][way]
        assert (applied["qdisc"], applied["qdisc_parameters"]) == (QUEUE, {"limit": 50})
    series, = (meta for name, meta in data["metadata"]["SERIES_META"].items()
               if name.startswith("TCP"))
    assert series["IPERF3"]["sender_congestion_control"] == CONTROL
    longest_ms = max(one for name, values in data["results"].items() if "Ping" in name
                     for one in values if one)
    # 50 full packets at 20 Mbit/s are 30 ms
    assert 35 < longest_ms < 70


def test_empty_tins_of_cake_hold_nothing(runs: Runs) -> None:
    """tc tells a backlog of each, in other words than the queue's."""
    assert runs.data("-cake-")["metadata"]["AQM"]["kernel"]["name"] == NAME


@pytest.mark.parametrize(("txqueuelen", "output"), [
    (1001, "WARNING: .*sch_faulty.c"),
    (1002, "faulty on up 102b 1p"),
    (1003, "faulty_enqueue, sch_faulty.c line "),
    (1008, "faulty_dequeue, sch_faulty.c line "),
    (1010, r"it still uses [\d.]+ MiB of memory"),
])
def test_a_mistake_of_the_queue_is_the_cause_of_the_failed_run(
    runs: Runs, txqueuelen: int, output: str
) -> None:
    """With its place, and without a data file."""
    assert runs.done.returncode == 1
    assert not list(runs.folder.glob(f"*{txqueuelen}*.flent.gz"))
    log, = runs.folder.glob(f"*{txqueuelen}*.log")
    cause = log.read_text().rpartition("--- failed\n")[2]
    assert re.search(output, cause), cause


@pytest.mark.parametrize(("txqueuelen", "function"), [
    (1004, "faulty_enqueue"), (1009, "faulty_dequeue")])
def test_a_queue_that_never_ends_is_told_with_its_place(
    kernel: str, txqueuelen: int, function: str
) -> None:
    """At the limit of wall time, which begins with wait(): in a process, and in a softirq of a
    shaper's timer."""
    scenario = Scenario().but(kernel=kernel, aqm="faulty", txqueuelen=txqueuelen,
                              rate_up_mbps=0.064, rate_down_mbps=0.064)
    with Lab(scenario, ["sh", "-c", "echo begun; ping -q -i 0.01 -c 1000 server"], servers=(),
             prelude=[apply_command(scenario)], wall_limit_s=1) as lab:
        lab.start()
        while not lab.stdout.exists() or "begun" not in lab.stdout.read_text():
            time.sleep(0.1)
        time.sleep(2)
        with pytest.raises(LabError, match=rf"the kernel {kernel}: it hangs, in {function}, "
                                           r"sch_faulty.c line \d+: stopped after 1 s"):
            lab.wait()


@pytest.mark.parametrize(("program", "told"), [
    ("sleep 1e9", "its clock was at .* s and went faster than this mach"),
    ("while cd /; do :; done", "its console shows")])
def test_command_that_never_ends_is_no_hang_of_the_kernel(
        kernel: str, program: str, told: str) -> None:
    """Which jumps from timer to timer, or serves system calls, meanwhile."""
    with Lab(Scenario().but(kernel=kernel), ["sh", "-c", program], servers=(), wall_limit_s=3
             ) as lab, pytest.raises(LabTimeout, match=f"after 3 s of wall time; {told}"):
        lab.run()


def test_memory_of_many_queues_is_no_leak(kernel: str) -> None:
    """CAKE takes 1 MiB each, and eight subscribers have one in each direction."""
    scenario = Scenario().but(kernel=kernel, aqm="cake", topology="subscribers:8",
                              rate_up_mbps=20.0,
                              rate_down_mbps=20.0)
    with Lab(scenario, ["sh", "-c", "grep SUnreclaim /proc/meminfo"], servers=(),
             prelude=[apply_command(scenario)]) as lab:
        lab.run()
        used_kb = int(lab.stdout.read_text().split()[1])
    assert used_kb > LEAK_KB


def test_a_queue_that_never_ends_is_noticed_long_before_the_limit(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the processor time that its kernel takes without a system call: on a busy machine, too."""
    monkeypatch.setattr(virtual, "_HANGS_AFTER_S", 2.0)
    scenario = Scenario().but(kernel=kernel, aqm="faulty", txqueuelen=1004)
    with Lab(scenario, ["ping", "-q", "-i", "0.01", "-c", "1000", "server"], servers=(),
             prelude=[apply_command(scenario)]) as lab, \
            pytest.raises(LabError, match=r"it hangs, in faulty_enqueue, .* stopped after 2 s of "
                                          "processor time without a system call"):
        lab.run()


def test_after_three_equal_faults_no_more_runs_of_a_kernel_are_made(
    kernel: str, tmp_path: Path
) -> None:
    """Of another kernel they go on. Those that aren't made are failed runs to `verdict`."""
    shutil.copy(resource_dir("batches") / "base.batch", tmp_path)
    (tmp_path / "same.batch").write_text(f"""\
[Batch::faulty]
inherits = base
output_path = results
test_name = aqm_flows
rate_mbps = 20
length = 1
aqm = faulty
kernel = {kernel}
txqueuelen = 1001
repetitions = 8
[Batch::healthy]
inherits = faulty
aqm = pie
kernel = stock
repetitions = 1
""")
    done = run("flent", "-B", "same.batch", "-b", "faulty", "-b", "healthy", "--batch-override",
               "jobs=1", cwd=tmp_path)
    assert done.returncode == 1
    assert "3 of 9 runs failed, 5 more were not made" in done.stderr + done.stdout
    assert f"mend the kernel {kernel} and build it again" in done.stderr + done.stdout
    assert len(list((tmp_path / "results").glob("*.flent.gz"))) == 1
    assert len(json.loads((tmp_path / "results" / "sweep.json").read_text())["failed"]) == 8


def test_queues_that_no_kernel_has_are_refused_before_anything_runs(
    kernel: str, tmp_path: Path
) -> None:
    """As are options of which tc says something else."""
    for words, output in (
        (["--aqm", "headdrob"], f"was built without a queue 'headdrob'; did you mean '{QUEUE}'?"),
        (["--aqm", QUEUE, "--aqm-parameter", "limit=50"], "give it as aqm_options = limit 50"),
        (["--aqm", QUEUE, "--aqm-parameter", "options=limit 50; reboot"], "expected words of"),
    ):
        done = run("flent-aqm", "lab", "--kernel", kernel, *words, "--", "true", cwd=tmp_path)
        assert done.returncode == 1
        assert output in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_file_that_does_not_compile_is_told_by_its_first_error(
    kernel: str, tmp_path: Path
) -> None:
    """File, line, and where all of it is; the name stands for what it stood for."""
    path = tmp_path / "sch_headdrop.c"
    path.write_text((CODE / path.name).read_text().replace("sch->limit = limit;",
                                                           "sch->limit = limt;"))
    done = run("flent-aqm", "kernel", "build", kernel, "--qdisc", path)
    assert done.returncode == 1
    assert "net/sched/sch_headdrop.c:54:" in done.stderr.splitlines()[-1]
    assert "'limt' undeclared" in done.stderr.splitlines()[-1]
    assert f"kernel-build-{kernel}.log" in done.stderr.splitlines()[-1]
    assert f"flent-aqm: {kernel} is still the kernel that was built before\n" in done.stderr
    assert "sch_faulty.c" in run("flent-aqm", "kernel", "list").stdout


def test_a_change_of_a_file_that_is_not_compiled_is_refused(kept: Path, tmp_path: Path) -> None:
    """Or a syntax error there would be a kernel like any other."""
    before = KernelTree(kept).original("net/sched/sch_ets.c")
    assert before is not None
    after = before.decode().replace("#include <linux/module.h>", "nonsense <linux/module.h>", 1)
    patch = tmp_path / "ets.patch"
    patch.write_text("".join(difflib.unified_diff(
        before.decode().splitlines(True), after.splitlines(True), "a/net/sched/sch_ets.c",
        "b/net/sched/sch_ets.c")))
    done = run("flent-aqm", "kernel", "build", "suite-ets", "--patch", patch)
    assert done.returncode == 1, done.stdout
    assert ("nothing of the change is in the kernel: net/sched/sch_ets.c is not compiled"
            in done.stderr.splitlines()[-1])
    assert "suite-ets" not in run("flent-aqm", "kernel", "list").stdout


def test_queue_that_an_older_kernel_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything boots. The kernel is a stand-in: another one takes minutes to build."""
    older = SimpleNamespace(version="6.12.117", kinds={"fq_codel"}, absent_kinds={"dualpi2"})
    monkeypatch.setattr(virtual, "find_named", lambda _name: older)
    stock = virtual.VirtualTestbed().kernel("stock")
    requested = {"kernel": "lts", "aqm": "dualpi2"}
    with pytest.raises(ConfigError, match=r"aqm: dualpi2: the kernel lts, Linux 6\.12\.117, has no "
                                          "dualpi2"):
        Lab(Scenario.from_settings(requested), ["true"], kernel=stock)
    for aqm, near in (("unheard", "; i"), ("fq_codle", "; did you mean 'fq_codel'? I")):
        with pytest.raises(ConfigError, match=(
                f"the kernel lts was built without a queue '{aqm}'{re.escape(near)}"
                rf"f it is one of Linux's, .* CONFIG_NET_SCH_{aqm.upper()}, by --config; if it is "
                rf"your own, with --qdisc sch_{aqm}\.c")):
            Lab(Scenario.from_settings({"kernel": "lts", "aqm": aqm}), ["true"], kernel=stock)
    Lab(Scenario.from_settings({**requested, "aqm": "fq_codel"}), ["true"], kernel=stock).close()


@pytest.mark.parametrize("backport", sorted(recipe.BACKPORTS.iterdir()), ids=lambda path: path.stem)
def test_backport_fits_the_architecture_of_set_ups_kernel(
        backport: Path, kept: Path, tmp_path: Path) -> None:
    """Of its patch, what changes arch/; the rest needs the older source."""
    tree = KernelTree(tmp_path)
    for folder in ARCHITECTURE:
        tree.backport(folder, KernelTree(kept))
    files = re.split(rb"(?m)^(?=--- a/)", backport.read_bytes())
    of_arch = b"".join(one for one in files if one.startswith(b"--- a/arch/"))
    assert of_arch.count(b"--- a/") > 10
    patching.apply_own(tmp_path, backport.name, of_arch, keep=tree.keep)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The testbed `virtual`: a User-Mode Linux guest in virtual time, booted for each run.

The clock is that of User-Mode Linux's option time-travel=inf-cpu, which _command_line() gives:
it stands while anything runs, and jumps to the next timer when nothing does. The code that moves
it is the kernel's own, arch/um/kernel/time.c; of flent_aqm/setup/kernel/patches, 0003, 0004, 0010
and 0014 change it.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Unpack

from flent_aqm.base import defaults, environment
from flent_aqm.base.errors import ConfigError, LabError, ToolMissing
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.base.shell import find_program
from flent_aqm.base.words import last_line
from flent_aqm.lab.guest_files import (
    FLENT_FILES_IN_GUEST,
    IN_GUEST,
    OUT,
    RESULTS_IN_GUEST,
    CommandOptions,
)
from flent_aqm.lab.kernel_faults import (
    EXPLAINS,
    STOPS,
    Watch,
    busy_addresses,
    clock_s,
    find_hang,
    first_complaint,
    memory_leak,
    packet_leak,
)
from flent_aqm.lab.own_programs import OwnPrograms, refuse_missing, without_script
from flent_aqm.lab.path_model import path_models
from flent_aqm.lab.place import DIES_WITH_US, CommandResult, RunEnvironment, read_text
from flent_aqm.lab.protocol import CELL_ENVIRONMENT, Facts, FlentRun
from flent_aqm.setup.kernel.locate import Kernel, kernel_called
from flent_aqm.setup.kernel.named import NamedKernel, find_named
from flent_aqm.setup.kernel.recipe import HERE as OPTIONS
from flent_aqm.spec.batch_keys.path import DUMBBELL
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.queues.external import queue_of
from flent_aqm.spec.queues.table import QUEUES
from flent_aqm.spec.scenario import Scenario
from flent_aqm.spec.topology.topology import parse_topology

# Preferred folder of the guest's memory file.
MEMORY_FOLDER = Path("/dev/shm")
# The processor's random numbers can't be made to repeat, as its instructions for them can't be
# trapped. Programs with code of OpenSSL, AWS-LC or BoringSSL don't use RDRAND and RDSEED if this
# variable tells that the processor lacks them: man 3 OPENSSL_ia32cap.
WITHOUT_RDRAND = {"OPENSSL_ia32cap": "~0x4000000000000000:~0x40000"}
# Kind of the servers' TLS keys, if no browser has to accept the certificates: every handshake then
# has the same length. OpenSSL puts memory addresses into its random numbers, so they differ between
# installations of Python, and signatures by other kinds of key vary in length with them.
ONE_LENGTH = {"TLS_KEY": defaults.ED25519}
# Seconds for which programs are watched at the wall-time limit.
_ONLY_COMPUTES_S = 5.0
# Seconds of processor time without a system call after which a kernel that the user built is
# considered hung, and seconds between two looks at it.
_HANGS_AFTER_S, _CHECK_INTERVAL_S = 15.0, 2.0
# Seconds between two looks at the guest's clock.
_CLOCK_INTERVAL_S = 0.5
# The kernel's message if the host's process for one of the guest's programs is gone.
_LOST_PROCESS = "failed to wait for stub"


class Lab(RunEnvironment):
    """Runs one command in one boot of the guest.

    Args:
        scenario: the settings of the run.
        argv: words of the command.
        kernel: the kernel to boot, by default the scenario's kernel.
        wall_limit_s: wall time in seconds after which the command is stopped, None for no limit.
        clock_start_ns: time on the guest's clock at boot, in ns since 1970, UTC. Runs repeat only
            if it is the same.
        options: how the command runs, see guest_files.CommandOptions.

    Raises ConfigError if the scenario's kernel lacks a queue or NAT that it needs, ToolMissing if a
    kernel isn't there, or iptables-legacy isn't and NAT needs it, SetupError if the user's kernel
    is too old. Raises the errors of RunEnvironment, too.
    """

    name = "the lab"
    hidden = ("/tmp", "/run", "/dev", "/proc", "/sys")
    real_time = False

    def __init__(self, scenario: Scenario, argv: Sequence[str], *, kernel: Kernel | None = None,
                 wall_limit_s: float | None = defaults.WALL_LIMIT_S,
                 clock_start_ns: int = defaults.CLOCK_START_NS,
                 **options: Unpack[CommandOptions]) -> None:
        self._own_programs = OwnPrograms(scenario.programs)
        self._kernel = kernel or kernel_called(scenario.lab.kernel)
        self._clock_start_ns = clock_start_ns
        _check_kernel_features(scenario)
        self._hangs_in = ""
        self._only_computes = False
        self._clock_at_s: float | None = None
        self._watch: Watch | None = None
        self._last_check_at = 0.0
        self._hangs = False
        options["env"] = {environment.IN_LAB: "1", **WITHOUT_RDRAND, **options.get("env", {})}
        super().__init__(scenario, argv, wall_limit_s=wall_limit_s, **options)
        (self.folder / "uml").mkdir()

    def wait(self) -> CommandResult:
        """Wait as RunEnvironment.wait(). Return the command's result, with the reports of the path
        models, the interrupt moderation of the hosts' cards, and the coverage of an instrumented
        kernel.

        Raises as RunEnvironment.wait(), and LabError also if one of the guest's processes was
        killed from outside, if the user's kernel, router's program or servers failed, if the user's
        programs printed too much, or if a host's card has another interrupt moderation than
        requested, or none is reported: such a run has not measured the requested network.
        """
        try:
            result = super().wait()
        except LabError:
            self._refuse_lost_process()
            self._refuse_kernel_faults(self.console())
            self._refuse_own_program_faults()
            raise
        self._refuse_lost_process()
        self._refuse_own_program_faults()
        out = self.stdout.parent
        self._refuse_program_fault(read_text(out / "router_program-status"),
                                   read_text(out / "router_program"))
        self._refuse_kernel_faults(
            read_text(out / "kernel_log"),
            packet_leak(read_text(out / "held"))
            or ("" if self._kernel.has_kasan else memory_leak(read_text(out / "memory_after"))))
        return replace(result, models={
            model.name: model.report(self._scenario, read_text(out / model.name))
            for model in path_models(self._scenario) if model.script},
            host_moderation_us=self._moderation_by_host(out),
            coverage={int(address, 16): int(count) for address, count in re.findall(
                r"^([0-9a-f]{1,16}) (\d{1,20})$", read_text(out / "coverage"), re.MULTILINE)})

    def _moderation_by_host(self, out: Path) -> dict[str, int]:
        """Return the interrupt moderation of the hosts' network cards in us, as ethtool printed it
        inside, by name of the host. Hosts that forward packets don't report it.

        Args:
            out: folder of the files that were written inside.

        Raises LabError if no host reported, or if a host reports other moderation than requested,
        or none.
        """
        wanted_us = self._scenario.hosts.host_moderation_us
        cards = {}
        for path in sorted(out.glob("card-*")):
            name = path.name.removeprefix("card-")
            printed = re.search(r"^rx-usecs:\s*(\d{1,9})$", read_text(path), re.MULTILINE)
            cards[name] = int(printed[1]) if printed else -1
        wrong = [f"{name} reports {f'{found_us} us' if found_us >= 0 else 'none'}"
                 for name, found_us in cards.items() if found_us != wanted_us]
        if wrong or not cards:
            told = ", ".join(wrong[:3]) or "no host reported its setting"
            more = f" and {len(wrong) - 3} more" if wrong[3:] else ""
            raise LabError(f"host_moderation_us: requested {wanted_us} us for each host's card, "
                           f"but {told}{more}; repeat the run, and report it if it happens again")
        return cards

    def own_output(self) -> str:
        return self._own_programs.logged(self.stdout.parent)

    def _refuse_own_program_faults(self) -> None:
        """Raise LabError if one of the user's programs printed too much, or a server failed before
        the command ended."""
        out = self.stdout.parent
        if fault := self._own_programs.too_talkative(out):
            raise LabError(fault) from None
        self._own_programs.refuse_failed(out)

    @staticmethod
    def _refuse_program_fault(status: str, output: str) -> None:
        """Raise LabError if the scenario's router_program ended with an error, because then it was
        missing during the run.

        Args:
            status: exit status of the program, "" if there is no program or if it still ran at the
                end.
            output: text that the program printed.
        """
        if status not in ("", "0"):
            last = without_script(last_line(output)) or "it printed nothing"
            raise LabError("the program on the router (router_program, --router) ended with "
                           f"status {status[:10]} before the run did: {last[:200]}"
                           + "; it is started in /, so give absolute paths" * (status == "127"))

    def _refuse_kernel_faults(self, log: str, leaks: str = "") -> None:
        """Raise LabError if a kernel that the user built complained, or kept packets or memory
        after all traffic had ended, or if _examine_before_kill() found where it hangs: such a run
        measured nothing. The lab's own kernel is not examined.

        Args:
            log: text of the kernel's log.
            leaks: message on what the kernel kept, "" for nothing.
        """
        if self._scenario.lab.kernel == STOCK:
            return
        fault = first_complaint(log, self._kernel.path) or leaks
        if self._hangs_in and not fault:
            fault = f"it hangs, {self._hangs_in}: stopped after {self._stopped_after()}"
        if fault:
            raise LabError(f"the kernel {self._scenario.lab.kernel}: {fault}") from None

    def _never_ends(self) -> bool:
        """Return whether one of the user's programs has printed too much, or, on a kernel that the
        user built, the kernel or a program has computed for _HANGS_AFTER_S seconds of processor
        time without a system call, and the guest's clock doesn't go fast. The latter is checked
        every _CHECK_INTERVAL_S seconds, in between it counts as false."""
        if self._own_programs.too_talkative(self.stdout.parent):
            return True
        now = time.monotonic()
        if self._scenario.lab.kernel == STOCK or self._process is None \
                or now - self._last_check_at < _CHECK_INTERVAL_S:
            return False
        self._last_check_at = now
        if self._watch is None:
            self._watch = Watch(os.getsid(self._process.pid), STOPS)
        self._hangs = self._watch.computed_s() >= _HANGS_AFTER_S and not self._clock_goes_on()
        return self._hangs

    def _clock_goes_on(self) -> bool:
        """Return whether the guest's clock goes faster than this machine's, so that nothing in it
        computes for ever: while anything does, it stands, or creeps in a kernel that hangs. False
        also if it can't be read. Takes _CLOCK_INTERVAL_S seconds. The clock's time, in s since the
        boot, is kept in _clock_at_s, None if it isn't faster."""
        assert self._process is not None, "start() comes first"
        session = os.getsid(self._process.pid)
        before_s = clock_s(session, self._kernel.path)
        time.sleep(_CLOCK_INTERVAL_S)
        after_s = clock_s(session, self._kernel.path)
        is_fast = (before_s is not None and after_s is not None
                   and after_s - before_s > _CLOCK_INTERVAL_S)
        self._clock_at_s = after_s if is_fast else None
        return is_fast

    def _stopped_after(self) -> str:
        """Return after what time the command was stopped, for messages: "15 s of processor time
        without a system call" if _never_ends() saw that, otherwise such as "900 s of wall time"."""
        return (f"{_HANGS_AFTER_S:g} s of processor time without a system call" if self._hangs
                else super()._stopped_after())

    def _examine_before_kill(self) -> None:
        """Find out what did not end, and record it for the message: a loop in a kernel that the
        user built, or a program that only computes, which takes _ONLY_COMPUTES_S seconds, or
        neither if the clock goes fast."""
        if self._process is None or self._clock_goes_on():
            return
        session, is_own = os.getsid(self._process.pid), self._scenario.lab.kernel != STOCK
        if is_own and self._hangs:
            self._hangs_in = find_hang(busy_addresses(session), self._kernel.path)
        if not self._hangs_in:
            watch = Watch(session, EXPLAINS)
            watch.computed_s()
            time.sleep(_ONLY_COMPUTES_S)
            # Other processes of the machine may have most of the processor.
            self._only_computes = watch.computed_s() >= _ONLY_COMPUTES_S / 10
        if is_own and self._only_computes and not self._hangs:
            self._hangs_in = find_hang(busy_addresses(session), self._kernel.path)

    def _reason_for_not_ending(self) -> str:
        """Return the second half of the message about a command that did not end: that the lab's
        clock went fast, that a program only computes, or what the console shows."""
        if self._clock_at_s is not None:
            return (f"its clock was at {self._clock_at_s:,.6g} s and went faster than this "
                    "machine's, so its programs mostly wait: one sleeps for long, waits for what "
                    f"never comes, or has more to do; {super()._reason_for_not_ending()}")
        if self._only_computes:
            return ("one of its programs then computed for "
                    f"{_ONLY_COMPUTES_S:g} s more without a system call or a look at the clock, "
                    "and in virtual time nothing else runs meanwhile: a thread that waits for "
                    "another by reading memory waits for ever")
        return super()._reason_for_not_ending()

    def _refuse_lost_process(self) -> None:
        """Raise LabError if the console tells that the host killed a process of the guest."""
        if _LOST_PROCESS in self.console():
            raise LabError("a process of the lab was killed from outside, such as by Linux for "
                           "lack of memory: free memory, or run fewer labs side by side") from None

    def _command_line(self) -> list[str]:
        """Return the command that boots the guest, bound to one core."""
        # The kernel mixes its command line into its random pool. So that runs repeat
        # anywhere, no path may be in it: the lab's folder is the working folder.
        console = "fd:0,fd:1" if self._interactive else "null,fd:1"
        scenario = self._scenario
        late_ns = max((record.timer_latency_ns for record in scenario.of_parts), default=0)
        return [
            *_one_core_words(),
            *DIES_WITH_US,
            str(self._kernel.path),
            f"mem={defaults.GUEST_MEMORY_MB}M",
            "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
            f"hostfs_writable=/proc/self/cwd/{OUT}",
            "init=/usr/bin/perl",
            "con=null", f"con0={console}", "quiet",
            f"lab_seed={defaults.LAB_SEED if scenario.lab.seed is None else scenario.lab.seed}",
            f"sch_api.watchdog_latency_ns={late_ns}",
            "ifb.numifbs=0", "dummy.numdummies=0",
            "uml_dir=uml",
            "time-travel=inf-cpu", "seccomp=on",
            # The kernel hears of input at any time only in a process of its own, and only that
            # process has KASAN's shadow memory.
            *(["carriers=off"] if self._interactive or (
                scenario.lab.kernel != STOCK and self._kernel.has_kasan) else []),
            f"time-travel-start={self._clock_start_ns}",
            # Symbolic links of the host's /proc lead to this process's working folder.
            "--", "/proc/self/cwd/guest/init.pl",
        ]

    def _environment(self) -> dict[str, str]:
        """Return the environment variables of the guest's kernel process: those of RunEnvironment,
        and TMPDIR, the folder in which it makes the file with the guest's memory."""
        return {**super()._environment(), "TMPDIR": str(self._memory_folder())}

    def _memory_folder(self) -> Path:
        """Return the folder for the guest's memory file: MEMORY_FOLDER if it can be written, has
        room and allows execution, otherwise the lab's folder."""
        needed = defaults.GUEST_MEMORY_MB * 2**20
        if MEMORY_FOLDER.is_dir() and os.access(MEMORY_FOLDER, os.W_OK):
            usage = os.statvfs(MEMORY_FOLDER)
            if usage.f_bavail * usage.f_frsize >= needed and not usage.f_flag & os.ST_NOEXEC:
                return MEMORY_FOLDER
        return self.folder


def _one_core_words() -> list[str]:
    """Return the words of a command that restrict another command to one core, chosen at random
    among those that this process may use. Empty if it may use only one.

    The guest's processes run one after the other, as does its kernel. The host doesn't know that
    and would distribute them over several cores, and switching between cores takes longer.
    """
    cores = os.sched_getaffinity(0)
    if len(cores) == 1:
        return []
    return ["taskset", "--cpu-list", str(random.choice(sorted(cores)))]


def _check_kernel_features(scenario: Scenario) -> None:
    """Check that a kernel that the user built has the scenario's queues, and that the scenario's
    kernel can translate addresses if the topology needs NAT. The queues of the lab's own kernel
    aren't checked. Raises ConfigError if one is lacking, ToolMissing if the user's kernel isn't
    built for this lab, or if NAT needs iptables-legacy and it isn't installed, SetupError if the
    user's kernel is too old."""
    kernel = None if scenario.lab.kernel == STOCK else find_named(scenario.lab.kernel)
    topology = scenario.path.topology
    if topology != DUMBBELL and parse_topology("topology", topology).nat:
        _check_can_nat(scenario, kernel)
    if kernel is None:
        return
    kinds, absent = kernel.kinds, kernel.absent_kinds
    for name in scenario.router.queues:
        key = "aqm" if name == scenario.router.queue("down")[0] else "up_aqm"
        if queue_of(name).external and name not in kinds:
            there = {one for one, queue in QUEUES.items() if queue.kind not in absent} | {*kinds}
            near = did_you_mean(name, there)
            raise ConfigError(
                f"{key}: the kernel {scenario.lab.kernel} was built without a queue {name!r}"
                f"{f'{near} I' if near else '; i'}f it is one of Linux's, build the kernel again "
                f"with its option, CONFIG_NET_SCH_{name.upper()}, by --config; if it is your own, "
                f"with --qdisc sch_{name}.c")
        if queue_of(name).kind in absent:
            raise ConfigError(f"{key}: {name}: the kernel {scenario.lab.kernel}, Linux "
                              f"{kernel.version}, has no {queue_of(name).kind}; choose another "
                              "queue or kernel")


def _check_can_nat(scenario: Scenario, kernel: NamedKernel | None) -> None:
    """Raise ConfigError if the kernel can't translate addresses, which the lab's own (None) never
    can. Raise ToolMissing if iptables-legacy isn't installed, or the kernel is gone from the cache.
    """
    if kernel is None or not kernel.can_nat:
        whose = "the lab's own kernel" if kernel is None else f"kernel {kernel.name}"
        how = ("build one that can, by flent-aqm kernel build nat --config nat, and give kernel = "
               "nat" if kernel is None else
               f"build it again, with the lines of {OPTIONS / 'debug.config'} and "
               f"{OPTIONS / 'nat.config'} in one file that --config gives"
               if ("--config", "debug") in pairwise(shlex.split(kernel.command)) else
               # --config can be given once.
               f"add the lines of {OPTIONS / 'nat.config'} to its --config, and build it again"
               if "--config" in kernel.command else
               f"build it again, as {kernel.command} --config nat")
        raise ConfigError(f"topology: {scenario.path.topology}: {whose} can't translate addresses; "
                          f"{how}")
    if find_program("iptables-legacy") is None:
        raise ToolMissing(f"topology: {scenario.path.topology} needs the program iptables-legacy; "
                          "install the package iptables")


class VirtualTestbed:
    """Testbed that runs each cell in a guest of its own. Guests may run at the same time.

    Attributes:
        lab: class of which place() makes a guest.

    Args:
        kernel: kernel to use in place of the lab's own.
    """

    title = "the virtual lab"
    real_time = False
    tools: Sequence[str] = ()
    # Class of the guests. A part may replace it by a subclass.
    lab: type[Lab] = Lab

    def __init__(self, kernel: Kernel | None = None) -> None:
        self._kernels = {} if kernel is None else {STOCK: kernel}

    def check(self, cells: Iterable[Cell]) -> list[str]:
        """Check that the cells can be run. Return warnings, of which there are none.

        Raises ConfigError if this is inside a lab, if a cell's settings can't be modelled, if its
        kernel lacks a queue or NAT, or if a program of the user can't be started. Raises
        ToolMissing if a kernel isn't built, or if iptables-legacy is needed but not installed, and
        SetupError if a user's kernel is too old.
        """
        if os.environ.get(environment.IN_LAB):
            raise ConfigError("testbed: virtual can't boot a lab inside a lab; run it outside, or "
                              "a batch with --batch-override testbed=netns")
        for scenario, length_s in {(cell.scenario, cell.length_s) for cell in cells}:
            self.kernel(scenario.lab.kernel)
            _check_kernel_features(scenario)
            refuse_missing(scenario.programs)
            for model in path_models(scenario):
                model.refuse(scenario, length_s)
        return []

    def prepare(self) -> None:
        """Do nothing: runs share nothing."""

    def facts(self, kernel: str = STOCK) -> Facts:
        """Return the description of the guest's kernel, and the congestion control of the hosts.
        Raises ToolMissing if the kernel isn't built, SetupError if a user's kernel is too old.

        Args:
            kernel: name of the kernel.
        """
        built_kernel = self.kernel(kernel)
        own: dict[str, str | None] = {}
        if kernel != STOCK:
            tc = find_named(kernel).tc
            own = {"name": kernel, **({"tc": tc} if tc else {})}
        return Facts({"version": built_kernel.version, "hash": built_kernel.hash, **own},
                     {"tcp_congestion_control": defaults.TCP_CONGESTION_CONTROL})

    def kernel(self, name: str) -> Kernel:
        """Return the kernel of this name. It is looked up once, so that all runs use the same.
        Raises ToolMissing if it isn't built, SetupError if a user's kernel is too old."""
        if name not in self._kernels:
            self._kernels[name] = kernel_called(name)
        return self._kernels[name]

    def place(self, scenario: Scenario, run: FlentRun) -> Lab:
        """Return the guest of one run of Flent, not started yet. The caller closes it. Raises an
        AqmError if it can't be made, such as ToolMissing if the kernel isn't built."""
        env = {**CELL_ENVIRONMENT, **({} if run.browser else ONE_LENGTH)}
        own = scenario.programs.is_there
        if scenario.programs.client_program:
            env[environment.PROGRAM_OUTPUT] = f"{IN_GUEST}/{OUT}"
        lab = self.lab(
            scenario, run.argv(IN_GUEST, FLENT_FILES_IN_GUEST if own else RESULTS_IN_GUEST),
            servers=run.servers, programs=run.programs, env=env,
            # The caller's folder shapes no run, unless it has the run's programs.
            cwd=Path.cwd() if own else Path("/"), writable_cwd=own, for_flent=own,
            kernel=self.kernel(scenario.lab.kernel))
        (lab.folder / "cell.batch").write_text(run.batch)
        return lab

    def clean_up(self) -> None:
        """Do nothing: a guest that has ended leaves nothing."""

# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab itself: what runs in it, what comes out, and what is left behind."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from flent_aqm.base.errors import LabError, LabTimeout
from flent_aqm.lab import place
from flent_aqm.lab.user_command import servers_for
from flent_aqm.lab.virtual import Lab
from flent_aqm.setup.kernel.locate import find_kernel
from flent_aqm.setup.tools import can_start
from flent_aqm.spec.scenario import Scenario
from flent_aqm.tools.table import SERVERS

from .client import output

pytestmark = pytest.mark.lab

FLENT_AQM = Path(sys.executable).with_name("flent-aqm")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files that a test can look into afterwards."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def lab_command(*words: str) -> subprocess.CompletedProcess[bytes]:
    """Run `flent-aqm lab` as a user does, without a terminal."""
    return subprocess.run([FLENT_AQM, "lab", *words], capture_output=True, check=False,
                          timeout=300, stdin=subprocess.DEVNULL)


def guest_processes_left() -> list[int]:
    """Processes that run a lab of this test, by their working folder, once the kernel has
    had time to end those that were killed: it does so after kill() has returned."""
    for _ in range(100):
        if not guest_processes():
            break
        time.sleep(0.1)
    return guest_processes()


def guest_processes() -> list[int]:
    """Those that are there now."""
    processes = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                folder = os.readlink(entry / "cwd")
            except OSError:
                continue
            if folder.startswith(tempfile.gettempdir()) and "flent-aqm-run-" in folder:
                processes.append(int(entry.name))
    return processes


def cores_of(pid: int) -> set[int] | None:
    """The cores that a process may run on; None once it has ended, as threads of the guest
    do at any time."""
    try:
        return os.sched_getaffinity(pid)
    except ProcessLookupError:
        return None


def test_names_both_ip_versions_answer_from_the_first_packet() -> None:
    """All hosts are reached by name over IPv4 and IPv6, without waiting for anything."""
    for version in "46":
        for host in ("router", "server"):
            text = output("ping", f"-{version}", "-c", "2", "-i", "0.2", host)
            assert "2 received" in text
            slowest_ms = float(text.rsplit("/", 2)[1])
            assert slowest_ms < 1


def test_base_delay_is_added_to_the_round_trip_time() -> None:
    """base_delay_ms is the round trip's, for both IP versions."""
    for version in "46":
        text = output("ping", f"-{version}", "-c", "3", "server",
                      scenario=Scenario().but(base_delay_ms=40))
        shortest_ms = float(text.rsplit("= ", 1)[1].split("/")[0])
        assert shortest_ms == pytest.approx(40, abs=0.5)


def test_clock_virtual_hour_passes() -> None:
    """An hour's sleep lasts an hour on the guest's clock, and the test is not asleep."""
    with Lab(Scenario(), ["sleep", "3600"], servers=(), wall_limit_s=120) as lab:
        assert lab.run().virtual_s == pytest.approx(3603, abs=0.1)


def test_host_files_are_read_only_inside_but_for_the_results(tmp_path: Path) -> None:
    """What a command writes reaches the host through the results folder alone."""
    inside = tmp_path / "inside"
    code = f"echo x >{inside}; echo y >{Path.home()}/x; echo kept >/run/lab/out/results/file"
    with Lab(Scenario(), ["sh", "-c", code], servers=()) as lab:
        lab.run()
        assert lab.stderr.read_text().count("Read-only file system") >= 1
        assert (lab.results / "file").read_text() == "kept\n"
    assert not inside.exists()


def test_lab_command_passes_output_status_and_results_through(tmp_path: Path) -> None:
    """Bytes of standard output, exit status and results come out as they are."""
    done = lab_command("--results", str(tmp_path / "out"), "--", "sh", "-c",
                       r"printf 'a\000b\r\n'; echo warning >&2; echo r >$RESULTS/r; exit 7")
    assert done.stdout == b"a\0b\r\n"
    assert done.stderr == b"warning\n"
    assert done.returncode == 7
    assert (tmp_path / "out" / "r").read_text() == "r\n"


def test_lab_command_may_write_where_it_stands(tmp_path: Path) -> None:
    """New files come out into the caller's folder; files that were there stay as they are."""
    (tmp_path / "old").write_text("old\n")
    done = subprocess.run(
        [FLENT_AQM, "lab", "--", "sh", "-c",
         "echo new >new; rm old; mkdir sub; echo deep >sub/file; ln -s /etc/passwd link"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "old", "sub"]
    assert (tmp_path / "old").read_text() == "old\n"
    assert (tmp_path / "sub" / "file").read_text() == "deep\n"


def test_lab_command_shapes_both_directions_by_their_own_rates() -> None:
    """--rate-up and --rate-down reach the router's two ports."""
    done = lab_command("--aqm", "fq_codel", "--rate-up", "10", "--rate-down", "40", "--",
                       "sh", "-c", "iperf3 -J -t 4 -c server; iperf3 -J -t 4 -R -c server")
    texts = done.stdout.decode().replace("}\n{", "}\0{").split("\0")
    up, down = (json.loads(text)["end"]["sum_received"]["bits_per_second"] / 1e6
                for text in texts)
    assert up == pytest.approx(10 * 1448 / 1514, rel=0.01)
    assert down == pytest.approx(40 * 1448 / 1514, rel=0.01)


@pytest.mark.parametrize(("words", "message"), [
    (["--aqm", "nonsense"], "--aqm: unknown value 'nonsense'; known: no_aqm, bfifo, red"),
    (["--rate", "0"], "--rate (rate_mbps): 0 Mbit/s is out of range"),
    (["--rate", "fast"], "'fast' is not a number"),
    (["--rate", "20", "--shaper", "none"], "--rate (rate_mbps) has no effect with shaper"),
    (["--set", "rate_up_mbps=20", "--shaper", "none"], "rate_up_mbps has no effect with shaper"),
    (["--rate", "nan"], "'nan' is not a finite number"),
    (["--delay", "-1"], "--delay (base_delay_ms): -1 ms is out of range"),
    (["--router-model", "magic"], "--router-model: unknown value 'magic'; known: ideal"),
    (["--seed", "-3"], "--seed: '-3' is not a whole number"),
    (["--results", "/proc/nowhere"], "--results: can't create /proc/nowhere"),
])
def test_lab_command_bad_option_is_refused_in_one_line(words: list[str], message: str) -> None:
    """A wrong value is named, with what is expected, before anything boots."""
    done = lab_command(*words, "--", "true")
    assert done.returncode == 1
    assert done.stdout == b""
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1
    assert message in lines[0]


@pytest.mark.parametrize(("name", "reason"), [
    ("no such", "no executable program 'no such' on the lab's PATH; give its path"),
    (__file__, f"{__file__!r} is no executable file in the lab; give the path of a program")])
def test_lab_command_that_can_not_be_started_is_told_in_one_line(name: str, reason: str) -> None:
    """Without the lab's own scripts, which its shell would name."""
    ended = lab_command(name)
    assert ended.returncode == 127
    assert ended.stderr.decode() == (
        f"flent-aqm: COMMAND: {reason}, or sh -c '…' for words of a shell\n")


def test_lab_command_without_command_or_terminal_says_what_to_type() -> None:
    """A shell wants a terminal."""
    done = lab_command()
    assert done.returncode == 1
    assert b"a shell needs a terminal on standard input and output; give a command" in done.stderr


def test_lab_command_shell_hears_what_is_typed() -> None:
    """On a terminal, without a command: a shell on the client, until it ends."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(FLENT_AQM, [str(FLENT_AQM), "lab"])
    shown = ""

    def show_until(words: str) -> None:
        nonlocal shown
        while words not in shown:
            assert select.select([terminal], [], [], 60)[0], shown
            shown += os.read(terminal, 4096).decode()

    show_until("client:")
    os.write(terminal, b"echo $((6 * 7)) from $(hostname); exit 3\n")
    show_until("42 from client")
    with contextlib.suppress(OSError):  # the terminal ends with the shell
        show_until("never shown")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


def test_kernel_missing_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a kernel, the line says how to get one."""
    monkeypatch.setenv("FLENT_AQM_KERNEL", "/nowhere/linux")
    done = lab_command("--", "true")
    assert done.returncode == 1
    line, = done.stderr.decode().splitlines()
    assert "FLENT_AQM_KERNEL: /nowhere/linux is not a file that this user may execute; u" in line


@pytest.fixture(params=["carriers=on", "carriers=off"])
def mode(request: pytest.FixtureRequest) -> str:
    """Whether the kernel runs in its programs' processes or in one of its own, as it must
    on hosts before Linux 5.11."""
    major, minor = os.uname().release.split(".")[:2]
    if request.param == "carriers=on" and (int(major), int(minor)) < (5, 11):
        pytest.skip("the host is older than Linux 5.11")
    return str(request.param)


def run_in_mode(mode: str, folder: Path, *argv: str) -> str:
    """What a command that has to succeed prints in the guest."""
    built = find_kernel()
    kernel = folder / "linux"
    kernel.write_text(f"#!/bin/sh\nexec {built.path} {mode} \"$@\"\n")
    kernel.chmod(0o755)
    with Lab(Scenario(), argv, kernel=replace(built, path=kernel), cwd=folder) as lab:
        outcome = lab.run()
        assert outcome.status == 0, lab.stderr.read_text()
        return lab.stdout.read_text()


def test_system_calls_do_what_they_should(tmp_path: Path, mode: str) -> None:
    """Those that are interrupted, that change memory, that threads make by turns."""
    program = Path(__file__).with_name("guest_calls.py")
    text = run_in_mode(mode, tmp_path, "/usr/bin/python3", str(program), mode)
    assert len(text.splitlines()) == 7


def test_floating_point_registers_survive_system_calls(tmp_path: Path, mode: str) -> None:
    """With other threads, signals and forks in between."""
    program = tmp_path / "registers"
    source = Path(__file__).with_name("guest_registers.c")
    subprocess.run(["gcc", "-O2", "-pthread", "-o", program, source], check=True)
    run_in_mode(mode, tmp_path, str(program))


def test_guest_is_kept_on_one_core(temporary: Path) -> None:
    """Its processes take turns, all that the kernel starts included."""
    with Lab(Scenario(), ["sh", "-c", "while :; do :; done"]) as lab:
        lab.start()
        wait_for(lambda: len(guest_processes()) > 3, "the guest to run")
        allowed = {tuple(cores) for cores in map(cores_of, guest_processes()) if cores}
        lab.kill()
    core, = allowed
    assert len(core) == 1


def test_many_processes_need_no_higher_limit_of_the_shell() -> None:
    """Of open files, of which the host has few for a guest, however many run in it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        text = output("sh", "-c", "for i in $(seq 200); do sleep 9 & done; ls -d /proc/[0-9]*")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(text.splitlines()) > 200


def test_host_files_are_kept_but_never_stale(tmp_path: Path) -> None:
    """What the guest has read from the host stays in its memory; what the host changes,
    adds or removes meanwhile is seen all the same."""
    folder = tmp_path / "host"
    folder.mkdir()
    for name in ("changed", "replaced", "removed"):
        (folder / name).write_text("before\n")
    see = f"cd {folder}; for name in *; do echo $name $(cat $name); done; cat later 2>&1"
    wait = "until grep -q go go 2>/dev/null; do sleep 0.1; done"
    with Lab(Scenario(), ["sh", "-c", f"{see}; echo seen; cd {tmp_path}; {wait}; {see}"],
             cwd=tmp_path, env={"LC_ALL": "C"}) as lab:
        lab.start()
        wait_for(lambda: lab.stdout.exists() and "seen" in lab.stdout.read_text(),
                 "the guest to look")
        (folder / "changed").write_text("after, longer\n")
        (folder / "new").write_text("after\n")
        (folder / "new").replace(folder / "replaced")
        (folder / "removed").unlink()
        (folder / "later").write_text("later\n")
        (tmp_path / "go").write_text("go\n")
        assert lab.wait().status == 0
        before, after = lab.stdout.read_text().split("seen\n")
    assert before.splitlines() == [
        "changed before", "removed before", "replaced before",
        "cat: later: No such file or directory"]
    assert after.splitlines() == [
        "changed after, longer", "later later", "replaced after", "later"]


def test_hanging_guest_is_stopped_and_leaves_nothing(temporary: Path) -> None:
    """A command that never ends costs the wall-time limit, then everything is gone."""
    with pytest.raises(LabTimeout, match="stopped after 3 s of wall time"), \
            Lab(Scenario(), ["sh", "-c", "while :; do :; done"], wall_limit_s=3) as lab:
        lab.run()
    assert list(temporary.iterdir()) == []
    assert guest_processes_left() == []


@pytest.mark.parametrize(("program", "cause"), [
    # It is watched when the limit has passed.
    ("while :; do :; done", "one of its programs then computed for 5 s more without a system call"),
    # Changes folder for ever, by a system call each time.
    ("while cd /; do :; done", "its console shows nothing"),
    # The kernel jumps from timer to timer, also without a call of the host.
    ("sleep 1e9", "its clock was at [0-9,.e+]* s and went faster than this machine's, so ")])
def test_program_that_only_computes_is_named_as_the_cause(program: str, cause: str) -> None:
    """A thread that waits for another by reading memory waits for ever in virtual time."""
    with pytest.raises(LabTimeout, match=f"stopped after 3 s of wall time; {cause}"), \
            Lab(Scenario(), ["sh", "-c", program], wall_limit_s=3) as lab:
        lab.run()


def test_killed_guest_is_reported_and_leaves_nothing(temporary: Path) -> None:
    """A guest that is killed from outside ends its run with an error."""
    with Lab(Scenario(), ["sh", "-c", "while :; do :; done"]) as lab:
        threading.Timer(1.5, place.kill_all).start()
        with pytest.raises(LabError, match="ended before its command did"):
            lab.run()
    assert list(temporary.iterdir()) == []
    assert guest_processes_left() == []


def test_killed_process_of_the_guest_ends_the_run(temporary: Path) -> None:
    """One that isn't needed at the moment, too: what it would have done is not known."""
    with Lab(Scenario(), ["sh", "-c", "sleep 99999999 & while :; do :; done"]) as lab:
        lab.start()
        wait_for(lambda: len(guest_processes()) > 3, "the guest to run")
        time.sleep(0.5)
        os.kill(max(guest_processes()), signal.SIGKILL)
        with pytest.raises(LabError, match="process of the lab was killed from outside, such as "
                                           "by"):
            lab.wait()
    assert guest_processes_left() == []


def test_crashing_guest_is_reported_with_the_kernels_words() -> None:
    """When the guest's first process dies, the panic's line is the error."""
    with Lab(Scenario(), ["true"]) as lab:
        (lab.folder / "guest" / "init.pl").write_text("exit 1\n")
        with pytest.raises(LabError, match="Kernel panic"):
            lab.run()


def test_killed_parent_takes_its_guest_along(temporary: Path) -> None:
    """After kill -9 of flent-aqm no guest goes on."""
    parent = subprocess.Popen([FLENT_AQM, "lab", "--", "sh", "-c", "while :; do :; done"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: len(guest_processes()) > 3, "the guest to run")
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_for(lambda: guest_processes() == [], "the guest to be gone")


def test_interrupt_ends_the_lab_cleanly(temporary: Path) -> None:
    """^C ends flent-aqm with the status of an interrupt, and nothing stays."""
    parent = subprocess.Popen([FLENT_AQM, "lab", "--", "sh", "-c", "while :; do :; done"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: len(guest_processes()) > 3, "the guest to run")
    parent.send_signal(signal.SIGINT)
    assert parent.wait(timeout=60) == 130
    assert guest_processes_left() == []
    assert list(temporary.iterdir()) == []


def test_seed_same_gives_the_same_bytes_and_another_gives_others() -> None:
    """All randomness inside follows the seed: here the kernel's, and with it iperf3's run."""
    command = ("sh", "-c", "head -c 16 /dev/urandom | od -x; iperf3 -J -t 2 -c server")
    first, again, other = (output(*command, scenario=Scenario().but(seed=seed))
                           for seed in (5, 5, 6))
    assert first == again
    assert first.splitlines()[0] != other.splitlines()[0]


def wait_for(condition: object, what: str, limit_s: float = 60) -> None:
    """Wait until the condition holds; fails at the limit."""
    assert callable(condition)
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)


def test_servers_that_take_time_start_where_a_command_asks_for_them(tmp_path: Path) -> None:
    """By a word of its own, or of a script that it names; a shell has all, and a pipe or a folder
    by a word's name is not read."""
    script, pipe = tmp_path / "script", tmp_path / "pipe"
    script.write_text("flent iperf3_upload -H server --test-parameter cross_traffic=video\n")
    os.mkfifo(pipe)
    slow = {"speedtest", "speedtest-http3", "fetch", "quic"}
    for command, wanted in (
        (["iperf3", "-c", "server"], set()),
        (["flent", "librespeed", "-H", "server"], {"speedtest"}),
        (["flent", "responsiveness", "--test-parameter", "http_version=3"],
         {"speedtest", "speedtest-http3"}),
        (["sh", str(script)], {"fetch"}),
        (["cat", str(pipe), str(tmp_path)], set()),
        ([], {"speedtest", "speedtest-http3", "fetch"}),
        (["flent-aqm", "doctor"], {"speedtest", "speedtest-http3", "fetch"}),
        (["flent-aqm", "doctors"], set()),
    ):
        started = servers_for(command, False)
        # Without aioquic there are no servers that need it.
        requested = {name for name in wanted if can_start(SERVERS[name])}
        assert set(started) & slow - {"quic"} == requested
        assert {"irtt", "iperf3", "irtt-call"} <= set(started)

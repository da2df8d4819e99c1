# SPDX-License-Identifier: GPL-3.0-or-later
"""Whoever is root in the guest changes nothing on the host outside of the results folder."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import LabError
from flent_aqm.lab.virtual import Lab
from flent_aqm.setup.kernel.locate import find_kernel
from flent_aqm.spec.scenario import Scenario

pytestmark = pytest.mark.lab

# Of the shell in the guest: $OUTSIDE is a folder of the host with `victim` in it, $IN the one
# that may be written to; /run/m is an empty folder, and the current one, too.
ATTEMPTS = {
    "root_as_it_is": 'echo x >"$OUTSIDE/f"',
    "root_remounted": 'mount -o remount,rw /; echo x >"$OUTSIDE/f"',
    "root_bound_and_remounted":
        'mount --bind / /run/m; mount -o remount,bind,rw /run/m; echo x >"/run/m$OUTSIDE/f"',
    "lab_folder_remounted":
        "mount -o remount,rw /run/lab; echo x >/run/lab/f; rm /run/lab/guest/init.pl",
    "mounted_again": 'mount -t hostfs again /run/m -o /; echo x >"/run/m$OUTSIDE/f"',
    "mounted_again_elsewhere":
        'mount -t hostfs again /run/m -o "$OUTSIDE"; echo x >/run/m/f',
    "mounted_by_the_link_to_the_working_folder":
        "mount -t hostfs again /run/m -o /proc/self/cwd; echo x >/run/m/f",
    "mounted_by_a_link_of_ones_own":
        'ln -s "$OUTSIDE" "$IN/link"; '
        "mount -t hostfs again /run/m -o /proc/self/cwd/out/results/link; echo x >/run/m/f",
    "mounted_by_dots":
        'mount -t hostfs again /run/m -o "/proc/self/cwd/out/../../../../../..$OUTSIDE"; '
        "echo x >/run/m/f",
    "mounted_by_the_newer_calls": """perl -e '
        my $m = syscall(430, my $type = "hostfs", 0);                       # fsopen
        syscall(431, $m, 1, my $key = "hostfs", my $path = "/", 0);         # fsconfig: a string
        syscall(431, $m, 6, 0, 0, 0) == 0 or die "not made: $!\n";          # and make it
        my $fd = syscall(432, $m, 0, 0);                                    # fsmount
        syscall(429, $fd, my $from = "", -100, my $to = "/run/m", 4);       # move_mount
        open my $f, ">", "/run/m$ENV{OUTSIDE}/f" or die "not written: $!\n"' """,
    "root_reconfigured_by_the_newer_calls": """perl -e '
        my $m = syscall(433, -100, my $root = "/", 0);                      # fspick
        syscall(431, $m, 0, my $key = "rw", 0, 0);                          # fsconfig: a flag
        syscall(431, $m, 7, 0, 0, 0) == 0 or warn "not changed: $!\n";      # and change it
        system "mount -o remount,bind,rw /";
        open my $f, ">", "$ENV{OUTSIDE}/f" or die "not written: $!\n"' """,
    "mounted_in_a_user_namespace":
        "unshare -Urm sh -c 'mount -t hostfs again /run/m -o /; echo x >\"/run/m$OUTSIDE/f\"'",
    "unsealed": "echo 0 >/proc/sys/fs/hostfs/sealed; sysctl -w fs.hostfs.sealed=0; "
                'mount -t hostfs again /run/m -o /; echo x >"/run/m$OUTSIDE/f"',
    "overlay_with_its_upper_layer_there":
        'mount -t overlay o /run/m -o "lowerdir=/etc,upperdir=$OUTSIDE,workdir=$OUTSIDE"; '
        "echo x >/run/m/f",
    "hidden_tmp_uncovered": 'umount -l /tmp; echo x >"/tmp/${OUTSIDE##*/}"',
    "dots": 'echo x >"$IN/../../../../../../../../$OUTSIDE/f"',
    "link_followed": 'ln -s "$OUTSIDE" "$IN/link"; echo x >"$IN/link/f"; echo x >"$IN/link/victim"',
    "link_of_dots_followed":
        'ln -s "../../../../../../../..$OUTSIDE" "$IN/link"; echo x >"$IN/link/f"',
    "hard_link_written": 'ln "$OUTSIDE/victim" "$IN/hard"; echo x >"$IN/hard"',
    "moved_out": 'echo x >"$IN/f"; mv "$IN/f" "$OUTSIDE/f"; mv "$OUTSIDE/victim" "$IN/"',
    "removed": 'rm "$OUTSIDE/victim"; rmdir "$OUTSIDE/folder"',
    "attributes": 'chmod 777 "$OUTSIDE" "$OUTSIDE/victim"; touch "$OUTSIDE/victim"; '
                  'chown 1 "$OUTSIDE/victim"; truncate -s 0 "$OUTSIDE/victim"',
    # The guest still knows the folder by the name that is a link now.
    "folder_replaced_by_a_link":
        'cd "$IN" && mkdir d && cd d && rmdir ../d && ln -s "$OUTSIDE/folder" ../d; '
        "chmod 700 .; touch -d 2001-01-01 .; chown 1 .; touch f",
    "file_replaced_by_a_link": """cd "$IN"; perl -e '
        my $f = "replaced"; open my $new, ">", $f; close $new;
        my $fd = syscall(2, $f, 010000000, 0);                              # open, O_PATH
        unlink $f; symlink "$ENV{OUTSIDE}/victim", $f;
        my $by_fd = "/proc/self/fd/$fd";
        chmod 0777, $by_fd; utime 1, 1, $by_fd; truncate $by_fd, 0; chown 1, 1, $by_fd;
        open my $w, ">", $by_fd or die "not opened: $!\n"; print $w "x"' """,
    "folder_above_replaced_by_a_link": """cd "$IN"; perl -e '
        mkdir "a"; mkdir "a/folder"; open my $new, ">", "a/folder/f"; close $new;
        my $fd = syscall(2, my $f = "a/folder/f", 010000000, 0);
        rename "a", "b"; symlink $ENV{OUTSIDE}, "a";
        open my $w, ">", "/proc/self/fd/$fd"; print $w "x"' """,
    "memory": """perl -e 'for my $device ([1, 1], [1, 2], [1, 4], [10, 144]) {
        my $f = "/run/device@$device[1]";
        syscall(133, $f, 020600, $device->[0] * 256 + $device->[1]);        # mknod
        open my $m, "+<", $f and print "opened @$device\n"; unlink $f }' >"$IN/memory" """,
    "ports": """perl -e 'print syscall(172, 3), syscall(173, 0x70, 1, 1)' >"$IN/ports" """,
    "modules_and_kernels": "insmod /etc/passwd; kexec -l /etc/passwd; "
                           'echo "|/bin/touch $OUTSIDE/f" >/proc/sys/kernel/core_pattern; '
                           'sh -c "kill -SEGV \\$\\$"; '
                           'echo "$OUTSIDE/core.%p" >/proc/sys/kernel/core_pattern; '
                           'ulimit -c unlimited; sh -c "kill -SEGV \\$\\$"',
}


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that the guest sees where it is."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="flent-aqm-test-") as name:
        folder = Path(name)
        (folder / "victim").write_text("victim\n")
        (folder / "folder").mkdir()
        (folder / "folder" / "f").write_text("another\n")
        yield folder


@pytest.fixture(params=["carriers=on", "carriers=off"])
def kernel(request: pytest.FixtureRequest, tmp_path: Path) -> object:
    """The lab's kernel in its programs' processes, and in one of its own."""
    built = find_kernel()
    program = tmp_path / "linux"
    program.write_text(f"#!/bin/sh\nexec {built.path} {request.param} \"$@\"\n")
    program.chmod(0o755)
    return replace(built, path=program)


def look(folder: Path) -> list[tuple[str, int, int, int, bytes]]:
    """All that can be seen of a folder: names, kinds, modes, owners, times, contents."""
    entries = []
    for path in [folder, *sorted(folder.rglob("*"))]:
        was = path.lstat()
        entries.append((str(path.relative_to(folder)), was.st_mode, was.st_uid, was.st_mtime_ns,
                        path.read_bytes() if path.is_file() else b""))
    return entries


def attempt(code: str, outside: Path, **options: Any) -> tuple[str, list[Path]]:
    """Run code as root of a guest; gives what it wrote into results, and the files there."""
    env = {"OUTSIDE": str(outside), "IN": "/run/lab/out/results", "LC_ALL": "C"}
    script = f"mkdir -p /run/m; cd /run/m; {code}\necho done >$IN/done"
    with Lab(Scenario(), ["sh", "-c", script], servers=(), env=env, **options) as lab:
        before = look(outside)
        lab.run()
        assert (lab.results / "done").read_text() == "done\n", lab.stderr.read_text()
        assert look(outside) == before, lab.stderr.read_text()
        assert not Path("/tmp", outside.name).exists()
        # nothing of the lab's own folder that the guest only reads
        assert (lab.folder / "guest" / "init.pl").is_file()
        assert not (lab.folder / "f").exists()
        made = sorted(lab.results.iterdir())
        return "".join(path.read_text() for path in made
                       if path.is_file() and path.name not in ("done", "f")), made


@pytest.mark.parametrize("name", ATTEMPTS)
def test_root_of_the_guest_changes_nothing_outside(name: str, outside: Path) -> None:
    """Whatever it mounts, remounts, links or makes."""
    attempt(ATTEMPTS[name], outside)


def test_root_of_the_guest_changes_nothing_outside_in_either_mode(
    outside: Path, kernel: object
) -> None:
    """All of it in one guest, one after the other, with the kernel where it can be."""
    code = "\n".join(f"( {one} )" for one in ATTEMPTS.values())
    attempt(code, outside, kernel=kernel)


def test_devices_of_memory_and_ports_lead_nowhere(outside: Path) -> None:
    """There is no memory of the host's behind their numbers, and no port."""
    assert attempt(ATTEMPTS["memory"], outside)[0] == ""
    assert attempt(ATTEMPTS["ports"], outside)[0] == "-1-1"


def test_hostfs_is_not_mounted_again_even_to_read(outside: Path) -> None:
    """Not the host's root, and not the folder that is there already."""
    for path in ("/", "/proc/self/cwd/out"):
        text, _made = attempt(f"mount -t hostfs again /run/m -o {path} 2>&1; "
                              'ls /run/m >"$IN/seen"', outside)
        assert text == ""


def test_results_folder_takes_files_but_no_devices_and_no_rights(outside: Path) -> None:
    """What works there as anywhere, and what would be the host's."""
    with Lab(Scenario(), ["sh", "-c", """cd /run/lab/out/results && umask 022 &&
        mkdir -p a/b && echo one >a/b/file && mv a c && ln c/b/file c/linked &&
        chmod 640 c/linked && ln -s c/b link && touch -d 2001-02-03T04:05:06Z c/b/file &&
        truncate -s 2 c/b/file &&
        echo two >two && chmod 6755 two && mkdir -m 2777 shared && mkfifo pipe && rm -r pipe
        echo status $?; mknod null c 1 3; mknod loop b 7 0; ls -A"""], servers=(),
             env={"LC_ALL": "C"}) as lab:
        lab.run()
        assert lab.stdout.read_text() == "status 0\nc\nlink\nshared\ntwo\n"
        assert lab.stderr.read_text().count("Operation not permitted") == 2
        file = lab.results / "c" / "b" / "file"
        assert file.read_text() == "on"
        assert (lab.results / "c" / "linked").samefile(file)
        assert file.stat().st_mode & 0o7777 == 0o640
        assert (lab.results / "two").stat().st_mode & 0o7777 == 0o755
        assert (lab.results / "shared").stat().st_mode & 0o7000 == 0
        # links are for the guest alone
        assert not (lab.results / "link").is_symlink()


def test_program_that_jumps_into_the_kernel_is_held_by_the_host(
    outside: Path, tmp_path: Path
) -> None:
    """System calls of the kernel's own code are the host's; where that has Landlock, it
    refuses them what hostfs would."""
    if landlock_version() < 2:
        pytest.skip("the host's kernel lacks Landlock, which docs/lab.md says")
    program = tmp_path / "jump"
    subprocess.run(["gcc", "-O1", "-o", program, Path(__file__).with_name("guest_jump.c")],
                   check=True)
    text, made = attempt(f'{program} "$OUTSIDE" >"$IN/said"', outside, cwd=tmp_path)
    assert text == "read: yes\ncreate: no\nremove: no\n"
    assert [path.name for path in made] == ["done", "said"]


def landlock_version() -> int:
    """Of this machine's kernel; -1 without Landlock."""
    return int(ctypes.CDLL(None, use_errno=True).syscall(444, 0, 0, 1))


def test_kernel_that_cannot_be_sealed_runs_nothing() -> None:
    """As another kernel, without the patch."""
    with Lab(Scenario(), ["true"], servers=()) as lab:
        script = lab.folder / "guest" / "init.pl"
        script.write_text(script.read_text().replace("fs/hostfs/sealed", "fs/hostfs/elsewhere"))
        with pytest.raises(LabError, match="this kernel lacks a patch: hostfs can't be sealed"):
            lab.run()

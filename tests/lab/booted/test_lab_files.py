# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm lab` and files: the current folder, what comes out, what the command can see."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flent_aqm.base.errors import LabError
from flent_aqm.lab.virtual import Lab
from flent_aqm.spec.scenario import Scenario

from ...warm_flent import run_flent_aqm

pytestmark = pytest.mark.lab

FLENT_AQM = Path(sys.executable).with_name("flent-aqm")


def lab(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `flent-aqm lab WORDS` in a folder."""
    return run_flent_aqm("lab", *words, cwd=cwd)


def shell(code: str, cwd: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    """Run shell code in the lab."""
    return lab(*options, "--", "sh", "-c", code, cwd=cwd)


@pytest.fixture
def directly_in_tmp() -> Iterator[Path]:
    """A program in /tmp itself, beside nothing."""
    handle, name = tempfile.mkstemp(dir="/tmp", prefix="flent-aqm-test-")
    os.write(handle, b"#!/bin/sh\necho directly \"$@\"\n")
    os.fchmod(handle, 0o755)
    os.close(handle)
    yield Path(name)
    os.unlink(name)


def test_folder_that_was_there_is_removed_inside(tmp_path: Path) -> None:
    """And made anew, with other content; on the host nothing is removed."""
    (tmp_path / "folder" / "below").mkdir(parents=True)
    (tmp_path / "folder" / "below" / "file").write_text("old\n")
    done = shell("rm -r folder && ls && mkdir folder && ls folder && echo new >folder/file",
                 tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "folder" / "file").read_text() == "new\n"
    assert (tmp_path / "folder" / "below" / "file").read_text() == "old\n"


def test_folders_too_deep_to_hand_over_are_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    """A thousand in each other, and names whose path is longer than any the kernel takes; a
    hundred are handed over."""
    code = """
        echo kept >file
        fill() { in=$(printf "$2/%.0s" $(seq $1)); mkdir -p "$in" && echo >"$in/end"; }
        long=$(printf %0200d 0)
        (mkdir deep && cd deep && fill 1000 d)
        (mkdir long && cd long && fill 15 $long)
        (mkdir good && cd good && fill 95 d)
        """
    done = shell(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "file").read_text() == "kept\n"
    assert (tmp_path / "good" / "/".join(["d"] * 95) / "end").is_file()
    assert (tmp_path / "deep" / "/".join(["d"] * 90)).is_dir()
    assert len(list((tmp_path / "long").rglob("*"))) == 9
    line, = done.stderr.splitlines()
    assert line.startswith("flent-aqm: not copied out of the lab: "), done.stderr
    assert line.endswith("more than 100 folders in one another, or a path of more than 2,000 bytes")


@pytest.mark.parametrize("base", [None, "/var/tmp"])
@pytest.mark.parametrize("name", ["a:b", "a,b", "a\\b", "a b", "\\,: \\\\", "täb\t", "[x]*", "-n"])
def test_folder_of_any_name_can_be_the_current_one(
    name: str, base: str | None, tmp_path: Path
) -> None:
    """Below a folder that the guest hides, and elsewhere."""
    above = Path(tempfile.mkdtemp(dir=base)) if base else tmp_path
    folder = above / name
    folder.mkdir()
    (folder / "old").write_text("old\n")
    try:
        done = shell("cat old && pwd && echo new >new", folder)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"old\n{folder}\n", "")
        assert (folder / "new").read_text() == "new\n"
    finally:
        if base:
            shutil.rmtree(above)


def test_links_in_the_current_folder_are_not_written_through(tmp_path: Path) -> None:
    """Where the command has put a file in a link's place, the file replaces the link."""
    (tmp_path / "precious").write_text("precious\n")
    here = tmp_path / "here"
    here.mkdir()
    (here / "link").symlink_to(tmp_path / "precious")
    done = shell("rm link && echo new >link", here)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "precious").read_text() == "precious\n"
    assert not (here / "link").is_symlink()
    assert (here / "link").read_text() == "new\n"


def test_sparse_file_comes_out_sparse(tmp_path: Path) -> None:
    """2 GiB that are nothing take no room."""
    done = shell("truncate -s 2G sparse && echo x >>sparse", tmp_path)
    assert done.returncode == 0, done.stderr
    made = (tmp_path / "sparse").stat()
    assert made.st_size == (2 << 30) + 2
    assert made.st_blocks * 512 < 1 << 20


def test_data_file_of_flent_in_another_folder_is_named(tmp_path: Path) -> None:
    """Flent says ./NAME. Of other files nothing is said."""
    name = "rrul-2026-01-01T000004.000102.flent.gz"
    done = shell(f"touch other {name}", tmp_path, "--results", tmp_path / "out")
    assert done.stderr == f"flent-aqm: {name} is in {tmp_path / 'out'}\n"
    assert shell(f"touch other {name}", tmp_path).stderr == ""


def test_results_folder_keeps_what_the_command_did_not_see(tmp_path: Path) -> None:
    """The first file stays, the second gets a number and a line that says so."""
    for text in ("one", "two"):
        done = shell(f"echo {text} >$RESULTS/file.txt", tmp_path, "--results", tmp_path / "out")
        assert done.returncode == 0
    assert done.stderr == ("flent-aqm: 'file.txt' existed before and was kept; the command's "
                           "file is named 'file-2.txt'\n")
    assert (tmp_path / "out" / "file.txt").read_text() == "one\n"
    assert (tmp_path / "out" / "file-2.txt").read_text() == "two\n"


def test_current_folder_keeps_what_came_while_the_command_ran(tmp_path: Path) -> None:
    """As by a second lab in the same folder; what was there before is replaced as usual."""
    (tmp_path / "seen").write_text("old\n")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as elsewhere:
        running = subprocess.Popen(
            [FLENT_AQM, "lab", "--", "sh", "-c", ("ls; echo new >unseen; echo new >seen; "
             f"until [ -e {elsewhere}/go ]; do sleep 1; done")],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert running.stdout is not None
        assert running.stdout.readline() == "seen\n"
        (tmp_path / "unseen").write_text("another's\n")
        Path(elsewhere, "go").touch()
        _output, output = running.communicate(timeout=120)
    assert output == ("flent-aqm: 'unseen' existed before and was kept; the command's file is "
                      "named "
                    "'unseen-2'\n")
    assert (tmp_path / "seen").read_text() == "new\n"
    assert (tmp_path / "unseen").read_text() == "another's\n"
    assert (tmp_path / "unseen-2").read_text() == "new\n"


def test_data_file_of_flent_is_never_replaced(tmp_path: Path) -> None:
    """Its name has the virtual time in it, which is the same again in another run."""
    command = ["--aqm", "codel", "--rate", "10", "--", "flent", "ping", "-H", "server", "-l", "1"]
    done = lab(*command, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    file, = tmp_path.glob("*.flent.gz")
    made = file.read_bytes()
    file.write_text("of an earlier run")
    done = lab(*command, cwd=tmp_path)
    other = file.with_name(file.name.replace(".flent.gz", "-2.flent.gz"))
    assert done.stderr == (f"flent-aqm: {file.name!r} existed before and was kept; "
                           f"the command's file is named {other.name!r}\n")
    assert file.read_text() == "of an earlier run"
    assert other.read_bytes() == made


@pytest.mark.parametrize("what", ["pipe", "link", "folder"])
def test_output_replaced_by_something_else_ends_in_an_error(what: str) -> None:
    """And is not read: neither a pipe without an end, nor the file of a link."""
    replace = {"pipe": "mkfifo", "link": "ln -s /etc/passwd", "folder": "mkdir"}[what]
    code = (f"cd /run/lab/out && rm stdout && {replace} stdout; "
            "mkfifo results/pipe; ln -s /etc results/link")
    with Lab(Scenario(), ["sh", "-c", code], servers=()) as place:
        with pytest.raises(LabError, match="replaced the file of its stdout by another"):
            place.run()
        assert place.stdout.read_text() == ""
        assert list(place.results.iterdir()) == []


def test_pipe_in_place_of_the_output_does_not_outlive_the_limit(tmp_path: Path) -> None:
    """The command's own output, as the host follows it."""
    started = time.monotonic()
    done = shell("cd /run/lab/out && rm stdout && mkfifo stdout; while :; do :; done", tmp_path,
                 "--wall-limit", "3")
    assert done.returncode == 1
    assert "was stopped after 3 s of wall time" in done.stderr
    assert time.monotonic() - started < 200  # of the 300 after which a test here has failed


def test_reader_that_never_reads_does_not_outlive_the_limit(tmp_path: Path) -> None:
    """The user's standard output is a pipe that is full."""
    read_end, write_end = os.pipe()
    done = subprocess.run([FLENT_AQM, "lab", "--wall-limit", "3", "--", "yes"], cwd=tmp_path,
                          stdout=write_end, stderr=subprocess.PIPE, text=True, check=False,
                          timeout=200)
    os.close(read_end)
    os.close(write_end)
    assert done.returncode == 1
    line, = done.stderr.splitlines()
    assert "was stopped after 3 s of wall time" in line


def test_program_below_tmp_is_seen(directly_in_tmp: Path, tmp_path: Path) -> None:
    """Directly in /tmp, in a folder there with what lies beside it, and by a relative path."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "program"
    program.write_text("#!/bin/sh\n. \"${0%/*}/part\"\n")
    (tmp_path / "bin" / "part").write_text("echo with part\n")
    program.chmod(0o755)
    for cwd in (Path("/var/tmp"), tmp_path, tmp_path / "bin"):
        done = lab("--", directly_in_tmp, "a", cwd=cwd)
        assert (done.returncode, done.stdout, done.stderr) == (0, "directly a\n", "")
        done = lab("--", f"./{os.path.relpath(program, cwd)}", cwd=cwd)
        assert (done.returncode, done.stdout) == (0, "with part\n"), done.stderr
        done = lab("--", "sh", program, cwd=cwd)
        assert (done.returncode, done.stdout) == (0, "with part\n"), done.stderr


def test_files_below_tmp_that_options_name_are_seen(directly_in_tmp: Path) -> None:
    """--option=/tmp/file, too; the guest's own /tmp is as it was."""
    done = lab("--", "sh", "-c", 'cat "${1#*=}" | wc -l && cd /tmp && echo x >y && ls', "sh",
               f"--file={directly_in_tmp}", cwd=Path("/var/tmp"))
    assert done.returncode == 0, done.stderr
    lines, *seen = done.stdout.splitlines()
    # a checkout below /tmp is seen as well
    own = FLENT_AQM.parts[2] if FLENT_AQM.is_relative_to("/tmp") else None
    assert (lines, set(seen) - {own}) == ("2", {directly_in_tmp.name, "y"})


def test_server_below_tmp_is_started(tmp_path: Path) -> None:
    """--mlab-server, wherever it is: here something that takes its options and answers."""
    server = tmp_path / "ndt-server"
    server.write_text(
        f"#!{sys.executable} -P\nimport socket, sys\n"
        "port = int(sys.argv[sys.argv.index('-ndt7_addr_cleartext') + 1].strip(':'))\n"
        "listening = socket.create_server(('', port))\n"
        "while True:\n    listening.accept()[0].sendall(b'from below tmp\\n')\n")
    server.chmod(0o755)
    done = subprocess.run(
        [FLENT_AQM, "lab", "--mlab-server", "--", "perl", "-MIO::Socket", "-e",
         "print IO::Socket::INET->new('server:8080')->getline"],
        cwd="/var/tmp", env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "from below tmp\n"), done.stderr


def test_server_that_cannot_be_run_is_said(tmp_path: Path) -> None:
    """Its interpreter isn't there: nothing would ever listen."""
    server = tmp_path / "ndt-server"
    server.write_text("#!/nowhere/python\n")
    server.chmod(0o755)
    done = subprocess.run(
        [FLENT_AQM, "lab", "--mlab-server", "--", "true"], cwd="/var/tmp",
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    line, = done.stderr.splitlines()
    assert f"{server} doesn't serve" in line


@pytest.mark.parametrize("words", [
    ("cp", "file", "/tmp/flent-aqm-lost"), ("cp", "-r", "folder", "/tmp/gone"),
    ("cp", "file", "../beside"), ("dd", "if=file", "of=/dev/shm/flent-aqm-lost", "status=none")])
def test_file_outside_of_the_folder_that_the_command_names_is_told(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    """The guest's /tmp and /dev/shm end with it, so the file can't come out."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    for name in ("a", "b"):
        (tmp_path / "folder" / name).write_text("x")
    done = lab("--", *words, cwd=tmp_path)
    line, = done.stderr.splitlines()
    assert line.startswith("flent-aqm: not copied out of the lab: /"), line
    assert ("and 1 more" in line) is ("folder" in words), line
    assert "outside of the current folder" in line


def test_files_outside_of_the_folder_that_no_word_names_are_not_told(tmp_path: Path) -> None:
    """Programs and scripts have files of their own in /tmp, and files without content are nobody's
    loss."""
    done = shell("mktemp >name && echo x >$(cat name) && echo x >/tmp/flent-aqm-own", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = lab("--", "touch", "/tmp/flent-aqm-empty", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")

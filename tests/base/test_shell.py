# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that can't be started are told of in one line."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from flent_aqm.base import shell
from flent_aqm.base.errors import CommandFailed, ToolMissing, cause_of
from flent_aqm.base.shell import run, start_error
from flent_aqm.setup.stream import run_watched


def _watch(argv: Sequence[str | Path], *, cwd: Path | None = None,
           env: Mapping[str, str] | None = None) -> None:
    run_watched(argv, lambda _line: None, cwd=cwd, env=env)


Start = Callable[..., object]
EACH_START = pytest.mark.parametrize("start", [run, _watch])


@EACH_START
def test_program_that_may_not_be_run_is_told_of(start: Start, tmp_path: Path) -> None:
    """A kernel refuses more than what isn't there: a file without the right to be run, or
    capabilities of a program in a container that doesn't grant them."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    with pytest.raises(ToolMissing, match="program can't be started: Permission denied; give it "
                                          "the right"):
        start([program])
    with pytest.raises(ToolMissing, match="/program can't be started: Permission denied"):
        start(["program"], env={"PATH": str(tmp_path)})
    with pytest.raises(ToolMissing, match=r"/none is not installed; see flent-aqm doctor$"):
        start([tmp_path / "none"])
    with pytest.raises(ToolMissing, match=rf"^{tmp_path} can't be started: it is a folder; expect"):
        start([tmp_path])
    with pytest.raises(ToolMissing, match="none is not installed, or not on PATH"):
        start(["none"], env={"PATH": f"{tmp_path}:{program}"})


@EACH_START
def test_program_that_is_there_is_not_called_missing(start: Start, tmp_path: Path) -> None:
    """The kernel reports "no such file" for a missing folder or interpreter, too."""
    with pytest.raises(ToolMissing, match=r"true can't be started in .*/gone, because there is no"):
        start(["true"], cwd=tmp_path / "gone")
    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    for words in [str(program)], ["./program"]:
        with pytest.raises(ToolMissing, match="program can't be started: the interpreter or loader"
                           ):
            start(words, cwd=tmp_path)


@EACH_START
def test_program_is_not_blamed_for_its_working_folder(start: Start, tmp_path: Path) -> None:
    """Popen's error for a folder that can't be entered is that for a program that may not be
    started."""
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ToolMissing, match=r"true can't be started in .*/file: Not a directory; "
                                          "make it a folder that this user may enter"):
        start(["true"], cwd=file)
    error = PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(tmp_path))
    assert re.search(r"true can't be started in .*: Permission denied; make it a folder that this "
                     "user may enter, or remove it", str(start_error(error, ["true"], tmp_path,
                                                                     None)))


@EACH_START
def test_script_without_an_interpreter_line_is_named_with_its_path(start: Start, tmp_path: Path
                                                                   ) -> None:
    """Such as a user's own wrapper of ssh. A shell runs it, so it is neither damaged nor for
    another machine, and to install ssh again leaves it where it is."""
    wrapper = tmp_path / "ssh"
    wrapper.write_text("exec /usr/bin/ssh -4 \"$@\"\n")
    wrapper.chmod(0o755)
    with pytest.raises(ToolMissing, match=rf"^{tmp_path}/ssh can't be started: Exec format error; "
                                          ".* script without a first line such as #!/bin/sh; mend "
                                          "or remove it"):
        start(["ssh"], env={"PATH": str(tmp_path)})


def test_program_in_a_closed_folder_is_not_blamed() -> None:
    """The right to be executed would not help. Root may look into any folder."""
    error = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    assert str(start_error(error, ["/closed/program"], None, None)) == (
        "/closed/program can't be started: Permission denied; let this user enter all folders of "
        "its path, or install it elsewhere")


def test_machine_that_can_start_nothing_is_not_blamed_on_the_program() -> None:
    error = OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    assert start_error(error, ["true"], None, None) is error


@pytest.mark.parametrize(("fault", "text"), [
    (KeyError("end"), "'end' is missing"), (IndexError("list index out of range"),
                                            "a value is missing"),
    (ValueError("Expecting value"), "Expecting value"),
    (TypeError("'int' object is not subscriptable"), "a value is of another kind than expected"),
    (OSError(), "OSError")])
def test_cause_of_a_fault_is_told_without_pythons_form(fault: Exception, text: str) -> None:
    assert cause_of(fault) == text


@pytest.mark.parametrize(("name", "text"), [
    ("file", "Not a directory"), ("folder", "File exists"), ("none", "File exists")])
def test_file_in_the_place_of_a_folder_is_told_so(tmp_path: Path, name: str, text: str) -> None:
    """Python's mkdir() only says that it exists."""
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    fault = FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(tmp_path / name))
    assert cause_of(fault) == text


def test_program_that_never_stops_printing_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a minute it fills the memory of a machine."""
    monkeypatch.setattr(shell, "MOST_BYTES", 1 << 20)
    for words in ("exec yes", "exec yes >&2"):
        with pytest.raises(CommandFailed, match="printed more than 1 MiB"):
            run(["sh", "-c", words])


def test_program_is_told_and_heard_however_long_both_are() -> None:
    """More than a pipe holds, either way; ends of lines are one letter. Bytes are told unchanged,
    also those that aren't UTF-8."""
    said = b"a line \xfc\n" * 100_000
    assert run(["cat"], stdin=said) == said.decode("utf-8", "replace")
    assert run(["sha256sum"], stdin=said).split()[0] == hashlib.sha256(said).hexdigest()
    assert run(["true"], stdin=said) == ""
    assert run(["sh", "-c", "cat >&2; printf 'a\\r\\nb'"], stdin=said) == "a\nb"
    assert run(["sh", "-c", "exec <&- ; sleep 0.1; echo heard"], stdin=said) == "heard\n"


def test_program_that_does_not_end_is_ended() -> None:
    """Also one that has closed its output, or left children behind that have it open."""
    with pytest.raises(CommandFailed, match=r"still running after 1 s, so it was killed; its last "
                                            r"line: trouble$"):
        run(["sh", "-c", "printf trouble >&2; sleep 60"], timeout_s=1)
    with pytest.raises(CommandFailed, match="ended with status 0: a process that it left behind "
                                            "still had its output open after 1 s"):
        run(["sh", "-c", "sleep 60 & exit 0"], timeout_s=1)
    with pytest.raises(CommandFailed, match="still running after 1 s"):
        run(["sh", "-c", "exec >&- 2>&-; sleep 60"], timeout_s=1)
    with pytest.raises(CommandFailed, match="with signal 9: still running after 1 s, so it was"):
        run(["sh", "-c", "printf 'waiting...' >&2; exec sleep 60"], timeout_s=1)

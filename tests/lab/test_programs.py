# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of programs that comes first on the guest's PATH, and servers of the user that end."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base.defaults import CLIENT_STOPPED
from flent_aqm.base.errors import ConfigError, LabError, ToolMissing
from flent_aqm.lab import guest_files
from flent_aqm.lab.guest_files import _write_programs
from flent_aqm.lab.own_programs import OwnPrograms, refuse_missing
from flent_aqm.setup.kernel.named import NamedKernel
from flent_aqm.spec.batch_keys.programs import Programs
from flent_aqm.spec.scenario import Scenario


def test_script_for_flent_is_not_written_through_a_link(tmp_path: Path) -> None:
    """A program that is called flent, as in the cache, stays as it is on the host."""
    (tmp_path / "flent").write_text("of the host")
    _write_programs(tmp_path / "bin", Scenario(), lambda path: path,
                    {"flent": tmp_path / "flent"})
    assert (tmp_path / "flent").read_text() == "of the host"
    assert "run_flent" in (tmp_path / "bin" / "flent").read_text()


def test_lost_tc_of_a_kernel_is_told_with_the_command_that_builds_both(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of several kernels it is, and its options, are in that."""
    def lost(_folder: str) -> Path:
        raise ToolMissing("the tc is gone; build the kernel again")

    kernel = NamedKernel("mine", "", "", "", "", "flent-aqm kernel build mine --tc q_foo.c", tc="x")
    monkeypatch.setattr(guest_files, "find_named", lambda _name: kernel)
    monkeypatch.setattr(guest_files, "find_tc", lost)
    scenario = Scenario.from_settings({"aqm": "foo", "kernel": "mine"})
    with pytest.raises(ToolMissing, match=r"again: flent-aqm kernel build mine --tc q_foo\.c$"):
        guest_files._tc_of_kernel(scenario)


def test_server_that_ends_because_its_client_was_stopped_is_no_cause(tmp_path: Path) -> None:
    """The test stops the client after its longest time; the server then loses its connection. One
    that had ended before is the cause."""
    programs = OwnPrograms(Programs("client", "one ; two"))
    (tmp_path / "server-2").write_text("BrokenPipeError: [Errno 32] Broken pipe\n")
    (tmp_path / "server-2-status").write_text("1\n")
    with pytest.raises(LabError, match="the server 'two' ended with status 1 before the command"):
        programs.refuse_failed(tmp_path)
    (tmp_path / CLIENT_STOPPED).write_text("")
    programs.refuse_failed(tmp_path)
    (tmp_path / CLIENT_STOPPED).write_text("server-1-status\nserver-2-status\n")
    with pytest.raises(LabError, match="the server 'two' ended with status 1 before the command"):
        programs.refuse_failed(tmp_path)


@pytest.mark.parametrize(("programs", "told"), [
    (Programs(client_program="./nothing x"), "COMMAND"),
    (Programs(server_program="./nothing"), "--server")])
def test_missing_program_is_told_by_the_option_that_gives_it(
        programs: Programs, told: str) -> None:
    with pytest.raises(ConfigError, match=f"^{told}: there is no program './nothing'"):
        refuse_missing(programs, client="COMMAND", server="--server")
    with pytest.raises(ConfigError, match=r"^(client|server)_program: there is no program"):
        refuse_missing(programs)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of the lab and of namespaces that name what is wrong, without booting anything."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self, cast

import pytest

from flent_aqm.base.errors import ConfigError, LabError, LabTimeout
from flent_aqm.lab import guest_files, netns, user_command, virtual
from flent_aqm.lab.virtual import Lab
from flent_aqm.setup.kernel.named import NamedKernel
from flent_aqm.spec.scenario import Scenario


def test_hosts_whose_cards_are_wrong_are_counted(tmp_path: Path) -> None:
    """A topology has dozens, and half a name says nothing."""
    for number in range(5):
        (tmp_path / f"card-host{number}").write_text("rx-usecs: 9\n")
    lab = cast(Any, SimpleNamespace(_scenario=Scenario()))
    with pytest.raises(LabError, match="host2 reports 9 us and 2 more; repeat the run"):
        Lab._moderation_by_host(lab, tmp_path)


def test_failed_program_of_the_router_is_named_as_option_and_as_key() -> None:
    """It may have been given as either."""
    with pytest.raises(LabError, match=r"^the program on the router \(router_program, --router\) "
                                       "ended with status 4 before the run did: broken$"):
        Lab._refuse_program_fault("4", "broken\n")


@pytest.mark.parametrize("printed", ["1: exec: nothing: not found", "line 1: nothing: not found"])
def test_program_of_the_router_that_is_not_there_is_told_without_the_labs_script(
        printed: str) -> None:
    """Of which the user knows nothing."""
    with pytest.raises(LabError, match=r"status 127 before the run did: nothing: not found; it "
                                         "is started in /, so give absolute paths$"):
        Lab._refuse_program_fault("127", f"/run/lab/router_program: {printed}\n")


@pytest.mark.parametrize(("command", "how"), [
    ("kernel build mine --qdisc sch_foo.c",
     "build it again, as kernel build mine --qdisc sch_foo.c --config nat$"),
    ("kernel build mine --config debug.cfg",
     r"add the lines of /.*/nat\.config to its --config, and build it again$"),
    ("kernel build mine --config debug",
     r"again, with the lines of /.*/debug\.config and /.*/nat\.config in one file that --config")])
def test_kernel_of_the_user_without_nat_is_told_to_be_built_with_it(
        command: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another kernel would lack the user's queue."""
    kernel = NamedKernel("mine", "", "", "", "", command)
    monkeypatch.setattr(NamedKernel, "can_nat", False)
    scenario = Scenario.from_settings({"kernel": "mine", "topology": "clients:2+nat"})
    with pytest.raises(ConfigError, match=f"kernel mine can't translate addresses; .*{how}"):
        virtual._check_can_nat(scenario, kernel)


def test_missing_server_of_mlab_is_told_with_both_ways_to_request_it(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """The option and the batch key."""
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConfigError, match=r"^M-Lab's ndt-server is not on PATH, or this user may "
                                          "not execute it; .* --mlab-server and ndt7_server=mlab"):
        user_command.servers_for(["true"], mlab=True)


def test_own_folder_of_the_lab_is_not_called_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is this machine's of the same name that can't be seen inside."""
    monkeypatch.setattr(os.path, "exists", lambda _path: True)
    with pytest.raises(ConfigError, match=r"^-c=/run/bin/x: this machine's /run/bin/x can't be "
                                          "reached in the lab, which has its own /run/bin; move"):
        list(guest_files._named_files(["-c=/run/bin/x"], Path("/home"), ["/run"]))


class Silent:
    """Namespaces whose programs fail without a word."""

    status: int | None = None

    def __init__(self, *_: object, **__: object) -> None:
        self.stderr = Path("/dev/null")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def console(self) -> str:
        return ""

    def run(self) -> SimpleNamespace:
        if self.status is None:
            raise LabError("the command ended before its command did: no output; signal 9 ended it")
        return SimpleNamespace(status=self.status)


@pytest.mark.parametrize(("status", "told"), [
    (None, "can't set up namespaces: .*: no output; signal 9 ended it; its kernel may lack"),
    (137, ("^aqm no_aqm, shaper htb: this machine .* can't set them up, or read them back: "
           "status 137, without a message"))])
def test_namespaces_that_fail_without_a_word_tell_how_they_ended(
        status: int | None, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netns, "Namespaces", Silent)
    monkeypatch.setattr(Silent, "status", status)
    with pytest.raises(ConfigError, match=told):
        netns._rehearse(Scenario.from_settings({"testbed": "netns"}))


def test_lines_of_programs_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """tc's, the script's and the set-up's were one sentence without a point in it."""
    lines = ("Error: Specified qdisc kind is unknown.\nCommand failed -:1\n\n"
             "flent-aqm-guest: can't set up the server's network\n")
    monkeypatch.setattr(netns, "Namespaces", Silent)
    monkeypatch.setattr(Silent, "console", lambda self: lines)
    with pytest.raises(ConfigError, match=(
            "namespaces: Error: Specified qdisc kind is unknown; Command failed -:1; "
            "can't set up the server's network; its kernel may lack a module")):
        netns._rehearse(Scenario.from_settings({"testbed": "netns"}))


def test_netns_without_root_names_no_other_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scorecard's, or any other's, may have asked for it."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ConfigError, match="; run the same command as root, or use "):
        netns.NetnsTestbed().check([])


@pytest.fixture
def outside_tmp() -> Iterator[Path]:
    """A folder that namespaces see, unlike those in /tmp."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
def test_rehearsal_reads_text_of_a_tc_with_broken_json_as_a_run_does(
        outside_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some versions print it for some qdiscs. A tc that has neither is refused."""
    scenario = Scenario.from_settings({"testbed": "netns"})
    try:
        netns._rehearse(scenario)
    except ConfigError as fault:
        pytest.skip(f"this machine can't rehearse: {fault}")
    real = shutil.which("tc")
    tc = outside_tmp / "tc"
    tc.write_text(f'#!/bin/sh\ncase " $* " in *" -j "*) echo "[{{broken" ;; *) exec {real} "$@" ;; '
                  "esac\n")
    tc.chmod(0o755)
    monkeypatch.setattr(netns, "Namespaces", partial(netns.Namespaces, programs={"tc": tc}))
    netns._rehearse(scenario)
    tc.write_text(tc.read_text().replace(" -j ", " -s "))
    with pytest.raises(ConfigError, match=r"^aqm no_aqm: can't read what this machine \(Linux .*"):
        netns._rehearse(scenario)


def test_command_that_is_stopped_is_told_with_the_option_for_its_limit() -> None:
    with (pytest.raises(LabTimeout, match=r"^too long; .* give --wall-limit S$"),
          user_command.wall_limit_named()):
        raise LabTimeout("too long")
    hung = LabTimeout("hung")  # on a kernel of the user's, after some processor time
    hung.at_limit = False
    with pytest.raises(LabTimeout, match=r"^hung$"), user_command.wall_limit_named():
        raise hung

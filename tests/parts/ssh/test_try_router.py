# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm try-router`: the commands of docs/routers.md, typed at the pretend router."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flent_aqm.base.errors import ToolMissing
from flent_aqm.base.paths import resource_dir
from flent_aqm.parts.ssh import try_router
from flent_aqm.results.data_file import read_data_file
from tests.files import ROOT

from ...warm_flent import run_flent_aqm

PAGE = ROOT / "docs" / "routers.md"
SERVER = "ssh://root@10.0.0.2"
# Overrides that make a sweep of the page short.
SHORT = " ".join(f"--batch-override {word}" for word in (
    "length=1", "delay=1", "output_path=results", "test_name=iperf3_upload"))


def lines_of_page() -> list[str]:
    """Return the command lines of the page that name a router behind ssh, without `.venv/bin/`."""
    text = PAGE.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = re.findall(r"(?:\.venv/bin/)?((?:flent|flent-aqm) [^`\n]*ssh://[^`\n]*)", text)
    return [" ".join(line.split()) for line in lines]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of a user, with the batches."""
    (tmp_path / "batches").mkdir()
    for path in resource_dir("batches").glob("*.batch"):
        (tmp_path / "batches" / path.name).write_bytes(path.read_bytes())
    return tmp_path


def applied(folder: Path) -> dict[str, tuple[str, str]]:
    """Return AQM -> qdiscs that the router reported for it, down and up."""
    files = [read_data_file(path).metadata for path in folder.glob("results/*.flent.gz")]
    return {one["AQM"]["requested"]["aqm"]: tuple(
        one["AQM"]["after"]["applied"][role]["qdisc"] for role in ("down", "up"))
        for one in files}


def test_page_has_the_commands_that_are_tried() -> None:
    programs = [line.split(" -", maxsplit=1)[0] for line in lines_of_page()]
    assert programs == ["flent-aqm doctor", "flent", "flent-aqm restore"]


@pytest.mark.lab
def test_every_command_of_the_page_works_as_typed(folder: Path) -> None:
    """The doctor's table, the dry run, a short sweep, the restored router, in one shell."""
    doctor, sweep, restore = lines_of_page()
    code = "\n".join((
        doctor, 'echo "status $?"',
        f"{sweep} --batch-dry-run 2>&1", 'echo "status $?"',
        f"{sweep} {SHORT} 2>&1", 'echo "status $?"',
        restore, 'echo "status $?"',
        "ssh root@192.168.1.1 tc qdisc show"))
    done = run_flent_aqm("try-router", "--", "sh", "-c", code, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("status 0") == 4, done.stdout
    assert re.search(r"^lan1 .*towards the client", done.stdout, re.MULTILINE)
    assert re.search(r"^eth2 .*towards the server", done.stdout, re.MULTILINE)
    assert re.search(r"^lan4 .*carries this ssh connection", done.stdout, re.MULTILINE)
    assert re.search(r"^irtt +yes", done.stdout, re.MULTILINE)
    assert "Would have run 6 tests" in done.stdout
    assert "3 done, 0 failed" in done.stdout
    assert "nothing to restore" in done.stdout
    assert "qdisc noqueue 0: dev lan1" in done.stdout
    assert applied(folder) == {"no_aqm": ("pfifo", "pfifo"), "fq_codel": ("fq_codel", "fq_codel"),
                               "cake": ("cake", "cake")}


@pytest.mark.lab
def test_clock_is_that_of_this_machine(tmp_path: Path) -> None:
    """The lab's own start made two sweeps, one after the other, write to one folder."""
    before_s = time.time()
    done = run_flent_aqm("try-router", "--no-servers", "--", "date", "+%s", cwd=tmp_path)
    assert before_s <= int(done.stdout) <= time.time() + 60, done.stderr


@pytest.mark.lab
def test_sweep_starts_the_servers_and_adds_delay_by_ssh(folder: Path) -> None:
    """With server_testbed; nothing listens before. Half of the delay is added in each direction."""
    sweep = lines_of_page()[1]
    code = (f"{sweep} {SHORT} --batch-override aqm=fq_codel --batch-override base_delay_ms=30 "
            f"--batch-override server_testbed={SERVER} 2>&1; ssh root@10.0.0.2 tc qdisc show")
    done = run_flent_aqm("try-router", "--no-servers", "--", "sh", "-c", code, cwd=folder)
    assert "1 done, 0 failed" in done.stdout, done.stdout + done.stderr
    assert "netem" not in done.stdout.splitlines()[-1]
    path, = folder.glob("results/*.flent.gz")
    results = read_data_file(path)
    probes = [value for name, values in results.raw_values.items() if "Ping" in name
              for value in (one.get("val") for one in values) if value is not None]
    assert 30 <= min(probes) < 31


@pytest.mark.lab
def test_shell_starts_with_the_first_command_to_type(folder: Path) -> None:
    words = f"{Path(sys.executable).with_name('flent-aqm')} try-router"
    done = subprocess.run(
        ["script", "-qec", words, "/dev/null"], cwd=folder, text=True, capture_output=True,
        check=False, input="ssh -n root@192.168.1.1 hostname >note\nexit\n", timeout=120)
    assert "doctor --testbed ssh://root@192.168.1.1 --server 10.0.0.2" in done.stdout
    assert done.returncode == 0, done.stdout
    assert (folder / "note").read_text() == "router\n"


@pytest.mark.parametrize(("missing", "package"), [
    ("ssh", "openssh-client"), ("sshd", "openssh-server")])
def test_missing_program_of_ssh_is_named_with_its_package(
        monkeypatch: pytest.MonkeyPatch, missing: str, package: str) -> None:
    monkeypatch.setattr(try_router, "find_program",
                        lambda name: None if name == missing else Path("/usr/bin", name))
    parser = argparse.ArgumentParser()
    try_router.add_arguments(parser)
    with pytest.raises(ToolMissing, match=(
            f"^{missing} is not installed, not on PATH, or .* execute it, .*package {package}$")):
        try_router.main(parser.parse_args(["--", "true"]))

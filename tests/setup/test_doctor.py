# SPDX-License-Identifier: GPL-3.0-or-later
"""flent-aqm doctor on machines that lack things."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from flent_aqm.setup import parts as setup_parts
from flent_aqm.setup.parts import Requirement, missing

BUILT = "flent-aqm setup"


def _doctor(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """doctor with nothing on PATH and an empty cache."""
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    return subprocess.run(
        [sys.executable, "-m", "flent_aqm.cli", "doctor", *words], env=env, text=True,
        cwd=Path(__file__).parents[2], capture_output=True, check=False)


def test_doctor_when_path_is_empty_lists_what_is_missing(tmp_path: Path) -> None:
    """Every part is in the table; the programs are missing, and the way to them is shown."""
    done = _doctor(tmp_path)
    assert done.returncode == 1
    rows = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert rows["iperf3"].split()[1] == "missing"
    assert "make packages" in rows["iperf3"]
    assert "found" in rows["numpy"]
    assert "iperf3" in done.stderr
    assert "run: make packages" in done.stderr


def test_doctor_as_json_has_the_same_parts(tmp_path: Path) -> None:
    """A list of objects for other programs."""
    parts = {part["name"]: part for part in json.loads(_doctor(tmp_path, "--json").stdout)}
    assert parts["netperf"] == {
        "name": "netperf", "group": "run", "found": False, "version": "", "where": "",
        "how_to_get": "make packages"}
    assert parts["rich"]["found"]
    assert parts["lab kernel"]["how_to_get"] == BUILT


def test_doctor_when_a_program_prints_garbage_still_lists_it(tmp_path: Path) -> None:
    """A program without a version is found all the same."""
    program = tmp_path / "iperf3"
    program.write_text("#!/bin/sh\nprintf '\\377\\001 no number'; exit 9\n")
    program.chmod(0o755)
    parts = {part["name"]: part for part in json.loads(_doctor(tmp_path, "--json").stdout)}
    assert (parts["iperf3"]["found"], parts["iperf3"]["version"]) == (True, "")
    assert parts["iperf3"]["where"] == os.fspath(program)


@pytest.mark.parametrize(("kernel_found", "wanted"), [(True, []), (False, ["lab kernel", "gcc"])])
def test_missing_counts_compilers_only_until_the_kernel_is_built(
        kernel_found: bool, wanted: list[str]) -> None:
    """A machine with a built kernel needs no compiler, and nobody needs a window."""
    parts = [
        Requirement("lab kernel", "run", kernel_found, "", "", BUILT),
        Requirement("gcc", "build", False, "", "", "make packages"),
        Requirement("libegl1", "gui", False, "", "", "make packages"),
    ]
    assert [part.name for part in missing(parts)] == wanted


@pytest.mark.parametrize(("prints", "version"), [
    ("irtt version: 0.9.1", "0.9.1, by an unknown Go"), ("", "by an unknown Go"),
    (r"irtt version: 0.9.0\ngo version: go1.19.8", "0.9.0, by an old Go")])
def test_doctor_tells_why_an_irtt_is_missing(
        prints: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old Go is named only if the program says so."""
    program = tmp_path / "irtt"
    program.write_text(f"#!/bin/sh\nprintf '{prints}'\n")
    program.chmod(0o755)
    monkeypatch.setattr(setup_parts, "find_tool", lambda name: program)
    part = next(part for part in setup_parts.all_parts() if part.name == "irtt")
    assert (part.found, part.version) == (False, version)


def test_doctor_without_the_tc_for_dualpi2_tells_how_to_get_it(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that most runs can do without."""
    monkeypatch.setattr(setup_parts, "find_new_tc", lambda: None)
    part, = (part for part in setup_parts.all_parts() if part.name == "tc for dualpi2")
    assert (part.found, part.how_to_get) == (False, BUILT)
    assert missing([part]) == []


def test_flent_without_metadata_is_found_by_its_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Debian installs it; any other package without is missing."""
    def none(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", none)
    parts = {part.name: part for part in setup_parts.all_parts()
             if part.name in setup_parts.PYTHON_PACKAGES}
    assert parts["flent"].found
    assert parts["flent"].version == "2.3.0"
    assert not parts["numpy"].found


def test_doctor_fits_a_terminal_of_80_columns_and_24_lines() -> None:
    """On a terminal of that size, with a line for each part that measuring needs."""
    done = subprocess.run(
        ["script", "-qec", f"stty cols 80 rows 24; '{sys.executable}' -m flent_aqm.cli doctor",
         "/dev/null"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", done.stdout)
    lines = [line.rstrip() for line in plain.replace("\r\n", "\n").rpartition("\r")[2].splitlines()]
    lines = lines[next(at for at, line in enumerate(lines) if line.startswith("part ")):]
    assert max(map(len, lines)) <= 80
    assert re.search(r"^iperf3 +found +\S+ +measuring$", "\n".join(lines), re.MULTILINE)
    assert re.fullmatch(r"\d+ of \d+ parts found", next(
        line for line in reversed(lines) if "parts found" in line))
    assert len(lines) <= 24 + len(missing(list(setup_parts.all_parts())))

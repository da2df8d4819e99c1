# SPDX-License-Identifier: GPL-3.0-or-later
"""What a power cut leaves of a program in the cache is missing, for set-up and for doctor."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from flent_aqm.base import paths
from flent_aqm.base.errors import AqmError
from flent_aqm.base.paths import find_cached
from flent_aqm.base.shell import run
from flent_aqm.setup.iproute2 import new_tc_is_there
from flent_aqm.setup.irtt import irtt_is_there
from flent_aqm.setup.kernel.build import kernel_is_there
from flent_aqm.setup.kernel.locate import find_kernel
from flent_aqm.setup.kernel.recipe import CHOICE, current_recipe, read_choices
from flent_aqm.setup.ndt7_client import ndt7_client_is_there
from flent_aqm.setup.parts import Requirement, all_parts
from flent_aqm.setup.tools import find_tool

pytestmark = pytest.mark.lab

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda program: b"",
    "cut off": lambda program: program[:len(program) // 2],
    "its first bytes alone": lambda program: program[:70],
    "zeros": lambda program: bytes(len(program)),
}
# Part of doctor's -> where its program is in a cache, and what set-up asks whether it is there.
PARTS: dict[str, tuple[Callable[[], str], Callable[[], bool]]] = {
    "lab kernel": (lambda: f"kernels/{find_kernel().hash}/linux", kernel_is_there),
    "irtt": (lambda: "bin/irtt", irtt_is_there),
    "ndt7-client": (lambda: "bin/ndt7-client", ndt7_client_is_there),
    "tc for dualpi2": (lambda: "new-tc/lib/tc", new_tc_is_there),
}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only cache: this machine's programs, copied, as a test damages them."""
    folder = tmp_path / "flent-aqm"
    kernel = find_kernel()
    (folder / "kernels" / kernel.hash).mkdir(parents=True)
    shutil.copy(kernel.path, folder / "kernels" / kernel.hash)
    source = next(one for one in read_choices() if current_recipe(one).hash == kernel.hash)
    (folder / CHOICE).write_text(json.dumps(asdict(source)))
    (folder / "bin").mkdir()
    for name in ("irtt", "ndt7-client"):
        path = find_tool(name)
        assert path is not None
        there = folder / "tools" / path.resolve().parent.name / name
        there.parent.mkdir(parents=True)
        shutil.copy(path, there)
        (folder / "bin" / name).symlink_to(there)
    tc = find_cached("new-tc", "tc")
    assert tc is not None
    shutil.copytree(tc.resolve().parent, folder / "new-tc")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(paths, "SYSTEM_CACHE", tmp_path / "none")
    monkeypatch.setattr(paths, "ready_made", lambda: None)
    return folder


def part_of(name: str) -> Requirement:
    """Of doctor's; those behind it are not looked for."""
    return next(part for part in all_parts() if part.name == name)


@pytest.mark.parametrize("name", PARTS)
def test_damaged_program_is_missing_for_doctor_and_for_set_up(name: str, cache: Path) -> None:
    """However it is damaged; as it was, and with its permission, both find it."""
    program, is_there = cache / PARTS[name][0](), PARTS[name][1]
    whole = program.read_bytes()
    for how, damage in DAMAGES.items():
        program.write_bytes(damage(whole))
        assert (part_of(name).found, is_there()) == (False, False), how
    program.write_bytes(whole)
    assert part_of(name).found
    assert is_there()
    program.chmod(0o644)
    assert (part_of(name).found, is_there()) == (False, False)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_program_when_started_is_said_to_be(
        damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """In one line, without a traceback."""
    program = tmp_path / "program"
    program.write_bytes(damage(Path("/bin/true").read_bytes()))
    program.chmod(0o755)
    with pytest.raises(AqmError, match=re.escape(str(program))):
        run([program])

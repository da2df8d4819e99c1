# SPDX-License-Identifier: GPL-3.0-or-later
"""The source of the NDT7 client where cargo can't give it; scripts stand in for cargo."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from flent_aqm.base.errors import SetupError, ToolMissing
from flent_aqm.setup import ndt7_client
from flent_aqm.setup.ndt7_client import fetch_source, find_cargo
from flent_aqm.setup.versions import why_no_version


@pytest.mark.parametrize(("script", "words"), [
    ("echo 'error: no route to registry' >&2; exit 101",
     r"cargo info failed for ndt7-client [0-9.]+: error: no route to registry; check the"),
    ("yes a warning | head -40 >&2; echo 'error: the cause' >&2; exit 101", ": the cause; check"),
    ("true", r"its source is not in /.*/registry/src; .* set CARGO_HOME to its absolute path;"),
])
def test_source_that_cargo_does_not_give_is_told_of(
        script: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cargo says, or where the source was looked for; nothing is left."""
    cargo = tmp_path / "cargo"
    cargo.write_text(f"#!/bin/sh\n{script}\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "home"))
    with pytest.raises(SetupError, match=words):
        fetch_source(cargo, tmp_path / "work" / "source")
    assert not (tmp_path / "work" / "source").exists()


@pytest.mark.parametrize(("printed", "told"), [
    (("error: failed to compile `x`, files are at `/y`.\n\nCaused by:\n  failed to get `z`\n\n"
      "Caused by:\n  [6] Could not resolve hostname\n"),
     "error: failed to compile `x`, files are at `/y`: [6] Could not resolve hostname"),
    ("error[E0308]: mismatched types\nerror: could not compile `x`\n",
     "error[E0308]: mismatched types"),
    ("", "cargo ended with status 101")])
def test_client_that_cargo_does_not_build_is_told_with_the_cause(
        printed: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The crates are downloaded by the same command that compiles them."""
    (tmp_path / "cargo").write_text(
        "#!/bin/sh\n[ $1 = --version ] && echo cargo 9.9.9 && exit\n"
        f"cat <<'END'\n{printed}END\nexit 101\n")
    (tmp_path / "cargo").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(ndt7_client, "ndt7_client_is_there", lambda: False)
    monkeypatch.setattr(ndt7_client, "fetch_source", lambda _cargo, folder: folder.mkdir())
    log = tmp_path / "cache" / "ndt7-client-build.log"
    log.parent.mkdir()
    with pytest.raises(SetupError) as raised:
        ndt7_client.set_up_ndt7_client(log.parent)
    assert str(raised.value) == (
        f"ndt7-client could not be built: {told}; the whole output is in {log}")


def test_cargo_that_prints_no_version_is_not_called_an_old_one(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cargo = tmp_path / "cargo"
    cargo.write_text("#!/bin/sh\necho 'no default toolchain' >&2\nexit 1\n")
    cargo.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _name: str(cargo))
    monkeypatch.setattr(ndt7_client, "OLDEST_RUST", (99, 0))
    with pytest.raises(ToolMissing, match=r"/cargo --version: ended .*: no default toolchain\)"):
        find_cargo()


def test_program_that_may_not_be_executed_is_not_called_broken(tmp_path: Path) -> None:
    """As on a file system that is mounted noexec."""
    (tmp_path / "irtt").write_text("#!/bin/sh\n")
    assert why_no_version([tmp_path / "irtt", "version"]) == (
        f"{tmp_path}/irtt may not be executed: is its file system mounted noexec?")

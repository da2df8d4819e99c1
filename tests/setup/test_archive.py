# SPDX-License-Identifier: GPL-3.0-or-later
"""Debian's archive: where it is, and which version is newer."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import cmp_to_key
from pathlib import Path

import pytest

from flent_aqm.base.errors import CommandFailed, SetupError
from flent_aqm.setup import apt

needs_dpkg = pytest.mark.skipif(shutil.which("dpkg") is None, reason="dpkg is not installed")


@needs_dpkg
def test_newest_version_is_by_the_rules_of_dpkg() -> None:
    """A backport is older than what it was made of, and 10 newer than 9."""
    versions = ["7.2.12-1", "7.2.9-1", "7.2.12-1~bpo13+1", "7.3.4-1~bpo13+1"]
    packages = [apt.Package("linux-source", version) for version in versions]
    ordered = sorted(packages, key=cmp_to_key(apt._compare_versions))
    assert [package.version for package in ordered] == [
        "7.2.9-1", "7.2.12-1~bpo13+1", "7.2.12-1", "7.3.4-1~bpo13+1"]


def test_archive_uri_when_given_by_the_user_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """For machines whose own apt knows no Debian."""
    monkeypatch.setenv(apt.URI_VARIABLE, "https://mirror.test/debian")
    assert apt.archive_uri() == "https://mirror.test/debian"


@pytest.mark.parametrize(("listed", "wanted"), [
    ("https://a.test/debian-security/\nhttps://a.test/debian/\n", "https://a.test/debian/"),
    ("mirror+file:/etc/list/debian\n", "mirror+file:/etc/list/debian"),
])
def test_archive_uri_takes_the_main_archive_of_the_machine(
        monkeypatch: pytest.MonkeyPatch, listed: str, wanted: str) -> None:
    """Security updates live elsewhere and have none of the suites."""
    monkeypatch.delenv(apt.URI_VARIABLE, raising=False)
    monkeypatch.setattr(apt, "run", lambda argv: listed)
    assert apt.archive_uri() == wanted


def test_archive_uri_when_the_machine_has_none_names_the_variable(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On Ubuntu the user is told what to set; where apt has read no index yet, as in images of
    containers, the command that lets it read them."""
    monkeypatch.delenv(apt.URI_VARIABLE, raising=False)
    (tmp_path / "apt.conf").write_text(f'Dir::State::lists "{tmp_path}";\n')
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    with pytest.raises(SetupError, match=f"no index of .*; run apt-get update, .*set "
                                         f"{apt.URI_VARIABLE} to"):
        apt.archive_uri()


def _run(answers: dict[str, str], failing: Sequence[str]) -> Callable[..., str]:
    """Stand for apt: `answers` by the first word after the options of a query, and a failure for
    commands with a word of `failing`."""
    def run(argv: Sequence[str], **options: object) -> str:
        if any(word in argv for word in failing):
            raise CommandFailed(argv, 100, "", "E: Failed to fetch http://mirror.test  404\n"
                                "E: Some archives failed.\n")
        return next((text for word, text in answers.items() if word in argv), "")
    return run


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(apt.URI_VARIABLE, "http://mirror.test/debian")
    monkeypatch.setattr(apt, "KEYRING", tmp_path / "keyring")
    (tmp_path / "keyring").touch()


@pytest.mark.usefixtures("keyring")
def test_archive_that_cannot_be_reached_is_told_from_one_without_the_package(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """apt's update ends without an error in both."""
    monkeypatch.setattr(apt, "run", _run({}, ["APT::Update::Error-Mode=any"]))
    with pytest.raises(SetupError, match=r"E: Failed .*; if it can't be reached, check the netw"):
        apt.DebianArchive(tmp_path).newest("irtt")
    monkeypatch.setattr(apt, "run", _run({}, []))
    with pytest.raises(SetupError, match=r"^no package irtt in Debian's suites"):
        apt.DebianArchive(tmp_path).newest("irtt")
    # Indexes of an earlier call do.
    monkeypatch.setattr(apt, "run", _run({
        "pkgnames": "irtt\n", "madison": " irtt | 0.9.1-1 | http://mirror.test forky Packages\n"},
        ["APT::Update::Error-Mode=any"]))
    assert apt.DebianArchive(tmp_path).newest("irtt").version == "0.9.1-1"


@pytest.mark.usefixtures("keyring")
@pytest.mark.parametrize(("version", "output", "kind"), [
    ("7.1.0-1", (r"^Debian's suites have no source of iproute2 7\.1\.0-1, but of 7\.2\.0-1; "
                 r"for a newer iproute2 run: flent-aqm setup --update$"), "Sources"),
    ("7.1.0-1", r"but of no version; if .* names a mirror without sources, use another$", "none"),
    ("7.2.0-1", (r"could not be downloaded: E: Failed .* 404; E: Some .*; run the same "
                 r"command again$"), "Sources")])
def test_source_that_debian_has_dropped_is_told_from_a_failure(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, output: str, kind: str
        ) -> None:
    """The same command would fail again."""
    monkeypatch.setattr(apt, "run", _run({"madison": (
        "iproute2 | 7.2.0-1 | http://mirror.test forky/main amd64 Packages\n"
        f"iproute2 | 7.2.0-1 | http://mirror.test forky/main {kind}\n")}, ["source"]))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(SetupError, match=output):
        apt.DebianArchive(tmp_path, sources=True).download_source(
            "iproute2", version, tmp_path / "source")

# SPDX-License-Identifier: GPL-3.0-or-later
"""Debian's archive: where it is, and which version is newer."""

from __future__ import annotations

import shutil
from functools import cmp_to_key

import pytest

from flent_aqm.base.errors import SetupError
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
        monkeypatch: pytest.MonkeyPatch) -> None:
    """On Ubuntu the user is told what to set."""
    monkeypatch.delenv(apt.URI_VARIABLE, raising=False)
    monkeypatch.setattr(apt, "run", lambda argv: "")
    with pytest.raises(SetupError, match=apt.URI_VARIABLE):
        apt.archive_uri()

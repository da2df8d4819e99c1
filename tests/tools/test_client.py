# SPDX-License-Identifier: GPL-3.0-or-later
"""The process of a tool's client: what it says of arguments and connections that fail."""

from __future__ import annotations

import re
import sys

import pytest

from flent_aqm.tools.client import Call, main
from flent_aqm.tools.report import ClientReport


@pytest.mark.parametrize(("words", "why"), [
    ([], "'host' is missing"), (["host=a"], "'port' is missing"),
    (["host=a", "port=x"], "invalid literal .*'x'")])
def test_wrong_arguments_are_one_line(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str],
        why: str) -> None:
    """A user may start the client by hand."""
    monkeypatch.setattr(sys, "argv", ["client", *words])
    assert main("mine", lambda _call, _report: None) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert re.match(rf"error: mine: the arguments can't be read \({why}", error)
    assert "; expected host=HOST port=PORT, with PORT a number" in error


def test_refused_connection_names_the_server(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is missing is named alone."""
    monkeypatch.setattr(sys, "argv", ["client", "host=::1", "port=9"])

    def refused(_call: Call, _report: ClientReport) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    assert main("mine", refused) == 1
    assert capsys.readouterr().err == "error: mine: Connection refused; its server is [::1]:9\n"

    def missing(_call: Call, _report: ClientReport) -> None:
        open("/nowhere/x").close()

    assert main("mine", missing) == 1
    assert capsys.readouterr().err == "error: mine: /nowhere/x: No such file or directory\n"

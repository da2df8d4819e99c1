# SPDX-License-Identifier: GPL-3.0-or-later
"""Which NDT7 client is run, and with which words. M-Lab's is in no package registry, so here a
script has its name and its help; the crate's is the real one."""

from __future__ import annotations

import os
import shlex
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult, ConfigError, ParseError, ToolMissing
from flent_aqm.base.flent_api import RunnerCheckError
from flent_aqm.measure.runners.ndt7 import AqmNdt7Runner
from flent_aqm.setup.optional import check_tools, optional_of
from flent_aqm.spec.needs import needs_of_run
from flent_aqm.spec.scenario import Scenario

# Of M-Lab's client 0.10.1; its help is on standard error.
HELP = "  -service-url value\n    \tService URL specifies target hostname"


@pytest.fixture
def mlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH on which M-Lab's client stands behind the crate's; gives M-Lab's."""
    for name, lines in (("crate", "echo --no-locate --service-url"),
                        ("mlab", f"printf '{HELP}' >&2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ndt7-client").write_text(f"#!/bin/sh\n{lines}\n")
        (tmp_path / name / "ndt7-client").chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'crate'}:{tmp_path / 'mlab'}:{os.defpath}")
    return tmp_path / "mlab" / "ndt7-client"


def words(direction: str, host: str = "127.0.0.1", **keys: Any) -> list[str]:
    """The command line of a client for a host."""
    runner = AqmNdt7Runner(
        name="x", settings=SimpleNamespace(IP_VERSION=6 if ":" in host else 4), host=host,
        finish_event=threading.Event(), direction=direction, **keys)
    runner.check()
    return shlex.split(runner.command)


@pytest.mark.parametrize(("keys", "expected"), [
    ({"client": "mlab"},
     "-server 127.0.0.1:8080 -scheme ws -format json -upload=false"),
    ({"client": "mlab", "tls": True, "port": 4443},
     "-server 127.0.0.1:4443 -scheme wss -no-verify -format json -upload=false"),
    ({"client": "mlab", "early_exit": True},
     "-service-url ws://127.0.0.1:8080/ndt/v7/download?early_exit=250 -scheme ws -format json"),
    ({"client": "crate"},
     "--server 127.0.0.1:8080 --no-locate --no-tls --format json --ipv4 --no-upload"),
    ({"tls": True, "port": 4443},
     "--server 127.0.0.1:4443 --no-locate --no-verify --format json --ipv4 --no-upload"),
    ({"early_exit": True, "tls": True, "port": 4443},
     ("--service-url wss://127.0.0.1:4443/ndt/v7/download?early_exit=250 --no-verify "
      "--format json --ipv4")),
])
def test_client_is_the_one_asked_for_and_gets_its_own_words(
    mlab: Path, keys: dict[str, Any], expected: str
) -> None:
    """Whichever comes first on PATH."""
    program, *rest = words("download", **keys)
    assert (program == str(mlab)) == (keys.get("client") == "mlab")
    assert rest == expected.split()


def test_ipv6_address_without_a_name_is_refused_before_the_run(mlab: Path) -> None:
    """With what to do; M-Lab's client takes it. One with a name: tests/lab/booted."""
    with pytest.raises(RunnerCheckError, match=r"IPv6 address 2001:db8::77 itself, .* /etc/hosts"):
        words("download", "2001:db8::77")
    assert words("download", "2001:db8::77", client="mlab")[2] == "[2001:db8::77]:8080"


def test_upload_never_ends_early(mlab: Path) -> None:
    """The server offers that for downloads alone."""
    assert words("upload", early_exit=True) == words("upload")


def test_client_that_is_another_one_is_refused(mlab: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    """No run with M-Lab's client goes for one with the crate's."""
    monkeypatch.setenv("PATH", f"{mlab.parent}:{os.defpath}")
    with pytest.raises(RunnerCheckError,
                       match=r"ndt7_client=crate was requested, but .*/mlab/.* is M-Lab's client"):
        words("download", client="crate")


def test_client_that_does_not_start_tells_its_own_words(mlab: Path,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be a right one that lacks a library."""
    monkeypatch.setenv("PATH", f"{mlab.parent}:{os.defpath}")
    mlab.write_text("#!/bin/sh\necho 'libssl.so.3: cannot open' >&2; exit 127\n")
    with pytest.raises(RunnerCheckError, match=r"ends with 'libssl.so.3: cannot open'; install"):
        words("download")
    mlab.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(RunnerCheckError, match=r"of the Rust crate, and prints nothing; install"):
        words("download")


@pytest.mark.parametrize(("printed", "complained", "message"), [
    ('{"Key":"error","Value":{"Test":"download","Failure":"timed out"}}', "",
     "an error of the download with 127.0.0.1, port 8080: timed out"),
    ('{"Key":"starting","Value":{"Test":"download"}}', "dial tcp: refused\n",
     "did not complete the download: dial tcp: refused"),
    ("", "dial tcp: refused\n", "printed nothing; on standard error: dial tcp: refused"),
    ("soon", "", "is not an event of a known form: 'soon'; expected JSON as ndt7-client"),
    ('{"Key":"starting","Value":{"Test":"download"}}', "",
     "did not complete the download: its output ends with '.*download"),
    ('{"Key":"complete","Value":{"Test":"download"}}', "",
     "no byte count of the receiver, the client, so the throughput is unknown"),
])
def test_incomplete_test_tells_the_clients_own_reason(
        mlab: Path, tmp_path: Path, printed: str, complained: str, message: str) -> None:
    """An error event comes before the fact that the test isn't complete."""
    (tmp_path / "out").write_text(printed)
    (tmp_path / "err").write_text(complained)
    runner = AqmNdt7Runner(
        name="x", settings=SimpleNamespace(IP_VERSION=4), host="127.0.0.1",
        finish_event=threading.Event(), direction="download", client="mlab")
    with open(tmp_path / "out") as out, open(tmp_path / "err") as err, \
            pytest.raises((BadResult, ParseError), match=message):
        runner.read(out, err)


@pytest.mark.parametrize(("server", "parameters", "tools", "servers"), [
    ("own", {}, ("ndt7-client",), ("irtt", "ndt7-cleartext")),
    ("own", {"ndt7_tls": "yes"}, ("ndt7-client",), ("irtt", "ndt7")),
    ("mlab", {}, ("ndt7-client", "ndt-server"), ("irtt", "ndt-server-cleartext")),
    ("mlab", {"ndt7_client": "mlab", "ndt7_tls": "1"},
     ("ndt7-client-mlab", "ndt-server"), ("irtt", "ndt-server")),
])
def test_run_needs_what_its_key_and_parameters_choose(
    server: str, parameters: dict[str, object], tools: tuple[str, ...], servers: tuple[str, ...]
) -> None:
    """Nothing else is started or looked for."""
    needs = needs_of_run("ndt7", Scenario.from_settings({"ndt7_server": server}), parameters)
    assert (needs.tools, needs.servers) == (tools, servers)


def test_chosen_tool_is_found_or_named_before_the_first_run(
    mlab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line that says who asked for it."""
    assert optional_of(["iperf3", "ndt7-client-mlab"]) == {"ndt7-client-mlab": mlab}
    monkeypatch.setenv("PATH", f"{mlab.parents[1] / 'crate'}:{os.defpath}")
    with pytest.raises(ToolMissing, match="ndt7_client=mlab needs M-Lab's ndt7-client"):
        check_tools(["ndt7-client-mlab"])


def test_server_of_unknown_maker_is_refused() -> None:
    """With those that are known."""
    with pytest.raises(ConfigError, match=r"ndt7_server: unknown value 'm'; known: own, mlab"):
        Scenario.from_settings({"ndt7_server": "m"})


def test_run_with_another_server_is_another_run() -> None:
    """And comes back from the form in which tools get it."""
    assert "ndt7_server" not in Scenario().identity()
    other = Scenario().but(ndt7_server="mlab")
    assert Scenario.from_json(other.as_json()) == other
    assert other.identity() != Scenario().identity()

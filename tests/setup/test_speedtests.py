# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed tests of others: fetched once, or skipped with one line. Registries can't be relied on
in tests, so scripts stand for their clients here; what they leave behind is as the real ones do."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError, ToolMissing
from flent_aqm.base.paths import PACKAGE
from flent_aqm.setup import optional
from flent_aqm.setup.optional import find
from flent_aqm.setup.parts import all_parts
from flent_aqm.setup.speedtests import APT_WAIT_S, check_names, set_up_speedtests
from flent_aqm.tools.table import OPTIONAL, TOOLS
from flent_aqm.tools.tool import Program
from tests.files import ROOT

GO = """#!/bin/sh
echo "$@" >>{calls}
printf '#!/bin/sh\\necho -service-url\\n' >$GOBIN/any-name
chmod +x $GOBIN/any-name
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of one's own, and a PATH with a shell's programs alone."""
    for name in ("sh", "mv", "chmod", "mkdir", "echo"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).symlink_to(Path("/bin") / name)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("flent_aqm.base.paths.SYSTEM_CACHE", tmp_path / "none")
    folder = tmp_path / "flent-aqm"
    folder.mkdir()
    return folder


def program(cache: Path, name: str, text: str) -> None:
    path = cache.parent / "bin" / name
    path.write_text(text)
    path.chmod(0o755)


def test_go_program_is_built_once_and_found(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In its pinned version, under its name, by doctor too."""
    calls = cache.parent / "calls"
    program(cache, "go", GO.format(calls=calls))
    assert set_up_speedtests(["ndt7-client-go", "ndt-server"], cache) == []
    assert set_up_speedtests(["ndt7-client-go", "ndt-server"], cache) == []
    assert calls.read_text().splitlines() == [
        f"install {OPTIONAL[name].package}@{OPTIONAL[name].version}"
        for name in ("ndt7-client-go", "ndt-server")]
    built = cache / "tools" / "ndt-server-v0.25.0" / "ndt-server"
    assert (cache / "bin" / "ndt-server").resolve() == built
    assert find(OPTIONAL["ndt7-client-go"]) == cache / "bin" / "ndt7-client-mlab"
    part, = (one for one in all_parts() if one.name == "ndt-server")
    assert (part.found, part.version, part.group) == (True, "v0.25.0", "speedtest")
    assert "ndt-server: is there now" in capsys.readouterr().err


@pytest.mark.parametrize(("go", "why"), [
    ("", "needs Go 1.22 or newer, but go is not on PATH; install it, or put it on"),
    ("echo first; echo this version is not available >&2; exit 1", "this version is not available"),
    ("true", "go built 0 programs of "),
    (": >$GOBIN/one; : >$GOBIN/two", "go built 2 programs of "),
])
def test_what_cannot_be_had_is_skipped_with_one_line(
    cache: Path, capsys: pytest.CaptureFixture[str], go: str, why: str
) -> None:
    """Which says why; nothing of it is left, and the next one is tried."""
    if go:
        program(cache, "go", f"#!/bin/sh\n{go}\n")
    assert set_up_speedtests(["ethr", "librespeed-cli"], cache) == ["ethr", "librespeed-cli"]
    lines = [line for line in capsys.readouterr().err.splitlines() if "skipped" in line]
    assert [line.split(":")[0] for line in lines] == ["ethr", "librespeed-cli"]
    assert all(why in line for line in lines)
    assert not (cache / "tools").exists()
    assert not list(cache.glob("staging-*"))


@pytest.mark.parametrize("damaged", [False, True])
def test_npm_package_runs_no_script_of_its_own(cache: Path, damaged: bool) -> None:
    """It is kept whole, with its licence, and no folder of the user's is changed. A folder that
    lacks the program, as after a power cut, is replaced."""
    if damaged:
        (cache / "tools/ndt7-js-0.1.4/node_modules").mkdir(parents=True)
    program(cache, "npm", '#!/bin/sh\n[ "$2" = --ignore-scripts ] || exit 1\n'
            "mkdir -p node_modules/@m-lab/ndt7/src; echo >node_modules/@m-lab/ndt7/src/ndt7.js\n")
    assert set_up_speedtests(["ndt7-js"], cache) == []
    assert find(OPTIONAL["ndt7-js"]) == \
        cache / "tools/ndt7-js-0.1.4/node_modules/@m-lab/ndt7/src/ndt7.js"


@pytest.mark.parametrize(("name", "client", "lines", "why"), [
    ("ndt7-js", "npm", (
        "npm error code ENOSPC", "npm error syscall write", "npm error errno -28",
        "npm error nospc ENOSPC: no space left on device, write",
        "npm error A complete log of this run can be found in: /root/.npm/_logs/x.log"),
     "npm error nospc ENOSPC: no space left on device, write"),
    ("ndt7-js", "npm", (
        "npm ERR! code ETARGET", "npm ERR! notarget No matching version found for x.",
        "npm ERR! notarget In most cases you", "npm ERR! A complete log"),
     "npm ERR! notarget No matching version found for x."),
    ("nuttcp", "apt-get", (
        "Err:1 http://mirror.test nuttcp", "  404  Not Found",
        "E: Failed to fetch http://mirror.test/nuttcp.deb  404  Not Found",
        "E: Unable to fetch some archives, maybe run apt-get update"),
     ("E: Failed to fetch http://mirror.test/nuttcp.deb  404  Not Found; "
      "E: Unable to fetch some archives"))])
def test_reason_is_not_the_last_line_of_npm_and_apt(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str,
    client: str, lines: tuple[str, ...], why: str
) -> None:
    """It only says where the log is, or that something failed."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    program(cache, client, "#!/bin/sh\n" + "".join(f"echo '{line}' >&2\n" for line in lines)
            + "exit 1\n")
    monkeypatch.setattr(optional, "find_tool", lambda name: None)
    assert set_up_speedtests([name], cache) == [name]
    assert f"{name}: skipped: {why}" in capsys.readouterr().err


def test_apt_waits_for_another_one(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a start, while unattended-upgrades runs. packages.sh, which runs before any Python,
    waits as long."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    words = cache / "words"
    program(cache, "apt-get", f'#!/bin/sh\necho "$*" >{words}\n')
    monkeypatch.setattr(optional, "find_tool", lambda name: None)
    set_up_speedtests(["nuttcp"], cache)
    assert words.read_text().endswith(f" nuttcp -o DPkg::Lock::Timeout={APT_WAIT_S}\n")
    script = (ROOT / "flent_aqm" / "setup" / "packages.sh").read_text()
    assert f"\nlock_wait_s={APT_WAIT_S}\n" in script
    assert re.findall(r"apt-get install.*?\\\n(.*)", script) == [
        '        -o "DPkg::Lock::Timeout=$lock_wait_s" $names ||']


def test_debian_package_without_root_names_the_command(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is tried."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(optional, "find_tool", lambda name: None)
    assert set_up_speedtests(["nuttcp"], cache) == ["nuttcp"]
    assert ("nuttcp: skipped: needs root; run: sudo apt-get install --yes "
            "--no-install-recommends nuttcp") in capsys.readouterr().err


@pytest.mark.parametrize(("name", "who"), [
    ("udpst", ("the test obudpst needs the program udpst, which is not installed, not on PATH, or "
               "this user may not execute it; install it")),
    ("msak-client", "the test msak needs the program msak-client,"),
    ("nuttcp", ("the test nuttcp needs the program nuttcp, which is not installed, not on PATH, or "
                "this user may not execute it; run: flent-aqm setup")),
    ("bbperf", "needs the Python package bbperf, which this Python can't import; run: flent-aqm"),
    ("ndt7-js", r"needs M-Lab's ndt7\.js, which is neither on PATH nor in the cache; run: flent-"),
])
def test_missing_program_is_told_with_the_tests_that_need_it(
        name: str, who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test need not be called as its program."""
    monkeypatch.setattr(optional, "find", lambda program: None)
    with pytest.raises(ToolMissing, match=who):
        optional.optional_path(name)


def test_client_needs_no_program_of_a_server() -> None:
    """Which runs elsewhere; a program that is both is needed."""
    names = {name: [one.name for one in TOOLS[name].client_programs if isinstance(one, Program)]
             for name in ("msak", "obudpst", "cloudflare_browser")}
    assert names == {"msak": ["msak-client"], "obudpst": ["udpst"],
                     "cloudflare_browser": [one.name for one in
                                            TOOLS["cloudflare_browser"].programs
                                            if isinstance(one, Program)]}


def test_program_is_found_by_each_of_its_names(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it was installed by hand, under its own name, and not by `go install`."""
    for name, one in (("librespeed-cli", "librespeed-cli"), ("librespeed-cli", "speedtest-cli"),
                      ("goresponsiveness", "networkQuality")):
        folder = cache.parent / f"path-{one}"
        folder.mkdir()
        (folder / one).write_text("#!/bin/sh\n")
        (folder / one).chmod(0o755)
        with monkeypatch.context() as only:
            only.setenv("PATH", str(folder))
            assert find(OPTIONAL[name]) == folder / one
            part, = (part for part in all_parts() if part.name == name)
            assert part.found


def test_unknown_name_is_refused_with_the_nearest() -> None:
    """Before anything is fetched."""
    with pytest.raises(ConfigError, match=r"unknown name 'nutcp'; .*did you mean 'nuttcp'"):
        check_names(["nutcp"])


def test_set_up_of_the_readme_fetches_none() -> None:
    """Makefile and scripts don't ask for them."""
    requested = subprocess.run(["grep", "-rl", "--", "--speedtests", "Makefile", ".ci"],
                           cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert requested.stdout == ""

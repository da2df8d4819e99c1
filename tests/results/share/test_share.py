# SPDX-License-Identifier: GPL-3.0-or-later
"""Files to give away: what is taken out, what stays, and that every Flent opens them."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.cli import main
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.share import check
from flent_aqm.results.share.left_over import left_over
from flent_aqm.results.share.secrets import Secrets
from flent_aqm.sweep.replay import recorded
from flent_aqm.sweep.replay.compare import differences
from flent_aqm.tools.table import SPEED_TESTS
from tests.files import load, save

from ...bridge.conftest import Env
from .conftest import GOLDEN, KEPT, golden

# Drawing takes time, and these are of librespeed's form.
LIKE_LIBRESPEED = {*SPEED_TESTS, "ndt7_browser"} - {"librespeed"}
SECRETS = ("anna-laptop", "server.example.org", "10.1.2.3", "fe80::1234", "/home/anna",
           "52:54:00:ab:cd:ef")


def content(path: Path) -> dict[str, Any]:
    """A data file as it stands."""
    data: dict[str, Any] = load(path)
    return data


@pytest.mark.parametrize("test", [test for test in KEPT if test not in LIKE_LIBRESPEED])
def test_shared_file_opens_in_stock_flent_with_a_plot(
    test: str, stock: Env, shared: Path, tmp_path: Path
) -> None:
    """Stock Flent refuses the file as it was; it draws the shared one."""
    file = golden(test)
    plot = tmp_path / "plot.png"
    before = stock.flent("-f", "summary", file)
    assert "Error loading test" in before.err
    ended = stock.flent("-f", "plot", "-o", plot, shared / file.name)
    assert (ended.status, "ERROR" in ended.err, "Traceback" in ended.err) == (0, False, False)
    assert plot.stat().st_size > 10_000
    shown = stock.flent("-f", "summary", shared / file.name).out
    assert "TCP" in shown or test == "speedtest_idle"
    assert "Ping" in shown
    assert ended.err.count("\n") <= 1  # that Flent starts


@pytest.mark.parametrize("test", KEPT)
def test_shared_file_has_its_own_test_here_and_can_be_replayed(
    test: str, shared: Path, tmp_path: Path
) -> None:
    """Whoever has this package sees no difference, and the run can be made again if it
    could before."""
    file = shared / f"{test}.flent.gz"
    read = read_data_file(file)
    assert content(file)["metadata"]["NAME"] != test
    assert read.metadata["NAME"] == test
    assert differences(read.whole, read_data_file(golden(test)).whole) == []
    if "run" in read.metadata["AQM"]:
        assert recorded.read(file, tmp_path).cell.test_name == test


def test_names_and_addresses_are_taken_out_and_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever they stand; the samples and settings stay."""
    whole = content(GOLDEN / "ndt7.flent.gz")
    whole["metadata"] |= {
        "LOCAL_HOST": "anna-laptop", "HOST": "server.example.org",
        "HOSTS": ["server.example.org"], "NOTE": "by 10.1.2.3 and fe80::1234, 192.0.2.2",
        "EGRESS_INFO": {"src": "10.1.2.3", "iface": "eth0"}, "ENVIRONMENT": {"USER": "anna"}}
    whole["metadata"]["SERIES_META"]["TCP upload"]["COMMAND"] = (
        "/home/anna/bin/ndt7 -s server.example.org:80 52:54:00:ab:cd:ef")
    file = tmp_path / "own.flent.gz"
    save(file, whole)
    assert main(["share", str(file), "-o", str(tmp_path / "out")]) == 0
    shared = content(tmp_path / "out" / file.name)
    text = json.dumps(shared)
    assert [secret for secret in SECRETS if secret in text] == []
    assert "anna" not in text
    assert "192.0.2.2" in shared["metadata"]["NOTE"]
    assert shared["raw_values"] == whole["raw_values"]
    assert shared["metadata"]["AQM"]["requested"] == whole["metadata"]["AQM"]["requested"]
    output = capsys.readouterr().out
    assert all(key in output for key in ("LOCAL_HOST", "EGRESS_INFO", "ENVIRONMENT", "COMMAND"))


def test_words_that_no_pattern_finds_are_shown_to_be_read(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names of people and telephone numbers stay in the user's own words, and the command says so
    with these words, once for each copy. Without such words it says nothing of them."""
    whole = content(GOLDEN / "ndt7.flent.gz")
    words = {"TITLE": "Anna Berg at home", "NOTE": "call 030 5550123 for 10.1.2.3",
             "BATCH_NAME": "berg", "BATCH_TITLE": "Line of the Bergs"}
    mine = packed(tmp_path / "mine.flent.gz", {
        **whole, "metadata": {**whole["metadata"], **words}})
    bare = {key: value for key, value in whole["metadata"].items() if key not in words}
    other = packed(tmp_path / "other.flent.gz", {**whole, "metadata": {**bare, "TITLE": ""}})
    assert main(["share", str(mine), str(other), "-o", str(tmp_path / "out")]) == 0
    kept = content(tmp_path / "out" / mine.name)["metadata"]
    assert (kept["TITLE"], kept["BATCH_NAME"]) == (words["TITLE"], words["BATCH_NAME"])
    assert "030 5550123" in kept["NOTE"]
    assert "10.1.2.3" not in kept["NOTE"]
    line, = [line for line in capsys.readouterr().out.splitlines() if "your words" in line]
    assert "names of people and telephone numbers are not found" in line
    assert [key for key in words if f"{key} {kept[key]!r}" not in line] == []


ROUTERS = ("ssh://root@192.168.7.9", "ssh://anna@turris.anna-home.example:2222",
           "ssh://[fd12::9]", "ssh://root@office-router")


def host_of(address: str) -> str:
    """A router's name or address alone."""
    return address.rpartition("@")[2].removeprefix("ssh://").split(":2222")[0].strip("[]")


@pytest.fixture(scope="module")
def by_router(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict[str, Any], str]]:
    """Router's address -> the shared file of a run over it, and what share said of that."""
    top = tmp_path_factory.mktemp("routers")
    files = []
    for number, address in enumerate(ROUTERS):
        host = host_of(address)
        whole = content(GOLDEN / "ndt7.flent.gz")
        aqm = whole["metadata"]["AQM"]
        aqm |= {"testbed": address, "warnings": [f"{host} is slow", f"by {address}, twice"]}
        aqm["requested"] |= {"testbed": address, "server_testbed": address}
        aqm["run"] = {"test": "ndt7", "commands": "router",
                      "settings": {"HOSTS": ["10.9.8.7"], "LENGTH": 10}}
        files.append(packed(top / f"own{number}.flent.gz", whole))
    with redirect_stdout(io.StringIO()) as output:
        assert main(["share", *map(str, files), "-o", str(top / "out")]) == 0
    made = [top / "out" / file.name for file in files]
    told = lines_about(output.getvalue())
    return {address: (content(file), told[str(file)])
            for address, file in zip(ROUTERS, made, strict=True)}


def lines_about(output: str) -> dict[str, str]:
    """Name of a copy -> the lines about it. Copies with the same lines stand above them."""
    about: dict[str, str] = {}
    for names, lines in re.findall(r"((?:^\S.*\n)+)((?:^ .*\n)+)", output, re.MULTILINE):
        about |= dict.fromkeys(names.splitlines(), lines)
    return about


def test_what_is_the_same_of_several_copies_is_told_once(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sweep of 96 runs filled the terminal with one line."""
    files = []
    for name, title in (("a", "cake"), ("b", "other"), ("c", "codel")):
        whole = content(GOLDEN / "ndt7.flent.gz")
        if name == "b":
            del whole["metadata"]["EGRESS_INFO"]
        whole["metadata"]["TITLE"] = title
        files.append(packed(tmp_path / f"{name}.flent.gz", whole))
    assert main(["share", *map(str, files), "-o", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    names = [Path(line).name for line in shown.splitlines() if not line.startswith(" ")]
    assert names == ["a.flent.gz", "c.flent.gz", "b.flent.gz"]
    about = {Path(name).name: lines for name, lines in lines_about(shown).items()}
    assert about["a.flent.gz"] == about["c.flent.gz"] != about["b.flent.gz"]
    assert about["a.flent.gz"].count("\n") == 2
    assert about["a.flent.gz"].endswith("not found: TITLE 'cake', TITLE 'codel'\n")


@pytest.mark.parametrize("address", ROUTERS)
def test_address_of_a_router_is_taken_out_wherever_it_stands(
    address: str, by_router: dict[str, tuple[dict[str, Any], str]]
) -> None:
    """In what was asked for, in what decides the run, in texts, by name alone as well."""
    shared, output = by_router[address]
    text = json.dumps(shared["metadata"])
    assert [word for word in (host_of(address), address, "10.9.8.7", "anna") if word in text] == []
    kept = shared["metadata"]["AQM"]["requested"]
    assert kept["testbed"] == "ssh://root@router"
    assert (kept["aqm"], kept["rate_down_mbps"]) == ("fq_codel", 50)
    assert "AQM.requested.testbed: router's address" in output


def test_file_that_is_there_is_not_overwritten(tmp_path: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    """Sharing into the file's own folder would replace it."""
    file = tmp_path / "run.flent.gz"
    file.write_bytes((GOLDEN / "ndt7.flent.gz").read_bytes())
    assert main(["share", str(file), "-o", str(tmp_path)]) == 1
    assert capsys.readouterr().err.endswith("flent-aqm: 1 of 1 file not shared\n")
    assert file.read_bytes() == (GOLDEN / "ndt7.flent.gz").read_bytes()


def packed(path: Path, whole: dict[str, Any]) -> Path:
    """A data file with that content."""
    save(path, whole)
    return path


def test_hosts_are_taken_out_of_names_of_series_parameters_and_files(tmp_path: Path) -> None:
    """In every form: alone, in capitals, between hyphens, with another domain; one host has
    one name afterwards, so that parameters still tell of their series."""
    whole = content(GOLDEN / "stock_ping.flent.gz")
    series = {"Ping (ms) ICMP 10.77.1.2 (extra)": "10.77.1.2",
              "Ping (ms) ICMP gw.anna.example (extra)": "gw.anna.example",
              "Ping (ms) ICMP fd00:5::1 (extra)": "fd00:5::1"}
    for part in (whole["raw_values"], whole["results"], whole["metadata"]["SERIES_META"]):
        part |= dict.fromkeys(series, part["Ping (ms) ICMP"])
    whole["raw_values"]["Ping (ms) UDP"] = [
        {**one, "from": "10.77.1.2"} for one in whole["raw_values"]["Ping (ms) ICMP"]]
    whole["metadata"] |= {
        "LOCAL_HOST": "Anna-Laptop", "HOST": "srv7.anna.example", "HOSTS": ["srv7.anna.example"],
        "TEST_PARAMETERS": {"ping_hosts": ",".join(series.values()), "srv7": "1"},
        "NOTE": "SRV7-to-anna-laptop, ANNA-LAPTOP.fritz.box, annas, via root@srv7 and "
                "other.anna.example:443, 10.77.1.2:80 [10.77.1.2] 10.8.8.8, ::ffff:10.77.1.2, "
                "52-54-00-AB-CD-EF 5254.00ab.cdef",
        "DATA_FILENAME": "ping-anna_laptop-10_77_1_2.flent.gz"}
    file = packed(tmp_path / "ping-2026-srv7_anna_example-10_77_1_2-ANNA-LAPTOP.flent.gz", whole)
    assert main(["share", str(file), "-o", str(tmp_path / "out")]) == 0
    made, = (tmp_path / "out").iterdir()
    text = (made.name + json.dumps(content(made))).lower()
    assert [word for word in ("srv7", "anna", "laptop", "10.77", "10_77", "10.8.8", "fd00",
                              "ab-cd", "00ab", "gw.") if word in text.replace("annas", "")] == []
    metadata = content(made)["metadata"]
    hosts = metadata["TEST_PARAMETERS"]["ping_hosts"].split(",")
    assert len(set(hosts)) == 3
    assert {f"Ping (ms) ICMP {host} (extra)" for host in hosts} <= metadata["SERIES_META"].keys()
    assert {f"Ping (ms) ICMP {host} (extra)" for host in hosts} <= content(made)["results"].keys()


def test_left_over_sees_what_the_cleaning_would_miss() -> None:
    """The check looks for the same things in another way."""
    assert left_over({"anna"}, (), {"a": ["x", {"by-Anna": 1}]}) == "Anna"
    assert left_over({"anna"}, (), ["annas", "1.2"]) == ""
    assert left_over((), (), [{"a": "at 10.1.2.3, not 192.0.2.1"}]) == "10.1.2.3"


def test_file_in_which_something_is_left_is_not_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cleaning with a hole in it, in place of the real one: the result is looked at, too."""
    monkeypatch.setattr(Secrets, "clean", lambda *args, **options: (args[1], ""))
    whole = content(GOLDEN / "stock_ping.flent.gz")
    whole["metadata"]["NOTE"] = "at 10.1.2.3"
    file = packed(tmp_path / "a.flent.gz", whole)
    assert main(["share", str(file), "-o", str(tmp_path / "out")]) == 1
    assert "10.1.2.3" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []


def test_file_that_stock_flent_cant_draw_is_not_shared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A title that matplotlib takes for a formula; the other files are shared."""
    whole = content(GOLDEN / "stock_ping.flent.gz")
    whole["metadata"]["TITLE"] = r"$\frac{$"
    files = [packed(tmp_path / "a.flent.gz", whole), GOLDEN / "ndt7.flent.gz"]
    assert main(["share", *map(str, files), "-o", str(tmp_path / "out")]) == 1
    output = capsys.readouterr().err
    assert "Flent can't open and plot it: ValueError" in output
    assert output.count("\n") == 2
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["ndt7.flent.gz"]


def test_file_is_shared_under_a_limit_of_processor_time(tmp_path: Path) -> None:
    """Only root may raise a hard limit."""
    program = Path(sys.executable).with_name("flent-aqm")
    done = subprocess.run(
        ["sh", "-c", 'ulimit -t 300; exec "$@"', "sh", program, "share", golden("ndt7"), "-o",
         tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ndt7.flent.gz").is_file()


@pytest.mark.parametrize("key", ["TITLE", "HOST", "LOCAL_HOST"])
def test_text_that_flent_draws_for_minutes_is_refused(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Letters of a plot cost stock Flent time and memory each."""
    whole = content(GOLDEN / "stock_ping.flent.gz")
    whole["metadata"][key] = "a." * 501
    file = packed(tmp_path / "a.flent.gz", whole)
    assert main(["share", str(file), "-o", str(tmp_path / "out")]) == 1
    assert f"its {key} has 1,002 characters, more than 1,000" in capsys.readouterr().err
    assert not list((tmp_path / "out").glob("*"))


def test_flent_that_does_not_return_from_drawing_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call of C that takes minutes, and that no signal's handler interrupts. When it has
    returned by itself, Flent's words are others. Files behind it are opened."""
    monkeypatch.setattr(check, "START_S", 10_000)
    monkeypatch.setattr(check, "GRACE_S", 1)
    whole = content(GOLDEN / "stock_ping.flent.gz")
    whole["metadata"]["TITLE"] = "a" * 3_000_000
    file = packed(tmp_path / "a.flent.gz", whole)
    others = [GOLDEN / f"{name}.flent.gz" for name in ("stock_ping", "stock_rrul")]
    refused = check.open_all([others[0], file, others[1]])
    assert list(refused) == [file]
    assert re.fullmatch(r"Flent can't open and plot it: it takes more than \S+ s of processor "
                        "time, the limit for its size on this machine", refused[file])


def test_flent_that_does_not_start_is_not_said_to_take_too_long(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/ls")  # refuses its options
    (why,) = check.open_all([GOLDEN / "stock_ping.flent.gz"]).values()
    assert why.startswith("Flent can't open and plot it: Flent ended before it came to this file: ")
    assert "too long" not in why


def test_folder_with_a_damaged_file_is_shared_without_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As other commands do; files of one name in two folders get a name each."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.flent.gz").write_bytes((GOLDEN / "ndt7.flent.gz").read_bytes())
    (tmp_path / "a" / "bad.flent.gz").write_bytes(b"none")
    assert main(["share", str(tmp_path), "-o", str(tmp_path / "out")]) == 1
    assert "bad.flent.gz: damaged" in capsys.readouterr().err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "x-2.flent.gz", "x.flent.gz"]


def test_copies_are_made_where_there_are_no_hard_links(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on memory sticks, whose file system Linux lets refuse them as not permitted."""
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    assert main(["share", str(golden("ndt7")), "-o", str(tmp_path / "out")]) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == [golden("ndt7").name]


def test_output_that_is_no_folder_is_told_of(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link that leads nowhere is no file either. A fault elsewhere is told with its place."""
    out = tmp_path / "out"
    for target in (__file__, "/no/such/folder"):
        out.symlink_to(target)
        assert main(["share", str(golden("ndt7")), "-o", str(out)]) == 1
        assert f"{out}: is no folder; expected a folder" in capsys.readouterr().err
        out.unlink()
    out.touch()
    assert main(["share", str(golden("ndt7")), "-o", f"{out}/below"]) == 1
    assert f"can't make the copies: {out}/below: Not a directory" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--publish"]])
def test_folder_that_takes_no_file_is_named_without_the_temporary_one(
        more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The user knows nothing of that, and has to name another."""
    output = "/proc/out" if more else "/proc"
    assert main(["share", str(golden("ndt7")), "-o", output, *more]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "flent-aqm: can't make the copies: /proc: No such file or directory; name another folder "
        "with -o")

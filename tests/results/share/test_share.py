# SPDX-License-Identifier: GPL-3.0-or-later
"""Files to give away: what is taken out, what stays, and that every Flent opens them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.cli import main
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.share.strip import STORED_AS
from flent_aqm.sweep.replay import recorded
from flent_aqm.sweep.replay.compare import differences

from ...bridge.conftest import Env

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "runs"
SECRETS = ("anna-laptop", "server.example.org", "10.1.2.3", "fe80::1234", "/home/anna",
           "52:54:00:ab:cd:ef")


def content(path: Path) -> dict[str, Any]:
    """A data file as it stands."""
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found


@pytest.mark.parametrize("test", STORED_AS)
def test_shared_file_opens_in_stock_flent_with_a_plot(
    test: str, stock: Env, tmp_path: Path
) -> None:
    """Stock Flent refuses the file as it was; it draws the shared one."""
    file = GOLDEN / f"{test}.flent.gz"
    assert main(["share", str(file), "-o", str(tmp_path)]) == 0
    plot = tmp_path / "plot.png"
    before = stock.run("flent", "-f", "summary", file)
    assert "Error loading test" in before.err
    ended = stock.run("flent", "-p", "totals", "-o", plot, tmp_path / file.name)
    assert "ERROR" not in ended.err
    assert plot.stat().st_size > 10_000
    shown = stock.run("flent", "-f", "summary", tmp_path / file.name).out
    assert "TCP" in shown
    assert "Ping" in shown


def test_shared_file_has_its_own_test_here_and_can_be_replayed(tmp_path: Path) -> None:
    """Whoever has this package sees no difference, and the run can be made again if it
    could before."""
    file = GOLDEN / "ndt7.flent.gz"
    assert main(["share", str(file), "-o", str(tmp_path)]) == 0
    shared = read_data_file(tmp_path / file.name)
    assert content(tmp_path / file.name)["metadata"]["NAME"] == "tcp_bidirectional"
    assert shared.metadata["NAME"] == "ndt7"
    found = [one for one in differences(read_data_file(file).whole, shared.whole)
             if not one.where.startswith(("EGRESS_INFO", "REMOTE", "GATEWAYS", "IP_ADDRS"))]
    assert found == []
    if "run" in shared.metadata["AQM"]:
        assert recorded.read(tmp_path / file.name, tmp_path).cell.test_name == "ndt7"


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
    file.write_bytes(gzip.compress(json.dumps(whole).encode()))
    assert main(["share", str(file), "-o", str(tmp_path / "out")]) == 0
    shared = content(tmp_path / "out" / file.name)
    text = json.dumps(shared)
    assert [secret for secret in SECRETS if secret in text] == []
    assert "anna" not in text
    assert "192.0.2.2" in shared["metadata"]["NOTE"]
    assert shared["raw_values"] == whole["raw_values"]
    assert shared["metadata"]["AQM"]["requested"] == whole["metadata"]["AQM"]["requested"]
    said = capsys.readouterr().out
    assert all(key in said for key in ("LOCAL_HOST", "EGRESS_INFO", "ENVIRONMENT", "COMMAND"))


@pytest.mark.parametrize("address", [
    "ssh://root@192.168.7.9", "ssh://anna@turris.anna-home.example:2222", "ssh://[fd12::9]",
    "ssh://root@office-router"])
def test_address_of_a_router_is_taken_out_wherever_it_stands(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In what was asked for, in what decides the run, in texts, by name alone as well."""
    host = address.rpartition("@")[2].removeprefix("ssh://").split(":2222")[0].strip("[]")
    whole = content(GOLDEN / "ndt7.flent.gz")
    aqm = whole["metadata"]["AQM"]
    aqm |= {"testbed": address, "warnings": [f"{host} is slow", f"by {address}, twice"]}
    aqm["requested"] |= {"testbed": address, "server_testbed": address}
    aqm["run"] = {"test": "ndt7", "commands": "router",
                  "settings": {"HOSTS": ["10.9.8.7"], "LENGTH": 10}}
    file = tmp_path / "own.flent.gz"
    file.write_bytes(gzip.compress(json.dumps(whole).encode()))
    assert main(["share", str(file), "-o", str(tmp_path / "out")]) == 0
    shared = content(tmp_path / "out" / file.name)
    text = json.dumps(shared["metadata"])
    assert [word for word in (host, address, "10.9.8.7", "anna") if word in text] == []
    kept = shared["metadata"]["AQM"]["requested"]
    assert kept["testbed"] == "ssh://root@router"
    assert (kept["aqm"], kept["rate_down_mbps"]) == ("fq_codel", 50)
    assert "AQM.requested.testbed: router's address" in capsys.readouterr().out


def test_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    """Sharing into the file's own folder would replace it."""
    file = tmp_path / "run.flent.gz"
    file.write_bytes((GOLDEN / "ndt7.flent.gz").read_bytes())
    assert main(["share", str(file), "-o", str(tmp_path)]) == 1
    assert file.read_bytes() == (GOLDEN / "ndt7.flent.gz").read_bytes()

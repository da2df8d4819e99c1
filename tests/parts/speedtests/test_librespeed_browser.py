# SPDX-License-Identifier: GPL-3.0-or-later
"""LibreSpeed's page in Chromium, over loopback.

Its script is LibreSpeed's where FLENT_AQM_LIBRESPEED names a copy. Else one stands in for it, that
asks the server for as much as the other does, and tells as it does: no registry has LibreSpeed's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from flent_aqm.base.errors import BadResult, ToolMissing
from flent_aqm.base.shell import find_program
from flent_aqm.measure.chromium import show
from flent_aqm.parts.speedtests.librespeed import BROWSER
from flent_aqm.parts.speedtests.librespeed_browser import PageReport
from flent_aqm.setup.optional import find, optional_path
from flent_aqm.tools.report import ClientReport, read_report
from flent_aqm.tools.table import PROGRAMS

from ...warm_flent import run_flent_aqm

WORKER = PROGRAMS["speedtest_worker.js"]
STAND_IN = """
let state = {testState: -1, dlStatus: '', ulStatus: '', pingStatus: '', jitterStatus: ''};
async function run(settings) {
  state.testState = 2;
  await fetch(settings.url_ping);
  state.pingStatus = '1.50'; state.jitterStatus = '0.25';
  state.testState = 1;
  const got = (await (await fetch(settings.url_dl + '?ckSize=2')).arrayBuffer()).byteLength;
  state.dlStatus = (got / 1e6).toFixed(2);
  await new Promise((done) => setTimeout(done, 500));
  state.testState = 3;
  await fetch(settings.url_ul, {method: 'POST', body: new Blob([new Uint8Array(1000)]),
                                headers: {'Content-Encoding': 'identity'}});
  state.ulStatus = '7.00';
  await new Promise((done) => setTimeout(done, 500));
  state.testState = 4;
}
onmessage = (event) => {
  if (event.data === 'status') postMessage(JSON.stringify(state));
  else run(JSON.parse(event.data.substring(6)));
};
"""


def test_browser_that_ends_by_itself_is_named(tmp_path: Path) -> None:
    """It isn't the script that took too long."""
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\nexit 127\n")
    program.chmod(0o755)
    with pytest.raises(BadResult, match=rf"^{program} ended with status 127 before its page had "):
        show(str(program), "", {}, {}, lambda body: None, patience_s=1)


def test_page_tells_what_its_script_shows(port: int, tmp_path: Path) -> None:
    """As a report like that of our client by its method; requests reach the server as those of a
    page of its own would, without another one before them."""
    worker = find(WORKER)
    if worker is None:
        worker = tmp_path / "speedtest_worker.js"
        worker.write_text(STAND_IN)
    done = subprocess.run(
        [sys.executable, "-P", "-m", BROWSER.module, "host=127.0.0.1", f"port={port}",
         f"program={find_program('chromium')}", f"program={worker}"],
        capture_output=True, text=True, check=False, timeout=150)
    assert done.returncode == 0, done.stderr
    by_direction = read_report(done.stdout, BROWSER)
    numbers = by_direction["download"][2]["SPEEDTEST"]["numbers"]
    if find(WORKER) is None:
        assert numbers == {"download_mbps": 2.1, "upload_mbps": 7, "ping_ms": 1.5,
                           "jitter_ms": 0.25}
    assert set(numbers) == {"download_mbps", "upload_mbps", "ping_ms", "jitter_ms"}
    for way in ("download", "upload"):
        series, raw, meta = by_direction[way]
        assert meta["MEAN_VALUE"] == numbers[f"{way}_mbps"]
        assert series[-1][1] == pytest.approx(numbers[f"{way}_mbps"], rel=0.01)
        assert meta["LOAD_START"] < raw[0]["t"] <= raw[-1]["t"] <= meta["LOAD_END"]


@pytest.mark.lab
@pytest.mark.parametrize("words", [(), ("--delay", "10")], ids=["", "10 ms"])
def test_page_ends_beside_irtt_in_the_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """It hung at 100 Mbit/s: Chromium never loaded a worker that was made too early."""
    if find(WORKER) is None:
        (tmp_path / "speedtest_worker.js").write_text(STAND_IN)
        monkeypatch.setenv("FLENT_AQM_LIBRESPEED", str(tmp_path))
    done = run_flent_aqm("lab", "--rate", "100", *words, "--", "flent", "librespeed_browser",
                         "-H", "server", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "still ran after" not in done.stderr
    assert len(list(tmp_path.glob("librespeed_browser-*.flent.gz"))) == 1
    assert "No data" not in next(line for line in done.stdout.splitlines()
                                 if line.startswith(" TCP download"))


def test_test_that_failed_is_no_result() -> None:
    """The page shows "Fail" in the place of a number, or nothing if it was aborted."""
    heard = PageReport(ClientReport("librespeed_browser"))
    state = {"testState": 4, "dlStatus": "9.00", "ulStatus": "Fail", "pingStatus": "1.00",
             "jitterStatus": "0.00", "at_ms": 1000}
    heard.take(json.dumps(state).encode())
    with pytest.raises(BadResult, match="ended with 'Fail' as upload_mbps; expected a number"):
        heard.conclude()


def test_copy_is_found_in_the_folder_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And asked for by the variable's name where there is none."""
    monkeypatch.delenv("FLENT_AQM_LIBRESPEED", raising=False)
    with pytest.raises(ToolMissing, match=(
            r"FLENT_AQM_LIBRESPEED is not set; set it to that folder, or leave that test or "
            "setting out$")):
        optional_path("speedtest_worker.js")
    monkeypatch.setenv("FLENT_AQM_LIBRESPEED", str(tmp_path / "none"))
    with pytest.raises(ToolMissing, match=r"none', and speedtest_worker.js is not there; set it"):
        optional_path("speedtest_worker.js")
    worker = tmp_path / "speedtest_worker.js"
    worker.write_text("")
    monkeypatch.setenv("FLENT_AQM_LIBRESPEED", str(tmp_path))
    assert optional_path("speedtest_worker.js") == worker

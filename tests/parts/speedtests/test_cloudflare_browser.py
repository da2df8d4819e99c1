# SPDX-License-Identifier: GPL-3.0-or-later
"""Cloudflare's engine in Chromium, over loopback.

Its script is npm's where set-up has fetched it. Else one stands in for it, that asks the server as
the other does, and reads the times of its requests from the browser.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.base.shell import find_program
from flent_aqm.parts.speedtests.cloudflare import BROWSER
from flent_aqm.parts.speedtests.cloudflare_browser import fill, measurements
from flent_aqm.setup.optional import find
from flent_aqm.tools.report import ClientReport, read_report
from flent_aqm.tools.table import PROGRAMS

STAND_IN = """
export default class {
  constructor(config) { this.config = config; }
  async timed(url, options) {
    await (await fetch(url, options)).text();
    const entry = performance.getEntriesByName(url).slice(-1)[0];
    // Both are hidden from a page of another origin unless the server allows it.
    if (!(entry.responseStart > 0)) throw new Error('times are hidden');
    return {ping: entry.responseStart - entry.requestStart, measTime: new Date(),
            duration: entry.responseEnd - entry.requestStart, protocol: entry.nextHopProtocol};
  }
  async run() {
    const down = this.config.downloadApiUrl, up = this.config.uploadApiUrl;
    const latency = await this.timed(down + '&bytes=0');
    const first = await this.timed(down + '&bytes=100000');
    const second = await this.timed(up + '?bytes=5', {method: 'POST', body: 'aaaaa'});
    if (down.startsWith('https') && first.protocol !== 'h2') throw new Error(first.protocol);
    const raw = {latency: {results: {timings: [latency]}},
                 download: {results: {100000: {timings: [first], sideLatency: [latency]}}},
                 upload: {results: {5: {timings: [second]}}}};
    this.onFinish({raw, getSummary: () => ({
      download: 8e6, upload: 2e6, latency: latency.ping, jitter: 0})});
  }
  play() { this.run().catch((fault) => this.onError(String(fault))); }
}
"""


@pytest.mark.parametrize("tls", [True, False], ids=["TLS", "cleartext"])
def test_page_of_another_origin_measures_our_server(
    ports: tuple[int, int], tmp_path: Path, tls: bool
) -> None:
    """HTTP/2 gave such a page no answer, and HTTP/1.1 no times."""
    script = tmp_path / "speedtest.js"
    script.write_text(STAND_IN)
    done = subprocess.run(
        [sys.executable, "-P", "-m", BROWSER.module, "host=127.0.0.1", f"port={ports[tls]}",
         *(["tls=yes"] if tls else []), f"program={find_program('chromium')}",
         f"program={script}"],
        capture_output=True, text=True, check=False, timeout=150)
    assert done.returncode == 0, done.stderr
    by_direction = read_report(done.stdout, BROWSER)
    assert by_direction["download"][2]["MEAN_VALUE"] == 8
    assert by_direction["upload"][2]["MEAN_VALUE"] == 2
    for way in ("download", "upload"):
        _, raw, meta = by_direction[way]
        assert meta["LOAD_START"] < meta["LOAD_END"] == pytest.approx(
            max(one["t"] for one in raw if "val" in one))
    assert any("ping_ms" in one for one in by_direction["download"][1])


def test_measurements_are_the_defaults_of_the_real_engine() -> None:
    """Without packet loss; where set-up has fetched it."""
    script = find(PROGRAMS["cloudflare-speedtest.js"])
    node = find_program("node")
    if script is None or node is None:
        pytest.skip("needs npm's @cloudflare/speedtest, and node")
    text = script.read_text()
    begin = text.index("measurements: [") + len("measurements: ")
    code = f"console.log(JSON.stringify({text[begin:text.index('],', begin) + 1]}))"
    printed = subprocess.run([str(node), "-e", code], capture_output=True, text=True,
                             check=True).stdout
    assert [one for one in json.loads(printed) if one["type"] != "packetLoss"] == measurements()


def test_page_that_failed_is_no_result() -> None:
    """Its own words say why."""
    with pytest.raises(BadResult, match="came to no result: Connection failed"):
        fill(ClientReport("x"), {"fault": "Connection failed to https://x."})


def test_summary_without_measurements_is_no_result() -> None:
    """It names the measurements that the page didn't send, and the engine's error if there is
    one."""
    whole = {"results": {"1": {"timings": [{"ping": 1.0}]}}}
    results = {"summary": {"download": 8e6}, "raw": {"download": whole}}
    with pytest.raises(BadResult, match=r"no measurements of latency and upload; it reported no "
                                        r"error: run the test again$"):
        fill(ClientReport("x"), results)
    with pytest.raises(BadResult, match=r"latency and upload; its error: Connection failed$"):
        fill(ClientReport("x"), {**results, "fault": "Connection failed"})


@pytest.mark.parametrize("results", [
    {"x": 1}, {"1": {"timings": [{"ping": 1.0}]}}, {"1": {"timings": 5}}, {"1": []}, [1],
    {"a": {"timings": [{"ping": 1.0, "duration": 5, "measTime": "2026-01-01T00:00:00Z"}]}}])
def test_measurements_of_another_form_are_no_result(results: object) -> None:
    """Of a later version of the engine."""
    raw = {name: {"results": results} for name in ("latency", "download", "upload")}
    with pytest.raises(BadResult, match="measurements of another form than expected"):
        fill(ClientReport("x"), {"summary": {}, "raw": raw})

# SPDX-License-Identifier: GPL-3.0-or-later
"""Cloudflare's own speed test engine in headless Chromium, against this package's server.

The engine is npm's @cloudflare/speedtest, unmodified. The page uses the engine's defaults with two
exceptions: it requests that the server leave as little unsent as Cloudflare's servers do, and it
doesn't measure packet loss, which would need a TURN server. The report is like that of
cloudflare_client.py.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import BadResult, cause_of
from flent_aqm.base.json_text import json_text
from flent_aqm.measure.chromium import show
from flent_aqm.parts.speedtests.cloudflare_client import LATENCY, SEQUENCE, UNSENT
from flent_aqm.tools.client import Call, main
from flent_aqm.tools.report import ClientReport

END_S = 240.0
# Number in the report -> its name in the engine's summary, and a factor for the unit.
_NUMBERS = {
    "download_mbps": ("download", 1e-6), "upload_mbps": ("upload", 1e-6),
    "latency_ms": ("latency", 1), "jitter_ms": ("jitter", 1),
    "loaded_latency_download_ms": ("downLoadedLatency", 1),
    "loaded_latency_upload_ms": ("upLoadedLatency", 1),
    "loaded_jitter_download_ms": ("downLoadedJitter", 1),
    "loaded_jitter_upload_ms": ("upLoadedJitter", 1)}
# The page starts a second after it has loaded: see librespeed_browser.py.
PAGE = """<!DOCTYPE html>
<meta charset="utf-8">
<title>Cloudflare</title>
<script type="module">
import SpeedTest from './speedtest.js';
const server = new URLSearchParams(location.search).get('server');
let last = Promise.resolve();
function send(path, body) {
  last = last.then(() => fetch(path, {method: 'POST', body: body}));
}
function start() {
  const engine = new SpeedTest({
    autoStart: false, downloadApiUrl: server + '/__down?unsent=UNSENT',
    uploadApiUrl: server + '/__up', logAimApiUrl: null, measurements: MEASUREMENTS});
  engine.onFinish = (results) => {
    send('told', JSON.stringify({summary: results.getSummary(), raw: results.raw}));
    send('end', '');
  };
  engine.onError = (fault) => {
    send('told', JSON.stringify({fault: String(fault)}));
    send('end', '');
  };
  engine.play();
}
addEventListener('load', () => setTimeout(start, 1000));
</script>
"""


def measurements() -> list[dict[str, object]]:
    """Return the engine's default list of measurements, without packet loss: {"type": "latency",
    "numPackets": N}, or {"type": "download" or "upload", "bytes": B, "count": N}. The first
    download also has "bypassMinDuration". cloudflare_client.py follows the same list."""
    entries: list[dict[str, object]] = []
    for what, count, size in SEQUENCE:
        entries.append({"type": what, "numPackets": count} if what == LATENCY else
                       {"type": what, "bytes": size, "count": count})
    entries[1]["bypassMinDuration"] = True
    return entries


def fill(report: ClientReport, results: Mapping[str, Any]) -> None:
    """Fill the report with the engine's results: the numbers of its summary as far as they are
    there, rates and latencies of each direction, and latencies of the idle line.

    Args:
        report: the report to fill.
        results: the object that the page sent: `summary` and `raw`, or `fault`, or all of these.
            Beside complete results, `fault` is ignored.

    Raises BadResult if the results have no summary or another form, or lack measurements of the
    latency or of a direction, or the throughput of a direction.
    """
    error = results.get("fault")
    if "summary" not in results:
        raise BadResult("Cloudflare's engine came to no result: "
                        f"{error or 'its page sent neither results nor an error'}")
    try:
        _fill_numbers(report, results)
    except BadResult as fault:
        # After an error, the engine may have a summary of what it has measured before.
        raise BadResult(f"{fault}; " + (f"its error: {error}" if error else
                        "it reported no error: run the test again")) from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as fault:
        raise BadResult("Cloudflare's engine sent measurements of another form than expected "
                        f"({cause_of(fault)})") from None


def _fill_numbers(report: ClientReport, results: Mapping[str, Any]) -> None:
    """Fill the report with the engine's `summary` and `raw` measurements; `results` is that of
    fill(), with a summary. Raises BadResult if measurements of the idle latency or of a direction,
    or a direction's throughput, are missing, and LookupError, TypeError, ValueError, AttributeError
    or ArithmeticError if they have another form. Other missing numbers of the summary are left out.
    """
    raw = results.get("raw") or {}
    lacks = [name for name in ("latency", "download", "upload")
             if not (raw.get(name) or {}).get("results")]
    if lacks:
        raise BadResult("Cloudflare's engine has a summary, but its page sent no measurements of "
                        f"{' and '.join(lacks)}")
    epoch_s = time.time() - time.monotonic()
    for number, (name, factor) in _NUMBERS.items():
        value = results["summary"].get(name)
        if value is not None:
            report.numbers[number] = float(value) * factor
    for direction in ("download", "upload"):
        sizes = raw[direction]["results"]
        load = report.load(direction)
        for end_s, timing, size in sorted((
                (_measured_at_s(timing) - epoch_s, timing, int(size))
                for size, each in sizes.items() for timing in each["timings"]),
                key=lambda entry: entry[0]):
            length_s = timing["duration"] / 1000
            load.begin(end_s - length_s)
            load.rates.append((end_s, length_s, size))
            load.end_s = end_s
        for timing in _sorted_timings(each.get("sideLatency") or [] for each in sizes.values()):
            load.probe("ping_ms", _measured_at_s(timing) - epoch_s - timing["ping"] / 1000,
                       timing["ping"])
        if not load.rates or f"{direction}_mbps" not in report.numbers:
            raise BadResult(f"Cloudflare's engine computed no throughput of its {direction}")
        load.mbps = report.numbers[f"{direction}_mbps"]
    for timing in raw["latency"]["results"]["timings"]:
        report.idle.probe("ping_ms", _measured_at_s(timing) - epoch_s - timing["ping"] / 1000,
                          timing["ping"])


def _sorted_timings(lists: Iterable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return all timings of these lists, sorted by the time of the measurement."""
    return sorted((one for each in lists for one in each), key=_measured_at_s)


def _measured_at_s(timing: Mapping[str, Any]) -> float:
    """Return the Unix time in s at which a measurement was made. The page's clock is this
    machine's.

    Args:
        timing: the engine's record of the measurement, whose `measTime` is the time in ISO 8601.
    """
    return datetime.fromisoformat(timing["measTime"]).timestamp()


def measure(call: Call, report: ClientReport) -> None:
    """Run the page in Chromium and fill the report.

    Args:
        call: its programs are the paths of Chromium and of the engine's script.
        report: the report to fill.

    Raises BadResult if the page doesn't end within 240 s, Chromium ends before it, or its results
    are missing, incomplete or of another form, OSError if Chromium can't be started.
    """
    chromium, script = call.programs
    results: dict[str, Any] = {}
    page = PAGE.replace("MEASUREMENTS", json_text(measurements())).replace("UNSENT", UNSENT)
    if not show(chromium, page, {"/speedtest.js": Path(script)}, {"server": call.url},
                lambda body: results.update(json.loads(body)), patience_s=END_S):
        raise BadResult(f"Cloudflare's engine in {chromium} did not end its test within "
                        f"{END_S:g} s: is the link too slow for it, or this machine too busy?")
    fill(report, results)


if __name__ == "__main__":
    sys.exit(main("cloudflare_browser", measure))

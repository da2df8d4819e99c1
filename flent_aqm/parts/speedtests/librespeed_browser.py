# SPDX-License-Identifier: GPL-3.0-or-later
"""LibreSpeed's own speedtest_worker.js in headless Chromium, against this package's server.

The script is from the user's copy of librespeed/speedtest. This package contains nothing of it. The
page does what LibreSpeed's speedtest.js does: it starts the worker with no setting other than the
server's paths, and requests its state every 200 ms.

The test starts a second after the page has loaded, like a person who has to click. In the lab,
computing takes no time: a worker that was created while Chromium was still starting was sometimes
never loaded.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from flent_aqm.base.errors import BadResult
from flent_aqm.measure.chromium import show
from flent_aqm.tools.client import Call, main
from flent_aqm.tools.report import ClientReport

END_S = 120.0
# Usually the page comes from the server under test. Here it comes from loopback, so its requests
# would be refused.
WORDS = ("--disable-web-security",)
# Values of the worker's testState.
_DOWNLOAD, _UPLOAD = 1, 3
_WAYS = {_DOWNLOAD: ("download", "dlStatus"), _UPLOAD: ("upload", "ulStatus")}
_NUMBERS = {"download_mbps": "dlStatus", "upload_mbps": "ulStatus", "ping_ms": "pingStatus",
            "jitter_ms": "jitterStatus"}
PAGE = """<!DOCTYPE html>
<meta charset="utf-8">
<title>LibreSpeed</title>
<script>
'use strict';
const server = new URLSearchParams(location.search).get('server') + '/backend/';
let last = Promise.resolve();
function send(path, body) {
  last = last.then(() => fetch(path, {method: 'POST', body: body}));
}
function start() {
  const worker = new Worker('speedtest_worker.js');
  const ask = setInterval(() => worker.postMessage('status'), 200);
  worker.onmessage = (event) => {
    const state = JSON.parse(event.data);
    send('told', JSON.stringify(Object.assign({at_ms: performance.timeOrigin + performance.now()},
                                              state)));
    if (state.testState >= 4) {
      clearInterval(ask);
      send('end', '');
    }
  };
  worker.postMessage('start ' + JSON.stringify({
    url_dl: server + 'garbage.php', url_ul: server + 'empty.php', url_ping: server + 'empty.php',
    url_getIp: server + 'getIP.php', getIp_ispInfo: false}));
}
addEventListener('load', () => setTimeout(start, 1000));
</script>
"""


class PageReport:
    """Fills a report with the worker states that the page sends. Times are those of this machine's
    clock.

    Attributes:
        report: the report to fill.
        last: the last state, with the keys of the worker's messages. Empty before the first.
    """

    def __init__(self, report: ClientReport) -> None:
        self.report = report
        self.last: dict[str, object] = {}
        self._epoch_s = time.time() - time.monotonic()

    def take(self, message: bytes) -> None:
        """Record a state of the worker as the last one. If the worker tests a direction, the
        direction's load in the report begins at the state's time, unless it has begun, and ends
        there; the rate is recorded if the state shows one, but not for the state at which the load
        begins.

        Args:
            message: the state as JSON, with `at_ms` as its Unix time in ms.

        Raises ValueError, KeyError or TypeError if the message has another form, BadResult if the
        rate is below 0 or too large.
        """
        self.last = state = json.loads(message)
        at_s = state["at_ms"] / 1000 - self._epoch_s
        direction, name = _WAYS.get(state["testState"], ("", ""))
        if not direction:
            return
        load = self.report.load(direction)
        load.begin(at_s)
        if state[name]:
            # The rate is the mean since the end of the grace time.
            load.show(at_s, float(state[name]))
        load.end_s = max(load.end_s, at_s)

    def conclude(self) -> None:
        """Record the final throughputs, ping and jitter, from the last state. Raises BadResult if
        it lacks any of them, or one isn't a number."""
        for number, name in _NUMBERS.items():
            try:
                self.report.numbers[number] = float(str(self.last.get(name, "")))
            except ValueError:
                raise BadResult("LibreSpeed's script ended with "
                                f"{self.last.get(name, '')!r:.60} as {number}; expected a number: "
                                "does the server respond?") from None
        for direction, name in _WAYS.values():
            self.report.load(direction).mbps = float(str(self.last[name]))


def measure(call: Call, report: ClientReport) -> None:
    """Run the page in Chromium and fill the report.

    Args:
        call: its programs are the paths of Chromium and of speedtest_worker.js.
        report: the report to fill.

    Raises BadResult if the page doesn't end within 120 s, Chromium ends before it, or a final
    number is missing or no number, OSError if Chromium can't be started.
    """
    chromium, worker = call.programs
    heard = PageReport(report)
    if not show(chromium, PAGE, {"/speedtest_worker.js": Path(worker)}, {"server": call.url},
                heard.take, patience_s=END_S, options=WORDS):
        raise BadResult(f"LibreSpeed's script in {chromium} did not end its test within "
                        f"{END_S:g} s: does the server respond, or is the link too slow for it?")
    heard.conclude()


if __name__ == "__main__":
    sys.exit(main("librespeed_browser", measure))

# SPDX-License-Identifier: GPL-3.0-or-later
"""LibreSpeed itself: its own speedtest_worker.js in headless Chromium, against our server.

speedtest_worker.js is the user's, of a copy of librespeed/speedtest; none of it is in this package.
The page around it does what its speedtest.js does: it starts the worker, with no setting but the
server's paths, and asks for its state every 200 ms.

It starts a second after it has loaded, as a person has to click. In the lab, where computing takes
no time, a worker that was made while Chromium was still starting was never loaded: not even its
script was asked for, depending on what else happened in that millisecond.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from flent_aqm.base.errors import BadResult
from flent_aqm.measure.chromium import show
from flent_aqm.tools.client import Call, main
from flent_aqm.tools.report import Report

END_S = 120.0
# The page would come from the server that it tests; here it comes from loopback.
WORDS = ("--disable-web-security",)
# States of the worker.
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
    """Fills a report with what the page told. Times are the page's, which are this machine's."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.last: dict[str, object] = {}
        self._epoch_s = time.time() - time.monotonic()

    def take(self, message: bytes) -> None:
        """A state of the worker."""
        self.last = state = json.loads(message)
        at_s = state["at_ms"] / 1000 - self._epoch_s
        direction, name = _WAYS.get(state["testState"], ("", ""))
        if not direction:
            return
        way = self.report.way(direction)
        way.begin(at_s)
        if state[name]:
            # A mean since its time of grace.
            way.show(at_s, float(state[name]))
        way.end_s = at_s

    def conclude(self) -> None:
        """Fill in the numbers. Raises BadResult for a test that didn't come to one."""
        for number, name in _NUMBERS.items():
            try:
                self.report.numbers[number] = float(str(self.last.get(name, "")))
            except ValueError:
                raise BadResult(f"LibreSpeed's page shows {self.last.get(name)!r} for {number}; "
                                "expected a number") from None
        for direction, name in _WAYS.values():
            self.report.way(direction).mbps = float(str(self.last[name]))


def measure(call: Call, report: Report) -> None:
    """Run the page. Raises BadResult when it never came to its end, or to no numbers."""
    chromium, worker = call.programs
    heard = PageReport(report)
    if not show(chromium, PAGE, {"/speedtest_worker.js": Path(worker)}, {"server": call.url},
                heard.take, patience_s=END_S, words=WORDS):
        raise BadResult(f"LibreSpeed's page in {chromium} did not end within {END_S:g} s")
    heard.conclude()


if __name__ == "__main__":
    sys.exit(main("librespeed_browser", measure))

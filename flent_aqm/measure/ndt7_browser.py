# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs NDT7 in a browser: headless Chromium with M-Lab's ndt7.js in a page.

    python -m flent_aqm.measure.ndt7_browser PATH_OF_NDT7_JS CHROMIUM ws|wss HOST:PORT DIRECTION

Prints the page's reports in the format of M-Lab's command-line client, and ends when the page
reports the end of the test, at the latest after END_S seconds.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from flent_aqm.base.errors import BadResult
from flent_aqm.base.json_text import json_text
from flent_aqm.measure.chromium import show

# Seconds after which the page is considered hung.
END_S = 60.0
_WORKERS = ("ndt7-download-worker.js", "ndt7-upload-worker.js")
PAGE = """<!DOCTYPE html>
<meta charset="utf-8">
<title>NDT7</title>
<script src="ndt7.js"></script>
<script>
'use strict';
const asked = new URLSearchParams(location.search);
const test = asked.get('direction');
let last = Promise.resolve();
function tell(key, value) {
  const body = JSON.stringify({Key: key, Value: Object.assign({Test: test}, value)});
  last = last.then(() => fetch('told', {method: 'POST', body: body}));
}
const heard = {
  error: (fault) => tell('error', {Failure: String(fault)}),
  [test + 'Measurement']: (one) => tell('measurement', one.Source === 'server' ? one.Data : {
    Origin: 'client',
    AppInfo: {ElapsedTime: Math.round(one.Data.ElapsedTime * 1e6), NumBytes: one.Data.NumBytes}}),
  [test + 'Complete']: () => tell('complete', {}),
};
const config = {server: asked.get('server'), protocol: asked.get('protocol'),
                mlabDataPolicyInapplicable: true, metadata: {client_name: 'flent-aqm-browser'}};
ndt7[test + 'Test'](config, heard, ndt7.discoverServerURLs(config, heard))
    .catch((fault) => tell('error', {Failure: String(fault)}))
    .finally(() => last.then(() => fetch('end', {method: 'POST'})));
</script>
"""


def main() -> int:
    """Run one direction of the test, and print a line of JSON per report. Return the exit status:
    1, after a message on standard error, if the page did not report its end within END_S or
    Chromium ended before it, otherwise 0, also if the page reported an error. The command-line
    arguments are the paths of ndt7.js and of Chromium, ws or wss, HOST:PORT, and download or
    upload. Raises ValueError for another number of arguments, OSError if Chromium can't be started.
    """
    library, chromium, protocol, server, direction = sys.argv[1:]
    files = {"/ndt7.js": Path(library),
             **{f"/{name}": Path(library).resolve().with_name(name) for name in _WORKERS}}
    try:
        ended = show(chromium, PAGE, files,
                     {"protocol": protocol, "server": server, "direction": direction},
                     lambda body: print(json_text(json.loads(body)), flush=True), patience_s=END_S)
    except BadResult as fault:
        print(fault, file=sys.stderr)
        return 1
    if not ended:
        print(f"the NDT7 test in {chromium} did not end within {END_S:g} s: the test or the "
              "browser hangs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

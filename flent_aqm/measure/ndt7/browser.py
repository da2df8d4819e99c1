# SPDX-License-Identifier: GPL-3.0-or-later
"""An NDT7 client that is a browser: headless Chromium with M-Lab's ndt7.js in a page.

    python -m flent_aqm.measure.ndt7.browser PATH_OF_NDT7_JS CHROMIUM ws|wss HOST:PORT DIRECTION

Serves the page on loopback, prints what it tells in the form of M-Lab's command-line client,
and ends when the page says that the test has ended.
"""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from flent_aqm.measure.ndt7.page import PAGE

# Nothing but the test uses the network, and no window, sandbox or processor for graphics is
# needed. A certificate is not checked, as by the other clients.
WORDS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--ignore-certificate-errors")
END_S = 60.0
_WORKERS = ("ndt7-download-worker.js", "ndt7-upload-worker.js")


def main() -> int:
    """Run one direction. Exit status 1 when the page never came to its end."""
    library, chromium, protocol, server, direction = sys.argv[1:]
    files = {"/ndt7.js": Path(library),
             **{f"/{name}": Path(library).resolve().with_name(name) for name in _WORKERS}}
    ended = threading.Event()

    class Page(http.server.BaseHTTPRequestHandler):
        """The page's files, and what it tells."""

        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = urlsplit(self.path).path
            if name == "/":
                self._answer(200, PAGE.encode(), "text/html")
            elif name in files:
                self._answer(200, files[name].read_bytes(), "text/javascript")
            else:
                self._answer(404, b"", "text/plain")

        def do_POST(self) -> None:
            told = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path == "/told":
                print(json.dumps(json.loads(told)), flush=True)
            self._answer(204, b"", "text/plain")
            if self.path == "/end":
                ended.set()

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if status != 204:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as own, \
            tempfile.TemporaryDirectory(prefix="flent-aqm-browser-",
                                        ignore_cleanup_errors=True) as profile:
        threading.Thread(target=own.serve_forever, daemon=True).start()
        query = urlencode({"protocol": protocol, "server": server, "direction": direction})
        browser = subprocess.Popen(
            [chromium, *WORDS, f"--user-data-dir={profile}",
             f"http://127.0.0.1:{own.server_port}/?{query}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if not ended.wait(END_S):
                print(f"the page in {chromium} did not end within {END_S:g} s", file=sys.stderr)
                return 1
        finally:
            browser.kill()
            browser.wait()
            own.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a web page in headless Chromium and receives its reports, for speed tests in a browser.

The page and its scripts are served on loopback. The page reports by POST requests to `told`, and
ends by one to `end`.
"""

from __future__ import annotations

import http.server
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from flent_aqm.base.errors import BadResult
from flent_aqm.base.words import end_of

# Options of Chromium: no window, sandbox or graphics processor, and no use of the network but that
# of the test. Certificates are not checked, as by the other clients.
WORDS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--ignore-certificate-errors")


def show(chromium: str, page: str, files: Mapping[str, Path], query: Mapping[str, str],
         on_report: Callable[[bytes], None], *, patience_s: float, options: tuple[str, ...] = ()
         ) -> bool:
    """Show a page in headless Chromium until it reports its end. Return True if it did, False if it
    didn't within patience_s. The browser is killed afterwards. Raises OSError if it can't be
    started, BadResult, also after patience_s, if it ended by itself.

    Args:
        chromium: path of the browser.
        page: HTML of the page, which is served at "/". It reports by POST requests to "/told", and
            its end by one to "/end".
        files: scripts that the page may load, by their path in the address, such as "/ndt7.js".
        query: parameters for the page's address.
        on_report: called with the body of each report, in other threads, by one at a time. Its
            exceptions don't reach the caller.
        patience_s: most seconds to wait for the end.
        options: further options for the browser.
    """
    ended = threading.Event()
    lock = threading.Lock()

    class Page(http.server.BaseHTTPRequestHandler):
        """Answers the browser's requests: GET with the page or one of its files, or 404; POST with
        204. It calls on_report with the body of a POST to "/told", and ends the wait of show() at
        one to "/end"."""

        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = urlsplit(self.path).path
            if name == "/":
                self._answer(200, page.encode(), "text/html")
            elif name in files:
                self._answer(200, files[name].read_bytes(), "text/javascript")
            else:
                self._answer(404, b"", "text/plain")

        def do_POST(self) -> None:
            message = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path == "/told":
                with lock:
                    on_report(message)
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

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server, \
            tempfile.TemporaryDirectory(prefix="flent-aqm-browser-",
                                        ignore_cleanup_errors=True) as profile:
        browser = subprocess.Popen(
            [chromium, *WORDS, *options, f"--user-data-dir={profile}",
             f"http://127.0.0.1:{server.server_port}/?{urlencode(query)}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Connections wait in the socket's queue until then.
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            if ended.wait(patience_s):
                return True
            if browser.poll() is not None:
                raise BadResult(f"{chromium} ended with {end_of(browser.returncode)} before its "
                                "page had reported the end; its error is shown by: "
                                f"{chromium} --headless --no-sandbox --dump-dom about:blank")
            return False
        finally:
            browser.kill()
            browser.wait()
            server.shutdown()

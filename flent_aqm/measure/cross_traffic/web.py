# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads web pages as cross traffic: bursts of short flows, with a pause after each page.

    python -m flent_aqm.measure.cross_traffic.web HOST PORT

A page has the median size of the HTTP Archive (Web Almanac 2024, desktop): 2652 kB in 71 requests.
The first request brings the HTML, 18 kB. The others have equal sizes here. The page is loaded over
six connections, which is the limit of browsers for one host with HTTP/1.1. They are opened anew for
each page.
"""

from __future__ import annotations

import sys
import threading
import time

from flent_aqm.measure.cross_traffic.client import CrossConnection, ResultPrinter, run

HTML_BYTES = 18_000
OBJECTS = 70
OBJECT_BYTES = (2_652_000 - HTML_BYTES) // OBJECTS
CONNECTIONS = 6
PAUSE_S = 2.0


def load_page(host: str, port: int, printer: ResultPrinter) -> None:
    """Download the HTML, then the objects of the page over CONNECTIONS connections, which are made
    for this page. Return when the page is complete. `printer` counts the received bytes. Raises
    OSError if a connection fails or the server answers anything else. If that happens while the
    objects are loaded, the other connections load what is left before the error is raised."""
    first = CrossConnection(host, port, printer)
    first.get(HTML_BYTES)
    objects = iter([OBJECT_BYTES] * OBJECTS)
    faults: list[OSError] = []

    def get_objects(connection: CrossConnection | None) -> None:
        """Download objects until none is left, over this connection, or for None over a new one,
        and close it. All threads take their objects from `objects`. An OSError ends the thread's
        work: it is appended to `faults`, and the connection stays open."""
        try:
            connection = connection or CrossConnection(host, port, printer)
            for size in objects:
                connection.get(size)
            connection.close()
        except OSError as fault:
            faults.append(fault)

    threads = [threading.Thread(target=get_objects, args=(one,), daemon=True)
               for one in (first, *[None] * (CONNECTIONS - 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


def read_pages(host: str, port: int, printer: ResultPrinter) -> None:
    """Load pages until KeyboardInterrupt, which is passed on to the caller. For each page, print
    its start and the time in ms that it took. Raises OSError if a connection fails."""
    while True:
        begin_s = time.time()
        load_page(host, port, printer)
        printer.print_values(t=begin_s, page_ms=(time.time() - begin_s) * 1000)
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    sys.exit(run(read_pages))

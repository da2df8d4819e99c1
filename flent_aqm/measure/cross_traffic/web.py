# SPDX-License-Identifier: GPL-3.0-or-later
"""A reader of web pages: bursts of short flows, with a pause to read after each.

    python -m flent_aqm.measure.cross_traffic.web HOST PORT

A page is the median one of the HTTP Archive (Web Almanac 2024, desktop): 2652 kB in 71
requests, of which the first brings the HTML, 18 kB; the others are of one size here. It comes
over six connections, which is what browsers allow themselves to a host with HTTP/1.1, made anew
for each page.
"""

from __future__ import annotations

import sys
import threading
import time

from flent_aqm.measure.cross_traffic.client import Connection, Line, run

HTML_BYTES = 18_000
OBJECTS = 70
OBJECT_BYTES = (2_652_000 - HTML_BYTES) // OBJECTS
CONNECTIONS = 6
PAUSE_S = 2.0


def load_page(host: str, port: int, line: Line) -> None:
    """Get the HTML, then all that is named in it. Raises OSError."""
    first = Connection(host, port, line)
    first.get(HTML_BYTES)
    objects = iter([OBJECT_BYTES] * OBJECTS)
    faults: list[OSError] = []

    def get_objects(connection: Connection | None) -> None:
        try:
            connection = connection or Connection(host, port, line)
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


def read_pages(host: str, port: int, line: Line) -> None:
    """Load pages until KeyboardInterrupt."""
    while True:
        begin_s = time.time()
        load_page(host, port, line)
        line.tell(t=begin_s, page_ms=(time.time() - begin_s) * 1000)
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    sys.exit(run(read_pages))

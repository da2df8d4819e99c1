# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm browse`: the report as a local page that follows a sweep."""

from __future__ import annotations

import argparse
import sys
import threading
from pathlib import Path

from flent_aqm.base.errors import ConfigError
from flent_aqm.results.jobs_option import add_jobs

LOOK_EVERY_S = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS",
                        help="folders that sweeps write to, or have written to")
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS",
                        help="address to listen on (default: 127.0.0.1, for this machine alone)")
    parser.add_argument("--port", type=int, default=8642, metavar="N",
                        help="port to listen on, 0 for any free one (default: 8642)")
    add_jobs(parser, " at the start")


def main(args: argparse.Namespace) -> int:
    # Late, as --help needs none of it.
    from flent_aqm.commands.report import title_of
    from flent_aqm.show.browse.follow import Follower
    from flent_aqm.show.browse.server import Server

    if not 0 <= args.port <= 65535:
        raise ConfigError(f"--port {args.port}: expected 0 to 65535")
    follower = Follower(args.results, title_of(args.results), args.jobs)
    server = Server(follower, args.host, args.port)
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            follower.look()
            ended.wait(LOOK_EVERY_S)

    looking = threading.Thread(target=look, daemon=True)
    try:
        print(f"serving the results at {server.address}; press ^C to end", flush=True)
        if not server.address.startswith(("http://127.", "http://localhost", "http://[::1]")):
            print("warning: anybody who can reach this address can see them", file=sys.stderr)
        looking.start()
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        ended.set()
        server.server_close()
    return 0

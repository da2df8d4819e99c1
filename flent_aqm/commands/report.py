# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm report`: writes data files as an HTML page, or serves a page that follows a sweep."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flent_aqm.base.errors import ConfigError, cause_of, why_unreadable
from flent_aqm.base.words import counted, plain
from flent_aqm.results import status
from flent_aqm.results.jobs_option import add_jobs

if TYPE_CHECKING:
    from flent_aqm.show.report.model import Folder

MOST_NAMED = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `flent-aqm report`."""
    parser.add_argument("results", nargs="*", type=Path, metavar="RESULTS",
                        help="data files, or folders of them (default: of results/ and its "
                             "subfolders, the one with data files that was changed last)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
                        help="page to write (default: report.html in the folder, if RESULTS is one "
                             "or none)")
    parser.add_argument("--follow", action="store_true",
                        help="serve the page on this machine, and show runs of a sweep as they "
                             "finish; RESULTS are folders")
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS",
                        help="with --follow: address to listen on (default: 127.0.0.1, for this "
                             "machine alone)")
    parser.add_argument("--port", type=int, default=8642, metavar="N",
                        help="with --follow: port to listen on, 0 for any free one (default: "
                             "8642)")
    parser.add_argument("--title", help="heading of the page (default: the purpose of "
                        "its batch, or the names of the folders)")
    add_jobs(parser)


def main(args: argparse.Namespace) -> int:
    """Write the page and print its path, or with --follow serve it until interrupted. Without
    RESULTS, it is about the newest folder of results in ./results. Without --output, it is
    report.html in the folder, if the results are one. Of damaged files and runs that can't be
    drawn, a page that is written has only names and causes. The first MOST_NAMED of them are also
    named on standard error. Return 0.

    Raises ConfigError if an option is wrong, there is nothing to show, or the page can't be written
    or served.
    """
    # Imported late, because --help needs none of these modules.
    from flent_aqm.base.waiting import announced
    from flent_aqm.base.whole_file import write_text
    from flent_aqm.show.report.html import render
    from flent_aqm.show.report.model import build
    from flent_aqm.show.report.odd import odd_runs
    from flent_aqm.show.report.read import files_of, read, require_content

    results = args.results
    if not results:
        newest = status.newest_folder(Path(status.RESULTS))
        if newest is None:
            why = why_unreadable(Path(status.RESULTS))
            raise ConfigError(
                (f"the folder ./results can't be read: {why}" if why else "there are no data files "
                 "in ./results or the folders in it; folders below these are not searched")
                + "; name data files or folders")
        results = [newest]
    if args.follow:
        return _serve_following(args, results)
    folder = results[0] if len(results) == 1 and os.path.isdir(results[0]) else None
    output = args.output or (folder / "report.html" if folder else None)
    if output is None:
        files_of(results)  # which refuses what isn't there
        raise ConfigError("no page to write is named; add -o FILE, such as -o report.html")
    if output.suffix not in (".html", ".htm"):
        raise ConfigError(f"-o {output}: the report is an HTML page; expected a name that ends in "
                          ".html or .htm")
    rows, damaged, folders = read(results, args.jobs)
    require_content(rows, damaged, folders)
    title = args.title or purpose_of(folders) or title_of(results)
    with announced("making the page"):
        try:
            page = render(build(rows, damaged, folders, title, beside=output.parent))
        except Exception:
            odd = odd_runs(rows)
            if not odd:
                raise
            damaged += odd.items()
            rows = [row for row in rows if row.path not in odd]
            page = render(build(rows, damaged, folders, title, beside=output.parent))
    for path, cause in damaged[:MOST_NAMED]:
        print(f"left out: {plain(path)}: {cause}", file=sys.stderr)
    try:
        write_text(output, page)
    except OSError as error:
        raise ConfigError(f"{output}: can't be written: {cause_of(error)}; name another file "
                          "with -o") from None
    print(f"{counted(len(rows), 'run')} in {output} ({len(page.encode()) / 1e6:.1f} MB)"
          + (f"; left out: {len(damaged)}" if damaged else ""))
    return 0


def _serve_following(args: argparse.Namespace, results: list[Path]) -> int:
    """Serve the page that follows a sweep, until interrupted. Return 0. Raises ConfigError if an
    option is wrong, if a folder doesn't exist, or if the server can't listen.

    Args:
        args: options of the command.
        results: folders to follow.
    """
    from flent_aqm.show.report.follow import Follower
    from flent_aqm.show.report.server import serve

    if args.output:
        raise ConfigError(f"-o {args.output}: a page that follows a sweep is served, not written; "
                          "leave out --follow or -o")
    if not 0 <= args.port <= 65535:
        raise ConfigError(f"--port {args.port}: expected 0 to 65535")
    serve(Follower(results, args.title or title_of(results), args.jobs), args.host, args.port)
    return 0


def purpose_of(folders: Sequence[Folder]) -> str:
    """Return the purpose of the folders' batches, see purpose(), if it is the same for all commands
    by which all folders were made. Return "" if they differ, if there are none, or if the purpose
    is not known. It is known only for batches of this package."""
    from flent_aqm.show.report.commands import purpose

    purposes = {purpose(command) for folder in folders
                for command in (folder.status.commands if folder.status else [[]])}
    return purposes.pop() if len(purposes) == 1 else ""


def title_of(results: list[Path]) -> str:
    """Return the default title of the page: the names of the folders, each once, such as "a, b". Of
    more than three, the first three and the number of the others: "a, b, c and 2 more".

    Args:
        results: folders, or files, whose parent folders count.
    """
    names = list(dict.fromkeys((path if os.path.isdir(path) else path.parent).resolve().name
                               for path in results))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")

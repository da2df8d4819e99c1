# SPDX-License-Identifier: GPL-3.0-or-later
"""Write man pages of all commands, from the parsers of their arguments.

    python3 -m release.build_backend.man_pages FOLDER

FOLDER gets flent-aqm.1, which lists the commands, and flent-aqm-COMMAND.1 for each.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from argparse_manpage.manpage import Manpage

from flent_aqm import __version__
from flent_aqm.commands.table import COMMANDS, fill

SUMMARY = "AQM experiments for Flent, in a lab with virtual time"
STATUS = """\
.TP
0
well
.TP
1
an expected failure, told by one line on standard error
.TP
2
wrong usage
.TP
3
a defect of flent\\-aqm; details are in a log file that is named
.TP
130
interrupted
.PP
\\fBlab\\fR passes on its command's status; \\fBreplay\\fR, \\fBassert\\fR and \\fBverdict\\fR
tell by theirs what they found."""
MORE = """\
\\fBflent\\fR(1). The documentation is in /usr/share/doc/flent\\-aqm/ where a package has
installed it."""


def pages() -> dict[str, str]:
    """Return file name -> text in man's format, for the page flent-aqm.1, which lists the commands,
    and for flent-aqm-COMMAND.1 of each command."""
    with _without_breaks():
        return _pages()


@contextmanager
def _without_breaks() -> Iterator[None]:
    """Context manager: set the environment variable COLUMNS to 10000, so that argparse doesn't
    break lines at the terminal's width, on which pages shall not depend. At the end COLUMNS is as
    before."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "10000"
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def _pages() -> dict[str, str]:
    found = {"flent-aqm.1": _main_page()}
    for name, command in COMMANDS.items():
        parser = fill(argparse.ArgumentParser(prog=f"flent-aqm {name}"), name)
        parser.epilog = None
        found[f"flent-aqm-{name}.1"] = _page(
            parser, command.summary, [("examples", f".nf\n{_roff(command.example)}\n.fi")],
            f"\\fBflent\\-aqm\\fR(1), {MORE}")
    return found


def _main_page() -> str:
    parser = argparse.ArgumentParser(
        prog="flent-aqm", usage="flent-aqm [--version] [COMMAND [ARGUMENT ...]]", description=(
            f"{SUMMARY}. Alone it says what to do next, by what is there. Each command has a "
            "page of its own."))
    parser.add_argument("--version", action="store_true", help="print the version and end")
    listed = "\n".join(f".TP\n\\fBflent\\-aqm\\-{_roff(name)}\\fR(1)\n{_roff(one.summary)}"
                       for name, one in COMMANDS.items())
    variables = (".TP\nFLENT_AQM_DISABLE\nany value but 0: Flent is as it comes\n"
                 ".TP\nFLENT_AQM_KERNEL\nthe path of a User\\-Mode Linux kernel for the lab\n"
                 ".TP\nXDG_CACHE_HOME\nwhere set\\-up puts what it builds, in flent\\-aqm/")
    return _page(parser, SUMMARY, [("commands", listed), ("environment", variables)], MORE)


def _page(parser: argparse.ArgumentParser, summary: str, sections: list[tuple[str, str]],
          more: str) -> str:
    parser._positionals.title = "arguments"
    made = Manpage(parser, _data={"project_name": "flent-aqm", "version": __version__,
                                  "manual_title": "flent-aqm", "description": summary})
    made.prog = parser.prog.replace(" ", "-")
    for heading, text in (*sections, ("exit status", STATUS), ("see also", more)):
        made.add_section(heading, "=", text)
    lines = str(made).splitlines()
    # Text that begins like one of groff's requests would be lost; pages of libraries' have one
    # space there. What we write above begins with requests on purpose.
    return "\n".join(f"\\&{line}" if line.startswith("'") else line for line in lines) + "\n"


def _roff(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for page, content in pages().items():
        (folder / page).write_text(content, encoding="utf-8")

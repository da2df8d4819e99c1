# SPDX-License-Identifier: GPL-3.0-or-later
"""Man pages have every command, and every word that its parser takes.

Whether groff reads them without a warning: debian/tests/man-pages, which make deb-check runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from flent_aqm.commands.table import COMMANDS, fill
from release.build_backend.man_pages import pages

PAGES = pages()


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """All that it takes, also after a word that has a parser of its own."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from actions(one)
        elif action.help != argparse.SUPPRESS and "--help" not in action.option_strings:
            yield action


def test_each_command_has_a_page_that_the_first_one_lists() -> None:
    """And there is no page of a command that is gone."""
    assert set(PAGES) == {"flent-aqm.1", *(f"flent-aqm-{name}.1" for name in COMMANDS)}
    for name, command in COMMANDS.items():
        listed = f"flent-aqm-{name}".replace("-", "\\-")
        assert f"\\fB{listed}\\fR(1)" in PAGES["flent-aqm.1"]
        assert command.summary.split(":")[0].replace("-", "\\-") in PAGES[f"flent-aqm-{name}.1"]


def name_of(action: argparse.Action) -> str:
    """What argparse calls an argument without dashes."""
    if action.metavar is None and action.choices is not None:
        return f"{{{','.join(action.choices)}}}"
    return str(action.metavar or action.dest)


@pytest.mark.parametrize("name", COMMANDS)
def test_description_in_help_is_wrapped(name: str) -> None:
    """The formatter leaves its lines as they are, for the example's sake."""
    text = fill(argparse.ArgumentParser(prog=f"flent-aqm {name}"), name).description or ""
    assert max(map(len, text.splitlines())) <= 78


@pytest.mark.parametrize("name", COMMANDS)
def test_page_has_each_option_with_its_help(name: str) -> None:
    """As the parser has them, in the page's own spelling of hyphens."""
    page = PAGES[f"flent-aqm-{name}.1"].splitlines()
    parser = fill(argparse.ArgumentParser(prog=f"flent-aqm {name}"), name)
    for action in actions(parser):
        words = [word.replace("-", "\\-") for word in action.option_strings or (name_of(action),)]
        heads = [number for number, line in enumerate(page)
                 if page[number - 1] == ".TP" and all(f"\\fB{word}\\fR" in line for word in words)]
        assert heads, f"{name}: {words}"
        if action.help:
            text = action.help.replace("-", "\\-").split("%")[0].split()[:3]
            assert any(page[head + 1].split()[:len(text)] == text for head in heads), words
    assert ".SH EXAMPLES" in page

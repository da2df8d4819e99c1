# SPDX-License-Identifier: GPL-3.0-or-later
"""The report's commands that make it all again.

People copy them into a shell, and folders come from strangers: what a `sweep.json` says was
typed is offered only in a form that can do no more than measure in a lab, with a batch of ours.
All else stands behind a #, which a shell takes for a comment.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise, takewhile
from pathlib import Path

from flent_aqm.base.paths import resource_dir
from flent_aqm.spec.keys import QUEUE_PREFIXES, SCENARIO_KEYS

# Of a batch, such as decide how often or how long. Not the testbed, which may be a host that is
# logged in to, nor a scheduler, which may run any program here.
_OVERRIDES = (SCENARIO_KEYS | {"repetitions", "length", "jobs"}) - {
    "testbed", "server_testbed", "dev_down", "dev_up"}
_SWITCHES = {"--batch-no-shuffle", "--batch-no-timestamp", "--batch-verbose", "--batch-dry-run"}
_VALUE = re.compile(r"[A-Za-z0-9_.]{1,60}")
_NUMBER = re.compile(r"[0-9]{1,6}")
# More is no command that somebody types.
_MOST_CHARACTERS = 500


# What a comment says first, up to where it goes into details.
_SENTENCE = re.compile(r"(.{20,}?)(?:[.?:;](?= |$)|$)")


def purpose(words: Sequence[str]) -> str:
    """Return what a batch of ours is for, as the comment at its beginning says; empty for any
    other, and for one that begins with no comment."""
    split = [part for word in words for part in word.split("=", 1)]
    named = next((after for word, after in pairwise(split) if word in ("-B", "--batch-file")), "")
    path = resource_dir("batches") / Path(named).name
    if not named or not path.is_file() or str(Path(named).parent) not in (
            "batches", str(path.parent)):
        return ""
    lines = takewhile(lambda line: line.startswith("#") and line.strip("# "),
                      path.read_text(encoding="utf-8", errors="replace").splitlines())
    text = " ".join(line.lstrip("# ") for line in lines)
    match = _SENTENCE.match(text)
    return match[1] if match else ""


def sweep_command(words: Sequence[str]) -> tuple[str, str]:
    """Return what a sweep's command is, and the command as it is offered."""
    if _only_measures(words):
        return "the sweep, as it was typed", shlex.join(["flent", *words[1:]])
    about = ("the sweep, as its folder tells it, with more than a batch of this package's: look "
             "at it before you run it")
    return about, _comment(shlex.join(words))


def offered(*words: str | Path) -> str:
    """Return a command of ours with names of folders and files in it: quoted for a shell, and
    behind a # where a terminal would take part of a name for something else."""
    # A path that begins with - would be taken for an option.
    texts = [f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word)
             for word in words]
    line = shlex.join(texts)
    return line if line.isprintable() else _comment(line)


def _comment(line: str) -> str:
    shown = "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in line)
    return "# " + (shown if len(shown) <= _MOST_CHARACTERS else shown[:_MOST_CHARACTERS] + " …")


def _only_measures(words: Sequence[str]) -> bool:
    """Return whether it is `flent` with a batch of ours and options from a short list."""
    if not words or Path(words[0]).name != "flent":
        return False
    rest = list(words[1:])
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word in _SWITCHES:
            continue
        if not (name.startswith("--") and equals):
            name, value = word, rest.pop(0) if rest else ""
        if not _is_harmless(name, value):
            return False
    return True


def _is_harmless(option: str, value: str) -> bool:
    match option:
        case "-B" | "--batch-file":
            return value in {text for path in resource_dir("batches").glob("*.batch")
                             for text in (str(path), f"batches/{path.name}")}
        case "-b" | "--batch-name":
            return _VALUE.fullmatch(value) is not None
        case "--batch-repetitions":
            return _NUMBER.fullmatch(value) is not None
        case "--batch-override":
            key, _, setting = value.partition("=")
            is_key = key in _OVERRIDES or key.startswith(QUEUE_PREFIXES)
            return (is_key and _VALUE.fullmatch(key) is not None
                    and _VALUE.fullmatch(setting) is not None)
        case _:
            return False

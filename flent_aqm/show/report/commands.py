# SPDX-License-Identifier: GPL-3.0-or-later
"""Prepare the commands on the report's page, by which readers can repeat the sweep and the page.

People copy them into a shell, and result folders may come from anyone. The command in a
`sweep.json` is offered only if it can do nothing but measure in a lab with a batch of this package.
Every other command is shown as a shell comment, behind a #.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from itertools import pairwise, takewhile
from pathlib import Path

from flent_aqm.base.paths import resource_dir
from flent_aqm.spec.keys import PARAMETER_PREFIXES, QUEUE_PREFIXES, SCENARIO_KEYS

# Keys that --batch-override may have. The testbed is not among them, because it may be a host to
# log in to, nor the scheduler, which may run any program on this machine.
_OVERRIDES = (SCENARIO_KEYS | {"repetitions", "length", "jobs"}) - {
    "testbed", "server_testbed", "dev_down", "dev_up"}
_SWITCHES = {"--batch-no-shuffle", "--batch-no-timestamp", "--batch-verbose", "--batch-dry-run"}
_VALUE = re.compile(r"[A-Za-z0-9_.]{1,60}")
_NUMBER = re.compile(r"[0-9]{1,6}")
# Values that are shown, such as seeded+mean_mbps=20, 1% or 20,100. Others may be words of a
# stranger.
_SHOWN_VALUE = re.compile(r"[A-Za-z0-9_.+=,%-]{1,60}")
# Overrides that change where or how a batch runs, not what it measures.
_NOT_OF_PURPOSE = {"testbed", "server_testbed", "dev_down", "dev_up", "hosts", "output_path",
                   "jobs", "scheduler"}
# Longer commands are cut. Nobody types them.
_MOST_CHARACTERS = 500


# The first sentence of a batch's comment.
_SENTENCE = re.compile(r"(.{20,}?)(?:[.?:;](?= |$)|$)")


def purpose(words: Sequence[str]) -> str:
    """Return the purpose of a batch of this package: the first paragraph of the comment at the
    beginning of its file, up to the first full stop, question mark, colon or semicolon that ends a
    word after 20 characters or more, without this mark. Overrides that change what is measured
    follow in brackets. Return "" if no such batch is named as batches/NAME or by its full path, and
    if its comment is missing or shorter than 20 characters.

    Args:
        words: the words of the sweep's command line.
    """
    split = [part for word in words for part in word.split("=", 1)]
    named = next((after for word, after in pairwise(split) if word in ("-B", "--batch-file")), "")
    path = resource_dir("batches") / Path(named).name
    if not named or not os.path.isfile(path) or str(Path(named).parent) not in (
            "batches", str(path.parent)):
        return ""
    lines = takewhile(lambda line: line.startswith("#") and line.strip("# "),
                      path.read_text(encoding="utf-8", errors="replace").splitlines())
    text = " ".join(line.lstrip("# ") for line in lines)
    match = _SENTENCE.match(text)
    changed = _overrides_of_purpose(words, path.read_text(encoding="utf-8", errors="replace"))
    return f"{match[1]}{f' ({changed})' if changed else ''}" if match else ""


def _overrides_of_purpose(words: Sequence[str], batch: str) -> str:
    """Return the overrides of a command line that change what its batch measures, as text:
    "share=95, length=4". Left out are overrides of keys in _NOT_OF_PURPOSE, and of keys that
    neither the batch nor a setting of a run has. A value that may have words of a stranger, as
    _SHOWN_VALUE says, is "…". "" if none is left.

    Args:
        words: the words of the sweep's command line.
        batch: text of the batch file.
    """
    given = [after for before, after in pairwise([""] + [
        part for word in words for part in (word.split("=", 1) if word.startswith(
            "--batch-override=") else [word])]) if before == "--batch-override"]
    pairs = [one.partition("=") for one in given]
    return ", ".join(
        f"{key}={value if _SHOWN_VALUE.fullmatch(value) else '…'}" for key, equals, value in pairs
        if equals and (key in SCENARIO_KEYS | {"length"} or (
            key.startswith(PARAMETER_PREFIXES) and _VALUE.fullmatch(key))
            or re.search(rf"^{re.escape(key)}\s*=", batch, re.M))
        and key not in _NOT_OF_PURPOSE)


def sweep_command(words: Sequence[str]) -> tuple[str, str]:
    """Return a description of a sweep's command (that it is as it was typed, or a warning to look
    at it first), and the command in the form in which the page offers it: commented out unless it
    can only measure, see _only_measures().

    Args:
        words: the words of the command line, from sweep.json.
    """
    if _only_measures(words):
        return "the sweep, as it was typed", shlex.join(["flent", *words[1:]])
    about = ("the sweep's command, as its folder records it; it may do more than run a batch of "
             "this package, so look at it before you run it")
    return about, _as_comment(shlex.join(words))


def offered_command(*words: str | Path) -> str:
    """Return a command of this package as text for a shell, its words quoted where needed. It is
    commented out with a # if a word has a character that isn't printable, see _as_comment().

    Args:
        words: the command's words. Paths are Path, and get ./ before a - at their beginning.
            Options and names are text.
    """
    # A path that begins with - would be taken for an option.
    texts = [f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word)
             for word in words]
    line = shlex.join(texts)
    return line if line.isprintable() else _as_comment(line)


def _as_comment(line: str) -> str:
    """Return a command line as a shell comment in one line. Unprintable characters are replaced,
    and of a line longer than _MOST_CHARACTERS the rest by "…"."""
    shown = "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in line)
    return "# " + (shown if len(shown) <= _MOST_CHARACTERS else shown[:_MOST_CHARACTERS] + " …")


def _only_measures(words: Sequence[str]) -> bool:
    """Return whether the command is `flent` with no other options than _SWITCHES and those that
    _is_harmless() accepts, so that a batch that it names is one of this package. False without
    words."""
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
    """Return whether an option of flent can only change how a lab measures with this value: -B with
    a batch of this package, -b with a name, --batch-repetitions with a number, or --batch-override
    with KEY=VALUE, where the key is in _OVERRIDES or of a parameter of a queue or shaper. Name, key
    and the override's value must match _VALUE. False for all other options, also for those in
    _SWITCHES.

    Args:
        option: the option with its dashes, in its short or long form.
        value: its value, "" if it is missing.
    """
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

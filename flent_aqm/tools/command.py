# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a Tool of two commands of the user, client and server, and reads the client's output.

    json: down.mbps=download_mbps up.mbps=upload_mbps rtt.loaded=latency_ms

reads {"down": {"mbps": 47.1}, "up": …, "rtt": {"loaded": 80}} of the last JSON in the output, in
one line or several. A factor may stand behind the path: down.kbps*0.001=download_mbps. A path with
blanks needs quotes as in a shell: 'Down load.mbps=download_mbps'.

    text: 'Download: (\\S+) Mbit/s=download_mbps' 'Ping: (\\S+) ms=latency_ms'

reads other output: each word is a regular expression, whose group is the number, = and the number's
name, with quotes as in a shell. Where the expression matches several times, the last one counts.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from flent_aqm.base.errors import BadResult, ConfigError, cause_of
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.base.words import counted, shell_words
from flent_aqm.tools.client import Call, lines_of
from flent_aqm.tools.own import PORT
from flent_aqm.tools.report import ClientReport
from flent_aqm.tools.tool import WAYS, Number, Server, Tool

# Numbers that the option --reads can name.
NUMBERS: Mapping[str, Number] = {number.name: number for number in (
    Number("download_mbps", "Mbit/s", "its download"),
    Number("upload_mbps", "Mbit/s", "its upload"),
    Number("latency_ms", "ms", "its latency, of no direction"),
    Number("latency_download_ms", "ms", "its latency under download"),
    Number("latency_upload_ms", "ms", "its latency under upload"),
    Number("good", "", "its verdict: 1 good, 0 bad", "higher"),
)}
JSON, TEXT = FORMS = ("json", "text")
# Words with a factor, for messages.
_JSON_FACTOR = "down.kbps*0.001=download_mbps"
_TEXT_FACTOR = "'Download: (.*) kbit/s=download_mbps*0.001'"
# Of a pattern, how much is read, and of an output that it looks through.
_LONGEST_PATTERN, _LONGEST_LINE = 200, 2000
# Keys of a client's output that a message names.
_MOST_KEYS = 8
# In place of a value that isn't there, as null may be one.
_NOTHING = object()
_NAME = re.compile(r"(\w+)(?:\*(.*))?")
_PAIR = re.compile(r"(?P<place>[^=*]+)(?:\*(?P<factor>[0-9.eE+-]+))?=(?P<name>\S+)")

_BEGINS_JSON = re.compile(r"^[ \t]*(?=[{\[])", re.MULTILINE)
_ENDS_LINE = re.compile(r"[ \t\r]*(?:\n|\Z)")
# The end of a PATTERN=NUMBER that another one follows.
_END_OF_PAIR = re.compile(rf"=(?:{'|'.join(NUMBERS)})(?:\*\S+)?\s")


@dataclass(frozen=True)
class NumberSource:
    """The place of a number in a client's output: a path in its last JSON, or a pattern in text.

    Attributes:
        name: name of the number, a key of NUMBERS.
        path: keys, and indexes from 0, that lead to the number in JSON. Empty for text.
        factor: the number in the output is multiplied by this.
        pattern: regular expression whose only group is the number. "" for JSON.
    """

    name: str
    path: tuple[str, ...]
    factor: float = 1.0
    pattern: str = ""


def parse_number_sources(text: str) -> list[NumberSource]:
    """Parse the value of the option --reads: "json:" or "text:", and the source of each number, in
    words with quotes as in a shell. Examples are in the module's text. Return the sources in their
    order.

    Raises ConfigError if the value or a word isn't of this form, see _parse_json_path() and
    _parse_pattern(), or if it has neither download_mbps nor upload_mbps.
    """
    form, _, rest = text.partition(":")
    words = _split("--reads", rest)
    if form.strip() not in FORMS or not words:
        raise ConfigError(
            f"--reads: {text[:60]!r}; expected 'json: PLACE=NUMBER …', such as 'json: "
            "down.mbps=download_mbps', or \"text: 'PATTERN=NUMBER' …\", such as \"text: "
            "'Download: (.*) Mbit/s=download_mbps'\"")
    sources = [_parse_pattern(word) if form.strip() == TEXT else _parse_json_path(word)
               for word in words]
    if not {f"{direction}_mbps" for direction in WAYS} & {source.name for source in sources}:
        raise ConfigError(f"--reads: {text[:60]!r} reads no rate; expected download_mbps or "
                          "upload_mbps among its numbers")
    return sources


def _split(option: str, text: str) -> list[str]:
    """Return the words of a text with quotes as in a shell. Raises ConfigError, which names the
    option, if a quote is not closed, or nothing follows a backslash at the end."""
    try:
        return shell_words(text)
    except ValueError as fault:
        raise ConfigError(f"{option}: {text.strip()[:60]!r}: {fault}") from None


def _parse_factor(word: str, text: str | None) -> float:
    """Return the factor that a text states, 1 for None or "". Raises ConfigError if it isn't a
    finite number above 0.

    Args:
        word: word of the option --reads, for the message.
        text: the factor.
    """
    try:
        factor = float(text or 1)
    except ValueError:
        factor = math.nan
    if not 0 < factor < math.inf:
        raise ConfigError(f"--reads: {word[:60]!r}: the factor {str(text)[:40]!r}; expected a "
                          "number above 0, such as 0.001")
    return factor


def _parse_json_path(word: str) -> NumberSource:
    """Return the source that a word PLACE=NUMBER or PLACE*FACTOR=NUMBER states, where PLACE has
    keys and indexes joined by dots. Raises ConfigError if it has another form, if the factor isn't
    a finite number above 0, or if the number is none of NUMBERS."""
    place, mark, name = word.rpartition("=")
    word = f"{place.strip()}{mark}{name.strip()}"  # a NUMBER has no blanks
    first, _, second = word.partition("=")
    if first in NUMBERS and second not in NUMBERS:
        why = (f"{second[:40]!r} is not the name of a number{did_you_mean(second, NUMBERS)}; if it "
               f"is the place of {first}, write {second[:40]}={first}" if second else
               "no name of a number stands after the =")
        raise ConfigError(f"--reads: {word[:60]!r}: expected PLACE=NUMBER; {why}; names of "
                          f"numbers: {', '.join(NUMBERS)}")
    pair = _PAIR.fullmatch(word)
    if pair is None:
        blanks = ("" if "=" in word else "; write no blanks around the =, and a place with blanks "
                  "in quotes, as in \"json: 'Down load.mbps=download_mbps'\"")
        raise ConfigError(f"--reads: {word[:60]!r}; expected PLACE=NUMBER or PLACE*FACTOR=NUMBER, "
                          f"such as {_JSON_FACTOR}{blanks}")
    _refuse_unknown(word, pair["name"], _JSON_FACTOR)
    return NumberSource(pair["name"], tuple(pair["place"].split(".")),
                        _parse_factor(word, pair["factor"]))


def _refuse_unknown(word: str, name: str, example: str) -> None:
    """Raise ConfigError if there is no number of this name.

    Args:
        word: word of the option --reads, for the message.
        name: name of the number, which should be one of NUMBERS.
        example: a word with a factor, for the message.
    """
    if name in NUMBERS:
        return
    raise ConfigError(f"--reads: {word[:60]!r}: unknown number {name[:40]!r} at its end"
                      f"{did_you_mean(name, NUMBERS)}; known: {', '.join(NUMBERS)}; another unit "
                      f"needs a factor, {example}")


def _parse_pattern(word: str) -> NumberSource:
    """Return the source that a word PATTERN=NUMBER or PATTERN=NUMBER*FACTOR states. The last =
    counts. Raises ConfigError if it has another form, if the number is none of NUMBERS, if the
    factor isn't a finite number above 0, or if the pattern is longer than _LONGEST_PATTERN, is not
    a regular expression, or hasn't exactly one group."""
    pattern, mark, name = word.rpartition("=")
    name = name.strip()
    if len(pattern) > _LONGEST_PATTERN:
        _refuse_joined(pattern)
        raise ConfigError(f"--reads: the pattern {pattern[:60]!r}… has {len(pattern)} characters; "
                          f"expected {_LONGEST_PATTERN} at most")
    if mark and pattern and re.fullmatch(r"\w[\w.-]*", name):
        _refuse_unknown(word, name, _TEXT_FACTOR)
    named = _NAME.fullmatch(name)
    if not mark or not pattern or named is None:  # a = of the pattern may be the last
        raise ConfigError(f"--reads: {word[:60]!r}; expected PATTERN=NUMBER; a pattern with blanks "
                          "needs quotes, as in \"text: 'Download: (.*) Mbit/s=download_mbps'\"")
    name, factor = named.groups()
    _refuse_unknown(word, name, _TEXT_FACTOR)
    try:
        groups = re.compile(pattern).groups
    except (re.error, OverflowError) as fault:  # of too many repetitions
        raise ConfigError(f"--reads: {pattern[:60]!r} is not a regular expression: {fault}"
                          ) from None
    number = _parse_factor(word, factor)
    if groups != 1:
        _refuse_joined(pattern)
        raise ConfigError(f"--reads: {word[:60]!r} has {groups} groups; expected one group: "
                          "( and ) around the number; others are (?: and ), and parentheses of the "
                          "text \\( and \\)")
    return NumberSource(name, (), number, pattern)


def _refuse_joined(pattern: str) -> None:
    """Raise ConfigError if a pattern contains =NUMBER or =NUMBER*FACTOR before white space, as if
    several PATTERN=NUMBER stood in one pair of quotes. Called for patterns that are wrong anyway,
    to say a better reason."""
    if _END_OF_PAIR.search(pattern):
        raise ConfigError(f"--reads: {pattern[:60]!r}: one pair of quotes has several "
                          "PATTERN=NUMBER; give each its own, as in \"text: "
                          "'Down: (.*) Mbit=download_mbps' 'Up: (.*) Mbit=upload_mbps'\"")


def check_placeholders(client: str, server: str) -> None:
    """Raise ConfigError if the client's command line lacks {host} or {port}, or the server's lacks
    {port}."""
    for option, text, placeholder in (("--client", client, "{host}"),
                                      ("--client", client, "{port}"),
                                      ("--server", server, "{port}")):
        if placeholder not in text:
            raise ConfigError(f"{option}: {text[:60]!r} has no {placeholder}; put it where the "
                              f"server's {placeholder.strip('{}')} belongs")


def command_tool(name: str, client: str, server: str, reads: str, longest_s: float = 60.0) -> Tool:
    """Return the Tool that a client's and a server's command line make. It has the server's command
    and the numbers. The client's command is only described: measure_by() runs it.

    Args:
        name: name of the tool.
        client: command line of the client, with {host} and {port}.
        server: command line of the server, with {port}.
        reads: value of the option --reads.
        longest_s: no test takes longer, in s.

    Raises ConfigError if a placeholder is missing, a command can't be run, or `reads` can't be
    parsed.
    """
    check_placeholders(client, server)
    words_of("--client", client)
    numbers = tuple(NUMBERS[source.name] for source in parse_number_sources(reads))
    start = shlex.join(word.replace("{port}", str(PORT)) for word in words_of("--server", server))
    return Tool(name, Server(name, {"OWN_PORT": (PORT,)}, start),
                method=f"By the maker's program: {_without_folders(client)}",
                source="its command line",
                longest_s=longest_s, numbers=numbers)


def _without_folders(command: str) -> str:
    """Return the words of a command line, joined by blanks without their quotes. Of words that are
    absolute paths, only what follows the last slash is left, so that readers of the Tool's
    description don't see the user's folders. Raises ValueError if quotes are unbalanced."""
    return " ".join(os.path.basename(word) if os.path.isabs(word) else word
                    for word in shlex.split(command))


def words_of(option: str, text: str) -> list[str]:
    """Return the words of a command line. The program, and words that are paths of existing files
    (not folders), become absolute paths.

    Args:
        option: the option with the command line, for messages.
        text: the command line, with quotes as in a shell.

    Raises ConfigError if the text is empty or has unbalanced quotes, or if the program can't be
    started, see find_command().
    """
    words = _split(option, text)
    if not words:
        raise ConfigError(f"{option}: the command is empty; give a program and its arguments")
    program = find_command(option, words[0])
    return [os.path.abspath(program), *(os.path.abspath(word) if os.path.isfile(word) else word
                                        for word in words[1:])]


def find_command(option: str, name: str) -> str:
    """Return the path of a program that a user's command line starts, as shutil.which() finds it:
    it is relative if `name` is a relative path.

    Args:
        option: the option with the command line, for messages.
        name: the first word of the command line.

    Raises ConfigError if there is no such program, if it is a folder, an empty file or not
    executable, or if it is a text that doesn't begin with #!, so that a shell would try to read it.
    """
    program = shutil.which(name)
    if program is None and os.path.isfile(name):
        raise ConfigError(f"{option}: {_why_not_started(name)}")
    if program is None and os.path.isdir(name) and os.sep not in name:
        raise ConfigError(f"{option}: no executable program {name[:200]!r} on PATH, and the one of "
                          "that name in the current folder is a folder; give the path of a program")
    if program is None and os.path.isdir(name):
        raise ConfigError(f"{option}: {name[:200]!r} is a folder; give the path of a program in it")
    if program is None and os.sep in name:
        raise ConfigError(f"{option}: {_why_no_file(name)}")
    if program is None:
        raise ConfigError(f"{option}: no executable program {name[:200]!r} on PATH; give its path, "
                          "or sh -c '…' for words of a shell")
    with suppress(OSError), open(program, "rb") as file:  # a program may be executable only
        begin = file.read(256)
        if begin.startswith(codecs.BOM_UTF8 + b"#!"):
            raise ConfigError(f"{option}: {program[:200]} begins with a byte order mark before its "
                              "#!; save it as UTF-8 without that mark")
        if not begin:
            raise ConfigError(f"{option}: {program[:200]} is an empty file; give a program")
        if b"\0" not in begin and not begin.startswith(b"#!"):
            raise ConfigError(f"{option}: {program[:200]} has no first line that names its "
                              "interpreter, such as '#!/usr/bin/env python3'; add that line, or "
                              "give the interpreter and this path as the command's first words")
    return program


def _why_no_file(name: str) -> str:
    """Return the reason why a path is that of no file, and how to mend that, as the end of a
    message.

    name: the first word of the command line.
    """
    try:
        os.stat(name)
    except (FileNotFoundError, NotADirectoryError):
        hint = ", in which ~ and $NAME are not replaced" if name[0] in "~$" else ""
        return f"there is no program {name[:200]!r}; give the path of one{hint}"
    except OSError as error:
        return (f"{name[:200]!r} can't be looked up: {cause_of(error)}; give the path of a program "
                "that this user can start")
    return f"{name[:200]!r} is neither a file nor a folder; give the path of a program"


def _why_not_started(name: str) -> str:
    """Return the reason why the shell would not start an existing file, and how to mend that, as
    the end of a message, such as "NAME is not executable; run: chmod +x NAME".

    name: the first word of the command line, the path of a file that shutil.which() doesn't find.
    """
    shown, quoted = name[:200], shlex.quote(name)
    status = os.stat(name)
    is_owner = os.geteuid() in (0, status.st_uid)
    # A shell line that is cut off would do something else.
    remedy = ("it belongs to another user; ask its owner, or give another program" if not is_owner
              else "make it executable" if len(quoted) > 200 else f"run: chmod +x {quoted}")
    path, may_start = shlex.quote(os.path.join(".", name)), os.access(name, os.X_OK)
    is_bare = os.sep not in name
    where = f"{shown} is not on PATH, but is a file in the current folder" if is_bare else shown
    if not may_start and status.st_mode & 0o111:
        return (f"{where}{', and' if is_bare else ''} is executable, but not by this user or not "
                "on this file system (mount option noexec); give a program that this user can "
                "start")
    if not is_bare:
        return f"{shown} is not executable; {remedy}"
    write = f"write {path}" if len(path) <= 200 else "write its path"
    return (f"{where}; {write}" if may_start else
            f"{where} that is not executable; {remedy}{f', and {write}' if is_owner else ''}")


def files_of(*commands: str) -> list[str]:
    """Return the absolute paths of the files that words of command lines name, programs included,
    in the order of the words, repeated ones again. Files within a word, such as --config=FILE, are
    left out. Raises ConfigError if a command line is empty or has unbalanced quotes, or if its
    program can't be started."""
    return [word for text in commands for word in words_of("command", text)
            if os.path.isabs(word) and os.path.isfile(word)]


def measure_by(client: str, reads: str, call: Call, report: ClientReport) -> None:
    """Run a client, wait for its end, and fill the report with its numbers. A rate counts as
    constant from the client's start to its end. Call it in the main thread, see lines_of().

    Args:
        client: command line of the client, with {host} and {port}.
        reads: value of the option --reads.
        call: has the server's host and port. Its other attributes are ignored.
        report: the report to fill.

    Raises BadResult if the client fails, or if a number in its output is missing or wrong,
    ConfigError if a command or `reads` is wrong, OSError if the client can't be started.
    """
    words = [word.replace("{host}", call.host).replace("{port}", str(call.port))
             for word in words_of("--client", client)]
    name = os.path.basename(words[0])
    started_s = time.monotonic()
    text = "\n".join(line.text for line in lines_of(name, words))
    numbers = read_numbers(name, text, parse_number_sources(reads))
    report.numbers |= numbers
    for direction in WAYS:
        if (mbps := numbers.get(f"{direction}_mbps")) is not None:
            # When each was, the capture tells.
            report.load(direction).begin(started_s)
            report.load(direction).show(time.monotonic(), mbps)
            report.load(direction).mbps = mbps


def read_numbers(name: str, text: str, sources: list[NumberSource]) -> dict[str, float]:
    """Return the numbers in a client's output, by name, multiplied by the factors of their sources.
    If several sources have the same name, the last one counts. In JSON, true and false count as 1
    and 0, and texts are no numbers.

    Args:
        name: name of the client, for messages.
        text: its output.
        sources: places of the numbers, either all in JSON or all in text.

    Raises BadResult if the output is empty, if sources are in JSON and it has none, or if a value
    is missing, no number, below 0 or not finite.
    """
    is_text = any(source.pattern for source in sources)
    if not text.strip():
        raise BadResult(f"{name} printed nothing; expected {'its numbers' if is_text else 'JSON'}: "
                        "run the same command by hand, perhaps it needs an option, or prints only "
                        "on a terminal")
    if is_text:
        return {source.name: _multiply(name, repr(source.pattern), _find_number(name, text, source),
                                       source) for source in sources}
    output = _find_json(name, text)
    numbers: dict[str, float] = {}
    for source in sources:
        path_text, value = ".".join(source.path), output
        for key in source.path:
            value = _value_at(value, key)
        if isinstance(value, bool):
            value = int(value)
        # Python's whole numbers may be larger than any float.
        if not isinstance(value, (int, float)) or not abs(value) <= sys.float_info.max:
            seen = (_describe_missing(output, source.path) if value is None else
                    f"the text {json.dumps(value)[:40]}" if isinstance(value, str) else
                    json.dumps(value)[:40])
            text_form = "; one in quotes can only be read by text:" * isinstance(value, str)
            raise BadResult(f"{name}: {path_text} in the last JSON of its output is {seen}; "
                            f"expected a finite number{text_form}")
        if value < 0:
            raise BadResult(f"{name}: {path_text} is {value:g}; expected 0 or more; leave it out "
                            "of --reads if it stands for a number that was not measured")
        numbers[source.name] = _multiply(name, path_text, value, source)
    return numbers


def _multiply(name: str, place: str, number: float, source: NumberSource) -> float:
    """Return a number of a client's output multiplied by the factor of its source. Raises BadResult
    if the product is infinite.

    Args:
        name: name of the client, for the message.
        place: where the number was found, for the message.
        number: the number.
        source: its source.
    """
    product = number * source.factor
    if not math.isfinite(product):
        raise BadResult(f"{name}: {place} is {number:g}, which is too large to be multiplied by "
                        f"the factor {source.factor:g}; give a smaller factor to --reads")
    return product


def _find_number(name: str, text: str, source: NumberSource) -> float:
    """Return the number that a pattern's group finds in a client's output, without the factor. A
    comma in it counts as decimal point. Each line is searched by itself, up to _LONGEST_LINE. If
    the pattern matches several times, the last match counts. Raises BadResult if it matches
    nowhere, if its group has no part in the last match, or if the group isn't a finite number of at
    least 0.

    Args:
        name: name of the client, for messages.
        text: its output, which isn't blank.
        source: the pattern.
    """
    last = None
    for line in text.splitlines():
        for match in re.finditer(source.pattern, line[:_LONGEST_LINE]):
            last = match
    if last is None:
        cut = (f", in the first {_LONGEST_LINE} characters of each line, which is all that is "
               "searched" if max(map(len, text.splitlines())) > _LONGEST_LINE else "")
        raise BadResult(f"{name}: no line of its output matches {source.pattern!r}{cut}; it starts "
                        f"with {text.strip()[:60]!r}")
    found = last[1]
    if found is None:
        raise BadResult(f"{name}: {source.pattern!r} matches {last[0][:40]!r} without its group; "
                        "expected a number in it")
    try:
        number = float(found.strip().replace(",", "."))
    except ValueError:
        raise BadResult(f"{name}: {source.pattern!r} finds {found[:40]!r}; expected a number "
                        "without unit, and with one point or comma at most") from None
    if not math.isfinite(number) or number < 0:
        raise BadResult(f"{name}: {source.pattern!r} finds {found[:40]!r}; expected a finite "
                        "number, 0 or more")
    return number


def _find_json(name: str, text: str) -> Any:
    """Return the last JSON in a client's output, a dict or list: one or several lines that have
    nothing else. JSON that can't be parsed is passed over. Raises BadResult if there is none.

    Args:
        name: name of the client, for the message.
        text: its output.
    """
    found, end = None, 0
    for begins in _BEGINS_JSON.finditer(text):
        if begins.start() < end:
            continue  # within the JSON before
        with suppress(ValueError, RecursionError):  # nested too deeply
            parsed, after = json.JSONDecoder().raw_decode(text, begins.end())
            if _ENDS_LINE.match(text, after):
                found, end = parsed, after
    if found is None:
        raise BadResult(f"{name} printed no whole JSON object or list in lines of its own; its "
                        f"output starts with {text.strip()[:60]!r}")
    return found


def _describe_missing(output: Any, path: Sequence[str]) -> str:
    """Return the words after "is" for a place where a client's output has no value: "missing: ",
    where the way to it ends, and what is there instead, such as `missing: down has "kbps", "ms"`,
    and that a key with a dot can't be named, if the place is one. "null" if that is there. Don't
    call it for a place with another value.

    Args:
        output: the client's JSON, a dict or list.
        path: keys and indexes that lead to the place.
    """
    value = output
    for depth, key in enumerate(path):
        inner = _value_at(value, key, _NOTHING)
        if inner is _NOTHING:
            where = f"{'.'.join(path[:depth])} has" if depth else "it has"
            if isinstance(value, dict):
                keys = ", ".join(json.dumps(str(each)[:30]) for each in list(value)[:_MOST_KEYS])
                more = f" and {len(value) - _MOST_KEYS} more" if len(value) > _MOST_KEYS else ""
                dots = ("; a key with a dot in it can only be read by text:"
                        if ".".join(path[depth:]) in value else "")
                return f"missing: {where} {keys or 'no keys'}{more}{dots}"
            return (f"missing: {where} {counted(len(value), 'element')}" if isinstance(value, list)
                    else f"missing: {'.'.join(path[:depth])} is {json.dumps(value)[:40]}")
        value = inner
    return "null"


def _value_at(value: Any, key: str, missing: Any = None) -> Any:
    """Return the value under a key of a dict, or at an index of a list, from 0, which `key` states
    in digits. `missing` if there is none, or if `value` is neither dict nor list."""
    if isinstance(value, dict):
        return value.get(key, missing)
    # An index of thousands of digits would be none that int() takes.
    if isinstance(value, list) and key.isdecimal() and len(key) < 10 and int(key) < len(value):
        return value[int(key)]
    return missing

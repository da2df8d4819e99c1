# SPDX-License-Identifier: GPL-3.0-or-later
"""A speed test of the user's as two commands, client and server, and where its numbers stand in
what the client prints.

    json: down.mbps=download_mbps up.mbps=upload_mbps rtt.loaded=latency_ms

reads {"down": {"mbps": 47.1}, "up": …, "rtt": {"loaded": 80}} of the last line that is JSON, or of
all output. A factor may stand behind the place: down.kbps*0.001=download_mbps.

    text: 'Download: (\\S+) Mbit/s=download_mbps' 'Ping: (\\S+) ms=latency_ms'

reads other output: each word is a regular expression, whose group is the number, = and the number's
name, with quotes as in a shell. Where the expression matches several times, the last one counts.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.tools.client import Call, lines_of
from flent_aqm.tools.own import PORT
from flent_aqm.tools.report import Report
from flent_aqm.tools.tool import WAYS, Number, Server, Tool

# What can be read, and what it is.
NUMBERS: Mapping[str, Number] = {number.name: number for number in (
    Number("download_mbps", "Mbit/s", "its download"),
    Number("upload_mbps", "Mbit/s", "its upload"),
    Number("latency_ms", "ms", "its latency, of no direction"),
    Number("latency_download_ms", "ms", "its latency under download"),
    Number("latency_upload_ms", "ms", "its latency under upload"),
    Number("good", "", "its verdict: 1 good, 0 bad", "higher"),
)}
JSON, TEXT = FORMS = ("json", "text")
# Of a pattern, how much is read, and of an output that it looks through.
_LONGEST_PATTERN, _LONGEST_LINE = 200, 2000
_PAIR = re.compile(r"(?P<place>[^=*\s]+)(?:\*(?P<factor>[0-9.eE+-]+))?=(?P<name>\w+)")


@dataclass(frozen=True)
class Read:
    """Where a number is: keys and indexes in JSON, or a pattern in text, and what it is multiplied
    by."""

    name: str
    place: tuple[str, ...]
    factor: float = 1.0
    pattern: str = ""


def parse_reads(text: str) -> list[Read]:
    """Return what --reads says. Raises ConfigError."""
    form, _, rest = text.partition(":")
    try:
        words = shlex.split(rest) if form.strip() == TEXT else rest.split()
    except ValueError as fault:
        raise ConfigError(f"--reads: {text[:60]!r}: {fault}") from None
    if form.strip() not in FORMS or not words:
        raise ConfigError(
            f"--reads: {text[:60]!r}; expected 'json: PLACE=NUMBER …', such as 'json: "
            "down.mbps=download_mbps', or \"text: 'PATTERN=NUMBER' …\", such as \"text: "
            "'Download: (.*) Mbit/s=download_mbps'\"")
    reads = [_parse_pattern(word) if form.strip() == TEXT else _parse(word) for word in words]
    if not {f"{way}_mbps" for way in WAYS} & {one.name for one in reads}:
        raise ConfigError(f"--reads: {text[:60]!r} reads no rate; expected download_mbps or "
                          "upload_mbps among its numbers")
    return reads


def _parse(word: str) -> Read:
    first, _, second = word.partition("=")
    if first in NUMBERS and second not in NUMBERS:
        raise ConfigError(f"--reads: {word[:60]!r} is in the wrong order; expected PLACE=NUMBER: "
                          f"{second[:40]}={first}")
    pair = _PAIR.fullmatch(word)
    try:
        if pair is None:
            raise ValueError
        factor = float(pair["factor"] or 1)
    except ValueError:
        raise ConfigError(f"--reads: {word[:60]!r}; expected PLACE=NUMBER or PLACE*FACTOR=NUMBER, "
                          "such as down.kbps*0.001=download_mbps") from None
    _refuse_unknown(word, pair["name"])
    return Read(pair["name"], tuple(pair["place"].split(".")), factor)


def _refuse_unknown(word: str, name: str) -> None:
    if name in NUMBERS:
        return
    raise ConfigError(f"--reads: {word[:60]!r}: unknown number {name!r}"
                      f"{did_you_mean(name, NUMBERS)}; known: {', '.join(NUMBERS)}; another unit "
                      "needs a factor, down.kbps*0.001=download_mbps")


def _parse_pattern(word: str) -> Read:
    """Return what a word of text's form says. Raises ConfigError."""
    pattern, mark, name = word.rpartition("=")
    if len(pattern) > _LONGEST_PATTERN:
        raise ConfigError(f"--reads: the pattern {pattern[:60]!r}… has {len(pattern)} characters; "
                          f"expected {_LONGEST_PATTERN} at most")
    if not mark or not pattern:
        raise ConfigError(f"--reads: {word[:60]!r}; expected PATTERN=NUMBER, such as 'Download: "
                          "(.*) Mbit/s=download_mbps'")
    name, _, factor = name.partition("*")
    _refuse_unknown(word, name)
    try:
        groups = re.compile(pattern).groups
    except re.error as fault:
        raise ConfigError(f"--reads: {pattern[:60]!r} is not a regular expression: {fault}"
                          ) from None
    try:
        number = float(factor or 1)
    except ValueError:
        raise ConfigError(f"--reads: {word[:60]!r}: the factor {factor[:40]!r} is not a number"
                          ) from None
    if groups != 1:
        raise ConfigError(f"--reads: {word[:60]!r} has {groups} groups; expected one group: "
                          "( and ) around the number")
    return Read(name, (), number, pattern)


def command_tool(name: str, client: str, server: str, reads: str, longest_s: float = 60.0) -> Tool:
    """Return the Tool. client: words with {host} and {port}; server: with {port}; longest_s: no
    test takes longer. Raises ConfigError."""
    for option, text, wanted in (("--client", client, "{host}"), ("--client", client, "{port}"),
                                 ("--server", server, "{port}")):
        if wanted not in text:
            raise ConfigError(f"{option}: {text[:60]!r} has no {wanted}; put it where the "
                              f"server's {wanted.strip('{}')} belongs")
    words_of("--client", client)
    numbers = tuple(NUMBERS[one.name] for one in parse_reads(reads))
    start = shlex.join(word.replace("{port}", str(PORT)) for word in words_of("--server", server))
    return Tool(name, Server(name, {"OWN_PORT": (PORT,)}, start), method=f"`{client}`",
                source="its command line", longest_s=longest_s, numbers=numbers)


def words_of(option: str, text: str) -> list[str]:
    """Return a command's words, with its program, and files that they name, by their places. Raises
    ConfigError for a program that isn't there."""
    try:
        words = shlex.split(text)
    except ValueError as fault:
        raise ConfigError(f"{option}: {text[:60]!r}: {fault}") from None
    if not words:
        raise ConfigError(f"{option}: the command is empty; give the command that starts it")
    program = shutil.which(words[0])
    if program is None and os.path.isfile(words[0]):
        raise ConfigError(f"{option}: {words[0][:200]} is not executable; run: chmod +x "
                          f"{shlex.quote(words[0])[:200]}")
    if program is None:
        raise ConfigError(f"{option}: no program {words[0][:60]!r} on PATH; give its path")
    return [os.path.abspath(program), *(os.path.abspath(word) if os.path.isfile(word) else word
                                        for word in words[1:])]


def files_of(*commands: str) -> list[str]:
    """Return the files that commands name, which runs have to see."""
    return [word for text in commands for word in words_of("command", text)
            if os.path.isabs(word) and os.path.isfile(word)]


def measure_by(client: str, reads: str, call: Call, report: Report) -> None:
    """Run the client, and fill the report. Raises BadResult."""
    words = [word.replace("{host}", call.host).replace("{port}", str(call.port))
             for word in words_of("--client", client)]
    name = os.path.basename(words[0])
    started_s = time.monotonic()
    text = "\n".join(line.text for line in lines_of(name, words))
    numbers = read_numbers(name, text, parse_reads(reads))
    report.numbers |= numbers
    for way in WAYS:
        if (mbps := numbers.get(f"{way}_mbps")) is not None:
            # When each was, the capture tells.
            report.way(way).begin(started_s)
            report.way(way).show(time.monotonic(), mbps)
            report.way(way).mbps = mbps


def read_numbers(name: str, text: str, reads: list[Read]) -> dict[str, float]:
    """Return the numbers in a client's output. Raises BadResult."""
    is_text = any(read.pattern for read in reads)
    if not text.strip():
        raise BadResult(f"{name} printed nothing; expected {'its numbers' if is_text else 'JSON'}")
    if is_text:
        return {read.name: _number_in(name, text, read) * read.factor for read in reads}
    output = _json(name, text)
    numbers: dict[str, float] = {}
    for read in reads:
        place, value = ".".join(read.place), output
        for key in read.place:
            value = _inside(value, key)
        if isinstance(value, bool):
            value = int(value)
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            raise BadResult(f"{name}: {place} is {json.dumps(value)[:40]}; expected a number")
        if value < 0:
            raise BadResult(f"{name}: {place} is {value:g}; expected 0 or more")
        numbers[read.name] = value * read.factor
    return numbers


def _number_in(name: str, text: str, read: Read) -> float:
    """Return what the pattern finds in a line, the last one that it matches. Raises BadResult."""
    found = None
    for line in text.splitlines():
        for match in re.finditer(read.pattern, line[:_LONGEST_LINE]):
            found = match[1]
    if found is None:
        raise BadResult(f"{name}: no line of its output matches {read.pattern!r}; it starts with "
                        f"{text.strip()[:60]!r}")
    try:
        number = float(found.strip().replace(",", "."))
    except ValueError:
        raise BadResult(f"{name}: {read.pattern!r} finds {found[:40]!r}; expected a number"
                        ) from None
    if not math.isfinite(number) or number < 0:
        raise BadResult(f"{name}: {read.pattern!r} finds {number:g}; expected 0 or more")
    return number


def _json(name: str, text: str) -> Any:
    for part in (text, *reversed(text.splitlines())):
        try:
            parsed = json.loads(part)
        except ValueError:
            continue
        if isinstance(parsed, (dict, list)):
            return parsed
    raise BadResult(f"{name} printed no JSON; its output starts with {text.strip()[:60]!r}")


def _inside(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, list) and key.isdigit() and int(key) < len(value):
        return value[int(key)]
    return None

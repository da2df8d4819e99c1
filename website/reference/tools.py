# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests and the tools that they run: methods, numbers, servers, optional programs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flent_aqm.asked.servers import SERVERS, Server
from flent_aqm.base.paths import resource_dir
from flent_aqm.measure.speedtests.table import CLIENTS, WAYS, Number
from flent_aqm.results.grouping import collect
from flent_aqm.setup.speedtests import OPTIONAL
from flent_aqm.show.looks import DASH
from website.reference.rows import table


def tests() -> Iterator[str]:
    """Yield a row for each test whose client has no paragraph of its own."""
    yield from table(("test", "what runs"), (
        (f"`{path.stem}`", _description(path.read_text(encoding="utf-8")))
        for path in sorted(resource_dir("tests_defs").glob("*.conf"))
        if path.stem not in CLIENTS))


def methods() -> Iterator[str]:
    """Yield a paragraph for each client that reports numbers of its own."""
    for name, client in CLIENTS.items():
        numbers = ", ".join(dict.fromkeys(map(_number, client.numbers)))
        yield (f"**{name}**: {client.method} Source: {client.source}. "
               f"`{client.prefix}_…`: {numbers}.")
        yield ""


def servers() -> Iterator[str]:
    """Yield one line: each program with its ports."""
    programs = collect(SERVERS.values(), lambda one: one.program or one.module or "this package's")
    yield "; ".join(f"{program} {', '.join(dict.fromkeys(map(_ports, group)))}"
                    for program, group in programs.items()) + "."


def optional() -> Iterator[str]:
    """Yield a row for each program that `flent-aqm setup --speedtests` gets."""
    yield from table(("name", "maker", "from", "package", "version", "licence"), (
        (name, one.maker, one.source, f"`{one.package}`", one.version or "the system's",
         one.licence) for name, one in OPTIONAL.items()))


def _description(definition: str) -> str:
    found = re.search(r'^DESCRIPTION = "([^"]+)"', definition, re.MULTILINE)
    assert found
    return found[1].replace(", with irtt and ping", "").replace(" with irtt and ping", "")


def _number(number: Number) -> str:
    """Return a number's name with WAY in the place of a direction."""
    name = re.sub(rf"(?:(?<=_)|^)({'|'.join(WAYS)})(?=_|$)", "WAY", number.name)
    return f"`{name}`"


def _ports(server: Server) -> str:
    every = [port for ports in server.ports.values() for port in ports]
    told = (f"{every[0]}{DASH}{every[-1]}" if len(every) > 2 else ", ".join(map(str, every)))
    return f"{told}/{server.protocol}"

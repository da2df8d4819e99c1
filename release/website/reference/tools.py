# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe the tests and the tools that they run: methods, numbers, servers, optional programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flent_aqm.base.paths import resource_dir
from flent_aqm.results.grouping import collect
from flent_aqm.show.looks import DASH
from flent_aqm.tools.table import OPTIONAL, SERVERS, SPEED_TESTS
from flent_aqm.tools.tool import WAYS, Number, Server
from release.website.reference.rows import listed, table


def tests() -> Iterator[str]:
    """Yield a list item with name and description for each test of this package, sorted by name,
    except those named like tools of SPEED_TESTS, which have paragraphs by methods()."""
    yield from listed(
        (f"`{path.stem}`", _read_description(path.read_text(encoding="utf-8")))
        for path in sorted(resource_dir("tests_defs").glob("*.conf"))
        if path.stem not in SPEED_TESTS)


def methods() -> Iterator[str]:
    """Yield a paragraph, and an empty line, for each of SPEED_TESTS: its method, source and
    numbers. If an earlier one has the same numbers, "as there" stands in their place."""
    told: set[tuple[Number, ...]] = set()
    for name, client in SPEED_TESTS.items():
        numbers = ", ".join(dict.fromkeys(map(_format_name, client.numbers)))
        yield (f"**{name}**: {client.method} Source: {client.source}. "
               f"`{client.metric('…')}`: {'as there' if client.numbers in told else numbers}.")
        told.add(client.numbers)
        yield ""


def servers() -> Iterator[str]:
    """Yield one line with the ports of all SERVERS by program, such as "iperf3 5201, 5202/tcp; irtt
    2112/udp.". Servers without a program stand under their module's name, or "this package's"."""
    programs = collect(SERVERS.values(), lambda one: one.program or one.module or "this package's")
    yield "; ".join(f"{program} {_format_ports(group)}" for program,
                    group in programs.items()) + "."


def optional() -> Iterator[str]:
    """Yield the lines of a Markdown table: a row for each program or library that `flent-aqm setup
    --speedtests` gets: name, maker, where from, package, version, licence."""
    yield from table(("name", "maker", "from", "package", "version", "licence"), (
        (name, one.maker, one.source, f"`{one.package}`", one.version or "the system's",
         one.licence) for name, one in OPTIONAL.items()))


def _read_description(definition: str) -> str:
    found = re.search(r'^DESCRIPTION = "([^"]+)"', definition, re.MULTILINE)
    assert found
    return found[1].replace(", with irtt and ping", "").replace(" with irtt and ping", "")


def _format_name(number: Number) -> str:
    """Return a number's name in code marks, with WAY in the place of a direction."""
    name = re.sub(rf"(?:(?<=_)|^)({'|'.join(WAYS)})(?=_|$)", "WAY", number.name)
    return f"`{name}`"


def _format_ports(servers: Sequence[Server]) -> str:
    """Return the ports of some servers as text, by protocol, each once, such as "5201, 5202/tcp,
    2112/udp". More than two ports of one server are a range."""
    by_protocol = collect(servers, lambda one: one.protocol)
    return ", ".join(
        f"{', '.join(dict.fromkeys(port for one in group for port in _port_texts(one)))}/{protocol}"
        for protocol, group in by_protocol.items())


def _port_texts(server: Server) -> list[str]:
    every = list(map(str, server.every_port))
    return [f"{every[0]}{DASH}{every[-1]}"] if len(every) > 2 else every

# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of docs/results/quic.md, and its programs."""

from __future__ import annotations

import ast
import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.results.metrics.run import Run, load_run
from research.validation import quic

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "runs" / "ndt7_download.flent.gz"
PLACES = [(stack, queue, cross) for stack in quic.STACKS for queue in quic.QUEUES
          for cross in (False, True)]


def runs_in(folder: Path, mbps: float) -> dict[tuple[str, str, bool], Run]:
    """Return a run for each place, whose client printed this rate."""
    run = replace(load_run(GOLDEN), path=folder / "run.flent.gz")
    (folder / "run.log").write_text(
        "--- the command on the client\n"
        f'{{"download_mbps": {mbps}, "rtt_median_ms": 41.26, "rtt_p99_ms": 80}}\n')
    return dict.fromkeys(PLACES, run)


def test_row_of_each_stack_and_queue_has_what_the_client_printed(tmp_path: Path) -> None:
    """Beside the capture's numbers."""
    head, rule, *rows = quic.lines(runs_in(tmp_path, 16))
    assert len(rows) == 12
    assert head.count("|") == rule.count("|") == rows[0].count("|")
    assert all("| 41.3, 80.0 |" in row for row in rows)


def test_runs_that_differ_are_named(tmp_path: Path) -> None:
    """By their samples or by what was printed; equal ones are counted."""
    first, second = runs_in(tmp_path, 16), runs_in(tmp_path, 16)
    assert quic.same(first, second) == (
        "Made twice: 24 of 24 runs had the same samples, to the last digit, and printed the same.")
    other = tmp_path / "other"
    other.mkdir()
    second[PLACES[1]] = runs_in(other, 17)[PLACES[1]]
    assert quic.same(first, second).endswith(
        "23 of 24 runs had the same samples, to the last digit, and printed the same. Not: "
        "aioquic no_aqm, beside Cubic.")
    aqm = {**second[PLACES[2]].aqm, "samples_sha256": "0"}
    second[PLACES[2]] = replace(second[PLACES[2]], aqm=aqm)
    assert quic.same(first, second).endswith("Not: aioquic no_aqm, beside Cubic; aioquic codel.")


def test_missing_runs_are_refused(tmp_path: Path) -> None:
    """An unfinished sweep makes no table."""
    with pytest.raises(ValueError, match="no runs of aioquic no_aqm"):
        quic.by_place(tmp_path)


def test_page_names_the_versions_that_its_programs_pin() -> None:
    """quic-go's and quinn's; Python's program parses."""
    page = (ROOT / "docs" / "results" / "quic.md").read_text()
    folder = ROOT / "research" / "quic"
    go, = re.findall(r"quic-go v(\S+)", (folder / "quic-go" / "go.mod").read_text())
    rust, = re.findall(r'quinn = \{ version = "=([\d.]+)"', (folder / "quinn" / "Cargo.toml"
                                                             ).read_text())
    assert f") {go} " in page
    assert f") {rust} " in page
    ast.parse((folder / "aioquic" / "stack.py").read_text())


def test_client_ends_when_its_connection_does(tmp_path: Path) -> None:
    """It waited for the rest for ever."""
    pytest.importorskip("aioquic")
    from aioquic.asyncio import QuicConnectionProtocol, serve
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.events import StreamDataReceived

    from research.quic.aioquic import stack

    class Closing(QuicConnectionProtocol):  # type: ignore[misc]  # it has no types
        def quic_event_received(self, event: Any) -> None:
            if isinstance(event, StreamDataReceived):
                self.close(reason_phrase="enough")

    async def download() -> None:
        files = [str(tmp_path / name) for name in ("cert.pem", "key.pem")]
        stack.write_certificate(*files)
        configuration = QuicConfiguration(is_client=False, alpn_protocols=[stack.ALPN])
        configuration.load_cert_chain(*files)
        server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=Closing)
        port = server._transport.get_extra_info("sockname")[1]
        try:
            async with asyncio.timeout(60):
                await stack.run_client("127.0.0.1", port, "1")
        finally:
            server.close()

    with pytest.raises(ConnectionError, match="ended before the download did: enough"):
        asyncio.run(download())

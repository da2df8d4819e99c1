# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of speed: which figures of a result it has, and which number of each."""

from __future__ import annotations

from research.bench.document import section


def figure(name: str, value: float, cpu: float | None, target: float | None) -> dict[str, object]:
    """Return a figure as `make bench` keeps it."""
    return {"name": name, "unit": "s", "value": value, "cpu": cpu, "target": target}


def test_processor_time_counts_and_the_value_where_there_is_none() -> None:
    """A ratio, and memory, have no processor time; the page left them blank."""
    lines = section({
        "machine": {"cores": 2, "cpu": "CPU", "kernel": "6.1"}, "load_before": 0.0,
        "figures": [figure("boot", 2.0, 1.0, 3.0), figure("ratio", 1.75, None, 1.3),
                    figure("aside", 9.0, 8.0, None), figure("peer: ns-3", 7.0, 6.0, None)],
        "peer": "ns-3"}).splitlines()
    assert lines[4:] == ["| boot | s | 1.00 | 3.00 |", "| ratio | s | 1.75 | 1.30 |",
                         "| peer: ns-3 | s | 6.00 |  |", "", "Peer: ns-3."]

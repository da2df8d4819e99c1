# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that wait without blocking: what they see when, and by how many tries."""

from __future__ import annotations

import json

import pytest

from .client import output

pytestmark = pytest.mark.lab

# Its child says the time a second later, and sleeps on or ends; the parent asks again and again
# whether it has.
ANOTHER = """
import os, select, sys, time
reader, writer = os.pipe()
if not os.fork():
    time.sleep(1)
    os.write(writer, b"%d" % time.monotonic_ns())
    if sys.argv[1] == "sleeps":
        time.sleep(1)
    os._exit(0)
tries = 1
while not select.select([reader], [], [], 0)[0]:
    tries += 1
print(tries, time.monotonic_ns() - int(os.read(reader, 20)))
"""
# Waits for moments: how late it sees them, in ns.
CLOCK = """
import json, select, time
late_ns = {}
for wait_ns in 10_000, 100_000, 1_000_000, 100_000_000:
    until = time.monotonic_ns() + wait_ns
    while (now := time.monotonic_ns()) < until:
        select.select([], [], [], 0)
    late_ns[wait_ns] = now - until
    time.sleep(0.001)
print(json.dumps(late_ns))
"""


@pytest.mark.parametrize("then", ["ends", "sleeps"])
def test_what_another_process_does_is_seen_at_once_and_by_few_tries(then: str) -> None:
    """iperf3 3.12 polls so from its last write until the queue has drained: for seconds, each of
    which would be two million tries."""
    tries, late_ns = map(int, output("python3", "-c", ANOTHER, then).split())
    assert late_ns < 5_000
    assert 1_000 < tries < 60_000


def test_a_moment_is_seen_at_once_and_after_long_waits_within_100_us() -> None:
    """Those who pace what they send by looking at the clock wait for microseconds."""
    for wait_ns, late_ns in json.loads(output("python3", "-c", CLOCK)).items():
        assert 0 <= late_ns <= (101_000 if int(wait_ns) > 10_000_000 else 1_000), wait_ns

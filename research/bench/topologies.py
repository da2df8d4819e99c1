# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure what many subscribers cost: a class of HTB and a CAKE for each, both ways, all busy."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from flent_aqm.base import defaults
from flent_aqm.lab.virtual import Lab
from flent_aqm.router.hook import apply_command
from flent_aqm.spec.scenario import Scenario
from research.bench.cost import Cost, Figure, cost_of, figure

LENGTH_S = 10
TARGET_S = 10.0
RATE_MBPS = 1000
# One connection of each subscriber, of which each takes what comes, looking every 10 ms.
_LOAD = """
import select, socket, sys, time
port, count, length_s = map(int, sys.argv[1:])
poll, sockets = select.epoll(), {}
for number in range(1, count + 1):
    one = socket.create_connection(("server", port), source_address=(
        socket.gethostbyname(f"sub{number}"), 0))
    one.sendall(b"GET /download?bytes=100000000 HTTP/1.1\\r\\nHost: server\\r\\n\\r\\n")
    sockets[one.fileno()] = one
    poll.register(one, select.EPOLLIN)
buffer, came, end_s = bytearray(1 << 20), dict.fromkeys(sockets, 0), time.monotonic() + length_s
while time.monotonic() < end_s:
    time.sleep(0.01)
    for handle, _ in poll.poll(0, count):
        came[handle] += sockets[handle].recv_into(buffer)
mbps = sorted(value * 8e-6 / length_s for value in came.values())
print(f"{sum(mbps):.1f} Mbit/s in all, {mbps[0]:.2f} to {mbps[-1]:.2f} each")
assert sum(mbps) > 800 and mbps[0] > 0.5 * sum(mbps) / count
"""


def figures(repeat: int, only: str) -> list[Figure]:
    """Measure downloads of all subscribers at once, including boot, set-up and reading all queues
    back before and after, per virtual second of the downloads. Print and return a figure for 100
    and one for 500 subscribers. Raises SystemExit if the downloads or the reading fail, or a
    subscriber or all together get too little; AqmError if the lab fails.

    Args:
        repeat: number of measurements of each figure. Fewer are made of one that takes long.
        only: part of the names of the figures, "" for all.
    """
    costs = []
    for count, target in ((100, None), (500, TARGET_S)):
        name = f"{count} subscribers with HTB and CAKE, all busy, {RATE_MBPS} Mbit/s"
        if only in name:
            scenario = Scenario.from_settings({
                "topology": f"subscribers:{count}", "rate_mbps": RATE_MBPS, "aqm": "cake"})
            costs.append(figure(name, "s per virtual s", target, repeat,
                                partial(_cost, scenario, count)))
    return costs


def _cost(scenario: Scenario, count: int) -> Cost:
    read_back = ('sh "$FLENT_AQM_HOOKS/on_router.sh" read-back testbed=virtual '
                 f'subscribers={count} >/run/told')
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        load = Path(folder, "load.py")
        load.write_text(_LOAD)
        command = (f'{read_back} && "$PYTHON" -P {load} {defaults.FETCH_PORT} {count} {LENGTH_S} '
                   f'&& {read_back}')

        def run() -> None:
            with Lab(scenario, ["sh", "-c", command], servers=("fetch",),
                     prelude=[apply_command(scenario)]) as lab:
                if lab.run().status:
                    raise SystemExit(f"subscribers failed: "
                                     f"{lab.stderr.read_text()[-500:] or 'they printed no error'}")
                print(lab.stdout.read_text().strip())

        cost = cost_of(run)
    return Cost(cost.wall_s / LENGTH_S, cost.cpu_s / LENGTH_S)

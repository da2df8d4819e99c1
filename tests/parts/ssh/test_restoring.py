# SPDX-License-Identifier: GPL-3.0-or-later
"""A router's state before and after, on both kinds of router."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.lab
InGuest = Callable[..., list[str]]

ROUTERS = ("openssh_router", "small_router")


@pytest.mark.parametrize("router", ROUTERS)
def test_session_when_it_ends_leaves_the_router_as_found(in_guest: InGuest, router: str) -> None:
    """Default queues, then somebody's tree of queues, filters, lengths and offloads."""
    lines = in_guest("""
        found; echo 'apply && is_changed' | hold; as_found
        someones_queues
        found; echo 'apply && is_changed' | hold; as_found
    """, router)
    assert lines == ["changed", "as found"] * 2


# What tc shows of these is not what it takes, or less than the kernel has. For down and for up.
QUEUES = (("tbf rate 8419kbit burst 4000 latency 50ms", "codel target 500us ce_threshold 1ms ecn"),
          ("tbf rate 100mbit burst 32kb latency 400ms", "pie target 999us"),
          ("fq limit 500", "cake bandwidth 8419kbit memlimit 3mb"),
          ("netem delay 999us", "cake"))


def test_queues_that_tc_shows_in_other_words_than_it_takes_come_back(in_guest: InGuest) -> None:
    """Times and bursts that are shown rounded down, units that are shown and not taken."""
    code = "".join(f"""
        on_router tc qdisc add dev down root handle 7: {down}
        on_router tc qdisc add dev up root handle 7: {up}
        found; echo 'on_router "$real_tc" qdisc | grep -q " 7:" || echo cleared' | hold; as_found
        for device in down up; do on_router tc qdisc del dev $device root; done
    """ for down, up in QUEUES)
    assert in_guest(code) == ["cleared", "as found"] * len(QUEUES)


def test_sqm_scripts_are_stopped_for_the_sweep_and_started_again(in_guest: InGuest) -> None:
    """As OpenWrt's service that puts queues there itself, and knows best how."""
    lines = in_guest("""
        in_router sh -c 'mount -t tmpfs sqm /etc/init.d; mkdir -p /run/sqm
            cat >/etc/init.d/sqm; chmod +x /etc/init.d/sqm' <<'END'
#!/bin/sh
echo "$1" >>/run/ssh/sqm
case $1 in
    stop) rm /var/run/sqm/up.state; tc qdisc del dev up root ;;
    start) : >/var/run/sqm/up.state; tc qdisc add dev up root handle 8001: cake bandwidth 9mbit ;;
esac
END
        in_router /etc/init.d/sqm start
        found; echo 'apply && is_changed' | hold; as_found
        cat /run/ssh/sqm
    """)
    assert lines == ["changed", "as found", "start", "stop", "start"]

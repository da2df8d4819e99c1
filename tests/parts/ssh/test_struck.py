# SPDX-License-Identifier: GPL-3.0-or-later
"""kill -9, or a full disk, at calls of tc, from the first look at a router to the last step of its
restoration: the next sweep finds a router as it was."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.lab
InGuest = Callable[..., list[str]]

# Without it once, amid the hook that puts the queue there; STRUCK_STEP=1: at each call.
STEP = int(os.environ.get("STRUCK_STEP", "0"))
FIRST = 3 if STEP else 30
# Whom: the sweep; the router's shell; these and the router's watchdog, so that only the next sweep
# can restore; and what fills the router's /run, which on OpenWrt is /tmp.
STRIKES = {
    "sweep": "kill -9 $(cat /run/ssh/holder)", "shell": "kill -9 $1",
    "all": "read -r dog _ </run/flent-aqm/watchdog; kill -9 $1 $dog $(cat /run/ssh/holder)",
    "disk": "dd if=/dev/zero of=/run/fill bs=1k 2>/dev/null"}
SMALL_DISK = ("mkdir /tmp/run; mount --bind /run /tmp/run; mount -t tmpfs -o size=1m small /run; "
              "for part in ssh sshd home real; do mkdir -p /tmp/run/$part /run/$part; "
              "mount --bind /tmp/run/$part /run/$part; done")
CAMPAIGN = """
    someones_queues; found
    fake_tc <<'TC'
read -r n </run/ssh/n; n=$((n + 1)); echo $n >/run/ssh/n; read -r at </run/ssh/at
[ $n != $at ] || sh /run/ssh/strike $PPID
exec $real_tc "$@"
TC
    echo apply >/run/ssh/code
    at=FIRST
    while :; do
        echo 0 >/run/ssh/n; echo $at >/run/ssh/at
        "$PYTHON" "$GUEST_PY" "$testbed" 'down up' </run/ssh/code >/run/ssh/said 2>&1 &
        echo $! >/run/ssh/holder; wait $!
        [ "$(cat /run/ssh/n)" -ge $at ] || break
        in_router rm -f /run/fill
        PATIENCE
        again=$(echo 'echo again' | hold); dump >/run/ssh/now
        if [ "$again" = again ] && cmp -s /run/ssh/found /run/ssh/now; then
            echo "as found"
        else
            echo "$at: $again; $(diff /run/ssh/found /run/ssh/now); $(cat /run/ssh/said)"
        fi
        NEXT
    done
"""


@pytest.mark.parametrize("router", ["openssh_router", "small_router"])
@pytest.mark.parametrize("struck", STRIKES)
def test_router_is_as_found_for_the_next_sweep(in_guest: InGuest, router: str, struck: str) -> None:
    """By the sweep, by the watchdog, or by the next sweep itself."""
    lines = in_guest(
        f"echo '{STRIKES[struck]}' >/run/ssh/strike\n" + CAMPAIGN.replace("FIRST", str(FIRST))
        .replace("NEXT", f"at=$((at + {STEP}))" if STEP else "break")
        .replace("PATIENCE", "" if struck == "all" else "sleep 70"),
        f"{router} '{SMALL_DISK}'" if struck == "disk" else router)
    print(len(lines), "strikes")
    assert set(lines) == {"as found"}

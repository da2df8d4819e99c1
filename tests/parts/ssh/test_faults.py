# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong with routers behind ssh: each time the router is left as it was found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.lab
InGuest = Callable[..., list[str]]

ROUTER = "ssh://root@203.0.113.1"
GONE = ("this sweep no longer holds this host: it has restarted, or its watchdog has "
        "restored it, or flent-aqm restore has")


def test_hook_when_cut_off_anywhere_does_nothing(in_guest: InGuest) -> None:
    """A shell that gets any part of a hook, but not its end, changes nothing."""
    lines = in_guest("""
        found
        hold <<'DURING'
        # Stands in for ssh, and keeps what it is given.
        mkdir /tmp/bin
        printf '#!/bin/sh\\ncat >/tmp/hook\\n' >/tmp/bin/ssh
        chmod +x /tmp/bin/ssh
        PATH=/tmp/bin:$PATH apply 2>&1 | grep -o "without the whole answer"
        dump >/run/ssh/before
        size=$(wc -c </tmp/hook)
        [ "$size" -gt 5000 ] && echo long
        for part in 10 20 30 40 50 60 70 80 90 99; do
            head -c $((size * part / 100)) /tmp/hook | in_router sh -s 2>/dev/null
        done
        head -c $((size - 2)) /tmp/hook | in_router sh -s 2>/dev/null
        dump | cmp - /run/ssh/before && echo the same
        in_router sh -s </tmp/hook >/tmp/answer && is_changed
DURING
        as_found
    """)
    assert lines == ["without the whole answer", "long", "the same", "changed", "as found"]


@pytest.mark.parametrize("router", ["openssh_router", "small_router"])
def test_connection_when_cut_in_a_hook_has_the_watchdog_restore(
        in_guest: InGuest, router: str) -> None:
    """The link goes while tc works. The sweep is told; within the time all is as found."""
    lines = in_guest("""
        someones_queues; found
        hold <<'DURING'
        fake_tc <<'TC'
        case $* in
            *-batch*) ip link set mgmt down; exec $real_tc "$@" ;;
            *) exec $real_tc "$@" ;;
        esac
TC
        apply; echo "status $?"; real_tc_again; is_changed
DURING
        ip -n router link set mgmt up
        sleep 60; as_found
    """, router)
    assert lines[:3] == ["status 1", "changed", "connection broken"]
    assert lines[-2].startswith(f"{ROUTER}: ")
    assert lines[-1] == "as found"


@pytest.mark.parametrize("signal", ["KILL", "TERM"])
def test_sweep_when_killed_has_the_watchdog_restore(in_guest: InGuest, signal: str) -> None:
    """kill -9, and a signal for which a process has no handler."""
    assert in_guest(f"""
        someones_queues; found
        echo 'apply; kill -{signal} $PPID; sleep 1' | hold; is_changed
        sleep 60; as_found
    """) == ["changed", "as found"]


def test_router_without_room_for_files_is_refused(in_guest: InGuest) -> None:
    """A full /run, which on OpenWrt is /tmp: one line, nothing changed, nothing left."""
    fill = ("mkdir /tmp/run; mount --bind /run /tmp/run; mount -t tmpfs -o size=64k full /run; "
            "for part in ssh sshd home real; do mkdir /run/$part; "
            "mount --bind /tmp/run/$part /run/$part; done; "
            "dd if=/dev/zero of=/run/fill bs=1k 2>/dev/null")
    lines = in_guest("""
        found; echo 'echo never' | hold; as_found
    """, f"openssh_router '{fill}'")
    message, *rest = lines
    assert message == (f"{ROUTER}: host: can't write files to /var/run; is it full? "
                       "nothing was changed")
    assert rest == ["as found"]


def test_router_that_is_held_is_refused_with_holder_and_age(in_guest: InGuest) -> None:
    """The second sweep is told who has it; the first one goes on undisturbed."""
    lines = in_guest("""
        found
        echo 'sleep 7; echo "echo never" | hold; apply && echo applied' | hold
        as_found
    """)
    assert lines[0].startswith(f"{ROUTER}: host: held by root@client (process ")
    assert lines[0].endswith(") for 7 s; if that sweep is gone, its watchdog restores this host "
                             "within 60 s")
    assert lines[1:] == ["applied", "as found"]


def test_doctor_tells_what_to_do_about_a_held_router(in_guest: InGuest) -> None:
    lines = in_guest("""
        found
        echo 'flent-aqm doctor --testbed $testbed | grep -A 2 "sweep holds"' | hold
        flent-aqm doctor --testbed $testbed | grep "sweep holds"
        as_found
    """)
    assert lines[0].startswith("A sweep holds the router: it is running, or it was killed less "
                               "than 60 s ago")
    assert lines[1] == f"  flent-aqm restore --testbed {ROUTER}"
    assert lines[-1] == "as found"
    assert not any("sweep holds" in line for line in lines[1:])


def test_lock_when_left_behind_is_told_and_restored_by_hand(in_guest: InGuest) -> None:
    """No watchdog any more, and no sweep follows: test_struck.py has one that does."""
    lines = in_guest("""
        someones_queues; found
        echo 'read -r dog _ </run/flent-aqm/watchdog; apply; kill -9 $dog $PPID; sleep 1' | hold
        sleep 60; is_changed
        flent-aqm restore --testbed $testbed; as_found
        echo 'echo again' | hold
        flent-aqm restore --testbed $testbed
    """)
    assert lines[0] == "changed"
    assert lines[1].startswith("restored; was held by root@client")
    assert lines[2:4] == ["as found", "again"]
    [last] = lines[4:]
    assert last == ("nothing to restore: no sweep holds this host (what a killed one left, its "
                    "watchdog restored)")


def test_sweep_whose_watchdog_is_killed_keeps_its_router(in_guest: InGuest) -> None:
    """Another one waits for a sign of it, and is refused."""
    lines = in_guest("""
        found
        echo 'read -r dog _ </run/flent-aqm/watchdog; kill -9 $dog
              apply; echo "echo never" | hold; is_changed' | hold
        as_found
    """)
    assert lines[0].startswith(f"{ROUTER}: host: held by root@client (process ")
    assert lines[0].endswith("; that sweep goes on, but its watchdog is gone")
    assert lines[1:] == ["changed", "as found"]


def test_sweep_when_the_router_was_restored_may_not_go_on(in_guest: InGuest) -> None:
    """After a restore by hand, the hooks of the sweep that was on are refused."""
    lines = in_guest("""
        found
        echo 'apply; flent-aqm restore --testbed $testbed; apply; echo status $?' | hold
        as_found
    """)
    assert lines[0].startswith("restored; was held by root@client")
    assert lines[1:] == [f"router hook: {GONE}", "status 1", f"{ROUTER}: host: {GONE}",
                         "as found"]


def test_queue_that_cannot_be_recreated_is_refused_by_name(in_guest: InGuest) -> None:
    """Kinds, classes and filters that no plan knows: one line each, nothing changed."""
    lines = in_guest("""
        refused() { found; echo 'echo never' | hold; as_found; }
        on_router tc qdisc add dev up root handle 1: hfsc default 1
        refused
        on_router tc qdisc del dev up root
        on_router tc qdisc add dev up root handle 1: drr
        on_router tc class add dev up parent 1: classid 1:1 drr
        refused
        on_router tc qdisc del dev up root
        on_router tc qdisc add dev up clsact
        on_router tc filter add dev up egress matchall action mirred ingress redirect dev down
        refused
    """)
    assert lines[1::2] == ["as found"] * 3
    for line, kind in zip(lines[::2], ("a queue of kind hfsc", "classes of kind drr",
                                       "a filter that could not be restored exactly"), strict=True):
        assert line.startswith(f"{ROUTER}: up has {kind}")


def test_router_that_does_not_come_back_is_told(in_guest: InGuest) -> None:
    """A tc that does something else on the way back: the first difference is shown."""
    line, = in_guest("""
        someones_queues
        hold <<'DURING'
        apply
        fake_tc <<'TC'
        case $* in
            *-force*) sed s/diffserv4/diffserv3/ | $real_tc "$@" ;;
            *) exec $real_tc "$@" ;;
        esac
TC
DURING
    """)
    assert line.startswith(f"{ROUTER}: host: this host is not as it was found: "
                           "was: qdisc cake 8001: root bandwidth 40Mbit diffserv4")
    assert line.endswith("; set that by hand, or restart the host")


def test_answers_when_endless_or_made_for_a_terminal_are_cut(in_guest: InGuest) -> None:
    """A router that never stops talking, and one that sends escapes."""
    lines = in_guest(r"""
        mkdir /tmp/bin
        answer() { { echo '#!/bin/sh'; cat; } >/tmp/bin/ssh; chmod +x /tmp/bin/ssh; }
        echo 'exec yes 0123456789' | answer
        PATH=/tmp/bin:$PATH on probe >/tmp/said; echo "status $?"
        [ "$(wc -c </tmp/said)" -le 1000000 ] && echo cut
        answer <<'END'
printf '\033]0;title\007\033[31mred\n' >&2; printf '\033[2J\302\233x\n'; exit 3
END
        PATH=/tmp/bin:$PATH on probe | od -An -c; PATH=/tmp/bin:$PATH on probe >/tmp/said
        echo "status $?"
    """)
    assert lines[:3] == [
        f"router hook: testbed={ROUTER}: the answer is longer than 1000000 bytes",
        "status 2", "cut"]
    assert lines[3:] == ["]0;title[31mred", "   [   2   J   x  \\n", "]0;title[31mred", "status 3"]


def test_router_that_restarts_amid_a_sweep_is_free_for_the_next(in_guest: InGuest) -> None:
    """Its queues, the sweep's files and the connection are gone at once."""
    lines = in_guest("""
        found
        hold <<'DURING'
        apply; is_changed
        read -r dog _ </run/flent-aqm/watchdog; kill -9 $dog
        rm -r /run/flent-aqm
        for device in up down; do on_router "$real_tc" qdisc del dev $device root; done
        pkill -9 sshd
DURING
        as_found
        serve_openssh router 203.0.113.1 :
        echo 'apply; is_changed' | hold; as_found
    """)
    assert lines[0] == "changed"
    assert lines[1] == "connection broken"
    assert lines[2].startswith(f"{ROUTER}: ")
    assert lines[3:] == ["as found", "changed", "as found"]

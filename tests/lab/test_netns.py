# SPDX-License-Identifier: GPL-3.0-or-later
"""The testbed netns, inside the lab's kernel: it has all queues, and a clock that doesn't wait.

The lab's own namespaces, `router` and `server`, are the host's there, and mustn't notice.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.lab

NETNS = "testbed = netns\n"
SHORT = NETNS + "test_name = ping\nlength = 1\nrate_mbps = 20\n"
LONG = SHORT.replace("length = 1\n", "length = 1000\n")

# All that could tell of a change outside: links, queues, addresses, routes, rules, names of
# namespaces, sysctls (but for the few that count), mounts, the host's name.
STATE = """
state() {
    ip -d link
    tc qdisc
    ip addr
    ip rule
    ip route show table all
    ip -6 route show table all
    ip netns
    for name in router server; do
        ip -n $name -d link
        tc -n $name qdisc
        ip -n $name route
    done
    grep -r . /proc/sys/net 2>/dev/null | grep -v nf_conntrack_count | sort
    cat /proc/mounts
    hostname
}
state >/dev/shm/before
"""
UNCHANGED = "state >/dev/shm/after; cmp /dev/shm/before /dev/shm/after && echo unchanged\n"
# Processes of a run, and folders of runs.
LEFT = "pgrep -a irtt | grep -c 2112; pgrep -c fping; ls -d /tmp/flent-aqm-* 2>/dev/null\n"


def test_netns_gives_the_files_and_settings_of_virtual(here: Any) -> None:
    """Files of the same names; what was asked and what the router reports is the same, with
    TBF, three tiers, an IFB device, and both of these."""
    here.batch("test_name = iperf3_upload\nlength = 1\ndelay = 1\nrate_mbps = 20\n"
               "txqueuelen = 500\naqm_limit = 100\nfor_queue = tbf, tiers, ifb, both\n"
               "\n[Arg::tbf]\naqm = no_aqm\nshaper = tbf\n"
               "\n[Arg::tiers]\naqm = codel\ntiers = 3\n"
               "\n[Arg::ifb]\naqm = fq_codel\ningress = ifb\n"
               "\n[Arg::both]\naqm = sfq\ntiers = 3\ningress = ifb\n")
    flent = Path(sys.executable).with_name("flent")
    subprocess.run([flent, "-B", "try.batch"], cwd=here.folder, check=True, capture_output=True)
    virtual = here.data()
    for file in (here.folder / "results").iterdir():
        file.unlink()
    text = here.run("flent -B try.batch --batch-override testbed=netns; echo status $?")
    assert text.endswith("status 0\n"), text
    netns = here.data()
    assert list(netns) == list(virtual)
    assert len(netns) == 4
    kinds = []
    for name, run in netns.items():
        ours, theirs = (one["metadata"]["AQM"] for one in (run, virtual[name]))
        for moment in ("before", "after"):
            assert ours[moment]["applied"] == theirs[moment]["applied"]
            assert ours[moment]["router"] == theirs[moment]["router"]
            assert ours[moment]["applied"]["up"]["qdisc_parameters"]["limit_packets"] == 100
        kinds.append((ours["before"]["applied"]["up"]["shaper"],
                      "tiers" in ours["before"]["applied"]["up"],
                      ours["before"]["router"]["down"]["device"]))
        assert {**ours["requested"], "testbed": "virtual", "seed": theirs["seed"]} == \
            theirs["requested"]
        assert ours["testbed"] == "netns"
        assert [ours[key] for key in ("router_model", "seed", "virtual_s")] == [None] * 3
        assert ours["kernel"] == {"version": theirs["kernel"]["version"], "hash": None}
        # The devices of this machine's kernel have no interrupt moderation.
        assert (ours["hosts"], ours["schema"]) == ({**theirs["hosts"], "moderation_us": None},
                                                   theirs["schema"])
        assert set(run["raw_values"]) == set(virtual[name]["raw_values"])
    assert sorted(kinds) == [("htb", False, "flent-ifb"), ("htb", True, "down"),
                             ("htb", True, "flent-ifb"), ("tbf", False, "down")]


def test_host_is_untouched_while_and_after_it_runs(here: Any) -> None:
    """Nothing outside of the namespaces differs during a run, nor when it has ended."""
    here.batch(LONG)
    text = here.run(STATE + "flent -B try.batch --batch-override length=20 "
                    "--batch-override tiers=3 --batch-override ingress=ifb & sleep 10\n"
                    + "pgrep -c fping\n" + UNCHANGED + "wait $!; echo $?\n" + UNCHANGED + LEFT)
    assert "\n1\nunchanged\n" in text, text
    assert text.endswith("\n0\nunchanged\n0\n0\n"), text


def test_kill_9_leaves_nothing_but_a_folder_which_the_next_start_removes(here: Any) -> None:
    """Processes and namespaces end with Flent; the host is as it was."""
    here.batch(LONG)
    text = here.run(
        STATE + "flent -B try.batch & sleep 20; pgrep -c fping; kill -9 $!; sleep 1\n"
        + UNCHANGED + LEFT + f"echo next\nflent -B try.batch --batch-override length=1 >/dev/null\n"
        f"echo $?\n{UNCHANGED}{LEFT}")
    first, _, second = text.partition("next\n")
    assert "\nunchanged\n0\n0\n/tmp/flent-aqm-run-" in first, text
    assert second.endswith("\nunchanged\n0\n0\n"), text
    assert len(here.data()) == 1


@pytest.mark.parametrize("signals", [["INT", "INT"], ["TERM"], ["HUP"]])
def test_interrupt_ends_it_and_says_how_to_go_on(here: Any, signals: list[str]) -> None:
    """Finished runs stay, nothing else does; --batch-resume does the rest."""
    here.batch(SHORT + "for_aqm = no_aqm, slow\ncommands = slow\n"
               "\n[Arg::slow]\naqm = sfq\n\n[Command::slow]\ntype = pre\n"
               "exec = [ ${aqm} = no_aqm ] || [ -e /dev/shm/quick ] || sleep 1000")
    kill = "; sleep 1; ".join(f"kill -{signal} $!" for signal in signals)
    text = here.run(
        # Python leaves ignored signals ignored, and a shell ignores ^C for what it starts
        # in the background.
        STATE + "env --default-signal=INT flent -B try.batch --batch-no-shuffle & sleep 30\n"
        f"{kill}; wait $!; echo status $?\n{UNCHANGED}{LEFT}"
        "ls -A results | grep -c '^[.]'; touch /dev/shm/quick\n"
        "flent -B try.batch --batch-resume results; echo status $?")
    assert "Interrupted: 1 run done, 1 left" in text, text
    assert "with the same command and --batch-resume results" in text
    assert "status 130\nunchanged\n0\n0\n0\n" in text, text
    assert "2 runs in network namespaces, 1 of them there already" in text
    assert text.endswith("status 0\n")
    assert len(here.data()) == 2


def test_hung_run_is_stopped_and_fails_alone(here: Any) -> None:
    """A run far beyond its length is killed; the next one is done."""
    here.batch(SHORT + "for_aqm = no_aqm, sfq\ncommands = hang\n\n[Command::hang]\n"
               "type = pre\nexec = [ ${aqm} = sfq ] || sleep 100000")
    text = here.run("flent -B try.batch; echo status $?\n" + LEFT)
    assert "1 done, 1 failed" in text
    assert "was stopped after 121 s of wall time" in text
    assert text.endswith("status 1\n0\n0\n"), text
    assert list(here.data()) == ["ping-sfq-20mbit-burst0-cross0-01.flent.gz"]


def test_disobedient_router_fails_the_run(here: Any) -> None:
    """A queue that is not the one asked for is told by name, and gives no file."""
    here.batch(SHORT + "commands = meddle\n\n[Command::meddle]\ntype = pre\n"
               "exec = ip netns exec router tc qdisc replace dev up parent 1:1 pfifo limit 7")
    text = here.run("flent -B try.batch; echo status $?")
    assert "asked for" in text
    assert text.endswith("status 1\n")
    assert here.data() == {}


def test_base_delay_is_added(here: Any) -> None:
    """base_delay_ms is the round trip's, as in the virtual lab."""
    here.batch(SHORT + "base_delay_ms = 40\n")
    assert here.run("flent -B try.batch; echo status $?").endswith("status 0\n")
    run, = here.data().values()
    values = [sample["val"] for sample in run["raw_values"]["Ping (ms) ICMP"]]
    assert min(values) == pytest.approx(40, abs=0.5)


def test_kernel_without_the_queue_is_told_before_any_run(here: Any) -> None:
    """One line names the AQM, the kernel and the module; nothing has run."""
    here.batch(SHORT + "for_aqm = no_aqm, codel")
    text = here.run("""
real=$(command -v tc)
cp $real /dev/shm/tc
cat >/dev/shm/fake <<'END'
#!/bin/sh
case $* in *-batch*) ;; *) exec /dev/shm/tc "$@" ;; esac
text=$(cat)
case $text in *" codel"*) echo "Error: Specified qdisc kind is unknown." >&2; exit 1 ;; esac
printf '%s\\n' "$text" | /dev/shm/tc "$@"
END
chmod +x /dev/shm/fake
mount --bind /dev/shm/fake $(readlink -f $real)
flent -B try.batch; echo status $?; ls results""")
    error, = (line for line in text.splitlines() if "ERROR" in line)
    assert "aqm codel, shaper htb: this machine (Linux " in error
    assert "needs sch_codel" in error
    assert "status 1" in text
    assert here.data() == {}


@pytest.mark.parametrize(("override", "message"), [
    ("jobs=2", "jobs: 2 runs side by side would disturb each other in real time, on"),
    ("router_model=omnia", "router_model: omnia is a model of the virtual lab"),
    # Of the models, omnia isn't one of a host, because its timers are late.
    ("server_model=ideal+rx_packet_ns=9",
     "which testbed netns doesn't have: leave server_model out"),
    ("host_moderation_us=20", "can't be set on testbed netns, only for the cards of the virtual"),
    ("testbed=virtual", "testbed: virtual can't boot a lab inside a lab"),
])
def test_bad_value_is_refused_in_one_line(here: Any, override: str, message: str) -> None:
    """Settings that this testbed can't follow, before anything runs."""
    here.batch(SHORT)
    text = here.run(f"flent -B try.batch --batch-override {override}; echo status $?")
    error, = (line for line in text.splitlines() if "ERROR" in line)
    assert message in error
    assert text.endswith("status 1\n")


def test_without_root_it_is_refused_in_one_line(here: Any) -> None:
    """Namespaces of this kind need root."""
    here.batch(SHORT)
    text = here.run("setpriv --reuid=65534 --regid=65534 --clear-groups "
                    "flent -B try.batch; echo status $?")
    error, = (line for line in text.splitlines() if "ERROR" in line)
    assert "testbed: netns needs root" in error
    assert text.endswith("status 1\n")

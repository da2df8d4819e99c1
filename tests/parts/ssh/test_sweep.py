# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent -B` on a router behind ssh, inside the lab's guest."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from flent_aqm.base.paths import resource_dir

pytestmark = pytest.mark.lab
InGuest = Callable[..., list[str]]

ROUTER = "ssh://root@203.0.113.1"
CHECK = shlex.quote(str(Path(__file__).with_name("check.py")))
# Prints what the data files say was applied, and whether the same queues on testbed virtual,
# read back with the words behind it, report the same.
COMPARE = r"""
compare() {
    "$PYTHON" - "$@" <<'END'
import gzip, json, pathlib, sys
from flent_aqm.base import shell
from flent_aqm.router.tc.read_back import parse_read_back
from flent_aqm.router.hook import apply_command, read_back_command
from flent_aqm.base.paths import resource_dir
from flent_aqm.router.proof import as_metadata
from flent_aqm.spec.scenario import Scenario

lengths = {link["ifname"]: link["txqlen"]
           for link in json.loads(shell.run(["ip", "-n", "router", "-j", "link"]))}
for path in sorted(pathlib.Path("results").rglob("*.flent.gz")):
    told = json.loads(gzip.decompress(path.read_bytes()))["metadata"]["AQM"]
    scenario = Scenario.from_settings({**told["requested"], "testbed": "virtual"})
    shell.run(apply_command(scenario))
    report = as_metadata(parse_read_back(shell.run([*read_back_command(scenario), *sys.argv[1:]])))
    shell.run(["sh", resource_dir("router_hooks") / "on_router.sh", "undo", "testbed=virtual"])
    for device in ("down", "up"):
        shell.run(["ip", "-n", "router", "link", "set", "dev", device,
                   "txqueuelen", str(lengths[device])])
    print(json.dumps({
        "name": path.name, "applied": told["before"]["applied"], "router": told["before"]["router"],
        "same": [told[when]["applied"] == report["applied"] for when in ("before", "after")],
        "hosts": told["hosts"], "testbed": told["testbed"], "seed": told["seed"]}))
END
}
"""

def sweep(*overrides: str, background: bool = False) -> str:
    """Shell code that runs the quick batch, as short as it can be."""
    words = [f"--batch-override {shlex.quote(word)}"
             for word in ("testbed=$testbed", "length=1", "delay=1", "rate_mbps=10", *overrides)]
    line = f"flent -B aqm_sweep.batch -b quick {' '.join(words)}"
    if background:  # a shell has its children in the background ignore ^C
        line = f"env --default-signal=INT {line} >/run/ssh/said 2>&1 &"
    return (f"mkdir -p /run/sweep; cd /run/sweep; cp {resource_dir('batches')}/*.batch .\n"
            + line.replace("'testbed=$testbed'", '"testbed=$testbed"'))


def test_quick_batch_gives_the_eight_files_of_other_testbeds(in_guest: InGuest) -> None:
    """All eight runs, each with what the kernel reports elsewhere for the same queue."""
    lines = in_guest(f"""
        {COMPARE}
        found
        {sweep()} >/dev/null 2>&1; echo "status $?"
        as_found; compare
    """, servers=("iperf3", "irtt", "ndt7-cleartext"))
    assert lines[:2] == ["status 0", "as found"]
    runs = [json.loads(line) for line in lines[2:]]
    assert len(runs) == 8
    for run in runs:
        assert run["same"] == [True, True], run["name"]
        assert (run["testbed"], run["seed"]) == (ROUTER, None)
        assert run["hosts"]["devices"] == {"dev_down": "down", "dev_up": "up"}
        assert "iproute2" in run["hosts"]["router"]["tc"]


# Runs by name, with their settings.
VARIANTS = {
    "tbf": "aqm = codel\nshaper = tbf\ntxqueuelen = 50\naqm_target = 10ms\naqm_ecn = yes",
    "tiers": "aqm = fq_codel\ntiers = 3",
    "ifb": "aqm = codel\ningress = ifb\ntxqueuelen = 50",
    "both": "aqm = sfq\ntiers = 3\ningress = ifb",
}


def variants(names: Sequence[str]) -> str:
    """Shell code that runs these in one sweep, in this order; says why if it fails."""
    arguments = "".join(f"[Arg::{name}]\nvariant = {name}\n{VARIANTS[name]}\n" for name in names)
    batch = f"""{arguments}
[Batch::variants]
inherits = base
testbed = {ROUTER}
test_name = iperf3_upload
length = 1
delay = 1
rate_mbps = 20
for_variant = {", ".join(names)}
output_path = results
filename_extra = ${{variant}}
"""
    return f"""mkdir /run/sweep; cd /run/sweep; cp {resource_dir('batches')}/base.batch .
        echo {shlex.quote(batch)} >try.batch
        flent -B try.batch --batch-no-shuffle >/run/ssh/said 2>&1 && echo done || cat /run/ssh/said
    """


@pytest.mark.parametrize(("router", "read_back", "names"), [
    ("openssh_router", "", ["ifb", "tiers"]), ("small_router", "tc_json=no", ["tbf", "both"])])
def test_tiers_ingress_and_lengths_reach_the_router_and_go_with_the_sweep(
        in_guest: InGuest, router: str, read_back: str, names: list[str]) -> None:
    """Shaper, tiers, IFB device, length and parameters, of each run no more than it asked for,
    also where tc has no JSON and the shell is BusyBox's; then somebody's queues are back."""
    lines = in_guest(f"""
        {COMPARE}
        someones_queues; found
        {variants(names)}
        as_found
        on_router tc qdisc del dev up ingress; on_router tc qdisc del dev down clsact
        compare {read_back}
    """, router, servers=("iperf3", "irtt"))
    assert lines[:2] == ["done", "as found"], lines
    runs = {run["name"].rsplit("-", 1)[-1].split(".")[0]: run
            for run in map(json.loads, lines[2:])}
    assert runs.keys() == set(names)
    for name, run in runs.items():
        ifb, tiers, length = (key in VARIANTS[name] for key in ("ingress", "tiers", "txqueuelen"))
        devices = {role: run["router"][role]["device"] for role in ("down", "up")}
        assert devices == {"down": "flent-ifb" if ifb else "down", "up": "up"}
        assert run["applied"]["up"].get("ingress") == ("ingress" if ifb else None)
        for role, device in devices.items():
            assert len(run["applied"][role].get("tiers", {})) == (3 if tiers else 0), name
            # as somebody had it, where the run asks for nothing
            assert run["router"][role]["txqueuelen_packets"] == (
                50 if length else 333 if device == "down" else 1000), name
        if name == "tbf":
            settings = run["applied"]["up"]
            assert (settings["shaper"], settings["qdisc"]) == ("tbf", "codel")
            assert settings["qdisc_parameters"]["ecn"] is True
            assert settings["qdisc_parameters"]["target_us"] == "10ms"
        assert run["same"] == [True, True], name


# Signal -> what a shell tells of the sweep. Flent takes SIGTERM as it takes ^C.
STOPPED = {"INT": 130, "TERM": 130, "KILL": 137}

# What tc does in place of what it is asked -> what the failed run tells.
LIES = {
    "rounds the rate": ("s/rate 10000000bit/rate 9984000bit/",
                        "rate: asked for 10Mbit, the kernel reports 9984Kbit"),
    "keeps the old queue": ("/parent 1:1 handle 10:/d", "asked for htb 1: at root, sfq 10: at 1:1"),
}


def test_router_that_does_not_obey_fails_the_run_and_is_restored(in_guest: InGuest) -> None:
    """One that rounds a rate, one that silently leaves a queue out: no data file."""
    code = "someones_queues; found\n"
    for script, _ in LIES.values():
        code += f"""
        fake_tc <<'TC'
case $* in
    *-force*) exec $real_tc "$@" ;;
    *-batch*) sed '{script}' | $real_tc "$@" ;;
    *) exec $real_tc "$@" ;;
esac
TC
        ({sweep('aqm=sfq', 'for_tool=iperf3_upload')}) >/run/ssh/said 2>&1; echo "status $?"
        grep '^failed: ' /run/ssh/said; find /run/sweep -name '*.flent.gz'
        real_tc_again; as_found
        """
    lines = in_guest(code, servers=("iperf3", "irtt"))
    for place, (_, message) in enumerate(LIES.values()):
        status, failed, after = lines[3 * place:3 * place + 3]
        assert (status, after) == ("status 1", "as found")
        assert message in failed


def tc_that_says(about: str, message: str) -> str:
    """Shell code for a tc that refuses what has these words in it."""
    return f"""fake_tc <<'TC'
case $* in
    *{about}*) echo '{message}' >&2; exit 2 ;;
    *) exec $real_tc "$@" ;;
esac
TC"""


# Before anything changes, one line, of what a sweep calls first.
# Name -> (overrides, code before, what is told).
REFUSED = {
    "no router there": (["testbed=ssh://root@203.0.113.77"], "", "No route to host"),
    "nobody listens": (["testbed=ssh://root@203.0.113.1:23"], "", "Connection refused"),
    "wrong key": ([], "rm /run/home/.ssh/id_ed25519", "Permission denied"),
    "unknown router key": ([], "rm /run/home/.ssh/known_hosts", "Host key verification failed"),
    "not root": (["testbed=ssh://nobody@203.0.113.1"], "", "Permission denied"),
    "unknown interface": (["dev_up=wan0"], "",
                          "the router has no device 'wan0'; it has down, ifb4up, mgmt, up"),
    "option as interface": (["dev_down=-help"], "",
                            "dev_down: '-help' is not accepted as name of a network device"),
    "management interface": (["dev_down=mgmt"], "",
                             "dev_down: mgmt carries the ssh connection to the router"),
    "one device twice": (["dev_up=down"], "", "dev_up are both down; the router has to be between"),
    "no such server": (["hosts=nowhere"], "", "hosts: no address is known for 'nowhere'"),
    "delay without server": (["base_delay_ms=20"], "", "give its address with server_testbed"),
    "model of the lab": (["router_model=omnia"], "", "router_model: omnia is a model of"),
    "queue that the kernel lacks": (
        [], tc_that_says("' sfq'", "Error: Specified qdisc kind is unknown."),
        ("the router lacks sfq (its kernel refuses it: Error: Specified qdisc kind is unknown.); "
         "flent-aqm doctor --testbed ADDRESS shows what it has; to leave it out: --batch-override "
         "aqm=no_aqm,codel,fq_codel")),
    "filter that the kernel lacks": (
        ["tiers=3"], tc_that_says("' u32 '", "RTNETLINK answers: No such file or directory"),
        "the router lacks u32 (its kernel refuses it: RTNETLINK answers: No such file or"),
    "redirection that the kernel lacks": (
        ["ingress=ifb"], tc_that_says("' mirred '", "Error: Failed to load TC action module."),
        "the router lacks ifb (its kernel refuses it: Error: Failed to load TC action module.)"),
    "queue that tc lacks": (
        [], tc_that_says("' codel'", 'Unknown qdisc "codel", hence option "help" is unparsable'),
        "the router lacks codel (its tc does not know this queue)"),
    "no server of the test": (
        [], "", "hosts: the server iperf3 does not answer on server (5201 closed), and the runs"),
    "no server of a test that needs no program": (
        ["test_name=librespeed"], "",
        "hosts: the server speedtest-cleartext does not answer on server (8090 closed), and the"),
    "test of which nothing is known": (["test_name=command-output"], "", "accepted"),
}


def test_bad_input_is_refused_in_one_line_before_any_change(in_guest: InGuest) -> None:
    """Addresses, keys, devices, queues: what was seen, and a router as it was."""
    code = "someones_queues; found; cp -a /run/home/.ssh /run/keep\n"
    for overrides, before, _ in REFUSED.values():
        keys = dict(word.split("=", 1) for word in ("testbed=" + ROUTER, *overrides))
        code += f"""{before}
        "$PYTHON" {CHECK} {shlex.quote(json.dumps(keys))}
        real_tc_again 2>/dev/null; cp -a /run/keep/. /run/home/.ssh/; as_found
        """
    lines = iter(in_guest(code))
    for name, (_, _, message) in REFUSED.items():
        assert message in next(lines), name
        assert next(lines) == "as found", name
    assert list(lines) == []


@pytest.mark.parametrize("signal", ["INT", "TERM", "KILL"])
def test_sweep_when_stopped_leaves_the_router_as_found(in_guest: InGuest, signal: str) -> None:
    """^C and SIGTERM restore at once; after kill -9 the watchdog does it."""
    lines = in_guest(f"""
        someones_queues; found
        {sweep("ingress=ifb", background=True)}
        until is_changed; do
            sleep 1
            kill -0 $! 2>/dev/null || {{ echo ended too early; cat /run/ssh/said; exit; }}
        done
        kill -{signal} $!; wait $!; echo "status $?"
        {"sleep 60" if signal == "KILL" else ""}
        as_found
    """, servers=("iperf3", "irtt", "ndt7-cleartext"))
    assert lines == ["changed", f"status {STOPPED[signal]}", "as found"]

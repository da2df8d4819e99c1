# SPDX-License-Identifier: GPL-3.0-or-later
"""Prove that runs repeat: each test once, then again and again in other circumstances.

    make identical                                           all tests, 20 runs of each
    make identical IDENTICAL_ARGUMENTS='--runs 3 --only rrul'
    make identical IDENTICAL_ARGUMENTS='--only ndt7 --router-model mt7621'

Each test of ours and Flent's rrul runs as a batch of one cell; `flent-aqm replay` repeats it and
compares. Commands in `flent-aqm lab` are repeated, too: what they print has to be the same, byte
for byte. Circumstances are those of disturbances.py, in turn. The result goes to
research/bench/results/identical-DATE.json after each test; the exit status is 1 if any run
differed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import Any

from flent_aqm.base.paths import resource_dir
from flent_aqm.parts.wifi.keys import ACCESS_POINTS
from flent_aqm.setup.kernel.locate import find_kernel
from flent_aqm.setup.optional import find
from flent_aqm.setup.parts import tool_versions
from flent_aqm.spec.cross_traffic import BULK, KINDS
from flent_aqm.spec.definitions import our_tests
from flent_aqm.tools import own
from flent_aqm.tools.table import SPEED_TESTS
from flent_aqm.tools.tool import Program
from research.bench import disturbances

RESULTS = Path(__file__).parent / "results"
FLENT = Path(sys.executable).with_name("flent")

# 20 Mbit/s: all that could differ is there, and a run takes seconds.
BATCH = """[Batch::identical]
inherits = base
output_path = results
test_name = {test}
aqm = {aqm}
router_model = {model}
rate_mbps = 20
length = 5
{more}
"""
CROSS = "cross_traffic = {kind}"
# Topology -> flows of hosts that begin at once, under CAKE, which shares by host.
FLOWS = {"parking_lot:3": "4xcubic+middle:1xcubic", "clients:3": "4xcubic+client2:1xcubic",
         "subscribers:50": "4xcubic+sub7:1xcubic"}
TOPOLOGIES = [f"aqm_flows, {topology}" for topology in FLOWS]
# With the batch of all speed tests' intervals, not the draft's, it takes a quarter of the time.
MORE = {"responsiveness": "test_parameters = interval_s=1;"
                          "probes_per_s=20",
        "goresponsiveness": "test_parameters = probes_per_s=20"}
# A browser isn't meant to repeat; a user's own test isn't here; and what isn't on PATH can't.
LEFT_OUT = ("ndt7_browser", "librespeed_browser", "cloudflare_browser", own.NAME,
            *(name for name, tool in SPEED_TESTS.items()
              if any(isinstance(one, Program) and find(one) is None for one in tool.programs)))
# Beside one test; the other tests have bulk.
OTHER_CROSS = [f"iperf3_bidirectional, {kind}" for kind in KINDS
               if kind != BULK and (kind != "quic" or find_spec("aioquic"))]
BUSY = ("omnia+rx_packet_ns=60000+other_work_kind=interrupt+other_work_per_s=100"
        "+other_work_us=500")
CARDS = "ip netns exec router cat /sys/module/lab_router/parameters/card"
WIFI = "/sys/module/lab_wifi/parameters/channel"
LINKS = {
    "seeded": ["--set", "link_trace=seeded+mean_mbps=20"],
    **{access: ["--set", "modem_mbps=20", "--set", f"link_access={access}", "--set",
                "link_outages_s=2-2.5"]
       for access in ("docsis", "lte", "starlink")},
}
RANDOM = "head -c 64 /dev/urandom | od"
LAB = {
    "lab: iperf3": ["--aqm", "fq_codel", "--rate", "50", "--", "sh", "-c",
                    f"{RANDOM}; iperf3 -J -t 5 -c server"],
    # A full ring, and other work that a seed decides.
    "lab: iperf3, omnia": ["--aqm", "fq_codel", "--rate", "200", "--router-model", BUSY, "--",
                           "sh", "-c", f"iperf3 -J -t 3 -c server; {CARDS}"],
    # A router whose own processor the load fills.
    **{f"lab: iperf3, {name}": ["--aqm", "fq_codel", "--rate", str(rate), "--router-model", name,
                                "--", "sh", "-c", f"iperf3 -J -t 2 -c server; {CARDS}"]
       for name, rate in (("mt7621", 900), ("mt7988", 3000))},
    # Hosts that send at once, several routers, many queues.
    **{f"lab: {topology}": [
        "--topology", topology, "--aqm", "cake", "--rate", "50", "--delay", "10", "--", "sh", "-c",
        f"{other} -p 5202 -t 2 & iperf3 -J -c server -P 4 -t 2; wait; {RANDOM}"]
       for topology, other in (
           ("clients:3", "ip netns exec client2 iperf3 -J -c server"),
           ("parking_lot:3", "ip netns exec middle iperf3 -J -c server"),
           ("subscribers:50", "iperf3 -J -R -c server -B sub7"))},
    # Back-offs that a seed decides, collisions, queues of a driver and of mac80211.
    **{f"lab: Wi-Fi, {ap}": [
        "--topology", "clients:3", "--set", "wifi_rates_mbps=2x144.4+7.2", "--set",
        f"wifi_ap={ap}", "--set", "shaper=none", "--delay", "10", "--", "sh", "-c",
        ("ip netns exec client3 iperf3 -J -R -c server -p 5202 -t 2 & "
         f"iperf3 -J -c server -P 4 -t 2; wait; cat {WIFI}; {RANDOM}")]
       for ap in ACCESS_POINTS},
    # Rates and grants that a seed decides.
    **{f"lab: link, {name}": [
        *words, "--delay", "10", "--", "sh", "-c",
        f"iperf3 -J -c server -t 3; iperf3 -J -R -c server -t 3; {RANDOM}"]
       for name, words in LINKS.items()},
    # A round trip of 18 minutes: packets wait in the delay line, and nothing else happens.
    "lab: far": ["--delay", "1080000", "--", "sh", "-c",
                 f"ping -c 20 -i 540 -W 2800 server; {RANDOM}"],
    "lab: rrul": ["--aqm", "codel", "--rate", "20", "--", "sh", "-c",
                  "cd /tmp && flent rrul -H server -l 5 >&2 && zcat *.flent.gz"],
}


@dataclass(frozen=True)
class Verdict:
    """The result of repeating one test or command.

    Attributes:
        name: name of the test or command.
        runs: number of runs, the first one included, and repeated ones that failed.
        differed: (circumstance, message) of each repeated run that differed or failed, and ("first
            run" or "first run for CIRCUMSTANCE", message) of each first run that failed, which
            `runs` doesn't count again.
    """

    name: str
    runs: int
    differed: list[tuple[str, str]]


def main() -> int:
    """Repeat the tests and commands of --only, by default all but LEFT_OUT, in the circumstances in
    turn, and write the verdicts to --output, by default research/bench/results/identical-DATE.json,
    after each of them. Return the exit status, 1 if any run differed or failed, also in the
    verdicts that --output had before. Raises SystemExit for less than two runs or unknown
    circumstances, or if --output was written with another kernel, versions, circumstances or router
    model, ToolMissing without a kernel."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20, help="of each test, 2 or more (default: "
                                                             "20)")
    parser.add_argument("--only", action="append", help="this test or command; may be repeated")
    parser.add_argument("--router-model", default="ideal", metavar="MODEL",
                        help="of the tests that run as a batch (default: %(default)s)")
    parser.add_argument("--circumstances", default=",".join(disturbances.possible()),
                        help="in turn, with commas between (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1,
                        help="tests side by side (default: %(default)s)")
    parser.add_argument("--output", type=Path,
                        help="instead of research/bench/results/identical-DATE.json; runs that are "
                             "in it count, and more are added")
    arguments = parser.parse_args()
    names = arguments.only or [*(name for name in our_tests() if name not in LEFT_OUT),
                               *OTHER_CROSS, *TOPOLOGIES, "rrul", *LAB]
    circumstances = arguments.circumstances.split(",")
    if arguments.runs < 2:
        parser.error(f"--runs {arguments.runs}: expected 2 or more, as the first run of a test is "
                     "what the others are compared with")
    unknown = [name for name in circumstances if name not in disturbances.ALL]
    if unknown:
        parser.error(f"unknown circumstances {', '.join(unknown)}; "
                     f"known: {', '.join(disturbances.ALL)}")
    now = datetime.datetime.now(datetime.UTC)
    path = arguments.output or RESULTS / f"identical-{now:%Y-%m-%dT%H%M%SZ}.json"
    frame = {
        "kernel": {"version": find_kernel().version, "hash": find_kernel().hash},
        "versions": tool_versions(),
        "circumstances": circumstances,
        "router_model": arguments.router_model,
    }
    verdicts = read_earlier_verdicts(path, frame)
    # Going on where the last test stopped, so that each meets other ones first.
    order = cycle(circumstances)
    turns = {name: [next(order) for _ in range(arguments.runs - 1)] for name in names}
    with ThreadPoolExecutor(arguments.jobs) as pool:
        waiting = [pool.submit(verdict_of, name, turn, arguments.router_model, verdicts.get(name))
                   for name, turn in turns.items()
                   if name not in verdicts or verdicts[name].runs < arguments.runs]
        for done in as_completed(waiting):
            verdicts[done.result().name] = done.result()
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps({
                **frame, "verdicts": [asdict(one) for one in verdicts.values()]}, indent=1) + "\n")
    print(f"written to {path}")
    return 1 if any(verdict.differed for verdict in verdicts.values()) else 0


def read_earlier_verdicts(path: Path, frame: dict[str, Any]) -> dict[str, Verdict]:
    """Return the verdicts that an earlier call has written to the file, by name. Empty without a
    file.

    Args:
        path: the file.
        frame: kernel, versions, circumstances and router model of this call.

    Raises SystemExit if those of the earlier call are different.
    """
    if not path.exists():
        return {}
    kept = json.loads(path.read_text())
    verdicts = {verdict["name"]: Verdict(**verdict) for verdict in kept.pop("verdicts")}
    if other := [name for name, value in frame.items() if kept[name] != value]:
        raise SystemExit(f"{path} was written with other values of {' and '.join(other)} than this "
                         "call has; give another --output")
    return verdicts


def verdict_of(name: str, circumstances: list[str], router_model: str, before: Verdict | None
               ) -> Verdict:
    """Run a test or command once, and again in each circumstance that it hasn't had before. Print
    differences and a count. Return the verdict, which includes that of `before`, but for its failed
    first run, which is made again. If a first run fails, no further one is made, and a later call
    goes on there.

    Args:
        name: name of the test or command.
        circumstances: circumstances in turn, beginning with those it has had.
        router_model: router model of a test.
        before: verdict of an earlier call, None for none.
    """
    repeat = repeated_in_lab if name in LAB else partial(replayed, router_model=router_model)
    runs, differed = (before.runs, [one for one in before.differed if not _is_of_first_run(one[0])]
                      ) if before else (1, [])
    for circumstance, message in repeat(name, circumstances[runs - 1:]):
        # A first run that failed is made again by a later call.
        runs += not _is_of_first_run(circumstance)
        if message:
            differed.append((circumstance, message))
            print(f"{name}, {circumstance}: {message}", flush=True)
    failed = sum(_is_of_first_run(one) for one, _ in differed)
    print(f"{name}: {runs - (len(differed) - failed)} of {runs} identical"
          if runs > 1 else f"{name}: none compared", flush=True)
    return Verdict(name, runs, differed)


def _is_of_first_run(circumstance: str) -> bool:
    """Return whether this stands for a first run that failed, as in Verdict.differed."""
    return circumstance.startswith("first run")


def replayed(name: str, circumstances: list[str], *, router_model: str
             ) -> Iterator[tuple[str, str]]:
    """Run a test once and replay it in each circumstance. Yield (circumstance, what differed or why
    the replay failed, or "" if nothing did). A circumstance of COMPARED_WITH has a first run of its
    own. If a first run fails, yield ("first run" or "first run for CIRCUMSTANCE", its error output)
    and end.

    Args:
        name: "TEST", or "TEST, KIND" with a kind of cross traffic or a topology of FLOWS.
        circumstances: names in disturbances.ALL.
        router_model: router model of the runs.
    """
    test, _, kind = name.partition(", ")
    ours = test in our_tests()
    if kind in FLOWS:
        aqm = "cake"
        more = (f"topology = {kind}\nbase_delay_ms = 10\n"
                f"test_parameters = flows={FLOWS[kind]}")
    elif ours:
        aqm = "fq_codel"
        more = "\n".join([CROSS.format(kind=kind or 1), MORE.get(test, "")])
    else:
        aqm, more = "codel", "test_parameters ="
    with tempfile.TemporaryDirectory(prefix="flent-aqm-identical-") as place:
        folder = Path(place)
        folder.chmod(0o755)  # for other users
        base = resource_dir("batches") / "base.batch"
        (folder / "base.batch").write_text(base.read_text())
        (folder / "identical.batch").write_text(BATCH.format(
            test=test, aqm=aqm, model=router_model, more=more))
        done = subprocess.run([FLENT, "-B", "identical.batch"], cwd=folder, check=False,
                              capture_output=True, text=True)
        if done.returncode:
            yield "first run", done.stderr
            return
        file, = (folder / "results").glob("*.flent.gz")
        for circumstance in circumstances:
            was = file
            if first := disturbances.COMPARED_WITH.get(circumstance):
                kept = folder / circumstance
                if not kept.exists():
                    with first() as around:
                        made = around.run("replay", file, "--keep", kept)
                found = [*kept.glob("*.flent.gz")]
                if not found:
                    yield f"first run for {circumstance}", made.stderr.decode(errors="replace")
                    return
                was, = found
            with disturbances.ALL[circumstance]() as around:
                again = around.run("replay", was)
            yield circumstance, "" if again.returncode == 0 else (
                again.stdout + again.stderr).decode(errors="replace").strip()


def repeated_in_lab(name: str, circumstances: list[str]) -> Iterator[tuple[str, str]]:
    """Run a command in `flent-aqm lab`, and again in each circumstance. Yield (circumstance, what
    differed or why the command failed, or "" if nothing did). A circumstance of COMPARED_WITH has a
    first run of its own. If a first run fails, yield ("first run", its error output) and end.
    Without circumstances nothing is run.

    Args:
        name: key of LAB.
        circumstances: names in disturbances.ALL.
    """
    firsts: dict[Any, subprocess.CompletedProcess[bytes]] = {}
    for circumstance in circumstances:
        place = disturbances.COMPARED_WITH.get(circumstance, disturbances.nothing)
        if place not in firsts:
            with place() as around:
                firsts[place] = around.run("lab", *LAB[name])
            if firsts[place].returncode:
                yield "first run", firsts[place].stderr.decode(errors="replace")
                return
        with disturbances.ALL[circumstance]() as around:
            again = around.run("lab", *LAB[name])
        yield circumstance, what_differs(firsts[place], again)


def what_differs(was: subprocess.CompletedProcess[bytes], now: subprocess.CompletedProcess[bytes]
                 ) -> str:
    """Return the first difference between the standard outputs of two processes, "" if there is
    none. Standard error is not compared. The second process's failure is a difference."""
    if now.returncode:
        return f"status {now.returncode}: {now.stderr.decode(errors='replace').strip()}"
    if was.stdout == now.stdout:
        return ""
    pairs = enumerate(zip(was.stdout.splitlines(), now.stdout.splitlines(), strict=False), 1)
    return next((f"line {number}: {old[:200]!r} before, {new[:200]!r} now"
                 for number, (old, new) in pairs if old != new), "one output is longer")


if __name__ == "__main__":
    sys.exit(main())

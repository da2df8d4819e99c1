# SPDX-License-Identifier: GPL-3.0-or-later
"""Flent's batch options on runs in the lab, and runs that fail."""

from __future__ import annotations

import copy
import gzip
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.results import status
from flent_aqm.results.data_file import read_data_file
from tests.files import load, save

from .conftest import Bench, new_bench

pytestmark = pytest.mark.lab

SHORT = "test_name = ping\nlength = 1\ndelay = 1\nrate_mbps = 20\n"


def last_error(stderr: str) -> str:
    """The one line with an error in it."""
    lines = [line for line in stderr.splitlines() if "ERROR" in line]
    assert len(lines) == 1, stderr
    assert "Traceback" not in stderr
    return lines[0]


def test_all_runs_are_done_and_the_table_shows_them(full_queue: Any) -> None:
    """Four files, no partial ones, and each file has its log."""
    folder = full_queue.folder / "results"
    assert len(full_queue.files()) == 4
    ends = sorted(path.name.split("-01")[-1] for path in folder.iterdir())
    assert ends == sorted([".debug.log.gz", ".flent.gz", ".log"] * 4 + [status.NAME])
    folder_status = status.read(folder)
    assert folder_status is not None
    assert (folder_status.planned, folder_status.before, folder_status.failed) == (4, 0, {})
    assert folder_status.ended_s is not None
    assert folder_status.command[0] == "flent"
    output = next(folder.glob("*-sfq-*.debug.log.gz"))
    assert b'"sum_received"' in gzip.decompress(output.read_bytes())  # iperf3's own words


def test_override_picks_from_the_matrix(bench: Any) -> None:
    """An overridden key leaves the arguments that have its value, or makes one."""
    bench.batch(SHORT + "for_aqm = no_aqm, codel\nfor_rate = 100mbit, 200mbit")
    done = bench.flent("--batch-override", "aqm=codel", "--batch-override", "rate_mbps=33")
    assert done.returncode == 0, done.stderr
    requested = bench.data("codel-33mbit")["metadata"]["AQM"]["requested"]
    assert len(bench.files()) == 1
    assert (requested["aqm"], requested["rate_up_mbps"]) == ("codel", 33)


@pytest.fixture(scope="module")
def done_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sweep of two runs. Not to be changed."""
    bench = new_bench(tmp_path_factory.mktemp("done"))
    bench.batch(SHORT + "for_aqm = no_aqm, codel")
    assert bench.flent().returncode == 0
    return bench.folder


@pytest.fixture
def two_done(done_once: Path, tmp_path: Path) -> Bench:
    """A copy of it."""
    return Bench(Path(shutil.copytree(done_once, tmp_path / "done")))


def test_resume_of_what_is_not_there_is_refused(bench: Bench) -> None:
    """In a line."""
    bench.batch(SHORT + "for_aqm = no_aqm, codel")
    done = bench.flent("--batch-resume", "results")
    assert done.returncode == 1
    assert "--batch-resume results: No such file or directory" in last_error(done.stderr)


def test_resume_runs_what_is_missing_and_counts_all(two_done: Bench) -> None:
    """--batch-resume fills the gap, under the time of the first sweep."""
    bench = two_done
    kept, lost = bench.files()
    before = kept.stat().st_mtime_ns
    lost.unlink()
    done = bench.flent("--batch-resume", "results")
    assert done.returncode == 0, done.stderr
    assert bench.files() == [kept, lost]
    assert kept.stat().st_mtime_ns == before
    assert "2 runs in the virtual lab, 1 of them there already" in done.stderr


@pytest.mark.parametrize("content", [b"", b"no gzip", None])
def test_resume_repeats_a_run_whose_file_is_damaged(
        two_done: Bench, content: bytes | None) -> None:
    """Empty, of something else, or cut off: it is named and kept under another name."""
    bench = two_done
    good, bad = bench.files()
    whole = bad.read_bytes()
    bad.write_bytes(whole[:len(whole) // 2] if content is None else content)
    done = bench.flent("--batch-resume", "results")
    assert done.returncode == 0, done.stderr
    assert f"{bad.name}: damaged" in " ".join(done.stderr.split())
    assert "2 runs in the virtual lab, 1 of them there already" in done.stderr
    assert bench.files() == [good, bad]
    assert read_data_file(bad).raw_values
    assert bad.with_name(f"{bad.name}.damaged").is_file()


def _no_samples(data: Any) -> None:
    data |= {"raw_values": {}, "results": {}, "x_values": []}


def _failed_tool(data: Any) -> None:
    data["metadata"]["FAILED_RUNNERS"] = 3


def _error_of_a_tool(data: Any) -> None:
    next(iter(data["metadata"]["SERIES_META"].values()))["ERROR"] = ["ping: no reply"]


def _not_read_back(moment: str) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        del data["metadata"]["AQM"][moment]

    return change


def _fewer_samples(kept: Callable[[list[Any]], list[Any]]) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        name = max(data["raw_values"], key=lambda name: len(data["raw_values"][name]))
        data["raw_values"][name] = kept(data["raw_values"][name])

    return change


def _shorter(data: Any) -> None:
    """Consistently: samples and results."""
    half = len(data["x_values"]) // 2
    data["x_values"] = data["x_values"][:half]
    data["results"] = {name: values[:half] for name, values in data["results"].items()}
    data["raw_values"] = {name: values[:len(values) // 2]
                          for name, values in data["raw_values"].items()}


def _of_plain_flent(data: Any) -> None:
    del data["metadata"]["AQM"]


@pytest.mark.parametrize(("change", "why"), [
    (_no_samples, "the file has no samples"),
    (_failed_tool, "3 of the test's tools gave no data"),
    (_error_of_a_tool, "ping: no reply"),
    (_not_read_back("before"), "no read-back of the router"),
    (_not_read_back("after"), "no read-back of the router"),
    (_fewer_samples(lambda samples: samples[:3]), "its raw_values, x_values or results, or"),
    (_fewer_samples(lambda samples: samples[:-1]), "its raw_values, x_values or results, or"),
    (_fewer_samples(lambda samples: samples[::2]), "its raw_values, x_values or results, or"),
    (_fewer_samples(lambda samples: []), "its raw_values, x_values or results, or"),
    (_shorter, "its raw_values, x_values or results, or"),
    (_of_plain_flent, "its metadata have no object AQM"),
])
def test_resume_repeats_a_run_that_is_not_complete(
        two_done: Bench, change: Callable[[Any], None], why: str) -> None:
    """A data file that can be read isn't enough: the tools' data and the router's read-backs
    have to be in it."""
    bench = two_done
    good, bad = bench.files()
    data = load(bad)
    samples = copy.deepcopy(data["raw_values"])
    change(data)
    save(bad, data)
    done = bench.flent("--batch-resume", "results")
    assert done.returncode == 0, done.stderr
    assert why in " ".join(done.stderr.split())
    assert "2 runs in the virtual lab, 1 of them there already" in done.stderr
    assert bench.files() == [good, bad]
    assert read_data_file(bad).raw_values == samples
    assert bad.with_name(f"{bad.name}.damaged").is_file()


@pytest.mark.parametrize(("words", "setting"), [
    (["base_delay_ms=80"], "base_delay_ms is 0 in the file, 80 in this plan"),
    (["length=2"], "LENGTH is 1 in the file, 2 in this plan"),
    (["seed=5"], "seed is "),
    (["test_parameters=cross_traffic_mbps=1"], "TEST_PARAMETERS"),
])
def test_resume_with_other_settings_is_refused(
        two_done: Bench, words: list[str], setting: str) -> None:
    """Runs with different settings under the names of one sweep would get one median."""
    bench = two_done
    kept, lost = bench.files()
    lost.unlink()
    before = kept.read_bytes()
    done = bench.flent("--batch-resume", "results",
                       *(word for each in words for word in ("--batch-override", each)))
    assert done.returncode == 1
    error = last_error(done.stderr)
    assert f"{kept.name} has another run than planned: {setting}" in error
    assert "write to another folder" in error
    assert bench.files() == [kept]
    assert kept.read_bytes() == before


def test_resume_takes_no_other_run_for_a_planned_run(two_done: Bench) -> None:
    """A copy of the first run under the name of the second run."""
    bench = two_done
    first, second = bench.files()
    shutil.copyfile(first, second)
    done = bench.flent("--batch-resume", "results")
    assert done.returncode == 1
    assert f"{second.name} has another run than planned: aqm is " in last_error(done.stderr)


def test_dry_run_boots_nothing(bench: Any) -> None:
    """--batch-dry-run lists the runs, and works without a kernel."""
    bench.batch(SHORT + "for_aqm = no_aqm, codel\nfor_rate = 100mbit, 200mbit")
    done = bench.flent("--batch-dry-run", env={"FLENT_AQM_KERNEL": "/nowhere"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("(dry run)") == 4
    assert not (bench.folder / "results").exists()


def test_repetitions_differ_and_the_same_one_repeats(bench: Any) -> None:
    """A repetition has a seed of its own, and gives the same data whenever it is run."""
    bench.batch("test_name = iperf3_upload\nlength = 2\ndelay = 1\nrate_mbps = 20\n"
                "repetitions = 2\naqm = sfq")
    assert bench.flent().returncode == 0
    first = [bench.data(part) for part in ("-01.flent", "-02.flent")]
    for file in bench.files():
        file.unlink()
    assert bench.flent("--batch-override", "jobs=1").returncode == 0
    again = [bench.data(part) for part in ("-01.flent", "-02.flent")]
    for part in ("raw_values", "results"):
        assert [data[part] for data in first] == [data[part] for data in again]
    assert first[0]["raw_values"] != first[1]["raw_values"]
    for moment in ("before", "after"):
        assert first[0]["metadata"]["AQM"][moment] == again[0]["metadata"]["AQM"][moment]


@pytest.mark.parametrize(("override", "message"), [
    ("aqm=nonsense", "aqm: unknown value 'nonsense'; known: no_aqm, bfifo, red"),
    ("rate_mbps=0", "rate_mbps: 0 Mbit/s is out of range"),
    ("rate_mbps=-5", "rate_mbps: -5 Mbit/s is out of range"),
    ("rate_mbps=fast", "'fast' is not a number"),
    ("testbed=moon", "testbed: unknown value 'moon'; known: virtual, netns"),
    ("burst_shaping=maybe", "burst_shaping: 'maybe' is not a switch; expected yes or no (or true"),
    ("jobs=0", "jobs: '0' is not a whole number from 1"),
    ("seed=x", "seed: 'x' is not a whole number"),
    ("summary_by=moon", "summary_by: unknown key 'moon'"),
    ("cross_traffic=yes", "test ping can't run cross traffic"),
    ("title=${nothing}", "title contains ${nothing}, which no argument or setting defines"),
    ("output_path=/proc/results", "results folder /proc/results can't be made or written"),
])
def test_bad_value_is_refused_before_anything_runs(bench: Any, override: str, message: str) -> None:
    """One line that names the key and what is expected, status 1, no file."""
    bench.batch(SHORT)
    done = bench.flent("--batch-override", override)
    assert done.returncode == 1
    assert message in last_error(done.stderr)
    assert not list(bench.folder.glob("results/*"))


@pytest.mark.parametrize(("words", "lines", "message"), [
    (["-b", "nonsense"], "", "nonsense"),
    ([], "for_aqm = nonsense", "aqm: unknown value 'nonsense'"),
    ([], "test_name = nonsense", "nonsense"),
    ([], "commands = nonsense", "nonsense"),
])
def test_unknown_name_is_refused(bench: Any, words: list[str], lines: str, message: str) -> None:
    """Batches, arguments, tests and commands that don't exist end flent with status 1."""
    bench.batch(SHORT.replace("test_name = ping", "") + (lines if "test_name" in lines else
                                                         f"test_name = ping\n{lines}"))
    done = bench.flent(*words)
    assert done.returncode == 1
    assert message in last_error(done.stderr)


def test_two_runs_for_one_file_are_refused(bench: Any) -> None:
    """A matrix over something that the files' names leave out would lose runs."""
    bench.batch(SHORT + "for_delay = near, far\n\n[Arg::near]\nbase_delay_ms = 1\n\n"
                "[Arg::far]\nbase_delay_ms = 2")
    done = bench.flent()
    assert done.returncode == 1
    assert "two different runs would be written to batch-try" in last_error(done.stderr)


def test_cross_traffic_that_is_named_twice_is_refused(bench: Any) -> None:
    """A key of the batch is all that it takes."""
    bench.batch("test_name = iperf3_upload\ntest_parameters = streams=2; cross_traffic=1")
    done = bench.flent()
    assert done.returncode == 1
    assert "test_parameters: cross_traffic is given more than once" in last_error(done.stderr)


def test_kept_capture_stands_beside_the_data_file(bench: Any) -> None:
    """keep_pcap brings the packets' headers out of the guest."""
    bench.batch("test_name = iperf3_upload\nlength = 1\ndelay = 1\nrate_mbps = 10\n"
                "test_parameters = keep_pcap=yes")
    done = bench.flent()
    assert done.returncode == 0, done.stderr
    capture, = (bench.folder / "results").glob("*.pcap")
    assert capture.name.startswith("batch-try-")
    assert capture.stat().st_size > 10_000


def test_unexpanded_variable_in_a_command_is_refused(bench: Any) -> None:
    """Flent would hand ${aqmm} to a shell, which makes it empty."""
    bench.batch(SHORT + "commands = typo\n\n[Command::typo]\ntype = pre\nexec = echo ${aqmm}")
    done = bench.flent()
    assert done.returncode == 1
    assert "${aqmm}, which no argument or setting defines" in last_error(done.stderr)


def test_kernel_missing_is_said_before_anything_runs(bench: Any) -> None:
    """One line with the command that builds it."""
    bench.batch(SHORT)
    done = bench.flent(env={"FLENT_AQM_KERNEL": "/nowhere/linux"})
    assert done.returncode == 1
    assert "/nowhere/linux is not a file that this user may execute" in last_error(done.stderr)


def test_disobedient_router_fails_the_run_and_not_the_others(bench: Any) -> None:
    """A hook that leaves another queue in place: no file, both settings in the cause."""
    bench.batch(SHORT + """for_aqm = codel, sfq
commands = meddle

[Command::meddle]
type = pre
exec = [ ${aqm} = sfq ] || ip netns exec router tc qdisc replace dev up parent 1:1 pfifo limit 7
""")
    done = bench.flent()
    assert done.returncode == 1
    assert "1 of 2 runs failed" in done.stderr
    assert "asked for htb 1: at root, codel" in done.stderr
    assert "the kernel reports" in done.stderr
    assert [("sfq" in file.name) for file in bench.files()] == [True]
    folder_status = status.read(bench.files()[0].parent)
    assert folder_status is not None
    (name, cause), = folder_status.failed.items()
    assert "codel" in name
    assert "the kernel reports" in cause


def test_router_changed_during_the_run_fails_it(bench: Any) -> None:
    """The settings are read again after the test."""
    bench.batch(SHORT + """aqm = codel
commands = meddle

[Command::meddle]
type = monitor
kill = yes
exec = sleep 0.5; exec ip netns exec router tc qdisc change dev up handle 2: codel target 9ms
""".replace("handle 2:", "parent 1:1"))
    done = bench.flent()
    assert done.returncode == 1
    assert "target" in done.stderr
    assert bench.files() == []


def test_refusing_router_fails_the_run(bench: Any) -> None:
    """A hook that can't apply its settings ends the run before the test."""
    bench.batch(SHORT + """commands = refuse

[Command::refuse]
type = pre
essential = yes
exec = echo no such device >&2; exit 2
""")
    done = bench.flent()
    assert done.returncode == 1
    assert "1 of 1 run failed" in done.stderr
    assert bench.files() == []


@pytest.mark.parametrize(("commands", "early", "late"), [
    ("early, router, late", "noqueue", "htb"), ("late, early", "htb", "htb")])
def test_commands_of_a_batch_run_before_or_after_the_routers(
        bench: Any, commands: str, early: str, late: str) -> None:
    """It is the first where the batch doesn't name it."""
    sections = "".join(
        f"\n[Command::{name}]\ntype = pre\nessential = yes\n"
        f"exec = ip netns exec router tc qdisc show dev up | grep -q '^qdisc {kind} '\n"
        for name, kind in (("early", early), ("late", late)))
    bench.batch(f"{SHORT}commands = {commands}\n{sections}")
    done = bench.flent()
    assert done.returncode == 0, done.stderr
    assert len(bench.files()) == 1


@pytest.fixture
def visible() -> Iterator[Path]:
    """A folder that a sweep's guest sees as well: it has a /tmp of its own."""
    with tempfile.TemporaryDirectory(prefix="flent-aqm-test-", dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def fake_tool(folder: Path, name: str, code: str) -> str:
    """A batch's lines that put a tool of ours in place of the real one, in the guest."""
    tool = folder / name
    tool.write_text(f"#!/bin/sh\n{code}\n")
    tool.chmod(0o755)
    real = subprocess.run(["sh", "-c", f"command -v {name}"], capture_output=True, text=True,
                          check=True).stdout.strip()
    return (f"commands = fake\n\n[Command::fake]\ntype = pre\nessential = yes\n"
            f"exec = mount --bind {tool} {real}\n")


@pytest.mark.parametrize(("code", "cause"), [
    ("echo garbage", "iperf3"),
    ("echo '{}'", "iperf3"),
    ("exit 3", "ended with status 3"),
    ("exec sleep 1000", "still ran after"),
    ("kill -9 $$", "iperf3"),
])
def test_bad_tool_fails_the_run_with_its_name(bench: Any, visible: Path, code: str, cause: str
                                              ) -> None:
    """Garbage, an error, a hang, a crash: each is a failed run with its cause, no file."""
    bench.batch("test_name = iperf3_upload\nlength = 1\ndelay = 1\nrate_mbps = 20\n"
                + fake_tool(visible, "iperf3", code))
    done = bench.flent()
    assert done.returncode == 1
    assert "1 of 1 run failed" in done.stderr
    failed = next(line for line in done.stderr.splitlines() if line.startswith("failed:"))
    assert cause in failed.partition(".flent.gz: ")[2]
    assert "mount" not in failed
    assert "Traceback" not in done.stderr
    assert bench.files() == []


def test_missing_tool_is_said_before_anything_runs(
    bench: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A tool that a batch's tests need and the machine lacks: one line, nothing runs."""
    bench.batch(SHORT)
    empty = tmp_path_factory.mktemp("empty")
    done = bench.flent(env={"PATH": str(empty), "XDG_CACHE_HOME": str(empty)})
    assert done.returncode == 1
    assert "setpriv is not installed" in last_error(done.stderr)
    assert bench.files() == []

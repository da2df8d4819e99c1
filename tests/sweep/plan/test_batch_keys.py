# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that nobody reads are refused, wherever they can be given."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.paths import resource_dir
from flent_aqm.cli import main
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep.replay import recorded

from ...warm_flent import run_flent

FLENT = Path(sys.executable).with_name("flent")
BATCH = """\
[Arg::slow]
rate_mbps = 20
%(arg)s
[Command::hook]
type = pre
exec = echo hello
%(command)s
[Batch::mine]
inherits = base
for_kind = slow
for_rate = ndt7
own = 1
filename_extra = ${test_name}-${rate_mbps}-${own}
commands = hook
%(batch)s
"""


def dry_run(folder: Path, *words: str, **parts: str) -> subprocess.CompletedProcess[str]:
    """Of a batch with one line more, beside the base that ours have."""
    empty = {"arg": "", "command": "", "batch": ""}
    (folder / "mine.batch").write_text(BATCH % {**empty, **parts})
    (folder / "base.batch").write_text((resource_dir("batches") / "base.batch").read_text())
    return run_flent("-B", "mine.batch", "--batch-dry-run", *words, cwd=folder)


def test_batch_with_a_key_of_its_own_that_it_uses_is_taken(tmp_path: Path) -> None:
    """As with `own` in the file's name."""
    ended = dry_run(tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(("part", "line", "message"), [
    ("batch", "rate = 50", "unknown key 'rate'; did you mean 'rate_mbps'?"),
    ("batch", "tool = ndt7", "unknown key 'tool'; the values of for_tool set 'test_name'"),
    ("batch", "rate_mpbs = 20", "unknown key 'rate_mpbs'; did you mean 'rate_mbps'?"),
    ("batch", "base_delay = 30", "unknown key 'base_delay'; did you mean 'base_delay_ms'?"),
    ("batch", "lenght = 5", "unknown key 'lenght'; did you mean 'length'?"),
    ("batch", "job = 5", "unknown key 'job'; did you mean 'jobs'?"),
    ("batch", "repetition = 5", "did you mean 'repetitions'?"),
    ("batch", "xyzzy = 5", "unknown key 'xyzzy'; see docs/reference/keys.md"),
    ("batch", "aqm_lmit = 5", "aqm_lmit: no_aqm has no such parameter"),
    ("batch", "test_parameters = steams=4",
     "unknown test parameter 'steams'; did you mean 'streams'?"),
    ("arg", "burst_shapping = 1", "unknown key 'burst_shapping'; did you mean 'burst_shaping'?"),
    ("command", "esential = yes", "command hook: unknown key 'esential'; did you mean 'essential'"),
])
def test_key_that_nobody_reads_is_refused_with_the_nearest_one(
    tmp_path: Path, part: str, line: str, message: str
) -> None:
    """In a batch, an argument, a command; before anything runs, in one line."""
    ended = dry_run(tmp_path, **{part: line})
    assert ended.returncode == 1
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    assert message in ended.stderr


def test_key_near_one_of_the_batch_itself_is_told_that_one(tmp_path: Path) -> None:
    """Which values use, though this package has a key that is nearly as near."""
    ended = dry_run(tmp_path, "--batch-override", "shar=95", batch="share = 90\ntitle = ${share}")
    assert ended.returncode == 1
    assert "unknown key 'shar'; did you mean 'share'?" in ended.stderr


@pytest.mark.parametrize("override", ["rate=50", "rate_mpbs=20", "base_delay=30"])
def test_override_that_nobody_reads_is_refused(tmp_path: Path, override: str) -> None:
    """On the command line as in the file."""
    ended = dry_run(tmp_path, "--batch-override", override)
    assert ended.returncode == 1
    assert "did you mean" in ended.stderr


def test_batch_of_others_may_have_any_key(tmp_path: Path) -> None:
    """Without `testbed` it is Flent's business alone."""
    (tmp_path / "a.batch").write_text("[Batch::a]\ntest_name = ping\nhosts = localhost\n"
                                      "xyzzy = 1\n")
    ended = run_flent("-B", "a.batch", "-b", "a", "--batch-dry-run", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("name", sorted(
    path.name for path in resource_dir("batches").glob("*.batch") if path.name != "base.batch"))
def test_batches_of_ours_have_no_such_keys(name: str, tmp_path: Path) -> None:
    """All of them expand."""
    ended = run_flent("-B", resource_dir("batches") / name, "--batch-dry-run", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_parameter_of_a_single_run_is_refused_as_well(tmp_path: Path) -> None:
    """Of our tests; Flent's own read some that nobody lists."""
    ended = run_flent("iperf3_upload", "-H", "127.0.0.1", "--test-parameter", "steams=4",
                      cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.count("unknown test parameter 'steams'; did you mean 'streams'?") == 1
    assert os.listdir(tmp_path) == []


def test_set_of_the_lab_names_the_nearest_key(tmp_path: Path) -> None:
    """As batches do."""
    ended = subprocess.run(
        [FLENT.with_name("flent-aqm"), "lab", "--set", "modem_mbp=5", "--", "true"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
    assert ended.returncode == 1
    assert ended.stderr == ("flent-aqm: --set: unknown key 'modem_mbp'; did you mean "
                            "'modem_mbps'?\n")


@pytest.mark.parametrize("key", ["jobs", "title", "length", "repetition", "test_name", "hosts"])
def test_key_of_batches_alone_is_not_called_misspelt(
        key: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The page of keys has it, and no other key is meant."""
    assert main(["lab", "--set", f"{key}=2", "--", "true"]) == 1
    assert capsys.readouterr().err == (f"flent-aqm: --set: {key} is a key of batches for Flent "
                                       "or the sweep, not for the lab; leave it out\n")


def test_parameters_of_the_labs_queue_are_named_once_and_without_blanks(
    capsys: pytest.CaptureFixture[str]
) -> None:
    """The last of two would win unseen; a blank in a name can't be seen in a message."""
    twice = ("--aqm-parameter", "target=9ms", "--aqm-parameter", "target =10ms")
    for words, message in ((twice, "--aqm-parameter: 'target' is given twice; leave one out\n"),
                           (("--aqm-parameter", " no such = 1"), "aqm_no such: fq_codel has no ")):
        assert main(["lab", "--aqm", "fq_codel", *words, "--", "true"]) == 1
        assert capsys.readouterr().err.startswith(f"flent-aqm: {message}")


def test_replay_refuses_what_a_newer_version_asked_for(tmp_path: Path) -> None:
    """It would make another run than the file's."""
    run = {"test": "ndt7", "settings": {}, "commands": "router"}
    requested = {**Scenario().but(seed=1).as_dict(), "weather": "rain"}
    with pytest.raises(ConfigError, match="unknown key 'weather'"):
        recorded._make_cell(run, requested, {}, tmp_path / "a.flent.gz", tmp_path,
                            run_programs=False)
    del requested["weather"]
    cell = recorded._make_cell(run, requested, {}, tmp_path / "a.flent.gz", tmp_path,
                               run_programs=False)
    assert (cell.test_name, cell.length_s) == ("ndt7", 0)


def plan(folder: Path, lines: str) -> subprocess.CompletedProcess[str]:
    """A batch of one run."""
    (folder / "base.batch").write_text((resource_dir("batches") / "base.batch").read_text())
    (folder / "mine.batch").write_text(f"[Batch::mine]\ninherits = base\n{lines}\n")
    return run_flent("-B", "mine.batch", "--batch-dry-run", cwd=folder)


def test_batch_in_any_folder_inherits_from_our_base(tmp_path: Path) -> None:
    """Where no base.batch is beside it: its queues, defaults and testbed."""
    (tmp_path / "mine.batch").write_text(
        "[Batch::mine]\ninherits = base\ntest_name = ndt7\nfor_aqm = codel, cake\n"
        "filename_extra = ${aqm}\n")
    ended = run_flent("-B", "mine.batch", "--batch-dry-run", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert re.findall(r"(\w+) \(dry run\)", ended.stderr + ended.stdout) == ["codel", "cake"]


@pytest.mark.parametrize(("test", "parameters", "line"), [
    ("aqm_flows", "direction=both", "direction: unknown value 'both'; known: upload, download"),
    ("aqm_flows", "flows=2xreno@5-4", "flows: '2xreno@5-4' lasts -1 s, from 5 s to 4 s"),
    ("aqm_flows", "rates_mbps=fast", "'fast' every '20' s is not possible; expected"),
    ("aqm_flows", "rates_mbps=10,5;rate_step_s=0", "'10,5' every '0' s is not possible; expected"),
    ("aqm_flows", "flows=1xreno+2yreno", "flows: '1xreno+2yreno' is not understood; expected"),
    ("aqm_flows", f"flows={'+'.join(['1xreno'] * 9)}", "flows: 9 groups; expected 8 at most"),
    ("iperf3_upload", "streams=0", "streams: '0' is not a number of connections"),
    ("ping_exp", "load=full", "load: unknown value 'full'; known: empty, upload"),
    ("cloudflare", "http_version=9", "http_version: '9' is not accepted"),
])
def test_value_that_a_test_refuses_ends_the_planning(
    tmp_path: Path, test: str, parameters: str, line: str
) -> None:
    """Not the run, in the midst of a sweep."""
    ended = plan(tmp_path, f"test_name = {test}\ntest_parameters = {parameters}")
    assert ended.returncode == 1
    assert line in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(("keys", "line"), [
    ("shaper = tbf", "rates_mbps: can't be used with shaper = tbf; expected shaper = htb"),
    ("testbed = ssh://router", "works only where the router is a network")])
def test_rates_that_change_need_a_router_that_can(tmp_path: Path, keys: str, line: str) -> None:
    """The batch tells which one it has."""
    ended = plan(tmp_path, f"{keys}\ntest_name = aqm_flows\ntest_parameters = rates_mbps=10,5")
    assert ended.returncode == 1
    assert line in ended.stderr


def plain_dry_run(folder: Path, keys: str) -> subprocess.CompletedProcess[str]:
    """Plan a batch with these keys alone."""
    (folder / "base.batch").write_text((resource_dir("batches") / "base.batch").read_text())
    (folder / "mine.batch").write_text(
        f"[Batch::mine]\ninherits = base\ntest_name = ping\n{keys}\n")
    return run_flent("-B", "mine.batch", "--batch-dry-run", cwd=folder)


def test_word_that_is_no_section_and_no_value_is_refused_with_its_place(tmp_path: Path) -> None:
    """The message says what a rate may be."""
    ended = plain_dry_run(tmp_path, "for_rate = quick, 100")
    assert ended.returncode != 0
    assert re.search(r"mine\.batch:\d+:12: for_rate: no section \[Arg::quick\]; expected a "
                     r"rate, such as 20, 2\.5mbit or 1gbit, or the name of a section",
                     ended.stderr), ended.stderr


def test_single_word_for_a_switch_in_a_list_is_told_as_such(tmp_path: Path) -> None:
    """Flent has made False of it, which the user did not write."""
    ended = plain_dry_run(tmp_path, "for_shaper = off")
    assert ended.returncode != 0
    assert "shaper: no, off and false are no values of this key; known: htb" in ended.stderr


@pytest.mark.parametrize(("keys", "names"), [
    ("for_rate = 20mbit, 200", ["20", "200"]),
    ("for_rate = 20", ["20"]),
    ("for_rate = 20, 20mbit, 1gbit, 2.5", ["20", "1000", "2_5"]),
    ("for_rate = 100mbit, 5*", ["100", "500"]),
    ("for_rate_mbps = 20, 100", ["20", "100"]),
    ("for_rate_mbps = 20\nfor_base_delay_ms = 20, 50", ["20 20", "20 50"]),
])
def test_list_of_values_runs_each(tmp_path: Path, keys: str, names: list[str]) -> None:
    """Rates with their unit or without, and values of other keys."""
    extra = "${rate_mbps}" + ("-${base_delay_ms}" if "delay" in keys else "")
    ended = plain_dry_run(tmp_path, f"{keys}\nfilename_extra = of-{extra}")
    assert ended.returncode == 0, ended.stderr
    found = re.findall(r"-of-(\S+) \(dry run\)", ended.stdout + ended.stderr)
    assert [one.replace("-", " ") for one in found] == names


@pytest.mark.parametrize(("keys", "overrides", "names"), [
    ("rate_down_mbps = 250\nrate_up_mbps = 20", ["rate_mbps=50"], ["50"]),
    ("for_line = dsl\n[Arg::dsl]\nrate_down_mbps = 250\nrate_up_mbps = 20", ["rate_mbps=50"],
     ["50"]),
    ("for_rate = 20, 100", ["rate_mbps=50"], ["50"]),
    ("for_rate = 20, 100", ["rate_mbps=50,60"], ["50", "60"]),
    ("rate_down_mbps = 250", ["rate_mbps=50", "rate_down_mbps=30"], ["30"])])
def test_override_of_both_directions_holds_in_names_and_rates(
        tmp_path: Path, keys: str, overrides: list[str], names: list[str]) -> None:
    """Also with base.batch, whose title has the rate of the download."""
    (tmp_path / "base.batch").write_text((resource_dir("batches") / "base.batch").read_text())
    (tmp_path / "mine.batch").write_text(
        "[Batch::mine]\ninherits = base\ntest_name = ping\n"
        f"filename_extra = of-${{rate_down_mbps}}\n{keys}\n")
    ended = run_flent("-B", "mine.batch", "--batch-dry-run",
                      *(f"--batch-override={one}" for one in overrides), cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert re.findall(r"-of-(\S+) \(dry run\)", ended.stdout + ended.stderr) == names


@pytest.mark.parametrize(("child", "rates"), [
    ("rate_mbps = 20", "20/20"), ("", "40/8"), ("rate_mbps = 20\nrate_up_mbps = 5", "20/5"),
    ("rate_up_mbps = 5", "40/5"), ("aqm = codel", "40/8")])
def test_key_of_both_directions_replaces_the_inherited_keys_of_one(
        tmp_path: Path, child: str, rates: str) -> None:
    """The section that is nearer to the run counts: the rate was left out without a word."""
    (tmp_path / "base.batch").write_text((resource_dir("batches") / "base.batch").read_text())
    (tmp_path / "mine.batch").write_text(
        "[Batch::line]\ninherits = base\nabstract = yes\ntest_name = ping\n"
        "rate_down_mbps = 40\nrate_up_mbps = 8\n"
        "[Batch::mine]\ninherits = line\n"
        f"filename_extra = of-${{rate_down_mbps}}/${{rate_up_mbps}}\n{child}\n")
    ended = run_flent("-B", "mine.batch", "--batch-dry-run", cwd=tmp_path)
    assert re.findall(r"-of-(\S+) \(dry run\)", ended.stdout + ended.stderr) == [
        rates.replace("/", "_")], ended.stderr


@pytest.mark.parametrize("key", ["filename_extra", "output_path", "title"])
def test_word_that_flent_reads_as_a_switch_is_no_name(tmp_path: Path, key: str) -> None:
    """It ended in a traceback of Flent's."""
    ended = plain_dry_run(tmp_path, f"{key} = off")
    assert ended.returncode == 1
    assert (f"{key}: Flent reads a value of on, off, yes, no, true or false, and a 0 of "
            "--batch-override, as a switch") in ended.stderr
    assert "Traceback" not in ended.stderr


def test_runs_of_one_name_are_told_what_differs(tmp_path: Path) -> None:
    """The key that varies, in the form that a name takes."""
    ended = plain_dry_run(tmp_path, "for_shaper = htb, tbf")
    assert "; add ${shaper}, in which they differ, to the key filename_extra" in ended.stderr
    rates = plain_dry_run(tmp_path, "for_rate = 20, 50\nfilename_extra = ${repetition}")
    assert "; add ${rate_mbps}, in which they differ, to the key filename_extra" in rates.stderr
    for first, second, key in (
            ("aqm_options = target 5ms", "aqm_options = target 9ms", "aqm_options"),
            ("router_model = omnia\nrouter_timer_latency_us = 50",
             "router_model = omnia\nrouter_timer_latency_us = 60", "router_timer_latency_us")):
        ended = plain_dry_run(tmp_path, "aqm = codel\nfor_x = one, two\n\n"
                              f"[Arg::one]\n{first}\n\n[Arg::two]\n{second}")
        assert f"; add ${{{key}}}, in which they differ, to" in ended.stderr, ended.stderr


def test_dry_run_says_that_it_asks_no_router(tmp_path: Path) -> None:
    """And what does; of the lab there is nothing to ask."""
    ended = plain_dry_run(tmp_path, "testbed = ssh://root@192.0.2.99\nhosts = 192.0.2.98")
    assert ended.returncode == 0, ended.stderr
    text = ended.stdout + ended.stderr
    assert "A dry run asks no other machine" in text
    assert "flent-aqm doctor --testbed ssh://root@192.0.2.99 --server SERVER" in text
    ended = plain_dry_run(tmp_path, "rate_mbps = 20")
    assert "asks no other machine" not in ended.stdout + ended.stderr


def test_batch_file_that_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    """The file itself, or the base.batch beside it: here the memory of a process, which is a file
    whose first bytes nobody may read."""
    memory = Path("/proc/self/mem")
    (tmp_path / "own.batch").symlink_to(memory)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "base.batch").symlink_to(memory)
    (tmp_path / "below" / "mine.batch").write_text("[Batch::x]\ntest_name = ping\n")
    for name, unread in (("own.batch", "own.batch"), ("below/mine.batch", "below/base.batch")):
        ended = run_flent("-B", name, "--batch-dry-run", cwd=tmp_path)
        assert (ended.returncode, ended.stderr) == (
            1, f"ERROR: batch file {unread}: can't be read: Input/output error\n")


def test_options_of_flent_that_the_batch_replaces_are_told_once(tmp_path: Path) -> None:
    """Each with the override that does what was meant. What says the same as the batch is no
    option in vain."""
    (tmp_path / "mine.batch").write_text(
        "[Batch::mine]\ninherits = base\ntest_name = ndt7\nfor_aqm = codel, cake\nlength = 12\n"
        "filename_extra = ${aqm}\n")

    def warnings(*options: str) -> list[str]:
        ended = run_flent("-B", "mine.batch", "--batch-dry-run", *options, cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
        return re.findall(r"-\S .* is not used, .*", ended.stderr + ended.stdout)

    [told] = warnings("-l", "5")
    assert told == ("-l 5 is not used, because the batch sets length to 12; write --batch-override "
                    "length=5")
    assert warnings("-l", "12") == warnings("-l", "5", "--batch-override", "length=5") == []
    assert warnings() == []

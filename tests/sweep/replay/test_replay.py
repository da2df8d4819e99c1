# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm replay` on files of a real run, and on files that must not be believed."""

from __future__ import annotations

import copy
import gzip
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.paths import resource_dir
from flent_aqm.spec.flent_settings import TEST_PARAMETERS
from tests.files import load, save

from ...warm_flent import run_flent_aqm
from ..conftest import new_bench

pytestmark = pytest.mark.lab



@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data file of a run of one second."""
    bench = new_bench(tmp_path_factory.mktemp("made"))
    bench.batch("test_name = iperf3_upload\nlength = 1\ndelay = 1\nrate_mbps = 10\n"
                "aqm = codel\nnote = a note")
    done = bench.flent()
    assert done.returncode == 0, done.stderr
    file, = bench.files()
    return file


def replay(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `flent-aqm replay WORDS`."""
    return run_flent_aqm("replay", *words, cwd=Path.cwd())


def written(made: Path, folder: Path, change: Callable[[Any], object]) -> Path:
    """A copy of a data file with a change."""
    data = copy.deepcopy(load(made))
    change(data)
    path = folder / "changed.flent.gz"
    save(path, data)
    return path


def test_replay_is_identical_and_kept_file_has_the_same_samples(made: Path, tmp_path: Path
                                                                 ) -> None:
    """Status 0 and one word; --keep writes the new file, and never over an old one."""
    done = replay(made, "--keep", tmp_path)
    assert (done.returncode, done.stdout) == (0, "identical\n"), done.stderr
    assert done.stderr.startswith("replaying iperf3_upload, codel, 10 Mbit/s down")
    was, now = (load(path)
                for path in (made, tmp_path / made.name))
    assert was["raw_values"] == now["raw_values"]
    assert (now["metadata"]["NOTE"], now["metadata"]["BATCH_NAME"]) == ("a note", "try")
    again = replay(made, "--keep", tmp_path)
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_changed_file_is_different_and_versions_come_first(made: Path, tmp_path: Path) -> None:
    """Status 1, with the first difference by time; versions that differ stand above."""
    def change(data: Any) -> None:
        next(one for one in data["raw_values"]["TCP upload"] if "val" in one)["val"] += 1
        data["metadata"]["AQM"]["tools"]["fping"] = "1.0"
        data["metadata"]["AQM"]["kernel"]["hash"] = "of another build"

    done = replay(written(made, tmp_path, change))
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("other version: fping: 1.0 in the file, ")
    assert lines[1].startswith("other version: kernel hash: of another build in the file, ")
    assert re.match(r"different: samples of TCP upload, number \d+ at \d\.\d+ s: ", lines[2])
    assert len(lines) == 3


@pytest.mark.parametrize(("change", "message"), [
    (lambda data: data["metadata"].pop("AQM"), "no object AQM: another program made it"),
    (lambda data: data["metadata"]["AQM"].update(schema=99), "its AQM.schema is 99; expected 1"),
    (lambda data: data["metadata"]["AQM"].update(testbed="ssh://root@router"),
     "measured on 'ssh://root@router'; only runs of the virtual lab"),
    (lambda data: data["metadata"]["AQM"].pop("run"), (
        "metadata do not have both objects AQM.run and AQM.requested")),
    (lambda data: data["metadata"]["AQM"]["run"].update(test="../../evil"),
     "AQM.run.test in its metadata is '../../evil', which is no installed test"),
    (lambda data: data["metadata"]["AQM"]["run"].update(test=["ndt7"]),
     "which is no installed test"),
    (lambda data: data["metadata"]["AQM"]["run"].update(commands="others"),
     "AQM.run.commands in its metadata is 'others'; only"),
    (lambda data: data["metadata"]["AQM"]["requested"].update(aqm="; reboot"),
     "AQM.requested in its metadata: aqm: unknown value '; reboot'"),
    (lambda data: data["metadata"]["AQM"]["requested"].update(seed=None), ("the file records no "
                                                                          "seed")),
    (lambda data: data["metadata"]["AQM"]["requested"].update(testbed="netns"),
     "AQM.requested.testbed in its metadata is 'netns'"),
    (lambda data: data["metadata"]["AQM"]["run"]["settings"].update(HOSTS=["example.org"]),
     "HOSTS: ['example.org'] is not accepted from a data file; expected a list, each element"),
    (lambda data: data["metadata"]["AQM"]["run"]["settings"].update(DATA_DIR="/etc"),
     "unknown setting 'DATA_DIR'"),
    (lambda data: data["metadata"]["AQM"]["run"]["settings"].update(TEST_PAYLOAD="/etc/shadow"),
     "TEST_PAYLOAD: '/etc/shadow': this setting is never accepted from a data file"),
    (lambda data: data["metadata"]["AQM"]["run"]["settings"].update(LENGTH="1; reboot"),
     "LENGTH: '1; reboot' is not accepted from a data file; expected a number from 1 to 864"),
    (lambda data: data["metadata"]["AQM"]["run"]["settings"].update(
        TEST_PARAMETERS={"command": "reboot"}),
     "test parameter 'command': it is unknown, or not accepted from a data file"),
    (lambda data: data["metadata"]["AQM"]["run"]["settings"].update(
        TEST_PARAMETERS={"streams": "2 --logfile x"}), "test parameter 'streams'"),
    (lambda data: data.update(x_values=None), "x_values or results are missing"),
    (lambda data: data.update(raw_values={"a": 1}), "raw_values of 'a' are not a list"),
])
def test_file_not_to_be_replayed_is_refused_in_one_line(
    made: Path, tmp_path: Path, change: Callable[[Any], object], message: str
) -> None:
    """Status 2, the reason, and nothing runs."""
    done = replay(written(made, tmp_path, change))
    assert (done.returncode, done.stdout) == (2, "")
    line, = done.stderr.splitlines()
    assert message in line


@pytest.mark.parametrize("content", [b"", b"no gzip", gzip.compress(b"[")[:-4],
                                     gzip.compress(b"[]"), gzip.compress(b"{} NaN")])
def test_damaged_file_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    """Status 2, no traceback."""
    path = tmp_path / "damaged.flent.gz"
    path.write_bytes(content)
    done = replay(path)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_every_parameter_of_our_tests_can_be_replayed() -> None:
    """What a definition asks for stands in the table of what a data file may give."""
    requested = set()
    for path in resource_dir("tests_defs").iterdir():
        requested |= set(re.findall(r"\b(?:get_test_parameter|flag|port|jitter)\(\s*'(\w+)'",
                                path.read_text()))
    assert "cross_traffic" in requested
    assert requested <= set(TEST_PARAMETERS)


def test_file_of_flent_in_the_lab_command_is_refused_with_what_to_do() -> None:
    """It doesn't record how it was called; no version of this package could replay it."""
    done = replay(Path(__file__).resolve().parents[2] / "golden" / "runs" / "ndt7.flent.gz")
    assert (done.returncode, done.stdout) == (2, "")
    assert "inside `flent-aqm lab`" in done.stderr
    assert "call flent-aqm lab as before, with --seed 1" in done.stderr
    assert done.stderr.count("\n") == 1

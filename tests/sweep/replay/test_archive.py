# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm share --publish`: what is in the folder, that it is enough, and what is refused."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.paths import resource_dir
from flent_aqm.cli import main
from flent_aqm.results import status
from flent_aqm.results.share.archive import Packed
from flent_aqm.setup.kernel import recipe
from flent_aqm.setup.kernel.locate import find_kernel
from flent_aqm.setup.kernel.recipe import KernelSource, Recipe
from flent_aqm.sweep.replay.archive import _sample
from tests.files import GOLDEN, load, save

from ..conftest import new_bench


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the data files of two runs of one second, and their sweep's state."""
    bench = new_bench(tmp_path_factory.mktemp("made"))
    bench.batch("test_name = iperf3_upload\nfor_queue = one, two\nlength = 1\ndelay = 1\n"
                "rate_mbps = 10\n[Arg::one]\naqm = cake\ningress = ifb\n[Arg::two]\naqm = sfq")
    done = bench.flent()
    assert done.returncode == 0, done.stderr
    return bench.folder


def changed(file: Path, target: Path, change: Callable[[Any], object]) -> Path:
    """A copy of a data file with a change."""
    data = load(file)
    change(data)
    save(target, data)
    return target


@pytest.mark.lab
def test_archive_holds_what_makes_its_data_again(made: Path, tmp_path: Path) -> None:
    """Data, batch, recipe and checksums; the recipe alone gives the hash in the data, and the
    archived file is made again on the way."""
    target = tmp_path / "deposit" / "archive"
    assert main(["share", str(made / "results"), "--publish", "-o", str(target), "--replay", "1",
                  "--author", "Doe, Jane",
                 "--title", "One: two"]) == 0
    files = sorted(path.name for path in (target / "data").glob("*.flent.gz"))
    assert files == sorted(path.name for path in (made / "results").glob("*.flent.gz"))
    assert len(files) == 2
    # The command of the sweep is its user's.
    assert not (target / "data" / "sweep.json").exists()
    assert sorted(path.name for path in (target / "batch").iterdir()) == [
        "base.batch", "try.batch"]
    assert subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=target,
                          check=False).returncode == 0
    facts = json.loads((target / "kernel" / "kernel.json").read_text())
    rebuilt = Recipe(KernelSource(facts["package"], facts["version"]),
                     (target / "kernel" / recipe.FRAGMENT.name).read_text(),
                     tuple((path.name, path.read_bytes())
                           for path in sorted((target / "kernel" / "patches").iterdir())))
    versions = json.loads((target / "versions.json").read_text())
    assert rebuilt.hash == versions["made_with"][0]["kernel"]["hash"] == find_kernel().hash
    assert versions["archived_with"]["flent"] == "2.3.0"
    assert versions["made_with"][0]["files"] == files
    readme = (target / "README.md").read_text()
    assert "1 of 2 runs were made again" in readme
    assert 'title: "One: two"' in (target / "CITATION.cff").read_text()
    assert "CC-BY-4.0" in (target / "LICENSE").read_text()


@pytest.mark.parametrize(("most", "chosen"), [
    (0, []), (1, [0]), (2, [0, 4]), (3, [0, 2, 5]), (4, [0, 2, 4, 6]), (9, [0, 1, 2, 3, 4, 5, 6])])
def test_repeated_runs_are_spread_over_the_files(most: int, chosen: list[int]) -> None:
    """The first of each test and testbed, then others far apart: neighbours are repetitions."""
    files = [Packed(str(number), "ndt7", "virtual", "", "", {}) for number in range(7)]
    assert [int(one.name) for one in _sample(files, most)] == chosen


def test_each_test_and_testbed_is_repeated_once_at_least() -> None:
    files = [Packed(str(number), test, testbed, "", "", {}) for number, (test, testbed)
             in enumerate((("a", "x"), ("a", "x"), ("b", "x"), ("b", "y"), ("a", "x")))]
    assert [one.name for one in _sample(files, 3)] == ["0", "2", "3"]
    assert [one.name for one in _sample(files, 2)] == ["0", "2"]
    assert [one.name for one in _sample(files, 4)] == ["0", "2", "3", "4"]


@pytest.mark.lab
def test_archive_of_data_that_do_not_repeat_is_not_made(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sample that nobody measured: one line, status 1, no folder and nothing beside it."""
    file = min((made / "results").glob("*.flent.gz"))

    def other_sample(data: Any) -> None:
        series = next(iter(data["raw_values"].values()))
        series[0]["val"] = 1.5

    wrong = changed(file, tmp_path / file.name, other_sample)
    target = tmp_path / "out" / "archive"
    assert main(["share", str(wrong), "--publish", "-o", str(target), "--replay", "1"]) == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert "repeating the run gave other data: samples of" in line
    assert list(target.parent.iterdir()) == []


def lab_less(data: Any) -> None:
    """As measured on a router of somebody's."""
    data["metadata"]["AQM"].update(testbed="ssh://root@router.test", kernel=None)


def test_archive_of_runs_on_a_real_router_says_that_they_cannot_be_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the README and on the terminal; the folder is made, without a recipe. Names are made
    harmless, and no file takes another's place."""
    file = GOLDEN / "batches" / "quick" / "iperf3_upload-codel.flent.gz"
    names = ("a b\n$(id).flent.gz", "a b\n_(id).flent.gz")
    for name in names:
        changed(file, tmp_path / name, lab_less)
    target = tmp_path / "archive"
    assert main(["share", *(str(tmp_path / name) for name in names), "--publish", "-o",
                 str(target)]) == 0
    assert sorted(path.name for path in (target / "data").iterdir()) == [
        "a_b___id_-2.flent.gz", "a_b___id_.flent.gz"]
    assert not (target / "kernel").exists()
    readme = (target / "README.md").read_text()
    assert "0 of 2 runs were made again" in readme
    assert "only runs of the virtual lab can be repeated" in readme
    output = capsys.readouterr()
    assert "not repeated: measured on 'ssh://root@router'" in output.err
    # Files name the section of their batch alone, which another file may have, too.
    assert not (target / "batch").exists()
    assert "the folder has no batch file: no sweep.json beside the data files names" in output.err
    assert "pip install" not in readme
    assert subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=target,
                          check=False).returncode == 0


def recorded(folder: Path, *batches: Path) -> Path:
    """A folder with a data file of somebody's router, and with the state of sweeps of batches."""
    folder.mkdir(exist_ok=True)
    changed(GOLDEN / "batches" / "quick" / "iperf3_upload-codel.flent.gz",
            folder / "run.flent.gz", lab_less)
    status.write(folder, status.Status(["flent"], 1, 0, 0.0, batches=[
        {str(path): hashlib.sha256(path.read_bytes()).hexdigest()} for path in batches]))
    return folder


def test_archive_has_the_batch_that_the_runs_came_from_by_its_hash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The user's file, though this package has a section of that name; not one that has changed;
    of two, none unless it is named, and then no third."""
    mine, other, third = (tmp_path / name for name in ("paper.batch", "o.batch", "t.batch"))
    for path in (mine, other, third):
        path.write_text(f"# {path.name}\n[Batch::aqm_sweep]\ntest_name = ndt7\n")
    folder = recorded(tmp_path / "runs", mine)

    def share(to: str, *words: str) -> int:
        return main(["share", str(folder), "--publish", "-o", str(tmp_path / to), *words])

    assert share("one") == 0
    assert [path.name for path in (tmp_path / "one" / "batch").iterdir()] == ["paper.batch"]
    assert (tmp_path / "one" / "batch" / "paper.batch").read_text() == (
        "[Batch::aqm_sweep]\ntest_name = ndt7\n")  # without its comment
    assert "`batch/paper.batch` | the batch that" in (tmp_path / "one" / "README.md").read_text()
    assert "paper.batch: cleaned; read them before you publish" in capsys.readouterr().err
    assert share("other", "--batch", str(third)) == 1
    told = capsys.readouterr().err
    assert f"t.batch is none of the batches that sweep.json records ({mine}), as they we" in told
    assert "or leave --batch out" in told
    recorded(folder, mine, other)
    assert share("two") == 1
    assert "these runs came from different batch files" in capsys.readouterr().err
    assert share("third", "--batch", str(third)) == 1
    told = capsys.readouterr().err
    assert f"that sweep.json records ({mine}, {other}), as they were then" in told
    assert told.endswith("such as from git\n")
    assert share("two", "--batch", str(other)) == 0
    assert [path.name for path in (tmp_path / "two" / "batch").iterdir()] == ["o.batch"]
    recorded(folder, mine)
    mine.write_text("[Batch::aqm_sweep]\n")
    assert share("changed") == 0
    assert not (tmp_path / "changed" / "batch").exists()
    assert "has changed since the runs were made" in capsys.readouterr().err


def test_archive_has_the_overrides_of_the_sweep(tmp_path: Path) -> None:
    """Each form of the option, without the address of a router; none for a sweep without."""
    folder = recorded(tmp_path / "runs", resource_dir("batches") / "aqm_sweep.batch")
    assert main(["share", str(folder), "--publish", "-o", str(tmp_path / "none")]) == 0
    assert not (tmp_path / "none" / "batch" / "overrides.txt").exists()
    assert "overrides.txt" not in (tmp_path / "none" / "README.md").read_text()
    before = status.read(folder)
    assert before is not None
    status.write(folder, replace(before, command=[
        "flent", "--batch-override", "rate_mbps=20,50", "--batch-override=aqm=fq_codel",
        "--batch-override", "testbed=ssh://root@192.168.1.1"]))
    assert main(["share", str(folder), "--publish", "-o", str(tmp_path / "some")]) == 0
    text = (tmp_path / "some" / "batch" / "overrides.txt").read_text()
    assert text.startswith("rate_mbps=20,50\naqm=fq_codel\ntestbed=")
    assert "192.168" not in text
    readme = (tmp_path / "some" / "README.md").read_text()
    assert "`batch/overrides.txt`" in readme
    assert "make setup" in readme


def test_batch_in_the_packages_own_folder_is_cleaned_too(tmp_path: Path) -> None:
    """docs/batches.md has users save theirs there, so nothing tells one from the package's."""
    batch = resource_dir("batches") / "aqm_sweep.batch"
    assert main(["share", str(recorded(tmp_path / "runs", batch)), "--publish", "-o",
                 str(tmp_path / "pub")]) == 0
    text = (tmp_path / "pub" / "batch" / batch.name).read_text()
    assert "[Batch::quick]" in text
    assert "#" not in text


def test_readme_names_the_test_as_users_type_it(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "runs")
    assert main(["share", str(folder), "--publish", "-o", str(tmp_path / "pub"), "--title",
                 "Jane's queues"]) == 0
    readme = (tmp_path / "pub" / "README.md").read_text()
    assert "(tests: `iperf3_upload`)" in readme
    command, = (line for line in readme.splitlines() if line.startswith("flent-aqm report"))
    assert shlex.split(command)[2:5] == ["data", "--title", "Jane's queues"]


@pytest.mark.parametrize(("words", "message"), [
    (["-o", "{there}"], "exists already; name a new folder with -o"),
    (["--batch", "no.batch"], "--batch: no.batch: No such file or directory; expected the"),
    ([], "made with the kernel 0123456789abcdef; this version only has the recipe of"),
])
def test_archive_that_would_promise_too_much_is_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, and nothing is left behind."""
    there = tmp_path / "there"
    there.mkdir()
    target = [] if "-o" in words else ["-o", str(tmp_path / "archive")]
    file = there / "x.flent.gz"
    changed(GOLDEN / "batches" / "quick" / "iperf3_upload-codel.flent.gz", file,
            lambda data: data["metadata"]["AQM"]["kernel"].update(hash="0123456789abcdef"))
    before = sorted(tmp_path.rglob("*"))
    assert main(["share", "--publish", "--author", "A, B", str(file),
                 *(word.format(there=there) for word in words), *target]) == 1
    line, = capsys.readouterr().err.splitlines()
    assert message in line
    assert sorted(tmp_path.rglob("*")) == before


def test_archive_of_a_damaged_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A link to what is no data file is never copied."""
    (tmp_path / "x.flent.gz").symlink_to("/etc/passwd")
    assert main(["share", "--publish", str(tmp_path), "-o", str(tmp_path / "out")]) == 1
    assert "a symbolic link in a folder is not followed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()

# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a folder for publication: whole texts, names, records, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm import __version__
from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.results import status
from flent_aqm.results.share.archive import (
    Packed,
    ReplayedRuns,
    pack_batch,
    pack_data,
    pack_kernel,
    pack_overrides,
    refuse_telling_texts,
    write_checksums,
    write_texts,
    write_versions,
)
from flent_aqm.results.share.secrets import Secrets
from flent_aqm.setup.kernel import locate, recipe
from tests.files import GOLDEN, assert_as_kept, save


def packed(name: str = "a.flent.gz", test: str = "ndt7", kernel: str = "", **facts: Any) -> Packed:
    """Return the record of a data file."""
    return Packed(name, test, "virtual", "", kernel, facts)


def data(**aqm: Any) -> dict[str, Any]:
    """Return the content of a data file."""
    return {"version": 4, "raw_values": {}, "metadata": {"NAME": "ndt7", "AQM": aqm}}


TEXTS: dict[str, tuple[list[Packed], ReplayedRuns, dict[str, Any]]] = {
    "least": ([packed()], ReplayedRuns((), {}), {
        "title": "Queues", "authors": [], "licence": "CC0-1.0", "batch": ""}),
    "most": ([packed("b.flent.gz", "rr`ul"), packed(), packed("c.flent.gz")],
             ReplayedRuns(("a.flent.gz", "c.flent.gz"), {"b.flent.gz": "a <b> router"}), {
        "title": "Jane's [queues]", "authors": ["Doe, Jane", "Jane Doe", " Roe ,  R. ", "Plato,"],
        "licence": "CC-BY-4.0", "batch": "x.batch"}),
    "none again": ([packed()], ReplayedRuns((), {"a.flent.gz": "x"}), {
        "title": "a*b", "authors": ["Doe, Jane"], "licence": "CC0-1.0", "batch": ""}),
    "all again": ([packed()], ReplayedRuns(("a.flent.gz",), {}), {
        "title": "a", "authors": [], "licence": "CC0-1.0", "batch": ""})}


def test_texts_of_a_published_folder_are_as_kept(tmp_path: Path) -> None:
    """README.md, LICENSE and CITATION.cff, with and without each of their parts."""
    found = {}
    for case, (runs, checked, how) in TEXTS.items():
        target = tmp_path / case
        target.mkdir()
        if case == "most":
            (target / "kernel").mkdir()
            (target / "batch").mkdir()
            (target / "batch" / "overrides.txt").write_text("a=b\n")
            (target / "batch" / "base.batch").write_text("")
        write_texts(target, runs, checked, **how)
        found[case] = {path.name: path.read_text().replace(__version__, "VERSION").splitlines()
                       for path in sorted(target.iterdir()) if path.is_file()}
    assert_as_kept(GOLDEN / "share" / "archive.json", found)


@pytest.mark.parametrize(("name", "shown"), [
    ("a.flent.gz", "a.flent.gz"), ("ä b$.flent.gz", "__b_.flent.gz"),
    ("-.x.flent.gz", "x.flent.gz"), ("..flent.gz", "run.flent.gz"),
    ("a+b=c,d@e-f_g.h.flent.gz", "a+b=c,d@e-f_g.h.flent.gz"),
    ("y" * 160 + ".flent.gz", "y" * 150 + ".flent.gz")])
def test_data_files_get_harmless_names(name: str, shown: str, tmp_path: Path) -> None:
    file = save(tmp_path / name, data())
    target = tmp_path / "out"
    target.mkdir()
    run, = pack_data([file], target)
    assert run.name == shown
    assert (target / "data" / shown).read_bytes() == file.read_bytes()


def test_files_of_one_name_are_numbered(tmp_path: Path) -> None:
    """In upper and lower case, which some file systems don't tell apart."""
    files = []
    for number, name in enumerate(("a", "A", "a")):
        folder = tmp_path / str(number)
        folder.mkdir()
        files.append(save(folder / f"{name}.flent.gz", data()))
    (tmp_path / "out").mkdir()
    assert [run.name for run in pack_data(files, tmp_path / "out")] == [
        "a.flent.gz", "A-2.flent.gz", "a-3.flent.gz"]


def test_record_has_what_a_run_was_made_with(tmp_path: Path) -> None:
    """Damaged parts are as missing ones. Names are cut."""
    (tmp_path / "out").mkdir()
    made = data(kernel={"hash": "h", "version": "7"}, tools={"tc": "1"}, testbed="v" * 70,
                flent_aqm="2", flent_aqm_hash="3")
    made["metadata"] |= {"NAME": "n" * 70, "BATCH_NAME": "b" * 110, "FLENT_VERSION": "2.3.0"}
    others = [data(kernel={"hash": 5}), {**data(), "metadata": {"AQM": 7, "BATCH_NAME": None}},
              data(kernel="x")]
    files = [save(tmp_path / f"{number}.flent.gz", one)
             for number, one in enumerate([made, *others])]
    first, *rest = pack_data(files, tmp_path / "out")
    assert first == Packed("0.flent.gz", "n" * 60, "v" * 60, "b" * 100, "h", {
        "kernel": {"hash": "h", "version": "7"}, "tools": {"tc": "1"}, "flent": "2.3.0",
        "flent-aqm": "2", "flent-aqm hash": "3"})
    nothing = {"kernel": None, "tools": None, "flent": None, "flent-aqm": None,
               "flent-aqm hash": None}
    assert rest == [
        Packed("1.flent.gz", "ndt7", "", "", "", {**nothing, "kernel": {"hash": 5}}),
        Packed("2.flent.gz", "", "", "", "", nothing),
        Packed("3.flent.gz", "ndt7", "", "", "", {**nothing, "kernel": "x"})]


def test_versions_are_those_of_files_and_of_the_archive(tmp_path: Path) -> None:
    """Files with the same versions share an entry, in the order of the files."""
    write_versions([packed(tc="1", a=None), packed("b", tc="2"), packed("c", a=None, tc="1")],
                   tmp_path)
    text = (tmp_path / "versions.json").read_text()
    found = json.loads(text)
    assert found["made_with"] == [{"a": None, "tc": "1", "files": ["a.flent.gz", "c"]},
                                  {"tc": "2", "files": ["b"]}]
    assert found["archived_with"]["flent-aqm"] == metadata.version("flent-aqm")
    assert {"flent", "numpy", "pyarrow"} <= found["archived_with"].keys()
    assert not {"pytest", "mypy", "ruff"} & found["archived_with"].keys()
    assert text.startswith('{\n "made_with": [')
    assert text.endswith("}\n")


def test_packages_of_the_archive_are_those_that_this_one_requires(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By their names alone. Without those that it has for tests, and those that aren't there."""
    def version(name: str) -> str:
        if name == "gone":
            raise metadata.PackageNotFoundError(name)
        return f"of {name}"

    for required, found in ((["a-b.c_d>=1,<2", "gone", "e[f]==1; python_version > '3'", "g",
                              'x; extra == "test"'], ["a-b.c_d", "e", "g"]), (None, [])):
        monkeypatch.setattr(metadata, "requires", lambda _, lines=required: lines)
        monkeypatch.setattr(metadata, "version", version)
        write_versions([], tmp_path)
        assert json.loads((tmp_path / "versions.json").read_text()) == {
            "made_with": [],
            "archived_with": {name: f"of {name}" for name in ("flent-aqm", *found)}}


def test_checksums_are_of_all_files_but_their_own(tmp_path: Path) -> None:
    """Sorted, and the same when they are written again."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c").write_text("x")
    (tmp_path / "a").write_text("y")
    expected = (f"{hashlib.sha256(b'y').hexdigest()}  a\n"
                f"{hashlib.sha256(b'x').hexdigest()}  b/c\n")
    for _ in range(2):
        write_checksums(tmp_path)
        assert (tmp_path / "SHA256SUMS").read_text() == expected


def test_text_that_tells_of_somebody_is_named_with_its_line(tmp_path: Path) -> None:
    """Data files and patches are not searched."""
    (tmp_path / "b").mkdir()
    for name in ("x.gz", "x.patch", "b/x.txt"):
        (tmp_path / name).write_text("a\nat 10.1.2.3\n")
    with pytest.raises(BadResult) as caught:
        refuse_telling_texts(tmp_path)
    assert str(caught.value) == (
        "b/x.txt, line 2: '10.1.2.3' would be published, which may reveal a machine or a person; "
        "remove it from where it came: --title, --author, a data file or the batch")
    (tmp_path / "b" / "x.txt").unlink()
    refuse_telling_texts(tmp_path)


def sweep(folder: Path, *batches: dict[str, str], command: list[str] | None = None) -> Path:
    """Write the state of a sweep, and return its folder."""
    folder.mkdir(exist_ok=True)
    status.write(folder, status.Status(command or ["flent"], 1, 0, 0.0, batches=list(batches)))
    return folder


def digest(path: Path) -> str:
    """Return a file's SHA-256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_batch_is_copied_with_the_files_that_it_inherits_from(tmp_path: Path) -> None:
    """If they have not changed. The last file of a record is the batch. Folders are read once."""
    base, other, mine = (tmp_path / name for name in ("b.batch", "o.batch", "m.batch"))
    for path in (base, other, mine):
        path.write_text(f"[Batch::{path.stem}]\n")
    read = {str(base): digest(base), str(other): "changed", str(mine): digest(mine)}
    folder = sweep(tmp_path / "s", read)
    for number, given in enumerate((None, mine)):
        target = tmp_path / f"t{number}"
        target.mkdir()
        assert pack_batch([folder, folder], given, target) == ("m.batch", "")
        assert sorted(path.name for path in (target / "batch").iterdir()) == ["b.batch", "m.batch"]
    mine.write_text("[Batch::x]\n")
    assert pack_batch([folder], None, tmp_path) == (
        "", f"{mine} has changed since the runs were made")
    mine.unlink()
    assert pack_batch([folder], None, tmp_path) == ("", f"{mine} can't be read any more")
    assert pack_batch([tmp_path], None, tmp_path) == (
        "", "no sweep.json beside the data files names their batch")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for odd, cause in ((mine, "No such file or directory"), (tmp_path, "it is a folder"),
                       (pipe, "it is a pipe, a device or a socket, not a regular file")):
        with pytest.raises(ConfigError) as caught:
            pack_batch([folder], odd, tmp_path)
        assert str(caught.value) == (
            f"--batch: {odd}: {cause}; expected the batch file of these runs")


def test_batch_of_runs_without_a_record_comes_with_its_base(tmp_path: Path) -> None:
    mine, target = tmp_path / "m.batch", tmp_path / "t"
    mine.write_text("[Batch::m]\n")
    target.mkdir()
    assert pack_batch([tmp_path], mine, target) == ("m.batch", "")
    assert [path.name for path in (target / "batch").iterdir()] == ["m.batch"]
    (tmp_path / "base.batch").write_text("[Batch::b]\n")
    (tmp_path / "u").mkdir()
    assert pack_batch([], mine, tmp_path / "u") == ("m.batch", "")
    assert {path.name for path in (tmp_path / "u" / "batch").iterdir()} == {
        "base.batch", "m.batch"}


def test_folders_of_one_batch_are_one_record_and_only_its_files_are_copied(
        tmp_path: Path) -> None:
    """Not a base.batch that the sweep hadn't read. Of several records, that of the file given
    counts."""
    mine, base = tmp_path / "m.batch", tmp_path / "base.batch"
    mine.write_text("[Batch::m]\n")
    base.write_text("[Batch::b]\n")
    folders = [sweep(tmp_path / name, {str(mine): digest(mine)}) for name in ("a", "b")]
    (tmp_path / "t").mkdir()
    assert pack_batch(folders, None, tmp_path / "t") == ("m.batch", "")
    assert [path.name for path in (tmp_path / "t" / "batch").iterdir()] == ["m.batch"]
    others = [sweep(tmp_path / "c", {"/x/c": "1"}), folders[0],
              sweep(tmp_path / "d", {str(base): digest(base), str(mine): "2"})]
    (tmp_path / "u").mkdir()
    assert pack_batch(others, mine, tmp_path / "u") == ("m.batch", "")
    assert [path.name for path in (tmp_path / "u" / "batch").iterdir()] == ["m.batch"]


def test_runs_of_several_batches_are_refused_with_their_names(tmp_path: Path) -> None:
    """Each once. Those of one folder can't be published apart."""
    folders = [sweep(tmp_path / name, {f"/x/{name}": "1"}) for name in ("a", "b")]
    one = sweep(tmp_path / "c", {"/x/base": "1", "/x/c": "1"}, {"/x/base": "2", "/x/c": "1"})
    apart = ", or publish each folder by itself"
    for sources, named, advice in ((folders, "/x/a, /x/b", apart), ([one, one], "/x/c", "")):
        with pytest.raises(ConfigError) as caught:
            pack_batch(sources, None, tmp_path)
        assert str(caught.value) == (
            "these runs came from different batch files, or from one that changed in between, or a "
            f"file from which it inherits did: {named}; name one with --batch FILE{advice}")
    mine = tmp_path / "m"
    mine.write_text("")
    (tmp_path / "unrecorded").mkdir()
    without = ", or leave --batch out"
    for sources, named, advice in ((folders, "/x/a, /x/b", apart), ([one], "/x/c", ""),
                                   (folders[:1], "/x/a", without),
                                   ([folders[0], sweep(tmp_path / "d", {"/x/a": "1"})], "/x/a",
                                    without + apart),
                                   ([folders[0], tmp_path / "unrecorded"], "/x/a", apart)):
        with pytest.raises(ConfigError) as caught:
            pack_batch(sources, mine, tmp_path)
        assert str(caught.value) == (
            f"--batch: {mine} is none of the batches that sweep.json records ({named}), as they "
            f"were then; give a file with the content of that time, such as from git{advice}")


def test_line_that_cannot_be_cleaned_is_told_with_the_file_that_has_it(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch file that is changed for it is no longer that of the runs; an override is in no batch
    file."""
    monkeypatch.setattr(Secrets, "clean", lambda *args, **options: (args[1], ""))
    mine = tmp_path / "m.batch"
    mine.write_text("note = at 10.1.2.3\n")
    folder = sweep(tmp_path / "s", {str(mine): digest(mine)},
                   command=["flent", "--batch-override", "note=at 10.1.2.3"])
    with pytest.raises(BadResult) as caught:
        pack_batch([folder], None, tmp_path)
    assert str(caught.value) == (
        "m.batch, line 1: '10.1.2.3' would be published, which may reveal a machine or a person; "
        "remove it from the file, which is then "
        "left out if sweep.json records its earlier content")
    (tmp_path / "u").mkdir()
    with pytest.raises(BadResult, match=r"person; remove it from the file, and give no --batch: "
                                        r"then the file is left out, because sweep[.]json reco"):
        pack_batch([folder], mine, tmp_path / "u")
    mine.write_text("note = at home\n")
    with pytest.raises(ConfigError, match="is none of the batches that"):
        pack_batch([folder], mine, tmp_path)
    assert pack_batch([folder], None, tmp_path) == (
        "", f"{mine} has changed since the runs were made")
    with pytest.raises(BadResult) as caught:
        pack_overrides([folder], tmp_path)
    assert str(caught.value) == ("overrides.txt, line 1: '10.1.2.3' would be published, which "
                                 "may reveal a machine or a person; remove it "
                                 "from the --batch-override in sweep.json")


def test_overrides_are_in_both_forms_of_the_option(tmp_path: Path) -> None:
    """Each once. A word without a value is none."""
    folder = sweep(tmp_path / "s", command=[
        "flent", "--batch-override", "a=1", "--batch-override=b=2", "--batch-override", "a=1",
        "--batch-overrides=c", "--batch-dry", "--batch-o", "d=4", "--batch-over=e=5",
        "--batch-override"])
    pack_overrides([folder, tmp_path], tmp_path)
    assert (tmp_path / "batch" / "overrides.txt").read_text() == "a=1\nb=2\nd=4\ne=5\n"
    pack_overrides([folder], tmp_path)  # the batch's folder is there
    assert (tmp_path / "batch" / "overrides.txt").read_text() == "a=1\nb=2\nd=4\ne=5\n"
    pack_overrides([sweep(tmp_path / "none")], tmp_path / "none")
    assert not (tmp_path / "none" / "batch").exists()


def test_overrides_of_commands_that_had_different_ones_are_a_paragraph_each(
        tmp_path: Path) -> None:
    """aqm=codel and aqm=fq_codel, given together, are another sweep than either. Of earlier
    commands, too."""
    commands = [["flent", "--batch-override", f"aqm={name}"] for name in ("codel", "pie")]
    folder = sweep(tmp_path / "s", command=commands[1])
    begun = status.read(folder)
    assert begun is not None
    status.write(folder, replace(begun, earlier=(commands[0], ["flent"])))
    pack_overrides([folder, sweep(tmp_path / "t", command=commands[0])], tmp_path)
    assert (tmp_path / "batch" / "overrides.txt").read_text() == (
        "# 1\naqm=codel\n\n# 2: without overrides\n\n# 3\naqm=pie\n")


def test_recipe_of_the_runs_kernel_is_copied(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that of another kernel, and none without one. That of FLENT_AQM_KERNEL, whose recipe
    nothing tells, is another one."""
    (tmp_path / "k").mkdir()
    (tmp_path / "k" / "kernel.json").write_text("{}")
    monkeypatch.setattr(locate, "find_lab_kernel", lambda: SimpleNamespace(
        hash="h", path=tmp_path / "k" / "linux"))
    monkeypatch.setenv(locate.VARIABLE, "/bin/true")
    pack_kernel([packed()], tmp_path)
    assert not (tmp_path / "kernel").exists()
    pack_kernel([packed(kernel="h"), packed()], tmp_path)
    names = {path.name for path in (tmp_path / "kernel").iterdir()}
    assert names == {"patches", recipe.FRAGMENT.name, "kernel.json"}
    assert {path.name for path in (tmp_path / "kernel" / "patches").iterdir()} == {
        path.name for path in recipe.PATCHES.glob("*.patch")}
    with pytest.raises(BadResult) as caught:
        pack_kernel([packed("b.flent.gz", kernel="h"), packed(kernel="g")], tmp_path)
    assert str(caught.value) == (
        "a.flent.gz was made with the kernel g; this version only has the recipe of h: publish "
        "runs of that kernel by themselves, with the version of flent-aqm whose lab kernel it is, "
        "or repeat them with this version's")
    own = replace(packed(kernel="g"), own_kernel="mine")
    with pytest.raises(BadResult, match="your own kernel 'mine', whose source and options --publi"):
        pack_kernel([own], tmp_path)
    with pytest.raises(BadResult) as caught:
        pack_kernel([packed(kernel="g" * 300)], tmp_path)
    users = locate.find_kernel().hash
    with pytest.raises(BadResult, match=f"the kernel {users}; this version only has the recipe of"):
        pack_kernel([packed(kernel=users)], tmp_path / "other")
    assert f"the kernel {'g' * 60}; this" in str(caught.value)


def test_base_batch_that_is_the_runs_own_has_one_line_in_the_readme(tmp_path: Path) -> None:
    """And one that another batch inherits from has its own."""
    (tmp_path / "batch").mkdir()
    (tmp_path / "batch" / "base.batch").write_text("")
    for batch, shown in (("base.batch", ["base.batch"]), ("x.batch", ["x.batch", "base.batch"])):
        write_texts(tmp_path, [packed()], ReplayedRuns((), {}), title="a", authors=[],
                    licence="CC0-1.0", batch=batch)
        lines = (tmp_path / "README.md").read_text().splitlines()
        assert [line.split("`")[1] for line in lines if line.startswith("| `batch/")] == [
            f"batch/{name}" for name in shown]

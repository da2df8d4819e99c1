# SPDX-License-Identifier: GPL-3.0-or-later
"""What names a kernel, and which kernel is found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from flent_aqm.base import paths
from flent_aqm.base.errors import ConfigError, SetupError, ToolMissing
from flent_aqm.cli import main
from flent_aqm.parts.kernels import command
from flent_aqm.setup.install import held
from flent_aqm.setup.kernel import named, recipe
from flent_aqm.setup.kernel.locate import VARIABLE, find_kernel
from flent_aqm.setup.kernel.named import NamedKernel, find_named, remove, save
from flent_aqm.setup.kernel.recipe import Backport, KernelSource, Recipe

SOURCE = KernelSource("linux-source-7.3", "7.3.4-1")
PATCHES = (("0001-a.patch", b"one"), ("0002-b.patch", b"two"))
BASE = Recipe(SOURCE, "CONFIG_A=y\n", PATCHES)
GRAFT = Backport(SOURCE, ("6.12.patch", b"one"))


@pytest.mark.parametrize("other", [
    replace(BASE, source=KernelSource("linux-source-7.2", "7.3.4-1")),
    replace(BASE, source=KernelSource("linux-source-7.3", "7.3.4-2")),
    replace(BASE, fragment="CONFIG_A=n\n"),
    replace(BASE, patches=(PATCHES[0], ("0002-b.patch", b"twO"))),
    replace(BASE, patches=(("0001-a.patch", b"onetwo"),)),
    replace(BASE, patches=PATCHES[::-1]),
    replace(BASE, patches=(("0001-a.patch", b"one\n"), PATCHES[1])),
    replace(BASE, backport=GRAFT),
], ids=["package", "version", "options", "patch", "patch borders", "patch order", "no diff",
        "backport"])
def test_hash_when_an_input_changes_is_another(other: Recipe) -> None:
    """Each input of the build is part of the kernel's name."""
    assert other.hash != BASE.hash


def test_hash_when_the_same_inputs_come_again_is_the_same() -> None:
    """The name doesn't depend on the moment or the process."""
    assert replace(BASE, fragment="CONFIG_A=y\n").hash == BASE.hash


WORDS = b"Subject: [PATCH] um: less\n\nWhy, in short.\n---\n"
DIFF = b"""diff --git a/file b/file
index 1111111..2222222 100644
--- a/file
+++ b/file
@@ -1,3 +1,3 @@ int main(void)
 one
-two @@ of them
+index 3 of @@ -1 +1 @@ them
 three
"""


def _patched(*contents: bytes) -> tuple[str, str]:
    """Hashes with the contents as patches of the lab, and as the user's."""
    patches = tuple(("0001-a.patch", content) for content in contents)
    return replace(BASE, patches=patches).hash, replace(BASE, own_patches=patches).hash


@pytest.mark.parametrize("same", [
    WORDS.replace(b"Why", b"Why, and how tested"), b"", b"From: somebody\n\n",
], ids=["other words", "no words", "other header"])
def test_hash_when_only_words_above_a_diff_change_is_the_same(same: bytes) -> None:
    """A better explanation of a patch builds nobody's kernel anew."""
    assert _patched(same + DIFF, WORDS + DIFF) == _patched(WORDS + DIFF, WORDS + DIFF)


@pytest.mark.parametrize(("old", "new"), [
    (b"index 1111111..2222222 100644\n", b""), (b" int main(void)", b""),
    (b"1111111", b"3333333"),
])
def test_hash_when_remarks_within_a_diff_change_is_the_same(old: bytes, new: bytes) -> None:
    """The names of git's objects, and the function that a hunk is in."""
    assert DIFF.count(old) == 1
    assert _patched(WORDS + DIFF.replace(old, new)) == _patched(WORDS + DIFF)


@pytest.mark.parametrize(("old", "new"), [
    (b" one", b" One"), (b"-two @@ of them", b"-two @@ of us"), (b"+index 3", b"+index 4"),
    (b"@@ them", b"@@ us"), (b"+++ b/file", b"+++ b/other"), (b"-1,3 +1,3", b"-2,3 +2,3"),
    (b" three\n", b" three\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"),
])
def test_hash_when_anything_that_is_applied_changes_is_another(old: bytes, new: bytes) -> None:
    """Lines, also those that look like remarks, files and places."""
    assert DIFF.count(old) == 1
    for one, other in zip(_patched(WORDS + DIFF.replace(old, new)), _patched(WORDS + DIFF),
                          strict=True):
        assert one != other


def test_lab_hash_when_only_words_change_is_the_same() -> None:
    """So kernels of the user's need no other build, either."""
    with_words = replace(BASE, patches=(("0001-a.patch", WORDS + DIFF),))
    assert with_words.lab_hash == replace(BASE, patches=(("0001-a.patch", DIFF),)).lab_hash
    assert with_words.lab_hash != BASE.lab_hash


def test_current_recipe_reads_fragment_and_patches_of_the_package() -> None:
    """What is built is what lies beside the code."""
    current = recipe.current_recipe(SOURCE)
    assert "CONFIG_UML_TIME_TRAVEL_SUPPORT=y" in current.fragment
    assert [name for name, _content in current.patches] == sorted(
        path.name for path in (Path(recipe.__file__).parent / "patches").iterdir())


@pytest.mark.parametrize("other", [
    replace(GRAFT, donor=KernelSource(SOURCE.package, "7.3.9-1")),
    replace(GRAFT, donor=KernelSource("linux-source-7.4", SOURCE.version)),
    replace(GRAFT, patch=("6.12.patch", b"two")),
], ids=["newer donor", "other donor", "patch"])
def test_hash_when_a_backport_changes_is_another(other: Backport) -> None:
    """An old kernel is made of both."""
    assert replace(BASE, backport=other).hash != replace(BASE, backport=GRAFT).hash


def test_lab_hash_when_the_donor_is_newer_is_the_same() -> None:
    """So that a newer kernel of set-up's leaves those of the user's in use."""
    old, newer, fitted = (replace(BASE, backport=backport).lab_hash for backport in (
        GRAFT, replace(GRAFT, donor=KernelSource("", "")), replace(GRAFT, patch=("", b"two"))))
    assert old == newer
    assert len({old, fitted, BASE.lab_hash}) == 3


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, the only one there is."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(paths, "SYSTEM_CACHE", tmp_path / "nobody-was-here")
    monkeypatch.setattr(paths, "ready_made", lambda: None)
    return tmp_path / "flent-aqm"


def _choose(cache: Path) -> None:
    choice = cache / recipe.CHOICE
    choice.parent.mkdir(parents=True)
    choice.write_text(json.dumps({"package": SOURCE.package, "version": SOURCE.version}))


def test_find_kernel_when_nothing_is_built_says_what_to_run(cache: Path) -> None:
    """The message names the command."""
    with pytest.raises(ToolMissing, match=rf"^no lab kernel is found in {cache} and .*; run, as"):
        find_kernel()


def test_find_kernel_when_built_gives_path_version_and_hash(cache: Path) -> None:
    """A finished kernel is found by the current recipe."""
    _choose(cache)
    folder = cache / "kernels" / recipe.current_recipe(SOURCE).hash
    folder.mkdir()
    (folder / "linux").touch()
    (folder / "kernel.json").write_text('{"kernel_version": "7.3.4"}')
    kernel = find_kernel()
    assert (kernel.path, kernel.version, kernel.hash) == (folder / "linux", "7.3.4", folder.name)


def test_current_recipe_of_an_old_kernel_has_set_ups_as_the_donor(cache: Path) -> None:
    """One that is new enough has none; what the series is need not be known."""
    old = KernelSource("linux-source-6.12", "6.12.117-1")
    with pytest.raises(ToolMissing, match=r"Linux 6\.12 is too old .* run: flent-aqm setup"):
        recipe.current_recipe(old, "6.12")
    _choose(cache)
    backport = recipe.current_recipe(old, "6.12").backport
    assert backport is not None
    assert (backport.donor, backport.patch[0]) == (SOURCE, "6.12.patch")
    for series in ("6.16", "7.3", "10.0", "", "unknown"):
        assert recipe.current_recipe(old, series).backport is None


@pytest.mark.parametrize("series", ["6.15", "6.6", "5.10"])
def test_current_recipe_of_a_kernel_that_is_too_old_is_refused(series: str) -> None:
    """With those that could be taken."""
    with pytest.raises(SetupError, match=rf"Linux {series} is too old .* expected 6\.16 or newer, "
                                         r"or 6\.12,"):
        recipe.current_recipe(SOURCE, series)


def test_find_kernel_when_options_have_changed_is_missing(
        cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel of other options isn't taken for the current one."""
    _choose(cache)
    folder = cache / "kernels" / recipe.current_recipe(SOURCE).hash
    folder.mkdir()
    (folder / "linux").touch()
    find_kernel()
    fragment = cache / "other.config"
    fragment.write_text("CONFIG_OTHER=y\n")
    monkeypatch.setattr(recipe, "FRAGMENT", fragment)
    with pytest.raises(ToolMissing, match="these options and patches"):
        find_kernel()


def test_find_kernel_when_set_up_was_killed_ignores_half_done_work(cache: Path) -> None:
    """Neither a staging folder nor a damaged choice counts as a kernel."""
    _choose(cache)
    staging = cache / "staging-abcd" / "result"
    staging.mkdir(parents=True)
    (staging / "linux").touch()
    with pytest.raises(ToolMissing):
        find_kernel()
    (cache / recipe.CHOICE).write_text('{"package": "linux-so')
    assert recipe.read_choices() == []
    with pytest.raises(ToolMissing, match=rf"^no lab kernel is found in {cache} and .*; run, as"):
        find_kernel()


def test_find_kernel_when_variable_names_no_program_says_so(
        cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong path isn't passed over in silence."""
    monkeypatch.setenv(VARIABLE, str(cache / "linux"))
    with pytest.raises(ToolMissing, match=f"{VARIABLE}: .* is not a file that this user may exec"):
        find_kernel()


def test_find_kernel_when_variable_names_a_program_takes_it(
        cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel of one's own is used, and told apart by its content."""
    cache.mkdir()
    program = cache / "linux"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(program))
    first = find_kernel()
    program.write_text("#!/bin/sh\n:\n")
    assert first.path == program
    assert find_kernel().hash != first.hash


def test_kernel_whose_description_is_damaged_is_not_told_as_missing(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is known; the user learns which file to remove, or to build it again."""
    # Not the machine's caches, too: they may have a kernel of this name.
    for module in (paths, named):
        monkeypatch.setattr(module, "caches", lambda: [tmp_path])
    file = tmp_path / "named" / "mine.json"
    file.parent.mkdir()
    file.write_text("{")
    with pytest.raises(ToolMissing, match=r"'mine', .*mine\.json, can't be read, .* build mine …$"):
        find_named("mine")
    with pytest.raises(ConfigError, match=r"of another version .*; remove the file .*mine\.json"):
        remove(tmp_path, "mine")
    file.unlink()
    with pytest.raises(ToolMissing, match=r"no kernel is called 'mine'; make .*; known: stock"):
        find_named("mine")


def test_kernel_has_queues_without_an_option_and_none_by_another_name(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CONFIG_NET_SCH_FIFO is no qdisc fifo; its qdiscs are in every kernel."""
    kernel = NamedKernel("mine", "abc", "def", "7.3.4", "s", "c")
    monkeypatch.setattr(paths, "user_cache", lambda: tmp_path)
    folder = tmp_path / "kernels" / "abc"
    folder.mkdir(parents=True)
    (folder / "linux").touch()
    (folder / "config").write_text("CONFIG_NET_SCH_FIFO=y\nCONFIG_NET_SCH_PIE=y\n")
    assert kernel.kinds == {"pie", "pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast", "mq",
                            "noqueue"}
    assert "fq_codel" in kernel.absent_kinds
    assert not kernel.absent_kinds & {"fifo", "pfifo"}


def test_removed_kernel_takes_its_tc_along_when_no_other_uses_it(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "user_cache", lambda: tmp_path)
    monkeypatch.setattr(paths, "SYSTEM_CACHE", tmp_path / "none")
    for folder in ("0a", "0b"):
        (tmp_path / "tc" / folder).mkdir(parents=True)
    for name, tc in (("one", "0a"), ("two", "0a"), ("plain", "")):
        save(tmp_path, NamedKernel(name, name, "def", "7.3.4", "s", "c", tc=tc))
    left = []
    for name in ("one", "plain", "two"):
        remove(tmp_path, name)
        left.append(sorted(path.name for path in (tmp_path / "tc").iterdir()))
    assert left == [["0a", "0b"], ["0a", "0b"], ["0b"]]


def test_repository_of_a_source_goes_with_the_last_kernel_of_it(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels with other options have trees of their own, and share the repository."""
    monkeypatch.setattr(paths, "user_cache", lambda: tmp_path)
    monkeypatch.setattr(paths, "SYSTEM_CACHE", tmp_path / "none")
    trees = {"plain": "git-0123456789ab", "debug": "git-0123456789ab-89abcdef",
             "nat": "git-0123456789ab-fedcba98"}
    for name, tree in trees.items():
        save(tmp_path, NamedKernel(name, name, "def", "7.3.4", "s", "c", tree=tree))
        (tmp_path / "trees" / tree).mkdir(parents=True)
    repository = tmp_path / "trees" / "git-0123456789ab.git"
    repository.mkdir()
    remove(tmp_path, "plain")
    assert sorted(path.name for path in (tmp_path / "trees").iterdir()) == [
        trees["debug"], trees["nat"], repository.name]
    remove(tmp_path, "debug")
    (tmp_path / "trees" / trees["debug"]).mkdir()
    with held(tmp_path, tmp_path / "trees" / trees["debug"]):  # a build that isn't saved yet
        remove(tmp_path, "nat")
    assert repository.is_dir()
    save(tmp_path, NamedKernel("debug", "debug", "def", "7.3.4", "s", "c", tree=trees["debug"]))
    remove(tmp_path, "debug")
    assert [path.name for path in (tmp_path / "trees").iterdir()] == [f"{trees['debug']}.lock"]


def test_name_given_twice_and_instrumented_kernel_are_removed_once(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second has gone with the first. A name that isn't there still removes none."""
    monkeypatch.setattr(paths, "user_cache", lambda: tmp_path)
    monkeypatch.setattr(paths, "SYSTEM_CACHE", tmp_path / "none")
    monkeypatch.setattr(command, "cache_to_write", lambda: tmp_path)
    for name, records in (("mine", ""), ("coverage-1", "mine"), ("kept", "")):
        save(tmp_path, NamedKernel(name, name, "def", "7.3.4", "s", "c", records=records))
    assert main(["kernel", "remove", "mine", "no", "kept"]) == 1
    assert "there is no kernel 'no'" in capsys.readouterr().err
    # Of another user, so that this one can't remove it.
    (tmp_path / "none").mkdir()
    save(tmp_path / "none", NamedKernel("theirs", "theirs", "def", "7.3.4", "s", "c"))
    assert main(["kernel", "remove", "mine", "theirs"]) == 1
    assert f"'theirs' is in {tmp_path / 'none'}" in capsys.readouterr().err
    assert main(["kernel", "remove", "mine", "mine", "coverage-1"]) == 0
    assert [path.name for path in (tmp_path / "named").iterdir()] == ["kept.json"]


def test_kernel_that_cannot_be_removed_is_told_where_it_is(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In another cache, the lab's own, or nowhere; names of other caches are not proposed."""
    own, others = tmp_path / "own", tmp_path / "root"
    monkeypatch.setattr(paths, "user_cache", lambda: own)
    monkeypatch.setattr(paths, "SYSTEM_CACHE", others)
    for cache, name in ((own, "mine"), (others, "theirs")):
        (cache / "named").mkdir(parents=True)
        (cache / "named" / f"{name}.json").write_text("{}")
    for name, message in (
            ("theirs", rf"'theirs' is in {others}, not in {own}; only the user who installed it"),
            ("stock", r"stock is the lab's own kernel"),
            ("their", rf"there is no kernel 'their' in {own}; known: mine$"),
            ("mines", rf"there is no kernel 'mines' in {own}; did you mean 'mine'\?$")):
        with pytest.raises(ConfigError, match=f"^kernel remove: {message}"):
            remove(own, name)

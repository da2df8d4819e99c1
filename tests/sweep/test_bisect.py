# SPDX-License-Identifier: GPL-3.0-or-later
"""The search for the first bad version, in a real repository and in a series. What is tested
for stands in a file: building a kernel for each version takes minutes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.setup.apt import Package
from flent_aqm.sweep.bisect import BisectResult, Commits, History, Series, between, search


def git(repository: Path, *words: str) -> str:
    """Run git as somebody."""
    return subprocess.run(
        ["git", "-c", "user.name=T", "-c", "user.email=t@example.net", *words], cwd=repository,
        check=True, capture_output=True, text=True).stdout.strip()


def commit(repository: Path, delay_ms: int, title: str) -> str:
    """Another version, in which the queue has this delay."""
    (repository / "delay").write_text(f"{delay_ms}\n{title}\n")
    git(repository, "add", "delay")
    git(repository, "commit", "-qm", title)
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten commits, with a branch that was merged; the seventh makes the delay 470 ms."""
    path = tmp_path_factory.mktemp("repository")
    git(path, "init", "-qb", "main")
    for number in range(1, 11):
        if number == 4:
            git(path, "checkout", "-qb", "side", "HEAD~1")
            (path / "other").write_text("side\n")
            git(path, "add", "other")
            git(path, "commit", "-qm", "side")
            git(path, "checkout", "-q", "main")
            git(path, "merge", "-q", "--no-edit", "side")
        commit(path, 470 if number >= 7 else 4, f"change {number}")
    return path


def find(history: History, repository: Path, *, broken: str = "") -> tuple[BisectResult, list[str]]:
    """Search for what has a delay over 100 ms; versions of that title can't be tested."""
    tested = []

    def is_bad(version: str) -> bool | None:
        tested.append(version)
        if broken and history.title(version).endswith(broken):
            return None
        delay = git(repository, "show", f"{version}:delay").splitlines()[0]
        return int(delay) > 100

    return search(history, is_bad, lambda _text: None), tested


def test_first_bad_commit_is_named_in_as_few_steps_as_git_takes(repository: Path) -> None:
    """Of ten commits in four steps at most, after both ends."""
    root = git(repository, "rev-list", "--max-parents=0", "HEAD")
    history = Commits(repository, root, "HEAD")
    found, tested = find(history, repository)
    assert [history.title(one).split(" ", 1)[1] for one in found.first_bad] == ["change 7"]
    assert found.steps <= 4
    assert len(tested) == found.steps + 2


def test_a_commit_that_can_not_be_tested_is_gone_round_or_told(repository: Path) -> None:
    """Where it stands right before the first that is known to be bad, it may be the one."""
    root = git(repository, "rev-list", "--max-parents=0", "HEAD")
    history = Commits(repository, root, "HEAD")
    away, _ = find(history, repository, broken="change 9")
    assert [history.title(one).split(" ", 1)[1] for one in away.first_bad] == ["change 7"]
    near, _ = find(history, repository, broken="change 6")
    assert {history.title(one).split(" ", 1)[1] for one in near.first_bad} == {
        "change 7", "change 6"}


@pytest.mark.parametrize(("good", "bad", "said"), [
    ("HEAD~2", "HEAD", "given as good, and is bad"),
    ("HEAD~9", "HEAD~8", "given as bad, and is good"),
])
def test_ends_that_are_not_what_they_were_said_to_be_are_refused(
    repository: Path, good: str, bad: str, said: str
) -> None:
    """What is tested for is then not what differs."""
    with pytest.raises(ConfigError, match=said):
        find(Commits(repository, good, bad), repository)


def test_refs_that_are_not_there_or_in_the_wrong_order_are_refused(repository: Path) -> None:
    """In one line each."""
    with pytest.raises(ConfigError, match=r"--good: .* has no commit 'v9.9'"):
        Commits(repository, "v9.9", "HEAD")
    with pytest.raises(ConfigError, match="has no commit '--all'"):
        Commits(repository, "--all", "HEAD")
    with pytest.raises(ConfigError, match="has nothing that --good HEAD lacks"):
        Commits(repository, "HEAD", "HEAD~3")


@pytest.mark.parametrize("first_bad", range(1, 11))
def test_first_bad_patch_of_a_series_is_found_in_four_steps(first_bad: int) -> None:
    """Whichever of ten it is."""
    series = Series([f"{number:04}-change.patch" for number in range(1, 11)])
    found = search(series, lambda count: int(count) >= first_bad, lambda _text: None)
    assert [series.title(one) for one in found.first_bad] == [f"{first_bad:04}-change.patch"]
    assert found.steps <= 4


DEBIAN = [Package(f"linux-source-{version[:3]}", version) for version in (
    "7.3.4-1~bpo13+1", "7.2.13-1", "7.2.12-1", "7.2.12-1~bpo13+1", "7.2.6-1~bpo13+1", "6.12.107-1")]


def test_versions_of_debian_go_from_the_good_one_to_the_bad_one() -> None:
    """Each with the package that it is of; the first is told by its number, too."""
    found = between(DEBIAN, "7.2.12-1~bpo13+1", "7.3.4-1~bpo13+1")
    assert [each.version for each in found] == [
        "7.2.12-1~bpo13+1", "7.2.12-1", "7.2.13-1", "7.3.4-1~bpo13+1"]
    assert found[-1].name == "linux-source-7.3"
    history = Series([each.version for each in found[1:]], found[0].version)
    assert [history.title(number) for number in "0123"] == [each.version for each in found]


@pytest.mark.parametrize(("good", "bad", "said"), [
    ("7.2.5-1", "7.3.4-1~bpo13+1", "--good: Debian's suites have no kernel source of version '"),
    ("7.2.5-1", "7.3.4-1~bpo13+1", "; they have 6.12.107-1, 7.2.6-1~bpo13+1, 7.2.12-1~bpo13+1, "),
    ("7.2.13-1", "7.3", "--bad: Debian's suites have no kernel source of version '7.3'"),
    ("7.2.13-1", "7.2.6-1~bpo13+1", "--good 7.2.13-1 is not older than --bad 7.2.6-1~bpo13"),
    ("7.2.13-1", "7.2.13-1", "is not older than"),
])
def test_versions_that_debian_lacks_or_that_are_no_span_are_refused(
        good: str, bad: str, said: str) -> None:
    """In one line that names the option."""
    with pytest.raises(ConfigError) as refused:
        between(DEBIAN, good, bad)
    assert said in str(refused.value)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Notes that this package keeps beside its work, after an accident or a stranger's visit."""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.base.regular_file import MAX_NOTE_BYTES, read_note
from flent_aqm.parts.scorecard import card, order, worst_lines
from flent_aqm.parts.scorecard.card import read_all
from flent_aqm.parts.scorecard.worst import AIMS
from flent_aqm.results import status
from flent_aqm.setup.kernel import locate, named, recipe

NO_NOTES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "empty": lambda path: path.touch(),
    "bytes": lambda path: path.write_bytes(b"\xff\0"),
    "list": lambda path: path.write_text("[]"),
    "number": lambda path: path.write_text("5"),
    "null": lambda path: path.write_text("null"),
    "deep": lambda path: path.write_text("[" * 100_000),
    "deep_object": lambda path: path.write_text('{"a":' * 100_000),
    "large": lambda path: path.write_bytes(b" " * (MAX_NOTE_BYTES + 1)),
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "terminal": lambda path: path.symlink_to("/dev/tty"),
    "folder": lambda path: path.mkdir(),
    "loop": lambda path: path.symlink_to(path),
}


@pytest.mark.parametrize("kind", NO_NOTES)
def test_what_is_no_note_is_passed_over(kind: str, tmp_path: Path,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """By each that reads one: set-up's choice, kernels, a sweep's status. A scorecard names it."""
    monkeypatch.setattr("flent_aqm.base.paths.SYSTEM_CACHE", tmp_path / "none")
    monkeypatch.setattr("flent_aqm.base.paths.ready_made", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache = tmp_path / "flent-aqm"
    folders = [cache / "kernels" / "abc", cache / "named", tmp_path / "sweep",
               tmp_path / "cards" / "x"]
    for folder in folders:
        folder.mkdir(parents=True)
    for note in (cache / recipe.CHOICE, folders[0] / "kernel.json", folders[1] / "mine.json",
                 folders[2] / status.NAME, folders[3] / "card.json"):
        NO_NOTES[kind](note)
    (folders[0] / "linux").touch()
    assert recipe.read_choices() == []
    kernel = locate.built_kernel("abc")
    assert kernel is not None
    assert kernel.version == "unknown"
    assert named.all_named() == []
    assert status.read(folders[2]) is None
    if kind not in ("nothing", "loop"):  # which leads to none
        with pytest.raises(BadResult, match=r"card\.json: not a scorecard file"):
            list(read_all(tmp_path / "cards"))


def test_socket_is_told_like_other_irregular_files(tmp_path: Path) -> None:
    """Linux calls one that is opened a device that isn't there."""
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path / "note"))
        with pytest.raises(OSError, match="it is a pipe, a device or a socket"):
            read_note(tmp_path / "note")


def test_note_of_the_largest_size_is_read(tmp_path: Path) -> None:
    """A limit that no note of ours meets."""
    (tmp_path / "note").write_text("{}" + " " * (MAX_NOTE_BYTES - 2))
    assert read_note(tmp_path / "note") == {}


MINE = {"name": "mine", "hash": "abc", "lab_hash": "def", "version": "7.3.4", "source": "s",
        "command": "flent-aqm kernel build mine"}


@pytest.mark.parametrize("odd", [
    {"name": 7}, {"name": "\x1b[2J"}, {"name": "../mine"}, {"hash": 7}, {"hash": None},
    {"version": []}, {"source": ["s"]}, {"command": "a\x1b[2J"}, {"tree": 5}, {"made_of": 5},
    {"made_of": "abc"}, {"made_of": [5]}, {"of_2031": 1}])
def test_kernel_whose_note_makes_no_sense_is_not_there(
    odd: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says becomes paths, and words on a terminal."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("flent_aqm.base.paths.SYSTEM_CACHE", tmp_path / "none")
    note = tmp_path / "flent-aqm" / named.FOLDER / "mine.json"
    note.parent.mkdir(parents=True)
    note.write_text(json.dumps(MINE))
    assert [one.name for one in named.all_named()] == ["mine"]
    note.write_text(json.dumps(MINE | odd))
    assert named.all_named() == []


READING = {"place": "p", "words": "w", "group": "g", "without_seed": "s", "beside": False,
           "ways": {"download": {}, "upload": {"shown_mbps": 1.0}, "worse": {}}}
CARD = {"schema": 1, "test": "t", "label": "l", "method": "m", "testbed": "virtual", "failed": {},
        "readings": [READING]}


ODD_READINGS: list[dict[str, Any]] = [
    {"place": 7}, {"words": "\x1b[2J"}, {"group": None}, {"beside": "no"}, {"good": "yes"},
    {"seconds": "5"}, {"megabytes": [1]}, {"ways": []}, {"ways": {"upload": 5}}, {"new": 1},
    {"ways": {"upload": {"shown_mbps": "1"}}}, {"ways": {"upload": {"queue_ms": True}}},
    {"ways": {"upload": {"of_2031": 1}}}]


@pytest.mark.parametrize("odd", [
    {"readings": 5}, {"readings": [5]}, {"readings": {"a": 1}}, {"failed": []}, {"failed": "x"},
    *({"readings": [READING | one]} for one in ODD_READINGS)])
def test_card_whose_values_make_no_sense_is_named(odd: dict[str, Any], tmp_path: Path) -> None:
    """Its page is made of those of all tests in a folder."""
    (tmp_path / "x").mkdir()
    note = tmp_path / "x" / "card.json"
    note.write_text(json.dumps(CARD))
    assert [card.test for card in read_all(tmp_path)] == ["t"]
    note.write_text(json.dumps(CARD | odd))
    with pytest.raises(BadResult, match=r"card\.json: not a scorecard file"):
        list(read_all(tmp_path))


TOLD: dict[str, Any] = {"line": "l", "way": "upload", "shown": 1.0, "true": 2.0}
FOUND = {"aim": next(iter(AIMS)), "runs": 3, "worst": TOLD, "simple": TOLD, "mended": [],
         "unknown": []}


ODD_LINES: list[dict[str, Any]] = [
    {"line": "\x1b[2J"}, {"way": "up"}, {"way": []}, {"shown": "1"}, {"true": [1]}]


@pytest.mark.parametrize("odd", [
    {"aim": "x"}, {"aim": []}, {"worst": 5}, {"worst": {}}, {"mended": 5}, {"mended": [5]},
    {"unknown": 5}, {"unknown": [5]}, {"unknown": ["\x1b[2J"]},
    *({"worst": TOLD | one} for one in ODD_LINES)])
def test_search_whose_result_makes_no_sense_is_named(odd: dict[str, Any], tmp_path: Path) -> None:
    """It stands beside the card."""
    note = tmp_path / f"worst-{FOUND['aim']}.json"
    note.write_text(json.dumps(FOUND))
    assert [one.runs for one in worst_lines.read_all(tmp_path)] == [3]
    note.write_text(json.dumps(FOUND | odd))
    with pytest.raises(BadResult, match="not a result of --worst"):
        worst_lines.read_all(tmp_path)


def test_search_with_an_unprintable_text_is_quoted(tmp_path: Path) -> None:
    """With the sentence, which a terminal would obey."""
    note = tmp_path / f"worst-{FOUND['aim']}.json"
    note.write_text(json.dumps(FOUND | {"worst": TOLD | {"line": "\x1b[2J"}}))
    with pytest.raises(BadResult, match=r"or damaged \(its sentence '.*\\x1b\[2J.* has characters "
                                        r"that can't be printed\)"):
        worst_lines.read_all(tmp_path)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_card_that_cannot_be_read_is_not_to_be_removed(
        number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be good. Root may read every file, so open() is replaced."""
    def refuse(path: Path) -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(card, "read_note", refuse)
    monkeypatch.setattr(worst_lines, "read_note", refuse)
    monkeypatch.setattr(order, "read_note", refuse)
    (tmp_path / order._FOLDER).mkdir()
    (tmp_path / order._FOLDER / "a.json").write_text("{}")
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "card.json").write_text(json.dumps(CARD))
    (tmp_path / "x" / f"worst-{FOUND['aim']}.json").write_text(json.dumps(FOUND))
    for read in (lambda: list(read_all(tmp_path)), lambda: worst_lines.read_all(tmp_path / "x"),
                 lambda: order.read_all(tmp_path)):
        with pytest.raises(BadResult) as fault:
            read()
        assert f"can't be read: {os.strerror(number)}; make it readable" in str(fault.value)
        assert "remove" not in str(fault.value)


def test_file_of_another_program_is_not_simply_to_be_removed(tmp_path: Path) -> None:
    """Another program's card.json in the folder of -o."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "card.json").write_text('{"name": "vCard"}')
    (tmp_path / order._FOLDER).mkdir()
    (tmp_path / order._FOLDER / "a.json").write_text("{}")
    with pytest.raises(BadResult, match="if flent-aqm wrote it, remove it and compare again, oth"):
        order.read_all(tmp_path)
    with pytest.raises(BadResult, match=r"if flent-aqm wrote it, remove it and score the test "
                                        r"again, otherwise name another folder$"):
        list(read_all(tmp_path))

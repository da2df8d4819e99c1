# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that a recorded run read: found by content in places that the user names, and no others."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.sweep.replay import files as replay_files
from flent_aqm.sweep.replay import recorded
from tests import files
from tests.files import load, save
from tests.limits import ending_within_s

GOLDEN = files.GOLDEN / "batches" / "quick"
CONTENT = b"1\n2\n5\n"
SECRET = "root:x:0:0:secret"


def _file(folder: Path, requested: dict[str, Any], links: object = None) -> Path:
    """A data file of a run of the lab with other settings."""
    whole = load(GOLDEN / "iperf3_upload-codel.flent.gz")
    whole = copy.deepcopy(whole)
    whole["metadata"]["AQM"]["requested"] |= requested
    if links is not None:
        whole["metadata"]["AQM"]["links"] = links
    folder.mkdir(exist_ok=True)
    path = folder / "x.flent.gz"
    save(path, whole)
    return path


def _link(content: bytes = CONTENT) -> dict[str, Any]:
    return {"down": {"trace": "lte.down", "size_bytes": len(content),
                     "sha256": hashlib.sha256(content).hexdigest()}}


def test_trace_is_found_by_content_beside_the_file_or_where_the_user_says(tmp_path: Path) -> None:
    """Whatever it is called, and whatever else is there; not by the path in the file."""
    recorded_path = tmp_path / "recorded" / "lte.down"
    recorded_path.parent.mkdir()
    recorded_path.write_bytes(CONTENT)
    file = _file(tmp_path / "data", {"link_down_trace": str(recorded_path)}, _link())
    with pytest.raises(BadResult,
                       match="is beside the data file or in a folder of --trace; put your"):
        recorded.read(file, tmp_path)
    mine = tmp_path / "mine"
    mine.mkdir()
    os.mkfifo(mine / "a pipe")
    (mine / "b").write_bytes(b"9" * len(CONTENT))
    (mine / "c").write_bytes(CONTENT)
    for place in (mine, mine / "c"):
        with ending_within_s(10):  # whoever opened the pipe would wait for ever
            cell = recorded.read(file, tmp_path, [place]).cell
        trace = cell.scenario.record("link").link_down_trace
        assert trace == str(mine / "c")
    (file.parent / "beside").write_bytes(CONTENT)
    trace = recorded.read(file, tmp_path).cell.scenario.record("link").link_down_trace
    assert trace == str(file.parent / "beside")


@pytest.mark.parametrize(("requested", "links"), [
    ({"link_down_trace": "{secret}"}, None),
    ({"link_down_trace": "{secret}"}, {"down": {"size_bytes": 18}}),
    ({"link_down_trace": "{secret}"}, {"down": []}),
    ({"link_down_trace": "{secret}"}, []),
    ({"link_up_trace": "{secret}"}, _link()),
    ({"link_trace": "{secret}"}, _link()),
    ({"link_down_trace": ["{secret}"]}, _link()),
    ({"topology": "{secret}"}, None),
    ({"topology": " {secret} "}, None),
    ({"router_program": "cat {secret}"}, None),
    ({"kernel": "{secret}"}, None),
])
def test_no_path_in_a_data_file_is_opened(
    requested: dict[str, Any], links: object, tmp_path: Path
) -> None:
    """Told by Python's own audit: not even to say that it is none of what it should be."""
    secret = tmp_path / "elsewhere" / "secret.topology"
    secret.parent.mkdir()
    secret.write_text(SECRET)
    opened = []
    sys.addaudithook(lambda event, words: opened.append(str(words[0])) if event == "open" else None)
    text = json.dumps(requested).replace("{secret}", str(secret))
    file = _file(tmp_path / "data", json.loads(text), links)
    with pytest.raises(BadResult) as refused:
        recorded.read(file, tmp_path)
    assert str(file) in opened
    assert not any("secret" in path for path in opened)
    assert SECRET not in str(refused.value)
    assert not re.search("can't be read|no such file or", str(refused.value), re.IGNORECASE)


def test_link_beside_the_file_is_not_followed(tmp_path: Path) -> None:
    """It may have come with the data file, from whoever knows the content of a file of ours."""
    secret = tmp_path / "secret"
    secret.write_bytes(CONTENT)
    file = _file(tmp_path / "data", {"link_down_trace": "lte.down"}, _link())
    (file.parent / "lte.down").symlink_to(secret)
    with pytest.raises(BadResult, match="symbolic links aside, is beside the data file"):
        recorded.read(file, tmp_path)


def test_trace_when_too_large_is_told_without_a_search(tmp_path: Path) -> None:
    link = _link()
    link["down"]["size_bytes"] = 64 * 2**20 + 1
    file = _file(tmp_path / "data", {"link_down_trace": "lte.down"}, link)
    with pytest.raises(BadResult, match="traces of more than 67108864 bytes are not read"):
        recorded.read(file, tmp_path)


@pytest.mark.parametrize(("more_bytes", "is_there", "fault"), [
    (0, True, None), (0, False, "no readable file with this content"), (1, True, None),
    (-1, True, r"traces of more than 5 bytes are not read"),
    (-1, False, r"traces of more than 5 bytes are not read")])
def test_trace_of_the_largest_size_is_read(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more_bytes: int, is_there: bool,
        fault: str | None) -> None:
    """And none of a byte more."""
    monkeypatch.setattr(replay_files, "_MOST_BYTES", len(CONTENT) + more_bytes)
    file = _file(tmp_path / "data", {"link_down_trace": "lte.down"}, _link())
    if is_there:
        (file.parent / "mine").write_bytes(CONTENT)
    if fault is None:
        assert recorded.read(file, tmp_path).cell.scenario.record("link").link_down_trace == str(
            file.parent / "mine")
        return
    with pytest.raises(BadResult, match=fault):
        recorded.read(file, tmp_path)


@pytest.mark.parametrize("change", [
    {"size_bytes": None}, {"size_bytes": True}, {"size_bytes": 6.0}, {"size_bytes": "6"},
    {"sha256": None}, {"sha256": 5}, {"sha256": "ab"}, {"sha256": "G" * 64}])
def test_trace_without_its_size_and_hash_cannot_be_found(
        tmp_path: Path, change: dict[str, object]) -> None:
    """Both have one form."""
    link = _link()
    link["down"] |= change
    file = _file(tmp_path / "data", {"link_down_trace": "lte.down"}, link)
    (file.parent / "mine").write_bytes(CONTENT)
    with pytest.raises(BadResult, match="the data file records no valid size and SHA-256 of the"):
        recorded.read(file, tmp_path)


def test_long_name_of_a_trace_is_cut_in_the_message(tmp_path: Path) -> None:
    """To 60 characters; its size and hash are told whole."""
    link = _link()
    link["down"]["trace"] = "t" * 61
    file = _file(tmp_path / "data", {"link_down_trace": "lte.down"}, link)
    with pytest.raises(BadResult, match=rf"the trace '{'t' * 60}' \(6 bytes, SHA-256 "):
        recorded.read(file, tmp_path)


def test_folder_that_cannot_be_read_is_passed_over(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a file that can't: the trace may be elsewhere."""
    real = os.scandir

    def scan(place: Any) -> Any:
        if Path(place).name == "closed":
            raise PermissionError(13, "Permission denied")
        return real(place)

    monkeypatch.setattr(os, "scandir", scan)
    closed, mine = tmp_path / "closed", tmp_path / "mine"
    closed.mkdir()
    mine.write_bytes(CONTENT)
    file = _file(tmp_path / "data", {"link_down_trace": "lte.down"}, _link())
    places = [closed, tmp_path / "none", mine]
    trace = recorded.read(file, tmp_path, places).cell.scenario.record("link").link_down_trace
    assert trace == str(mine)

# SPDX-License-Identifier: GPL-3.0-or-later
"""A batch file that is published tells of nobody, or the command names the line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.base.paths import resource_dir
from flent_aqm.cli import main
from flent_aqm.results.share import batch_text
from flent_aqm.results.share.batch_text import clean_batch
from flent_aqm.results.share.secrets import Secrets

from .conftest import GOLDEN
from .test_allowed import NOT_IN_A_SENTENCE, SECRETS

MINE = """\
# Jonas Fink, jonas@finkhome.example.org, fritz.box password hunter2secret
[Batch::mine]
inherits = base
testbed = ssh://root:hunter2secret@gw7.finkhome.example.org:2222
server_testbed = ssh://root@81.2.69.142
output_path = /home/jonasfink/results
hosts = nas7, server
title = nas7 and fq_codel
[Command::hook]
exec = curl -H 'Authorization: Bearer s3cr3tTOK9' http://192.168.178.23/api; sshpass -p \
hunter2secret ssh 3c:22:fb:1a:2b:4d
"""
SECRET = re.compile("hunter2|jonas|fink|gw7|nas7|81.2.69|s3cr3t|192.168.178|3c:22|1a:2b",
                    re.IGNORECASE)


def test_published_folder_has_no_secret_of_its_batch(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the batch and of the file that it inherits from; each changed line is told."""
    batch = tmp_path / "mine.batch"
    batch.write_text(MINE)
    (tmp_path / "base.batch").write_text("# by jonasfink\n[Batch::base]\nabstract = yes\n"
                                         "note = ssh -l jonasfink nas7fink\n")
    target = tmp_path / "pub"
    assert main(["share", str(GOLDEN / "ndt7.flent.gz"), "-o", str(target), "--publish",
                 "--batch", str(batch), "--replay", "0"]) == 0
    texts = {path.name: path.read_text() for path in target.rglob("*")
             if path.is_file() and path.suffix != ".gz"}
    assert {"mine.batch", "base.batch", "README.md", "versions.json"} <= texts.keys()
    assert {name: SECRET.search(text) for name, text in texts.items()} == dict.fromkeys(texts)
    assert "testbed = ssh://root@router\n" in texts["mine.batch"]
    assert "[Command::hook]\nexec = curl -H" in texts["mine.batch"]
    told = capsys.readouterr().out
    assert "mine.batch, line 4: now 'testbed = ssh://root@router'" in told
    assert "base.batch: 1 line of comments removed" in told


@pytest.mark.parametrize("text", [text for text in SECRETS if text not in NOT_IN_A_SENTENCE])
@pytest.mark.parametrize("key", ["exec", "title", "output_path", "test_parameters"])
def test_no_secret_of_a_value_is_published(key: str, text: str) -> None:
    """In a command, in the user's words, in a path, in parameters of the test."""
    before = f"[Batch::b]\n{key} = {'/x/' if key == 'output_path' else ''}{text}\n"
    clean = clean_batch("b.batch", before)
    assert SECRETS[text].lower() not in clean.text.lower()
    assert clean.changed


def test_batch_that_tells_of_nobody_is_published_as_it_is() -> None:
    """All batches of this package, but for their comments."""
    for path in sorted(resource_dir("batches").glob("*.batch")):
        text = path.read_text()
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        assert clean_batch(path.name, "\n".join(lines)).changed == [], path


def test_line_that_a_cleaning_with_a_hole_leaves_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second search is of other code."""
    monkeypatch.setattr(Secrets, "clean", lambda *args, **options: (args[1], ""))
    with pytest.raises(BadResult, match=r"b\.batch, line 3: '10\.1\.2\.3' would be published"):
        clean_batch("b.batch", "[Batch::b]\n\nnote = at 10.1.2.3\n")


def test_batch_with_too_many_hosts_is_named() -> None:
    urls = " ".join(f"http://nas{number}fink/" for number in range(201))
    with pytest.raises(BadResult, match=r"^b\.batch: it names 201 hosts"):
        clean_batch("b.batch", f"note = {urls}\n")


def test_texts_of_the_folder_are_searched() -> None:
    assert list(batch_text.lines_that_tell("a\nat 10.1.2.3\n")) == [(2, "10.1.2.3")]

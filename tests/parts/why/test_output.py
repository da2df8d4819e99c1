# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the explanation's files are written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.why import figure, html
from flent_aqm.parts.why.what_if import UNCHANGED, RunOutcome
from flent_aqm.show.plots import why
from tests.files import GOLDEN, load


def _write(path: Path) -> None:
    nothing: Any = None
    html.write(path, path, nothing, nothing, nothing, [], None)


@pytest.fixture(autouse=True)
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "page", lambda *words: "the page")


def test_folder_of_the_page_is_created(tmp_path: Path) -> None:
    """As the scorecard's is: the explanation took a while."""
    _write(tmp_path / "out" / "pages" / "why.html")
    assert (tmp_path / "out" / "pages" / "why.html").read_text() == "the page"


def test_name_that_is_only_an_ending_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message said that it expected a name that ends so."""
    monkeypatch.setattr(figure, "draw", lambda explained, kind: kind.encode())
    for name, content in ((".svg", "svg"), (".html", "the page"), ("a.b.png", "png")):
        html.refuse_other_names(tmp_path / name)
        _write(tmp_path / name)
        assert (tmp_path / name).read_text() == content
    with pytest.raises(ConfigError, match=r"expected a name that ends in \.html, \.htm, \.pdf, "
                                          r"\.svg or \.png$"):
        html.refuse_other_names(tmp_path / "svg")


def test_folder_that_takes_no_file_is_named(tmp_path: Path) -> None:
    """It is the folder that can't be written, even where the page is there already."""
    (tmp_path / "taken").touch()
    with pytest.raises(ConfigError, match=rf"^-o: can't write why.html to the folder "
                                          rf"{tmp_path}/taken: Not a directory; mend that, or name "
                                          "another file$"):
        _write(tmp_path / "taken" / "why.html")


@pytest.mark.parametrize("changed", [
    [], [RunOutcome("aqm=pie", 9, around=[(2.1, 9.0), (2.0, 8.0)])],
    [RunOutcome("aqm=pie", fault="it failed")]])
def test_lost_probe_without_neighbours_leaves_the_curve_of_its_run_empty(
    changed: list[RunOutcome]
) -> None:
    """Otherwise that of a changed run would be taken for it, or there would be none."""
    runs = figure.probes_of([RunOutcome(UNCHANGED), *changed])
    assert runs[0] == why.NamedCurve(UNCHANGED, [], [])
    assert runs[1:] == [
        why.NamedCurve("aqm=pie", [2.0, 2.1], [8, 9]) for one in changed if one.around]
    explained = why.read(load(GOLDEN / "why" / "kept.flent.gz")["metadata"]["AQM"]["why"])
    explained = replace(explained, runs=runs, rtt_ms=None)
    assert why.read(why.to_json(explained)).runs == runs
    assert figure.draw(explained, "svg").startswith(b"<?xml")

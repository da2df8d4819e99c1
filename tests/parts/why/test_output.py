# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the explanation's files are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.why import html


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


def test_folder_that_takes_no_file_is_named(tmp_path: Path) -> None:
    """It is the folder that can't be written, even where the page is there already."""
    (tmp_path / "taken").touch()
    with pytest.raises(ConfigError, match=rf"^-o: can't write why.html to the folder "
                                          rf"{tmp_path}/taken: File exists$"):
        _write(tmp_path / "taken" / "why.html")

# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the explanation as an HTML page without external resources and scripts, or the figure
alone. Jinja2 escapes text that comes from files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.whole_file import written_whole
from flent_aqm.base.words import plain
from flent_aqm.parts.why import figure
from flent_aqm.parts.why.output import in_folder
from flent_aqm.parts.why.settings import settings_of
from flent_aqm.parts.why.story import Story
from flent_aqm.parts.why.watched import WatchedRun
from flent_aqm.parts.why.what_if import RunOutcome
from flent_aqm.parts.why.words import concluding, lines, title
from flent_aqm.show.plots.why import Explained
from flent_aqm.show.templates import environment, svg_address

_PAGES = (".html", ".htm")
_ENDINGS = (*_PAGES, *(f".{kind}" for kind in figure.KINDS))


def refuse_other_names(path: Path | None) -> None:
    """Raise ConfigError if the path of the output doesn't end in .html, .htm, .png, .svg or .pdf.
    None is accepted."""
    if path is not None and not path.name.endswith(_ENDINGS):
        raise ConfigError(f"-o: {plain(path)}: expected a name that ends in "
                          f"{', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}")


def write(path: Path, file: Path, run: WatchedRun, explained: Explained, story: Story,
          outcomes: Sequence[RunOutcome], idle_ms: float | None) -> None:
    """Write the page, or the figure alone, as the name's ending says, and create its folder. Raises
    ConfigError if the file can't be written.

    Args:
        path: file to write, with an ending that refuse_other_names() accepts.
        file: the explained data file.
        run: its repetition.
        explained: content of the figure.
        story: the explanation.
        outcomes: the run itself, and the runs with something changed.
        idle_ms: median RTT before the load, None if it isn't known.
    """
    if path.name.endswith(_PAGES):
        content = page(file, run, explained, story, outcomes, idle_ms).encode()
    else:
        content = figure.draw(explained, path.name.rpartition(".")[2])
    with in_folder("-o", path), written_whole(path) as target:
        target.write(content)


def page(file: Path, run: WatchedRun, explained: Explained, story: Story,
         outcomes: Sequence[RunOutcome], idle_ms: float | None) -> str:
    """Return the explanation as an HTML page, with the figure in it.

    Args:
        file: the explained data file, whose name the page shows.
        run: its repetition.
        explained: content of the figure.
        story: the explanation.
        outcomes: the run itself, and the runs with something changed.
        idle_ms: median RTT before the load, None if it isn't known.
    """
    return environment("flent_aqm.parts.why").get_template("why.html").render(
        title=title(story, idle_ms), answers=lines(story, idle_ms)[1:], outcomes=outcomes,
        name=file.name, settings=settings_of(run.cell, run.run),
        conclusion=concluding(outcomes, idle_ms, story.bottleneck, story.standing.cause),
        has_losses=explained.has_losses,
        picture=svg_address(figure.draw(explained, "svg")))

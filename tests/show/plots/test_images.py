# SPDX-License-Identifier: GPL-3.0-or-later
"""Every type of plot as a picture of golden runs, beside the one that is kept.

After a change that is meant to be seen: KEEP_PICTURES=1 .venv/bin/pytest THIS FILE,
look at what git says has changed, and commit it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from matplotlib.testing.compare import compare_images

from flent_aqm.show.plots.all_plotters import PLOTTERS

from .pictures import KEPT, PICTURES, UPLOADS, Picture, drawn_texts, misplaced, repetitions

Draw = Callable[..., Any]
KEEP = os.environ.get("KEEP_PICTURES")
# Of the root mean square of differences, 0 to 255. Another version of the library of fonts
# moves letters by parts of a pixel; a panel that is cut or a colour makes 4 and more.
TOLERANCE = 2.5
# As the kept ones are: a fifth of the bytes, and everything still to be read.
DPI = ("--figure-dpi", "60")


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The runs of pictures that show repetitions, written once."""
    return repetitions(tmp_path_factory.mktemp("repeated"))


@pytest.fixture
def files(picture: Picture, request: pytest.FixtureRequest) -> list[Path]:
    """What a picture is made of."""
    if picture.repeated:
        paths: list[Path] = request.getfixturevalue("repeated")
        return paths
    return list(picture.files)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_picture_is_the_one_that_is_kept(
    picture: Picture, files: list[Path], draw: Draw, tmp_path: Path
) -> None:
    """Within a tolerance; and no word is cut or stands on another."""
    with drawn_texts() as texts:
        plotter = draw(picture.plot, files, *DPI)
    made = tmp_path / f"{picture.plot}.png"
    kept = KEPT / f"{picture.name}.png"
    if KEEP:
        shutil.copy(made, kept)
    shutil.copy(kept, tmp_path / "kept.png")  # beside which the difference is written
    assert compare_images(str(tmp_path / "kept.png"), str(made), TOLERANCE) is None
    assert misplaced(plotter.figure, texts) == []


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_picture_in_a_column_of_a_paper_can_be_read(
    picture: Picture, files: list[Path], draw: Draw
) -> None:
    """3.33 inches wide no word is cut or stands on another, nor is a caption in the way."""
    with drawn_texts() as texts:
        plotter = draw(picture.plot, files, "--width", "3.33in", "--no-title",
                       "--caption-apart", "--figure-dpi", "200")
    assert plotter.figure.get_figwidth() == pytest.approx(3.33)
    assert misplaced(plotter.figure, texts) == []
    sizes = [text.get_fontsize() for axis in plotter.figure.axes
             for text in (axis.xaxis.label, axis.yaxis.label)]
    assert all(5 <= size <= 9 for size in sizes)


def test_every_type_of_plot_is_kept() -> None:
    """A new type of plot wants a picture."""
    from flent import resultset, settings

    types = set()
    for picture in PICTURES:
        loaded = settings.load([str(picture.files[0])])
        loaded.update(resultset.ResultSet.load_file(str(picture.files[0])).meta())
        loaded.load_test(informational=True)
        types.add(loaded.PLOTS[picture.plot]["type"])
    assert set(PLOTTERS) - types == set()


def test_every_kept_picture_is_compared() -> None:
    """None is left from before."""
    assert {path.stem for path in KEPT.glob("*.png")} == {one.name for one in PICTURES}


def test_picture_with_another_colour_is_not_the_kept_one(
    draw: Draw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check can fail: one of four lines is grey."""
    from flent_aqm.show.looks import AQM_LOOKS, Look

    looks = {**AQM_LOOKS, "no_aqm": Look("#CCCCCC", "o", "-", "")}
    monkeypatch.setattr("flent_aqm.show.looks.AQM_LOOKS", looks)
    draw("latency_tail", list(UPLOADS), *DPI)
    kept = tmp_path / "kept.png"
    shutil.copy(KEPT / "queues-latency_tail.png", kept)
    assert compare_images(str(kept), str(tmp_path / "latency_tail.png"), TOLERANCE) is not None


def test_words_out_of_place_are_found() -> None:
    """The check can fail: a title too wide, and two labels on one spot."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = FigureCanvasAgg(Figure(figsize=(2, 2))).figure
    figure.suptitle("much too long for two inches of width")
    figure.text(0.5, 0.5, "one")
    figure.text(0.5, 0.5, "other")
    with drawn_texts() as texts:
        figure.draw_without_rendering()
    assert [fault.split(":")[0] for fault in misplaced(figure, texts)] == [
        "cut", "on each other"]

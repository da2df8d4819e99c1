# SPDX-License-Identifier: GPL-3.0-or-later
"""What flent-gui does with files, and how it names settings of ours.

Files that it loads come with what our plots need of them. It loads files in other
processes, side by side, and draws each plot in one of them, which gets all results anew.
What our plots make of raw samples is made when a file is loaded, once and on all cores, and
goes with the results from there on: with 200 files open that is two seconds less for each
plot.

Files that can't be loaded are named in the window. Flent leaves them out, with a line in a
list that is hidden at first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import BadResult

MOST_NAMED = 12


def patch(module: Any) -> None:
    """Patch flent.gui."""
    _offer_metrics()
    stock = module.results_load_helper

    @wraps(stock)  # by whose name it is pickled
    def results_load_helper(filename: str) -> Any:
        loaded = stock(filename)
        if loaded is not None:
            _prepare(loaded["results"])
        return loaded

    module.results_load_helper = results_load_helper
    _patch_loading(module.MainWindow)
    _patch_adding(module.ResultWidget)


def _offer_metrics() -> None:
    """A list of the metrics to choose from, where the command line takes a name."""
    from flent.settings import plot_group

    from flent_aqm.results.metrics.table import METRICS

    for action in plot_group._group_actions:
        if action.dest == "METRIC":
            action.choices = list(METRICS)


def _prepare(results: Any) -> None:
    from flent_aqm.show.plots.chart import run_of
    from flent_aqm.show.plots.observed import captured_in, queues_in

    for make in (run_of, captured_in, queues_in):
        with suppress(BadResult):  # a plot that is asked for says so
            make(results)


class _Pool:
    """The window's processes; notes which files they could not load."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self.failed: list[str] = []

    def map(self, load: Callable[[str], Any], names: Iterable[str]) -> list[Any]:
        """Return what the processes make of the files; None for those they can't load."""
        asked = list(names)
        loaded: list[Any] = self._pool.map(load, asked)
        self.failed += [name for name, one in zip(asked, loaded, strict=True) if one is None]
        return loaded


def _patch_loading(window: Any) -> None:
    stock = window.load_files

    @wraps(stock)
    def load_files(self: Any, filenames: Sequence[Any], set_last_dir: bool = True) -> None:
        pool = self.worker_pool
        self.worker_pool = noting = _Pool(pool)
        _paint(self, False)
        try:
            stock(self, filenames, set_last_dir)
        finally:
            self.worker_pool = pool
            if not self.load_queue:
                _paint(self, True)
        if noting.failed:
            if not self.load_queue:
                self.busy_end()  # Flent does so after the last of the files
            say_left_out(self, noting.failed, len(filenames))

    window.load_files = load_files
    _patch_one(window)


def _patch_one(window: Any) -> None:
    """A timer takes the loaded files one by one, and each would have all tabs and the table of
    open files painted anew: with 200 files, half of the time that opening them takes."""
    stock = window.load_one

    @wraps(stock)
    def load_one(self: Any) -> None:
        try:
            stock(self)
        finally:
            if not self.load_queue:
                _paint(self, True)

    window.load_one = load_one


def _paint(window: Any, on: bool) -> None:
    """Whether the parts of the window that change with each file are painted."""
    for part in (window.viewArea, window.openFilesView):
        part.setUpdatesEnabled(on)


def _patch_adding(widget: Any) -> None:
    """Files that are added to a tab, which its window loads itself."""
    stock = widget.load_files

    @wraps(stock)
    def load_files(self: Any, filenames: Sequence[Any]) -> int:
        failed = [str(name) for name in filenames if why_not(str(name))]
        added: int = stock(self, [name for name in filenames if str(name) not in failed])
        if failed:
            say_left_out(self, failed, len(filenames))
        return added

    widget.load_files = load_files


def say_left_out(parent: Any, failed: Sequence[str], asked: int) -> None:
    """Name files that could not be loaded in a window, which doesn't hold up the others."""
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QMessageBox

    lines = [f"{Path(name).name}: {why_not(name)}" for name in failed[:MOST_NAMED]]
    if len(failed) > MOST_NAMED:
        lines.append(f"and {len(failed) - MOST_NAMED} more")
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setIcon(QMessageBox.Icon.Warning)
    box.setWindowTitle("Files left out")
    box.setTextFormat(Qt.TextFormat.PlainText)  # names of files are a stranger's words
    box.setText(f"{len(failed)} of {asked} files can't be loaded and were left out.\n\n"
                + "\n".join(lines))
    box.open()


def why_not(filename: str) -> str:
    """Return why a file can't be loaded, in a line without its path; empty if it can."""
    from flent.resultset import ResultSet
    from flent.settings import new as new_settings

    try:
        settings = new_settings()
        settings.update(ResultSet.load_file(filename).meta())
        settings.load_test(informational=True)
    except Exception as fault:  # whatever Flent stumbles over
        words = " ".join(str(fault).split()) or type(fault).__name__
        return words.replace(f"{filename}: ", "")
    return ""

# SPDX-License-Identifier: GPL-3.0-or-later
"""A shared file in the flent-gui of an environment with stock Flent alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flent_aqm.cli import main
from flent_aqm.share.strip import STORED_AS

from ..bridge.conftest import Env

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "runs"

pytest.importorskip("qtpy", reason="the extra 'gui' is not installed")

# flent-gui's window and event loop, as its main program makes them.
DRIVE = """\
import importlib.util, json, sys
from flent import gui, plotters, settings
from qtpy.QtCore import QEventLoop, QTimer
from qtpy.QtWidgets import QApplication

files = sys.argv[1:]
loaded = settings.load(["--new-gui-instance"])
loaded.GUI = True
gui.settings = loaded
plotters.init_matplotlib("-", loaded.USE_MARKERS, loaded.LOAD_MATPLOTLIBRC)
app = QApplication(["flent-gui"])
window = gui.MainWindow(loaded)
window.resize(900, 600)
window.show()

def until(done):
    while not done():
        loop = QEventLoop()
        QTimer.singleShot(20, loop.quit)
        loop.exec_()

window.load_files(files)
until(lambda: not window.load_queue and window.viewArea.count() == len(files))
told = {"ours": importlib.util.find_spec("flent_aqm") is not None, "tabs": []}
for number in range(len(files)):
    window.viewArea.setCurrentIndex(number)
    tab = window.viewArea.widget(number)
    until(lambda: tab.async_fig is None)
    told["tabs"].append({"name": tab.settings.NAME, "plots": list(tab.settings.PLOTS),
                         "drawn": window.grab().save(files[number] + ".png")})
print("told " + json.dumps(told), flush=True)
import os
os._exit(0)  # its pool of processes doesn't matter any more
"""


def test_shared_files_open_in_stock_flent_gui(stock: Env, tmp_path: Path) -> None:
    """Each in a tab with plots, under the name of a test that stock Flent has."""
    names = list(STORED_AS)
    assert main(["share", *(str(GOLDEN / f"{name}.flent.gz") for name in names),
                 "-o", str(tmp_path)]) == 0
    files = [tmp_path / f"{name}.flent.gz" for name in names]
    ended = stock.run("python", "-c", DRIVE, *files, environ={"QT_QPA_PLATFORM": "offscreen"})
    lines = [line for line in ended.out.splitlines() if line.startswith("told ")]
    assert lines, ended.err
    told = json.loads(lines[0].removeprefix("told "))
    assert told["ours"] is False
    assert [tab["name"] for tab in told["tabs"]] == list(STORED_AS.values())
    assert all("totals" in tab["plots"] and tab["drawn"] for tab in told["tabs"])
    assert "Error loading" not in ended.err

# SPDX-License-Identifier: GPL-3.0-or-later
"""A shared file in the flent-gui of an environment with stock Flent alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flent_aqm.results.data_file import read_data_file
from tests.files import load

from ...bridge.conftest import Env
from ...gui_window import WINDOW
from .conftest import KEPT

pytest.importorskip("qtpy", reason="the extra 'gui' is not installed")

DRIVE = WINDOW + """
import importlib.util, json

folder, *files = sys.argv[1:]
load(files)
told = {"ours": importlib.util.find_spec("flent_aqm") is not None, "tabs": []}
for number in range(len(files)):
    window.viewArea.setCurrentIndex(number)
    tab = window.viewArea.widget(number)
    until(lambda: tab.async_fig is None)
    told["tabs"].append({"name": tab.settings.NAME, "plots": list(tab.settings.PLOTS),
                         "drawn": window.grab().save(f"{folder}/{number}.png")})
print("told " + json.dumps(told), flush=True)
os._exit(0)  # its pool of processes doesn't matter any more
"""


def test_shared_files_open_in_stock_flent_gui(stock: Env, shared: Path, tmp_path: Path) -> None:
    """Each in a tab with plots, under the name of a test that stock Flent has."""
    names = KEPT
    files = [shared / f"{name}.flent.gz" for name in names]
    ended = stock.run("python", "-c", DRIVE, tmp_path, *files,
                      environ={"QT_QPA_PLATFORM": "offscreen"})
    lines = [line for line in ended.out.splitlines() if line.startswith("told ")]
    assert lines, ended.err
    state = json.loads(lines[0].removeprefix("told "))
    assert state["ours"] is False
    assert [tab["name"] for tab in state["tabs"]] == [
        load(file)["metadata"]["NAME"] for file in files]
    assert all(tab["plots"] and tab["drawn"] for tab in state["tabs"])
    assert [read_data_file(file).metadata["NAME"] for file in files] == names
    assert "Error loading" not in ended.err

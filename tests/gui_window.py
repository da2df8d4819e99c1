# SPDX-License-Identifier: GPL-3.0-or-later
"""Python code that opens flent-gui's own window, for programs that tests start."""

# Window and event loop as flent-gui's main program makes them. The code may go on with
# window, loaded (Flent's settings) and until(condition); the words after the program are in
# sys.argv. It has to end with os._exit, as nobody waits for the window's processes.
WINDOW = """\
import os, sys
from flent import gui, plotters, settings
from qtpy.QtCore import QEventLoop, QTimer
from qtpy.QtWidgets import QApplication

loaded = settings.load(["--new-gui-instance"])
loaded.GUI = True
gui.settings = loaded
plotters.init_matplotlib("-", loaded.USE_MARKERS, loaded.LOAD_MATPLOTLIBRC)
app = QApplication(["flent-gui"])
window = gui.MainWindow(loaded)
window.resize(900, 600)
window.show()

def until(done):
    # No processEvents() in a loop: PySide 6.12 loses a reference to None with each.
    while not done():
        loop = QEventLoop()
        QTimer.singleShot(20, loop.quit)
        loop.exec_()

def load(files):
    window.load_files(files)
    until(lambda: not window.load_queue and window.viewArea.count() == len(files))
"""

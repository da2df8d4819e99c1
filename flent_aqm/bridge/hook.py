# SPDX-License-Identifier: GPL-3.0-or-later
"""Start-up hook: lets this package into Flent, and only into Flent.

Every Python program of the environment runs install() at its start (flent_aqm.pth,
flent_aqm.start), so this module imports nothing but builtins, sys and os, which are loaded
by then; not even __future__ or typing. What it adds to an import is one look-up in a
dict of ten names. When Flent imports one of those modules, what REPLACED says of it is
replaced right after the module's own code.

FLENT_AQM_DISABLE=1 in the environment leaves Flent as it is.
"""

import builtins
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# All that is replaced in Flent: module, attribute, and the function of this folder that is given
# what Flent has there and returns what takes its place, or None to leave it. All else that this
# package does in Flent goes through what Flent offers: test definitions, types of plots,
# subclasses. docs/plain-flent.md says what users notice.
REPLACED = (
    # An error of ours is one line, and ends with 1.
    ("flent", "run_flent", "exit_status:run_flent"),
    # Several series of one tool; when the load ran, by the capture.
    ("flent.aggregators", "Aggregator.collect", "collect:collect"),
    # A batch with the key `testbed` is a sweep.
    ("flent.batch", "new", "batch:new"),
    # flent-gui takes many files without drawing its window for each.
    ("flent.gui", "MainWindow.load_one", "window:load_one"),
    # The router's settings in the data file, read back before and after the test; and all commands
    # before it by one shell.
    ("flent.metadata", "get_command_output", "proof:get_command_output"),
    ("flent.metadata", "record_metadata", "proof:record_metadata"),
    ("flent.metadata", "record_postrun_metadata", "proof:record_postrun_metadata"),
    # Types of plots by name; their options, once for the command line and once for plots; the
    # status after a name that the test doesn't have.
    ("flent.plotters", "get_plotter", "names:get_plotter"),
    ("flent.plotters", "get_plotconfig", "plots:get_plotconfig"),
    ("flent.plotters", "add_plotting_args", "plots:add_plotting_args"),
    ("flent.plotters", "Plotter.params", "plots:with_ours"),
    # Data files: two settings more are stored; a sweep packs those of its runs; those of strangers
    # are checked.
    ("flent.resultset", "RECORDED_SETTINGS", "data_files:recorded_settings"),
    ("flent.resultset", "ResultSet.dump_dir", "data_files:dump_dir"),
    ("flent.resultset", "ResultSet.load_file", "data_files:load_file"),
    # Runners by name.
    ("flent.runners", "get", "names:get_runner"),
    # Tests by name: as a word of the command line, in lists, with plots of latency and of files
    # whose test is missing, and where their definitions are. Overrides with = in their values.
    ("flent.settings", "Settings.load_test_or_host", "definitions:load_test_or_host"),
    ("flent.settings", "ListTests.get_tests", "definitions:get_tests"),
    ("flent.settings", "Settings.load_test", "definitions:load_test"),
    ("flent.settings", "parser", "batch:with_values_as_typed"),
    ("flent.testenv", "TestEnvironment.execute", "definitions:execute"),
    # Python's own, which that module then has under this name: a definition is compiled once.
    ("flent.testenv", "compile", "definitions:compile_once"),
)
_MODULES = frozenset(module for module, _, _ in REPLACED)


def install() -> None:
    """Put the finder in place, once. Flent modules that are there already are patched now."""
    if os.environ.get("FLENT_AQM_DISABLE", "0") not in ("", "0") or _finder in sys.meta_path:
        return
    sys.meta_path.insert(0, _finder)
    if os.environ.get("FLENT_AQM_WITHOUT_PLOTS"):
        sys.meta_path.insert(0, _Without())
        sys.modules[_RARELY_NEEDED] = _LazyModule(_RARELY_NEEDED)
    for name in sorted(_MODULES & sys.modules.keys()):
        _patch(sys.modules[name])


class _Finder:
    """Finds the modules of REPLACED as the other finders do, and wraps their loader."""

    def find_spec(
        self, fullname: str, path: "object" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if fullname not in _MODULES:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)  # type: ignore[arg-type]
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
                return spec
        return None


class _Without:
    """Makes numpy and matplotlib absent, which Flent takes in its stride.

    For a run in the lab's guest, which draws nothing: loading them is most of what
    starting Flent costs there.
    """

    def find_spec(
        self, fullname: str, path: "object" = None, target: "ModuleType | None" = None
    ) -> None:
        if fullname in ("numpy", "matplotlib"):
            raise ModuleNotFoundError(f"{fullname} is switched off by FLENT_AQM_WITHOUT_PLOTS",
                                      name=fullname)


# One runner of Flent's, for D-ITG, has use of it; HTTP, TLS and e-mail come along with it.
_RARELY_NEEDED = "xmlrpc.client"


class _LazyModule(type(sys)):  # type: ignore[misc]
    """Stands in for that module until something in it is asked for; then that is loaded."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # which importing asks for
            raise AttributeError(name)
        if sys.modules.get(_RARELY_NEEDED) is self:
            del sys.modules[_RARELY_NEEDED]
        return getattr(__import__(_RARELY_NEEDED, fromlist=[name]), name)


class _Loader:
    """Does what the module's own loader does, then patches the module."""

    def __init__(self, stock: "Loader") -> None:
        self._stock = stock

    def __getattr__(self, name: str) -> object:
        return getattr(self._stock, name)

    def create_module(self, spec: "ModuleSpec") -> "ModuleType | None":
        return self._stock.create_module(spec)

    def exec_module(self, module: "ModuleType") -> None:
        # From here on the module looks as if nobody had been between.
        module.__loader__ = self._stock
        if module.__spec__ is not None:
            module.__spec__.loader = self._stock
        self._stock.exec_module(module)
        _patch(module)


def _patch(module: "ModuleType") -> None:
    """Replace all that REPLACED names of a module, or nothing of it."""
    changes = []
    try:
        for name, attribute, by in REPLACED:
            if name == module.__name__:
                owner: object = module
                *path, last = attribute.split(".")
                for part in path:
                    owner = getattr(owner, part)
                where, function = by.split(":")
                ours = f"flent_aqm.bridge.{where}"
                __import__(ours)
                stock = getattr(owner if hasattr(owner, last) else builtins, last)
                changes.append((owner, last, getattr(sys.modules[ours], function)(stock)))
    except Exception as error:  # Flent must go on, whatever is wrong with us
        print(f"flent-aqm: {module.__name__} stays as it is: {type(error).__name__}: {error} "
              "(install flent-aqm again, or set FLENT_AQM_DISABLE=1)", file=sys.stderr)
        return
    for owner, last, new in changes:
        if new is not None:
            setattr(owner, last, new)


_finder = _Finder()

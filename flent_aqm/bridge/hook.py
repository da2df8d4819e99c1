# SPDX-License-Identifier: GPL-3.0-or-later
"""Start-up hook: adds this package to Flent, and only to Flent.

Every Python program of the environment calls install() at its start (flent_aqm.pth,
flent_aqm.start). Therefore this module imports only builtins, sys and os, which are already loaded,
and not even __future__ or typing. It adds to each import one look-up in a set of about ten names.
When Flent imports a module that REPLACED names, its attributes are replaced right after the
module's own code has run.

FLENT_AQM_DISABLE=1 in the environment leaves Flent unchanged.
"""

import builtins
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# Everything that is replaced in Flent: module, attribute, and a function of this folder. The
# function gets Flent's object and returns the object that replaces it, or None to keep Flent's.
# Otherwise this package uses only Flent's own interfaces: test definitions, types of plots,
# subclasses. docs/plain-flent.md describes the effects that users notice.
REPLACED = (
    # Errors of this package are printed in one line, with exit status 1.
    ("flent", "run_flent", "exit_status:run_flent"),
    # Tools may return several series. The time of the load is read from the capture.
    ("flent.aggregators", "Aggregator.collect", "collect:collect"),
    # A batch with the key `testbed` is a sweep.
    ("flent.batch", "new", "batch:new"),
    # flent-gui loads many files without drawing its window for each.
    ("flent.gui", "MainWindow.load_one", "window:load_one"),
    # The router's settings are read back before and after the test, for the data file. One shell
    # runs all commands before the test.
    ("flent.metadata", "get_command_output", "proof:get_command_output"),
    ("flent.metadata", "record_metadata", "proof:record_metadata"),
    ("flent.metadata", "record_postrun_metadata", "proof:record_postrun_metadata"),
    # Types of plots by name. Their options, once for the command line and once for plots. Exit
    # status 1 for a plot that the test doesn't have.
    ("flent.plotters", "get_plotter", "names:get_plotter"),
    ("flent.plotters", "get_plotconfig", "plots:get_plotconfig"),
    ("flent.plotters", "add_plotting_args", "plots:add_plotting_args"),
    ("flent.plotters", "Plotter.params", "plots:with_ours"),
    # Data files store two more settings. A sweep compresses its data files itself. Data files are
    # checked when they are read.
    ("flent.resultset", "RECORDED_SETTINGS", "data_files:recorded_settings"),
    ("flent.resultset", "ResultSet.dump_dir", "data_files:dump_dir"),
    ("flent.resultset", "ResultSet.load_file", "data_files:load_file"),
    # Runners by name.
    ("flent.runners", "get", "names:get_runner"),
    # Tests by name: on the command line, in lists, with plots of latency, for data files whose test
    # is not installed, and where definitions are opened. Overrides with = in their values.
    ("flent.settings", "Settings.load_test_or_host", "definitions:load_test_or_host"),
    ("flent.settings", "ListTests.get_tests", "definitions:get_tests"),
    ("flent.settings", "Settings.load_test", "definitions:load_test"),
    ("flent.settings", "parser", "batch:with_values_as_typed"),
    ("flent.testenv", "TestEnvironment.execute", "definitions:execute"),
    # Python's own compile(), replaced in that module only: a definition is compiled once.
    ("flent.testenv", "compile", "definitions:compile_once"),
)
_MODULES = frozenset(module for module, _, _ in REPLACED)


def install() -> None:
    """Add the finder of this package to sys.meta_path, and patch those modules in REPLACED at once
    that are already imported. Do nothing if the finder is there, or if FLENT_AQM_DISABLE is set
    (not to "" or 0).

    If FLENT_AQM_WITHOUT_PLOTS isn't empty, numpy and matplotlib can't be imported afterwards unless
    they are already loaded, and xmlrpc.client is loaded only when it is used.
    """
    if os.environ.get("FLENT_AQM_DISABLE", "0") not in ("", "0") or _finder in sys.meta_path:
        return
    sys.meta_path.insert(0, _finder)
    if os.environ.get("FLENT_AQM_WITHOUT_PLOTS"):
        sys.meta_path.insert(0, _NoPlotsFinder())
        sys.modules[_RARELY_NEEDED] = _LazyModule(_RARELY_NEEDED)
    for name in sorted(_MODULES & sys.modules.keys()):
        _patch(sys.modules[name])


class _Finder:
    """A finder for the modules that REPLACED names. It finds them through the other finders, and
    wraps their loaders."""

    def find_spec(
        self, fullname: str, path: "object" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        """Return the spec of a module that REPLACED names, with a wrapped loader. None for other
        modules, or if no finder finds it."""
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


class _NoPlotsFinder:
    """A finder that makes numpy and matplotlib absent, which Flent can do without.

    It is for runs in the lab's guest, which draw nothing: loading these modules takes most of
    Flent's start-up time there.
    """

    def find_spec(
        self, fullname: str, path: "object" = None, target: "ModuleType | None" = None
    ) -> None:
        """Raise ModuleNotFoundError for numpy and matplotlib. Return None for all other modules,
        which other finders find."""
        if fullname in ("numpy", "matplotlib"):
            raise ModuleNotFoundError(
                f"{fullname} is switched off by FLENT_AQM_WITHOUT_PLOTS in the environment; a "
                "program that needs it runs as: env -u FLENT_AQM_WITHOUT_PLOTS PROGRAM",
                name=fullname)


# Only Flent's runner for D-ITG uses this module, which imports HTTP, TLS and e-mail.
_RARELY_NEEDED = "xmlrpc.client"


class _LazyModule(type(sys)):  # type: ignore[misc]
    """A module in place of xmlrpc.client: when one of its attributes is first used, the real module
    is loaded, takes its place in sys.modules, and gives the attribute. Names with "__" at the
    beginning load nothing: those that any module has, such as __name__, are this module's own, and
    others raise AttributeError."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # the import system reads these attributes
            raise AttributeError(f"{_RARELY_NEEDED!r} is loaded at the first use of a public name; "
                                 f"what stands for it has no {name!r}", name=name, obj=self)
        if sys.modules.get(_RARELY_NEEDED) is self:
            del sys.modules[_RARELY_NEEDED]
        return getattr(__import__(_RARELY_NEEDED, fromlist=[name]), name)


class _Loader:
    """A loader that loads a module with its own loader, then replaces in the module what REPLACED
    names (_patch()).

    stock: the module's own loader. All other attributes are those of this loader.
    """

    def __init__(self, stock: "Loader") -> None:
        self._stock = stock

    def __getattr__(self, name: str) -> object:
        return getattr(self._stock, name)

    def create_module(self, spec: "ModuleSpec") -> "ModuleType | None":
        return self._stock.create_module(spec)

    def exec_module(self, module: "ModuleType") -> None:
        # From here on the module looks as if it had its own loader only.
        module.__loader__ = self._stock
        if module.__spec__ is not None:
            module.__spec__.loader = self._stock
        self._stock.exec_module(module)
        _patch(module)


def _patch(module: "ModuleType") -> None:
    """Replace all attributes that REPLACED names in a module, each by what the named function
    returns for it. An attribute for which the function returns None stays. For an attribute that
    the module lacks, the function gets Python's built-in of that name. If an error occurs, print it
    to standard error and replace none."""
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
    except Exception as error:  # Flent must work in spite of any error of this package
        # An error of this package's own says itself how to mend it, such as a user's file that
        # fails. That module is imported already where such an error is raised.
        why = (f"{error}" if type(error).__module__ == "flent_aqm.base.errors" else
               f"{type(error).__name__}: {error} (to mend it, install flent-aqm again, with a "
               "Flent that it supports; to silence this, set FLENT_AQM_DISABLE=1)")
        print(f"flent-aqm: can't extend {module.__name__}, so Flent works without this part of "
              f"flent-aqm: {why}", file=sys.stderr)
        return
    for owner, last, new in changes:
        if new is not None:
            setattr(owner, last, new)


_finder = _Finder()

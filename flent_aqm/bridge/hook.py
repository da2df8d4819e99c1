# SPDX-License-Identifier: GPL-3.0-or-later
"""Start-up hook: lets this package into Flent, and only into Flent.

Every Python program of the environment runs install() at its start (flent_aqm.pth,
flent_aqm.start), so this module imports nothing but sys and os, which are loaded
by then; not even __future__ or typing. What it adds to an import is one look-up in a
dict of ten names. When Flent imports one of those modules, the patch function for
it runs right after the module's own code.

FLENT_AQM_DISABLE=1 in the environment leaves Flent as it is.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# Module of Flent -> module of ours, whose function patch(module) changes it.
PATCHES = {
    "flent": "flent_aqm.bridge.exit_status",
    "flent.aggregators": "flent_aqm.bridge.aggregators_patch",
    "flent.batch": "flent_aqm.bridge.batch_patch",
    "flent.combiners": "flent_aqm.bridge.combiners_patch",
    "flent.gui": "flent_aqm.bridge.gui_patch",
    "flent.metadata": "flent_aqm.bridge.metadata_patch",
    "flent.plotters": "flent_aqm.bridge.plotters_patch",
    "flent.resultset": "flent_aqm.bridge.resultset_patch",
    "flent.runners": "flent_aqm.bridge.runners_patch",
    "flent.settings": "flent_aqm.bridge.settings_patch",
    "flent.testenv": "flent_aqm.bridge.testenv_patch",
}


def install() -> None:
    """Put the finder in place, once. Flent modules that are there already are patched now."""
    if os.environ.get("FLENT_AQM_DISABLE", "0") not in ("", "0") or _finder in sys.meta_path:
        return
    sys.meta_path.insert(0, _finder)
    if os.environ.get("FLENT_AQM_WITHOUT_PLOTS"):
        sys.meta_path.insert(0, _Without())
        sys.modules[_RARELY_NEEDED] = _LazyModule(_RARELY_NEEDED)
    for name in PATCHES:
        if name in sys.modules:
            _patch(sys.modules[name])


class _Finder:
    """Finds the modules of PATCHES as the other finders do, and wraps their loader."""

    def find_spec(
        self, fullname: str, path: "object" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if fullname not in PATCHES:
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
    name = PATCHES[module.__name__]
    try:
        __import__(name)
        sys.modules[name].patch(module)
    except Exception as error:  # Flent must go on, whatever is wrong with us
        print(f"flent-aqm: {module.__name__} stays as it is: {type(error).__name__}: {error} "
              "(install flent-aqm again, or set FLENT_AQM_DISABLE=1)", file=sys.stderr)


_finder = _Finder()

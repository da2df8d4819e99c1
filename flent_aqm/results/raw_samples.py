# SPDX-License-Identifier: GPL-3.0-or-later
"""Raw samples of Flent's result sets, in the form that is cheap to keep and to hand on.

Flent wraps every sample in a dict class of its own when it loads a file, and flent-gui
pickles all results of a plot to another process: of some 3,000 samples a run each is
pickled and unpickled as an object. With 200 files open that takes 9 s for each plot. Here
the samples stay what the JSON parser gave, travel as one block of bytes, and are wrapped
when a plot of Flent's asks for them. Plots of ours take them plain, and what they make of
them travels along, so that it is made once and not for each plot.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from flent_aqm.results.data_file import DataFile

Plain = dict[str, list[dict[str, Any]]]

Made = TypeVar("Made")

_KEY = "_flent_aqm_raw"


class Packed:
    """Raw samples in one or two of three forms: bytes, plain dicts, Flent's dicts.

    Callers may change Flent's dicts, so these become the only copy, and cached results are
    dropped.
    """

    def __init__(self, plain: Plain | None) -> None:
        self.packed: bytes | None = None
        self.plain = plain
        self.wrapped: dict[str, list[Any]] | None = None
        self._made: dict[str, Any] = {}
        self._series: int | None = None

    def as_plain(self) -> Plain:
        """Return the samples as plain dicts; not to be changed."""
        if self.wrapped is not None:
            return {name: [dict(one) for one in samples]
                    for name, samples in self.wrapped.items()}
        if self.plain is None and self.packed is not None:
            self.plain = marshal.loads(self.packed)
        return self.plain or {}

    def as_bytes(self) -> bytes:
        """Return the samples packed."""
        if self.packed is None or self.wrapped is not None:
            self.packed = marshal.dumps(self.as_plain())
        return self.packed

    def as_wrapped(self, wrapper: Any) -> dict[str, list[Any]]:
        """Return the samples in Flent's dicts, the caller's to change."""
        if self.wrapped is None:
            self.wrapped = {name: [wrapper(one, sep="::") for one in samples]
                            for name, samples in self.as_plain().items()}
            self.plain = self.packed = None
        self._made = {}
        return self.wrapped

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """Return what make() gives, made of these samples when it is first asked for by this
        name."""
        if name not in self._made:
            self._made[name] = make()
        return cast(Made, self._made[name])

    def series(self) -> int:
        """Return how many series there are. Flent asks each file for it that it opens in a
        window."""
        if self.wrapped is not None:
            return len(self.wrapped)
        if self.plain is None and self._series is not None:
            return self._series
        return len(self.as_plain())

    def __getstate__(self) -> tuple[bytes, dict[str, Any], int]:
        return self.as_bytes(), self._made, self.series()

    def __setstate__(self, state: tuple[bytes, dict[str, Any], int]) -> None:
        self.packed, self._made, self._series = state
        self.plain = self.wrapped = None


def patch(module: Any) -> None:
    """Let flent.resultset's ResultSet keep its raw samples packed."""
    wrapper = module.SeparatorDict

    def get(self: Any) -> dict[str, list[Any]]:
        return packed_of(self).as_wrapped(wrapper)

    def set_wrapped(self: Any, wrapped: dict[str, list[Any]]) -> None:
        held = Packed(None)
        held.wrapped = wrapped
        self.__dict__[_KEY] = held

    def set_plain(self: Any, plain: Plain) -> None:
        self.__dict__[_KEY] = Packed(plain)

    # Flent's own methods use the first; who loads or measures uses the second.
    module.ResultSet._raw_values = property(get, set_wrapped)
    module.ResultSet.raw_values = property(get, set_plain)
    module.ResultSet.__len__ = lambda self: packed_of(self).series()


def packed_of(results: Any) -> Packed:
    """Return the samples of a result set."""
    held: Packed = results.__dict__[_KEY]
    return held


def data_file_of(results: Any) -> DataFile:
    """Return a result set as our metrics want it. Raises BadResult."""
    # Here, as it needs numpy, which a run in the guest lacks.
    from flent_aqm.results.data_file import as_data_file

    path = Path(results._loaded_from or results.meta("DATA_FILENAME"))
    return as_data_file({"version": 4, "metadata": dict(results.meta()),
                         "raw_values": packed_of(results).as_plain()}, path)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold a data file's results as Flent does, but convert samples only if Flent needs them.

Flent makes an object of its own of each sample. flent-gui opens files in other processes, and its
window doesn't use samples, but would spend most of its time on receiving them. Therefore a series
is sent between processes as one piece of bytes.
"""

from __future__ import annotations

import marshal
from typing import Any

from flent.resultset import ResultSet, SeparatorDict

Samples = dict[str, list[dict[str, Any]]]


class LoadedResults(ResultSet):  # type: ignore[misc]
    """Flent's result set of a file in Flent's newest format. The samples, which keep() stores, are
    kept as plain dicts, or as bytes after unpickling, until Flent accesses them.

    Attributes:
        _plain: name of a series -> its samples as plain dicts, or as bytes after unpickling. None
            before keep(), and once Flent has accessed samples.
        _flents: name of a series -> its samples as Flent's objects, valid while _plain is None.
    """

    _plain: dict[str, list[dict[str, Any]] | bytes] | None
    _flents: dict[str, Any]

    def keep(self, samples: Samples) -> None:
        """Store the file's samples in place of those stored before. The lists aren't copied, so the
        caller must not change them afterwards.

        samples: name of a series -> its samples as plain dicts.
        """
        self._plain = dict(samples)

    def plain_samples(self) -> Samples:
        """Return name of a series -> its samples as plain dicts, which must not be changed."""
        if self._plain is None:
            return {name: list(map(dict, samples)) for name, samples in self._flents.items()}
        samples = {name: marshal.loads(series) if isinstance(series, bytes) else series
                   for name, series in self._plain.items()}
        self.keep(samples)
        return samples

    def __len__(self) -> int:
        return len(self._flents if self._plain is None else self._plain)

    # Used by Flent's own methods.
    @property
    def _raw_values(self) -> dict[str, Any]:
        """Name of a series -> its samples as Flent's objects, converted at the first access."""
        if self._plain is not None:
            self._raw_values = {
                name: [SeparatorDict(sample, sep="::") for sample in samples]
                for name, samples in self.plain_samples().items()}
        return self._flents

    @_raw_values.setter
    def _raw_values(self, values: dict[str, Any]) -> None:
        self._plain, self._flents = None, values

    def __getstate__(self) -> dict[str, Any]:
        packed = self._plain and {
            name: series if isinstance(series, bytes) else marshal.dumps(series)
            for name, series in self._plain.items()}
        return {**self.__dict__, "_plain": packed}

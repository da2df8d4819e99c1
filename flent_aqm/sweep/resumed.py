# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sweep that goes on finds in its folder: runs that are done, and files that look so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.waiting import told
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.reading.limits import OWN

# Behind the name of a data file that can't be read; no command takes it for one any more.
SET_ASIDE = ".damaged"


def set_aside_damaged(planned: Iterable[Path]) -> Iterator[str]:
    """Give each planned file that is there and can't be read another name, so that its run is
    repeated; yields a line for each. Raises ConfigError."""
    there = [path for path in planned if path.exists()]
    for path in told(there, len(there), "reading data files"):
        try:
            read_data_file(path, OWN)
        except BadResult as found:
            aside = path.with_name(path.name + SET_ASIDE)
            try:
                path.rename(aside)
            except OSError as error:
                raise ConfigError(f"{found}; to repeat its run, remove it: it can't be renamed: "
                                  f"{error.strerror}") from None
            yield f"{found}: now {aside.name}, and its run is repeated"

# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sweep that goes on finds in its folder: its time, runs that are done, and files that look
so."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.waiting import with_progress
from flent_aqm.results.data_file import SUFFIX, read_data_file
from flent_aqm.results.reading.limits import OWN

# Behind the name of a data file that can't be read; no command takes it for one any more.
SET_ASIDE = ".damaged"
_TIME_IN_NAME = re.compile(r"\d{4}-\d\d-\d\dT\d{6}")


class Resumed:
    """The folder of --batch-resume. time: the batch's, which names of files have, in UTC without
    saying so, as Flent's settings; None where nothing tells it. uuid: the batch's, or a new one."""

    def __init__(self, folder: str) -> None:
        """Raise ConfigError for one that isn't there."""
        self._folder = Path(folder)
        if not self._folder.is_dir():
            raise ConfigError(f"Batch resume directory {folder} doesn't exist!")
        self.time: datetime | None = None
        self.uuid = str(uuid.uuid4())
        for file in sorted(self._folder.rglob(f"*{SUFFIX}")):
            with contextlib.suppress(BadResult, KeyError, TypeError, ValueError):
                metadata = read_data_file(file, OWN).metadata
                self.time = datetime.strptime(metadata["BATCH_TIME"], "%Y-%m-%dT%H:%M:%S.%fZ")
                self.uuid = str(metadata["BATCH_UUID"])
                return
        # Before the first run is done, the names of logs and folder tell it.
        names = [*(file.name for file in sorted(self._folder.rglob("*.log"))),
                 self._folder.resolve().name]
        for match in filter(None, map(_TIME_IN_NAME.search, names)):
            with contextlib.suppress(ValueError):  # digits that are no time
                local = datetime.strptime(match.group(), "%Y-%m-%dT%H%M%S")
                self.time = local.astimezone(UTC).replace(tzinfo=None)
                return

    def refuse_to_leave(self, planned: Iterable[Path]) -> None:
        """Raise ConfigError for a data file that would not be in the folder."""
        for path in planned:
            if not path.resolve().is_relative_to(self._folder.resolve()):
                raise ConfigError(f"--batch-resume {self._folder}: this batch writes to "
                                  f"{path.parent}; leave the option out")


def set_aside_damaged(planned: Iterable[Path]) -> Iterator[str]:
    """Give each planned file that is there and can't be read another name, so that its run is
    repeated; yields a line for each. Raises ConfigError."""
    there = [path for path in planned if path.exists()]
    for path in with_progress(there, len(there), "reading data files"):
        try:
            read_data_file(path, OWN)
        except BadResult as fault:
            aside = path.with_name(path.name + SET_ASIDE)
            try:
                path.rename(aside)
            except OSError as error:
                raise ConfigError(f"{fault}; to repeat its run, remove it: it can't be renamed: "
                                  f"{error.strerror}") from None
            yield f"{fault}: now {aside.name}, and its run is repeated"

# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes which settings Flent writes to data files, and which it takes over from them.

Flent makes a setting of every upper-case key of a data file's metadata. This is wanted for DELAY,
which stock Flent doesn't store: a file that was measured with `-d 1` otherwise loads with the
default of 5 s, and plots cut off a part of the data. It is not wanted for settings that name the
file to be written: a file from somebody else could name the file that the next plot overwrites.
results/reading/for_flent.py leaves those out, and refuses settings that would make Flent read other
files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from flent_aqm.base import environment
from flent_aqm.base.json_text import measured_json_text

ALSO_RECORDED = ("DELAY", "IRTT_INTERVAL")


def recorded_settings(stock: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the settings that data files record: Flent's, DELAY and IRTT_INTERVAL, in
    this order, each once.

    stock: the names of Flent's.
    """
    return tuple(dict.fromkeys((*stock, *ALSO_RECORDED)))


def dump_dir(stock: Callable[[Any, str], None]) -> Callable[[Any, str], None] | None:
    """Return a replacement for the method that writes a data file. None, which keeps Flent's, if
    this Flent doesn't measure a run on a testbed.

    The replacement takes the folder, and writes JSON under Flent's file name without ".gz". The
    JSON is neither indented nor compressed, which would take four times as long: the sweep
    compresses the file later. It raises BadResult for a number that is not finite, OSError if the
    file can't be written.

    stock: Flent's method.
    """
    @wraps(stock)
    def dump_dir(self: Any, dirname: str) -> None:
        self._dump_file = os.path.join(dirname, self._gen_filename().removesuffix(".gz"))
        with open(self._dump_file, "w") as file:
            file.write(measured_json_text(self.serialise(), sort_keys=True))

    return dump_dir if os.environ.get(environment.CELL) else None


def load_file(stock: Callable[..., Any]) -> Any:
    """Return a replacement for the class method that reads a data file and returns Flent's
    ResultSet. The replacement reads and checks the file with read_for_flent(), which leaves out
    metadata that would become settings and shortens texts, and raises BadResult if it can't be read
    or Flent can't use it. It also records, for the exit status of `flent`, that this process shows
    data files.

    stock: Flent's class method.
    """
    module: Any = sys.modules[stock.__module__]

    def load_file(cls: Any, filename: str, absolute: bool = False) -> Any:
        # Imported late, because the lab's guest loads no files and has no numpy.
        from flent.settings import new as new_settings

        from flent_aqm.base.errors import BadResult, cause_of
        from flent_aqm.bridge.exit_status import looking_at_files
        from flent_aqm.results.reading.for_flent import read_for_flent
        from flent_aqm.results.result_set import copy_before_flent, keep_old

        looking_at_files()
        path = Path(filename)
        suffix = "".join(path.suffixes[-2:]) if path.suffix in (".gz", ".bz2") else path.suffix
        whole = read_for_flent(path, module.RECORDED_SETTINGS, new_settings())
        old = copy_before_flent(whole, module.FILEFORMAT_VERSION)
        try:
            results = _make_result_set(cls, whole, absolute, suffix)
        except Exception as error:  # Flent may raise any error for a file from somebody else
            raise BadResult(f"{filename}: Flent can't load this file: {cause_of(error)[:200]}; "
                            "expected a data file as Flent writes it") from error
        results._loaded_from = os.path.realpath(filename)
        keep_old(results, old)
        return results

    return classmethod(load_file)


def _make_result_set(cls: Any, whole: dict[str, Any], absolute: bool, suffix: str) -> Any:
    """Return the file's content as a ResultSet of Flent: a LoadedResults for Flent's present
    format, an object of `cls` for older ones.

    Flent changes files of older formats sample by sample. For the present format, Flent gets only
    the earliest sample, from which it guesses a time zone, and the other samples are added
    afterwards. Any exception may be raised if the content is odd.

    Args:
        cls: Flent's class.
        whole: content of the file.
        absolute: True if times stay epoch times, as in Flent.
        suffix: suffix of the file's name, such as ".flent.gz".
    """
    from flent_aqm.results.loaded import LoadedResults

    if whole.get("version") != sys.modules[cls.__module__].FILEFORMAT_VERSION:
        return cls.unserialise(whole, absolute, SUFFIX=suffix)
    samples = whole["raw_values"]
    times = [sample["t"] for series in samples.values() for sample in series if "t" in sample]
    results = LoadedResults.unserialise(
        {**whole, "raw_values": {"": [{"t": min(times)}] if times else []}}, absolute,
        SUFFIX=suffix)
    results.keep(samples)
    return results

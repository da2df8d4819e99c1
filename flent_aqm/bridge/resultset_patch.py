# SPDX-License-Identifier: GPL-3.0-or-later
"""What Flent writes into data files, and what it takes over from them.

Flent makes every upper-case key of a data file's metadata a setting. For DELAY, which
stock Flent doesn't store, that is what is wanted: a file that was measured with
`-d 1` otherwise loads with the default of 5 s, and plots cut off what was measured.
For settings that say which file is written, it is not: a file from somebody else
could name the file that the next plot overwrites. untrusted.py leaves those out, and refuses
what would lead Flent to other files.

A file's name has the time in it, by which no two are the same. In the lab they are: its clock
starts at the same time in each run. There a name that is taken gets a number.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from flent_aqm.results import raw_samples

ALSO_RECORDED = ("DELAY", "IRTT_INTERVAL")


def patch(module: Any) -> None:
    """Patch flent.resultset."""
    raw_samples.patch(module)
    module.RECORDED_SETTINGS += tuple(
        key for key in ALSO_RECORDED if key not in module.RECORDED_SETTINGS)

    stock_new = module.new

    def new(settings: Any) -> Any:
        results = stock_new(settings)
        if os.environ.get("FLENT_AQM_IN_LAB") and not os.environ.get("FLENT_AQM_CELL"):
            name = _free_name(settings.DATA_DIR or "", results.dump_filename, results.SUFFIX)
            results._filename = results.metadata["DATA_FILENAME"] = name
        return results

    module.new = new

    def load_file(cls: Any, filename: str, absolute: bool = False) -> Any:
        # Late: the lab's guest loads no files, and has no numpy.
        from flent.settings import new as new_settings

        from flent_aqm.base.errors import BadResult
        from flent_aqm.bridge.exit_status import looking_at_files, reported
        from flent_aqm.bridge.untrusted import read_for_flent

        looking_at_files()
        path = Path(filename)
        suffix = "".join(path.suffixes[-2:]) if path.suffix in (".gz", ".bz2") else path.suffix
        with reported():
            whole = read_for_flent(path, module.RECORDED_SETTINGS, new_settings())
            try:
                results = cls.unserialise(whole, absolute, SUFFIX=suffix)
            except Exception as error:  # whatever Flent stumbles over in a stranger's file
                raise BadResult(f"{filename}: Flent can't use it ({type(error).__name__}: "
                                f"{str(error)[:80]})") from error
        results._loaded_from = os.path.realpath(filename)
        return results

    module.ResultSet.load_file = classmethod(load_file)


def _free_name(folder: str, name: str, suffix: str) -> str:
    """The name, or one with a number that is not taken in the folder."""
    stem, number = name.removesuffix(suffix), 1
    while os.path.lexists(os.path.join(folder, name)):
        number += 1
        name = f"{stem}-{number}{suffix}"
    return name

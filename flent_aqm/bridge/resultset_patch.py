# SPDX-License-Identifier: GPL-3.0-or-later
"""What Flent writes into data files, and what it takes over from them.

Flent makes every upper-case key of a data file's metadata a setting. For DELAY, which
stock Flent doesn't store, that is what is wanted: a file that was measured with
`-d 1` otherwise loads with the default of 5 s, and plots cut off what was measured.
For settings that say which file is written, it is not: a file from somebody else
could name the file that the next plot overwrites. untrusted.py leaves those out, and refuses
what would lead Flent to other files.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from flent_aqm.base import environment
from flent_aqm.results import raw_samples

ALSO_RECORDED = ("DELAY", "IRTT_INTERVAL")


def patch(module: Any) -> None:
    """Patch flent.resultset."""
    raw_samples.patch(module)
    if os.environ.get(environment.CELL):
        # A sweep reads the file once and writes it anew (sweep/finish.py). With indentation JSON
        # is made by Python alone, four times slower, and packed as small as can be.
        module.JSON_INDENT = None
        module.gzip = _Quick
    module.RECORDED_SETTINGS += tuple(
        key for key in ALSO_RECORDED if key not in module.RECORDED_SETTINGS)

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


class _Quick:
    """In the place of the module gzip."""

    @staticmethod
    def open(filename: str, mode: str) -> Any:
        """Open a file to write, which is packed a little."""
        import gzip

        return gzip.open(filename, mode, compresslevel=1)

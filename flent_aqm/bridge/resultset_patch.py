# SPDX-License-Identifier: GPL-3.0-or-later
"""What Flent writes into data files, and what it takes over from them.

Flent makes every upper-case key of a data file's metadata a setting. For DELAY, which
stock Flent doesn't store, that is what is wanted: a file that was measured with
`-d 1` otherwise loads with the default of 5 s, and plots cut off what was measured.
For settings that say which file is written, it is not: a file from somebody else
could name the file that the next plot overwrites.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from flent_aqm.bridge import raw_samples

ALSO_RECORDED = ("DELAY", "IRTT_INTERVAL")

# Options that name a file or folder to write, or one whose content Flent acts on.
NEVER_FROM_DATA = (
    "BATCH_FILES", "BATCH_RESUME", "CACHE_FILE", "COMBINE_SAVE_DIR", "DATA_DIR", "LOG_FILE",
    "OUTPUT", "RCFILE",
)


def patch(module: Any) -> None:
    """Patch flent.resultset."""
    raw_samples.patch(module)
    module.RECORDED_SETTINGS += tuple(
        key for key in ALSO_RECORDED if key not in module.RECORDED_SETTINGS)
    stock = module.ResultSet.load_file.__func__

    @wraps(stock)
    def load_file(cls: Any, filename: str, absolute: bool = False) -> Any:
        results = stock(cls, filename, absolute)
        for key in NEVER_FROM_DATA:
            results.metadata.pop(key, None)
        return results

    module.ResultSet.load_file = classmethod(load_file)

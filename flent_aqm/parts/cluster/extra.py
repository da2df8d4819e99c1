# SPDX-License-Identifier: GPL-3.0-or-later
"""Import Dask's package distributed, which is an optional dependency."""

from __future__ import annotations

from types import ModuleType

from flent_aqm.base.errors import ToolMissing


def load_distributed() -> ModuleType:
    """Import and return Dask's package distributed. Raises ToolMissing if it isn't installed, or
    can't be imported because something that it needs is missing or doesn't fit."""
    try:
        import distributed
        import distributed.client
    except ImportError as error:
        raise ToolMissing("scheduler: the Python package distributed can't be imported "
                          f"({error}); run: pip install 'flent-aqm[cluster]'") from None
    module: ModuleType = distributed
    return module

# SPDX-License-Identifier: GPL-3.0-or-later
"""Random content for bulk transfers.

It is the same in every process, and no link can compress it.
"""

from __future__ import annotations

import random

FILLER = random.Random(0).randbytes(1 << 16)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Content that means nothing, the same in every process, which no link can compress."""

from __future__ import annotations

import random

FILLER = random.Random(0).randbytes(1 << 16)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Licences for published data: SPDX identifier -> title and address of the text."""

from __future__ import annotations

LICENCES = {
    "CC-BY-4.0": ("Creative Commons Attribution 4.0 International",
                  "https://creativecommons.org/licenses/by/4.0/legalcode"),
    "CC0-1.0": ("Creative Commons Zero 1.0 Universal",
                "https://creativecommons.org/publicdomain/zero/1.0/legalcode"),
}

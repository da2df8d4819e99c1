# SPDX-License-Identifier: GPL-3.0-or-later
"""Adaptive video as cross traffic."""

from __future__ import annotations

from flent_aqm.tools.shared import FETCH
from flent_aqm.tools.tool import Cross, Tool

TOOL = Tool("video", FETCH, has_test=False, cross=Cross("video", ("download",), "aqm_video"))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Part that scores speed tests on lines whose packets are all recorded: docs/scorecard.md."""

from flent_aqm.base.part import Command, Part

PART = Part(commands={"scorecard": Command(
    "flent_aqm.parts.scorecard.command", "score speed tests on lines that are known to the packet",
    "flent-aqm scorecard ndt7")})

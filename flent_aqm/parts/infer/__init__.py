# SPDX-License-Identifier: GPL-3.0-or-later
"""Which queue is behind an NDT7 test: docs/infer.md."""

from flent_aqm.base.part import Command, Part

PART = Part(commands={"infer": Command(
    "flent_aqm.parts.infer.command", "say which queue NDT7 tests went through",
    "flent-aqm infer results/")})

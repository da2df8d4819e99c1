# SPDX-License-Identifier: GPL-3.0-or-later
"""Part that infers the kind of queue that an NDT7 download went through: docs/infer.md."""

from flent_aqm.base.part import Command, Part

PART = Part(commands={"infer": Command(
    "flent_aqm.parts.infer.command", "say which queue NDT7 tests went through",
    "flent-aqm infer results/")})

# SPDX-License-Identifier: GPL-3.0-or-later
"""The part that explains a probe of a run by the packets that passed the router: docs/why.md."""

from flent_aqm.base.part import Command, Part

PART = Part(commands={"why": Command(
    "flent_aqm.parts.why.command", "explain a glitch: which packets, which decision of the queue",
    "flent-aqm why results/run.flent.gz")})

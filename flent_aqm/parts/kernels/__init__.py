# SPDX-License-Identifier: GPL-3.0-or-later
"""Part for kernels that the user builds, and for verdicts on a changed kernel:
docs/own-queue.md."""

from flent_aqm.base.part import Command, Part

PART = Part(commands={
    "kernel": Command(
        "flent_aqm.parts.kernels.command", "list, build or remove your own kernels for the lab",
        "flent-aqm kernel build mine --qdisc sch_foo.c"),
    "verdict": Command(
        "flent_aqm.parts.kernels.verdict.command",
        "say whether a change made runs better, worse or neither",
        "flent-aqm verdict --base results/base --test results/test -o verdict.html")})

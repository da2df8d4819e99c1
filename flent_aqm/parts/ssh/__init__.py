# SPDX-License-Identifier: GPL-3.0-or-later
"""Part for testbeds whose router and server are reached by ssh: docs/routers.md."""

from flent_aqm.base.part import Command, Part

PART = Part(
    commands={"restore": Command(
        "flent_aqm.parts.ssh.command", "restore a router that an aborted sweep has left changed",
        "flent-aqm restore --testbed ssh://root@192.168.1.1"), "try-router": Command(
        "flent_aqm.parts.ssh.try_router", "try the commands for routers without a router",
        "flent-aqm try-router -- flent-aqm doctor --testbed ssh://root@192.168.1.1 "
        "--server 10.0.0.2")},
    testbeds={"ssh": "flent_aqm.parts.ssh.testbed:SshTestbed"},
    doctor="flent_aqm.parts.ssh.doctor:report")

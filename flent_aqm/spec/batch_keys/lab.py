# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines the keys of the testbed: virtual lab, namespaces or ssh, kernel, seed, devices."""

from __future__ import annotations

from dataclasses import dataclass

from flent_aqm.spec.kernel import STOCK, parse_kernel
from flent_aqm.spec.key import Record, key
from flent_aqm.spec.readers import device, seed, server, testbed
from flent_aqm.spec.testbeds import VIRTUAL


@dataclass(frozen=True)
class TestbedSettings(Record):
    """Settings of a run's testbed: the virtual lab, network namespaces, or a router behind ssh.

    Attributes:
        testbed: "virtual", "netns" or ssh://[user@]router[:port].
        kernel: name of the virtual lab's kernel, "stock" for the one that set-up builds.
        seed: seed of all random numbers in the lab, None until it is computed.
        server_testbed: with a router behind ssh, ssh://[user@]server[:port] of the machine on which
            flent-aqm starts the servers and adds the base delay. "" if the user has started the
            servers, and on other testbeds.
        dev_down, dev_up: names of the devices of a router behind ssh through which the download and
            the upload leave. "" if flent-aqm looks for them.
    """

    heading = "Where"

    testbed: str = key(
        VIRTUAL, "`virtual`, `netns`, `ssh://[user@]router[:port]`",
        "where runs are made: the virtual lab, namespaces of this machine's kernel, or a "
        "router reached by ssh", testbed,
        format=str)
    kernel: str = key(
        STOCK, "names of `flent-aqm kernel list`",
        "kernel of the lab; with several kernels, each cell runs once on each", parse_kernel)
    seed: int | None = key(
        None, "below 10^18", "seed of all random numbers in the lab", seed,
        usual="computed from test, settings and repetition")
    server_testbed: str = key(
        "", "`ssh://[user@]server[:port]`",
        "with a router behind ssh: machine on which to start the servers and add the base "
        "delay", server)
    dev_down: str = key(
        "", "a device", "with a router behind ssh: its device through which the download "
                        "leaves", device,
        usual="the one towards the client")
    dev_up: str = key(
        "", "a device", "with a router behind ssh: its device through which the upload "
                        "leaves", device,
        usual="the one towards the server")

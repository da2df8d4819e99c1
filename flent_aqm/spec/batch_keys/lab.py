# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of the testbed."""

from __future__ import annotations

from dataclasses import dataclass

from flent_aqm.spec.kernel import STOCK, parse_kernel
from flent_aqm.spec.key import Record, key
from flent_aqm.spec.readers import device, seed, server, testbed


@dataclass(frozen=True)
class Lab(Record):
    """The testbed of a run: the virtual lab, network namespaces, or a router behind ssh."""

    heading = "Where"

    testbed: str = key(
        "virtual", "`virtual`, `netns`, `ssh://[user@]router[:port]`",
        "lab, namespaces of this machine's kernel, or a router behind ssh", testbed,
        format=str)
    kernel: str = key(
        STOCK, "names of `flent-aqm kernel list`",
        "the lab's kernel; with several, each cell runs once per kernel", parse_kernel)
    seed: int | None = key(
        None, "below 10^18", "of the lab's randomness", seed,
        usual="computed from test, settings and repetition")
    server_testbed: str = key(
        "", "`ssh://[user@]server[:port]`",
        "behind ssh: start the servers there, and add the base delay", server)
    dev_down: str = key(
        "", "a device", "behind ssh: the download leaves through it", device,
        usual="the one towards the client")
    dev_up: str = key(
        "", "a device", "behind ssh: the upload leaves through it", device,
        usual="the one towards the server")

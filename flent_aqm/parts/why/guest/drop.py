# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes this network namespace drop one packet as it arrives.

    drop.py DEVICE NS AFTER_S PROTOCOL WORD…

NS: when the packet arrives, in ns since the epoch. AFTER_S: how long the filter stays after that.
PROTOCOL: ip or ipv6. WORDs: the selectors of tc's filter u32. The filter is there only around that
time, because the queues are read back before and after the test and have to be those that were
requested.
"""

import subprocess
import sys
import time

# Time between the filter and the packet, in s. Odd, so that it hardly ever is a probe's time.
BEFORE_S = 0.0234567
# The lab's kernel has no action `drop`, but a device that is down takes no packet.
NOWHERE = "flent-nowhere"


def main(device: str, at_ns: int, after_s: float, protocol: str, words: list[str]) -> None:
    """Wait until 23 ms (BEFORE_S) before the packet arrives, add a filter that drops it, and remove
    the filter `after_s` after its arrival. Returns then. Raises SystemExit if a command fails, such
    as if the device already has an ingress qdisc.

    Args:
        device: name of the network device at which the packet arrives.
        at_ns: when the packet arrives, in ns since the epoch.
        after_s: how long the filter stays after that.
        protocol: `ip` or `ipv6`.
        words: selectors of tc's filter u32, which only that packet may match.
    """
    time.sleep(max(0.0, (at_ns - time.time_ns()) / 1e9 - BEFORE_S))
    _run("ip", "link", "add", NOWHERE, "type", "ifb")
    _run("tc", "qdisc", "add", "dev", device, "ingress")
    _run("tc", "filter", "add", "dev", device, "parent", "ffff:", "protocol", protocol, "u32",
         *words, "action", "mirred", "egress", "redirect", "dev", NOWHERE)
    time.sleep(max(0.0, (at_ns - time.time_ns()) / 1e9 + after_s))
    _run("tc", "qdisc", "del", "dev", device, "ingress")
    _run("ip", "link", "del", NOWHERE)


def _run(*words: str) -> None:
    """Run a command. Raises SystemExit, with its first words, if it fails. It has printed why."""
    if subprocess.run(words, check=False).returncode:
        sys.exit(f"({' '.join(words[:5])} failed)")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4], sys.argv[5:])

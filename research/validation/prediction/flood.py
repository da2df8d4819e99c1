# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure how many packets of 64 bytes a second the router forwards, then run a command.

    python -m research.validation.prediction.flood SERVER FILE TIMES COMMAND...

FILE gets a line for each time.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from flent_aqm.base.shell import run

# With headers and checksum, 64 bytes on the link.
_PAYLOAD_BYTES = 18
_LENGTH_S = 3


def main() -> None:
    """Flood the router as often as the command line's SERVER FILE TIMES COMMAND... says, for 3 s
    each, with packets to the iperf3 at SERVER. Write the packets per second that the server
    received to FILE, a line for each time. Then replace this process by COMMAND. Raises
    CommandFailed if iperf3 fails, ToolMissing if it isn't there, OSError if FILE can't be written
    or COMMAND can't be started."""
    server, file, times, *command = sys.argv[1:]
    with Path(file).open("w", encoding="utf-8") as output:
        for _ in range(int(times)):
            # More than any such router can forward.
            words = ["iperf3", "--json", "--udp", "--bandwidth", "0", "--length",
                     str(_PAYLOAD_BYTES), "--time", str(_LENGTH_S), "--client", server]
            udp = json.loads(run(words))["end"]["sum"]
            print(f"{(udp['packets'] - udp['lost_packets']) / udp['seconds']:.0f}", file=output)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()

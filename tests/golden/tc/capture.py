# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures what read-backs look like with another tc: capture.py TC [tc_json=no].

Run in the lab: flent-aqm lab -- python tests/golden/tc/capture.py /path/to/tc >FILE. Prints for
each of settings.json a line `# ` with the settings, then the read-back after a second of
load; `# ` with a second line `refused: …` where that tc can't do it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from flent_aqm.router.hook import apply_command, read_back_command
from flent_aqm.spec.scenario import Scenario

RATES = {"rate_down_mbps": 100.7, "rate_up_mbps": 20}


def main(tc: str, *more: str) -> None:
    """Go through all settings with this tc in the place of the system's."""
    folder = Path("/tmp/tc")
    folder.mkdir()
    (folder / "tc").symlink_to(tc)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    settings = json.loads(Path(__file__).with_name("settings.json").read_text())
    for each in settings:
        scenario = Scenario.from_settings({**each, **RATES})
        print(f"# {json.dumps(each)}", flush=True)
        done = subprocess.run(apply_command(scenario), capture_output=True, text=True,
                              check=False)
        if done.returncode:
            print(f"refused: {' '.join(done.stderr.split())}", flush=True)
            continue
        subprocess.run(["iperf3", "-c", "server", "-t", "1", "-P", "4"], check=True,
                       stdout=subprocess.DEVNULL)
        time.sleep(2)  # until the server and its packets are done with it
        subprocess.run([*read_back_command(scenario), *more], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

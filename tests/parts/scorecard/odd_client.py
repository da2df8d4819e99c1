#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A client that does something wrong: odd_client.py HOW HOST PORT."""

import json
import sys
import time
from pathlib import Path
from subprocess import run

how, host, port = sys.argv[1:]
if how == "never-ends":
    while True:
        time.sleep(1)
if how == "spins":
    while True:
        time.monotonic()
if how == "fails":
    sys.exit("the moon is in the way")
tiny = Path(__file__).parents[2] / "own_code" / "tiny_speedtest.py"
numbers = json.loads(run([tiny, host, port], capture_output=True, check=True).stdout)
if how == "kilobits":
    numbers["down"]["mbps"] *= 1000
elif how == "negative":
    numbers["down"]["mbps"] *= -1
elif how == "words":
    numbers["down"]["mbps"] = "fast"
elif how == "table":
    print("down 9.4 Mbit/s")
# Says nothing, where the queue is long.
if how not in ("table", "nothing") and not (how == "sometimes" and numbers["up"]["ms"] > 100):
    print(json.dumps(numbers))

# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sweep is told before it starts: check.py KEYS, the batch's keys as JSON.

For the tests, inside the guest: prints the error that ends the sweep, or `accepted`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from flent_aqm.base.errors import AqmError
from flent_aqm.lab.table import open_testbed
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.scenario import Scenario


def main(text: str) -> None:
    """Check one run of each AQM of the study on the testbed."""
    keys = json.loads(text)
    hosts = [keys.pop("hosts", "server")]
    test_name = keys.pop("test_name", "iperf3_upload")
    try:
        cells = [Cell(aqm, Path(), test_name, Scenario.from_settings({"aqm": aqm, **keys}),
                      {"HOSTS": hosts}, {}, {}, 1.0)
                 for aqm in ("no_aqm", "codel", "fq_codel", "sfq")]
        testbed = open_testbed(cells[0].scenario.lab.testbed)
        try:
            testbed.check(cells)
            print("accepted")
        finally:
            testbed.clean_up()
    except AqmError as error:
        print(error)


if __name__ == "__main__":
    main(sys.argv[1])

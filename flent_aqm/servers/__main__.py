# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m flent_aqm.servers`: starts the server with as few imports as possible."""

from __future__ import annotations

import argparse
import sys

from flent_aqm.base.errors import AqmError
from flent_aqm.servers.command import add_arguments, main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m flent_aqm.servers")
    add_arguments(parser)
    try:
        sys.exit(main(parser.parse_args()))
    except AqmError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)

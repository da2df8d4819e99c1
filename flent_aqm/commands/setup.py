# SPDX-License-Identifier: GPL-3.0-or-later
"""flent-aqm setup: builds and fetches what the packages of the system lack."""

from __future__ import annotations

import argparse

from flent_aqm.base.paths import cache_to_write
from flent_aqm.setup.apt import DebianArchive
from flent_aqm.setup.install import locked
from flent_aqm.setup.iproute2 import new_tc_is_there, set_up_new_tc
from flent_aqm.setup.irtt import irtt_is_there, set_up_irtt
from flent_aqm.setup.kernel.build import kernel_is_there, set_up_kernel
from flent_aqm.setup.ndt7_client import ndt7_client_is_there, set_up_ndt7_client
from flent_aqm.setup.progress import Progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--update", action="store_true",
                        help="look for a newer kernel source, irtt and tc than those in use")


def main(args: argparse.Namespace) -> int:
    """Build and fetch what is missing. Exit status 0. Raises AqmError."""
    # Looked at without the lock, for users who can write no cache and needn't.
    there = (irtt_is_there, kernel_is_there, ndt7_client_is_there, new_tc_is_there)
    if not args.update and all(is_there() for is_there in there):
        return 0
    cache = cache_to_write()
    archive = DebianArchive(cache)
    progress = Progress("set-up")
    with locked(cache):
        set_up_irtt(cache, archive, update=args.update)
        set_up_new_tc(cache, archive, update=args.update)
        set_up_kernel(cache, archive, update=args.update)
        set_up_ndt7_client(cache)
    progress.finish("complete")
    return 0

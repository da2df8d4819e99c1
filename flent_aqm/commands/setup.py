# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm setup`: builds the lab's kernel, and gets tools that the system's packages lack."""

from __future__ import annotations

import argparse
import contextlib
from functools import partial
from pathlib import Path

from flent_aqm.base.errors import AqmError
from flent_aqm.base.paths import cache_to_write
from flent_aqm.setup.apt import DebianArchive
from flent_aqm.setup.beside import beside
from flent_aqm.setup.install import locked
from flent_aqm.setup.iproute2 import find_new_tc, new_tc_is_there, set_up_new_tc
from flent_aqm.setup.irtt import irtt_is_there, set_up_irtt
from flent_aqm.setup.kernel.build import kernel_is_there, set_up_kernel
from flent_aqm.setup.ndt7_client import ndt7_client_is_there, set_up_ndt7_client
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.speedtests import check_names, set_up_speedtests
from flent_aqm.setup.tc_plugin import tc_headers
from flent_aqm.tools.table import OPTIONAL


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `flent-aqm setup`."""
    parser.add_argument("--update", action="store_true",
                        help="install a newer kernel source, irtt and tc, if there are any")
    parser.add_argument("--speedtests", metavar="NAME", nargs="*",
                        help="also install speed tests of other projects, all of them or those "
                             "named: "
                        f"{', '.join(OPTIONAL)}; those that can't be installed are skipped")


def _fetch_tc_headers(cache: Path) -> None:
    """Get the headers for plugins of tc, which `flent-aqm kernel build --tc` needs, while there is
    a network. Does nothing if no new tc is installed. AqmErrors are ignored, because nothing else
    needs the headers and not every mirror has sources. The caller holds the cache's lock.

    Args:
        cache: folder of the cache.
    """
    tc = find_new_tc()
    if tc is not None:
        with contextlib.suppress(AqmError):
            tc_headers(cache, tc.resolve())


def main(args: argparse.Namespace) -> int:
    """Build and get what is missing of the lab's kernel, irtt, the NDT7 client and a new tc. With
    --update, get newer versions, too, and with --speedtests the speed tests. Another set-up is
    waited for. Return 1 if a speed test that the user named can't be installed, else 0. Raises
    ConfigError if an option is wrong, another AqmError if anything but a speed test or the headers
    for plugins of tc can't be downloaded or built."""
    if args.speedtests is not None:
        check_names(args.speedtests)
    # Checked without the lock, so that users who can't write the cache need not do so.
    there = (irtt_is_there, kernel_is_there, ndt7_client_is_there, new_tc_is_there)
    if not args.update and args.speedtests is None and all(is_there() for is_there in there):
        return 0
    cache = cache_to_write()
    archive = DebianArchive(cache)
    progress = Progress("set-up")
    with locked(cache):
        with beside(partial(set_up_ndt7_client, cache)):
            set_up_irtt(cache, archive, update=args.update)
            set_up_new_tc(cache, archive, update=args.update)
            _fetch_tc_headers(cache)
            set_up_kernel(cache, archive, update=args.update)
        without = set_up_speedtests(args.speedtests, cache) if args.speedtests is not None else []
    progress.finish("complete" if not without else f"complete, except {', '.join(without)}")
    # Not all speed tests are available everywhere. It is an error only for those that were named.
    return 1 if without and args.speedtests else 0

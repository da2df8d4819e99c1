# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm kernel`: list, build and remove the lab kernels that the user names."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path

from flent_aqm.base.errors import AqmError, ConfigError, ToolMissing
from flent_aqm.base.paths import cache_to_write
from flent_aqm.base.words import plain
from flent_aqm.parts.kernels.own import (
    READY_MADE,
    KernelRequest,
    build_named,
    read_options,
    read_patches,
)
from flent_aqm.setup.install import locked
from flent_aqm.setup.kernel import named
from flent_aqm.setup.kernel.additions import CONTROL, QUEUE, read_additions
from flent_aqm.setup.kernel.locate import find_kernel
from flent_aqm.setup.kernel.sources import absolute_source
from flent_aqm.setup.tc_plugin import read_files
from flent_aqm.spec.kernel import STOCK, parse_kernel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's subcommands `list`, `build` and `remove`, with their options."""
    actions = parser.add_subparsers(dest="action", metavar="list|build|remove", required=True)
    actions.add_parser("list", help="kernels by name, and what is in them")
    build = actions.add_parser(
        "build", help="build a kernel, or build it again after a change",
        epilog="example:\n  flent-aqm kernel build mine --qdisc sch_foo.c\n"
        "  flent -B batches/gate.batch --batch-override aqm=foo --batch-override kernel=mine",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    build.add_argument("name", metavar="NAME", help="the kernel's name, for the batch key "
                                                    "`kernel`")
    build.add_argument("--source", metavar="SOURCE",
                       help="linux-source-X.Y or linux-source-X.Y=VERSION of Debian, a folder with "
                       "a kernel's source, or "
                       "REPOSITORY@REF (default: the source of set-up's kernel)")
    build.add_argument("--patch", metavar="FILE", type=Path, nargs="+", action="extend", default=[],
                       help="patches, or mailboxes of some, to apply with -p1 in this order, "
                            "after the lab's own")
    build.add_argument("--qdisc", metavar="sch_NAME.c", type=Path, nargs="+", action="extend",
                       default=[], help="source files of qdiscs; each replaces the kernel's file "
                                        "of the same name")
    build.add_argument("--tcp", metavar="tcp_NAME.c", type=Path, nargs="+", action="extend",
                       default=[], help="source files of congestion controls, likewise")
    build.add_argument("--tc", metavar="q_NAME.c", type=Path, nargs="+", action="extend",
                       default=[], help="files that teach tc a qdisc's options, as in the folder "
                                        "tc of iproute2")
    build.add_argument("--config", metavar="FRAGMENT",
                       help="a file with lines CONFIG_NAME=value; or the word debug, for lockdep "
                       "and other checks of the kernel; or nat, for the topology clients:N+nat")
    remove = actions.add_parser("remove", help="remove kernels")
    remove.add_argument("names", metavar="NAME", nargs="+")


def main(args: argparse.Namespace) -> int:
    """List, build or remove kernels as `args.action` says, and print the result. Return 0. If one
    of the names to be removed is unknown, or can't be removed from this user's cache, no kernel is
    removed.

    Raises AqmError, for example ConfigError for a kernel's name that isn't allowed or can't be
    removed, or SetupError if a build fails.
    """
    if args.action == "list":
        _print_kernels()
    elif args.action == "build":
        _build_and_print(args)
    else:
        cache = cache_to_write()
        names = [parse_kernel("kernel remove", name) for name in args.names]
        with locked(cache):
            there = {name for name in names if named.is_in(cache, name)}
            # A misspelt name removes none of the others.
            for name in sorted(dict.fromkeys(names), key=lambda one: one in there):
                # An instrumented kernel goes with the one whose changes it records.
                if name not in there or named.is_in(cache, name):
                    named.remove(cache, name)
                print(f"removed: {name}")
    return 0


def _build_and_print(args: argparse.Namespace) -> None:
    """Build the kernel that the options of `kernel build` describe, unless a cache has it, save it
    under its name, and print its name, version, what was added to it, and whether it was built now.
    Takes the cache's lock.

    Raises ConfigError if the name isn't allowed or a given file can't be used, or another AqmError
    if the build fails. If the name has an earlier kernel, it keeps that then, and if its program is
    there, a line on standard error says so after a failed build.
    """
    name = parse_kernel("kernel build", args.name)
    if name == STOCK:
        raise ConfigError(f"kernel build: {STOCK} is set-up's own kernel; choose another name")
    begun_s = time.monotonic()
    request = KernelRequest(
        source=args.source,
        patches=read_patches(args.patch),
        additions=(*read_additions(QUEUE, "--qdisc", args.qdisc),
                   *read_additions(CONTROL, "--tcp", args.tcp)),
        tc_files=read_files(args.tc),
        options=read_options(args.config) if args.config else "",
    )
    cache = cache_to_write()
    with locked(cache):
        try:
            kernel, fresh = build_named(cache, name, request, _command_line(args))
        except AqmError:
            # Otherwise the next sweep would seem to be of the kernel that could not be built.
            if any(there.name == name and there.program for there in named.all_named()):
                print(f"flent-aqm: {name} is still the kernel that was built before",
                      file=sys.stderr)
            raise
    has = f" with {', '.join(kernel.made_of)}" if kernel.made_of else ""
    how = f"built in {time.monotonic() - begun_s:.0f} s" if fresh else "is there already"
    print(f"{name}: Linux {kernel.version}{has}, {how}; --batch-override kernel={name}")


def _command_line(args: argparse.Namespace) -> str:
    """Return the command line, quoted for a shell, that repeats this `kernel build` from any
    folder. Paths are absolute. The files are read again then, and a package without a version means
    the newest one."""
    words = ["flent-aqm", "kernel", "build", args.name]
    if args.source:
        words += ["--source", absolute_source(args.source)]
    if args.config:
        words += ["--config", args.config if args.config in READY_MADE
                  else str(Path(args.config).absolute())]
    for option in ("patch", "qdisc", "tcp", "tc"):
        if getattr(args, option):
            words += [f"--{option}", *(str(path.absolute()) for path in getattr(args, option))]
    return shlex.join(words)


def _print_kernels() -> None:
    """Print a table of set-up's kernel, if it is built, and all kernels in the caches that have a
    name: name, version, source, and what was added to each, or that its program is gone. If
    FLENT_AQM_KERNEL is set, its program stands in place of set-up's kernel."""
    rows = [("name", "Linux", "source", "with")]
    try:
        stock = find_kernel()
    except ToolMissing:
        pass
    else:
        rows.append((STOCK, stock.version, "set-up's", ""))
    for kernel in named.all_named():
        rows.append((kernel.name, kernel.version, kernel.source,
                     ", ".join(kernel.made_of) if kernel.program else "gone; build it again"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        line = "  ".join(text.ljust(width) for text, width in zip(row, [*widths, 0], strict=True))
        print(plain(line.rstrip()))

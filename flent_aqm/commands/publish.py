# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm share --publish`: makes a folder of cleaned data files to publish.

The folder also has everything that is needed to repeat the runs.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.words import counted, plain
from flent_aqm.results.share.archive import LICENCES
from flent_aqm.spec.testbeds import VIRTUAL


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --publish, and the options that belong to it, to the parser of `share`."""
    group = parser.add_argument_group("a folder to publish")
    group.add_argument("--publish", action="store_true",
                       help="make DIR a new folder to publish, for example on Zenodo: the copies, "
                            "their batch, versions, the kernel's options and patches, checksums, "
                            "README and licence; and check that runs can be repeated from it")
    group.add_argument("--batch", type=Path, metavar="FILE",
                       help="batch file of these runs, as it was when they were made (default: the "
                            "file that their folder's sweep.json names, if it is as it was)")
    group.add_argument("--title", default="Measurements of queues at a bottleneck",
                       help="title for README and citation")
    group.add_argument("--author", action="append", default=[], metavar="'FAMILY, GIVEN'",
                       help="an author for CITATION.cff, without a comma an organisation or a "
                            "whole name; may be repeated")
    group.add_argument("--licence", choices=[*LICENCES], default="CC-BY-4.0",
                       help="licence of the data (default: CC-BY-4.0)")
    group.add_argument("--trace", metavar="FOLDER", type=Path, action="append", default=[],
                       help="where traces of links are that runs played, to repeat these; none "
                            "is copied; may be repeated")
    group.add_argument("--replay", type=_run_count, default=3, metavar="N",
                       help="repeat N runs and compare (default: 3; 0: none)")


def publish(args: argparse.Namespace, files: Sequence[Path], copy: Callable[[Path], int]) -> int:
    """Make the folder --output to publish, with copies of the data files and all that is needed to
    repeat their runs. Repeat up to --replay runs as a check, and print the result.

    Args:
        args: options of the command.
        files: the data files.
        copy: writes cleaned copies of `files` to a folder, and returns how many files it could not
            copy.

    Return 1 if a run of the virtual lab was to be repeated and could not, else 0. The folder is
    made in both cases. Runs on real routers can never be repeated, and are only reported. Raises
    BadResult if a file can't be shared, a repeated run gives another result, a text would still
    name a machine or a person, or this version lacks the recipe of the runs' kernel. Raises
    ConfigError if the folder exists, the batch file is wrong, or the runs came from several batches
    and --batch names none, ToolMissing if the lab's kernel is needed and not built, OSError if
    files can't be written. After an error, the folder has not been made.
    """
    from flent_aqm.results.share import archive
    from flent_aqm.sweep.replay.archive import repeat_some

    if os.path.lexists(args.output):
        raise ConfigError(f"{args.output}: exists already; name a new folder with -o")
    if not args.author:
        print("flent-aqm: the folder gets no CITATION.cff, because no author is named; to have "
              "one, stop, and add --author 'FAMILY, GIVEN'", file=sys.stderr)
    parent = args.output.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    # The folder gets its name only after everything in it has been checked.
    with tempfile.TemporaryDirectory(prefix=".archive-", dir=parent) as made:
        target, copies = Path(made, "archive"), Path(made, "copies")
        target.mkdir()
        copies.mkdir()
        if copy(copies):
            raise BadResult("the folder was not made, because the files named above can't be "
                            "shared; mend the causes that are named, or leave these files out")
        packed = archive.pack_data(sorted(copies.iterdir()), target)
        batch, why_none = archive.pack_batch([file.parent for file in files], args.batch, target)
        archive.pack_overrides([file.parent for file in files], target)
        archive.pack_kernel(packed, target)
        archive.write_versions(packed, target)
        checked = repeat_some(target, packed, args.replay, [
            *args.trace, *dict.fromkeys(file.parent for file in files)])
        archive.write_texts(target, packed, checked, title=plain(args.title),
                          authors=[plain(one) for one in args.author],
                          licence=args.licence, batch=batch)
        archive.refuse_telling_texts(target)
        archive.write_checksums(target)
        target.rename(args.output)
    print(f"{plain(args.output)}: {counted(len(packed), 'data file')}; repeated and identical: "
          f"{len(checked.identical)}")
    if batch:
        names = ", ".join(sorted(path.name for path in (args.output / archive.BATCH).iterdir()))
        print(f"flent-aqm: {plain(names)}: cleaned; read them before you publish: names in a "
              "command or title that look like other words are not recognised", file=sys.stderr)
    else:
        print(f"flent-aqm: the folder has no batch file: {why_none}; --batch FILE adds it, as it "
              "was when the runs were made", file=sys.stderr)
    for name, why in checked.not_again.items():
        print(f"flent-aqm: {name}: not repeated: {plain(why)}", file=sys.stderr)
    return int(any(one.testbed == VIRTUAL and one.name in checked.not_again for one in packed))


def _run_count(text: str) -> int:
    """Parse the number of --replay. Raises ArgumentTypeError if it is not a whole number of up to 6
    digits."""
    if not text.isdecimal() or len(text) > 6:
        raise argparse.ArgumentTypeError(f"{text!r}; expected a whole number of runs, of at most "
                                         "6 digits")
    return int(text)

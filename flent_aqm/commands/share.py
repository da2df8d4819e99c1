# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm share`: copies data files without host names, addresses and users."""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flent_aqm.base.errors import BadResult, ConfigError, cause_of
from flent_aqm.base.words import counted, plain
from flent_aqm.commands import publish

if TYPE_CHECKING:
    from flent_aqm.results.share.strip import StrippedFile

# Folder that is removed at the end, and what is below it.
_TEMPORARY = re.compile(r"/\.(?:share|archive)-\w{8}(?:/.*)?$", re.DOTALL)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `flent-aqm share`."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE",
                        help="data file, or folder of data files")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", required=True,
                        help="folder for the copies; it is created if it does not exist")
    publish.add_arguments(parser)


def main(args: argparse.Namespace) -> int:
    """Write the copies, or with --publish the folder to publish. Return 1 if a file could not be
    shared, or with --publish if a run of the lab was to be repeated and could not, else 0. Raises
    ConfigError if no data file is found, an option is wrong, or files can't be written.

    With --publish, a file that can't be shared is an error: raises BadResult for it, for a repeated
    run with another result, and for what else keeps the folder from being complete, and ToolMissing
    if the lab's kernel is needed and not built.
    """
    from flent_aqm.results.many_files import find_files

    files = find_files(args.files)
    try:
        if args.publish:
            return publish.publish(
                args, files, lambda folder: _write_copies(files, folder, named=False))
        return 1 if _write_copies(files, args.output) else 0
    except BrokenPipeError:  # of standard output, which is no fault of the folder
        raise
    except OSError as error:
        if os.path.lexists(args.output) and not os.path.isdir(args.output):
            raise ConfigError(f"{args.output}: is no folder; expected a folder for the copies: "
                              "name another with -o") from None
        # The fault may be in another folder, such as the temporary one; os.link() has two names.
        where = _TEMPORARY.sub("", str(error.filename2 or error.filename or args.output))
        another = ("; name another folder with -o"
                   if args.output.absolute().is_relative_to(os.path.abspath(where)) else "")
        raise ConfigError(f"can't make the copies: {plain(where)}: {cause_of(error)}{another}"
                          ) from None


def _write_copies(files: Sequence[Path], output: Path, *, named: bool = True) -> int:
    """Write cleaned copies, and print what was removed. Return how many files could not be shared.
    These are named on standard error. A copy never replaces an existing file: the data file then
    counts as not shared. Raises OSError if a copy can't be written.

    Args:
        files: the data files.
        output: folder for the copies, made if necessary.
        named: print the copies' full paths, because the user chose the folder. If false, print only
            their names.
    """
    from flent_aqm.base.waiting import with_progress
    from flent_aqm.results.data_file import SUFFIX

    faults = 0
    output.mkdir(parents=True, exist_ok=True)
    # Copies have temporary names until they are checked.
    with tempfile.TemporaryDirectory(prefix=".share-", dir=output) as made:
        copies: list[tuple[Path, Path, StrippedFile]] = []
        tried = (_try_copy(file, Path(made, f"{number}{SUFFIX}"))
                 for number, file in enumerate(files))
        for result in with_progress(tried, len(files), "reading data files"):
            if isinstance(result, BadResult):
                faults += 1
                print(f"flent-aqm: skipped: {result}", file=sys.stderr)
            else:
                copies.append(result)
        faults += _name_copies(copies, output, named)
    if faults:
        print(f"flent-aqm: {faults} of {counted(len(files), 'file')} not shared", file=sys.stderr)
    return faults


def _try_copy(file: Path, copy: Path) -> tuple[Path, Path, StrippedFile] | BadResult:
    """Write a cleaned copy of a file. Return file, copy and the cleaned content, or the BadResult
    if the file is damaged or can't be shared. Raises OSError if the copy can't be written."""
    try:
        return file, copy, _write_copy(file, copy)
    except BadResult as error:
        return error


def _write_copy(file: Path, copy: Path) -> StrippedFile:
    """Write a cleaned copy of a file. Return the cleaned content, with a list of what was removed.
    Raises BadResult if the file is damaged or can't be shared, OSError if the copy can't be
    written."""
    import orjson

    from flent_aqm.results.data_file import write_packed
    from flent_aqm.results.reading.for_flent import read_to_share
    from flent_aqm.results.share.strip import strip

    data = read_to_share(file)
    try:
        stripped = strip(data)
    except BadResult as error:
        raise BadResult(f"{file}: {error}") from None
    # The data has no NaN or infinity, which orjson would write as null. Python's json would need
    # ten times the file's size of memory.
    write_packed(copy, orjson.dumps(stripped.whole))
    return stripped


def _name_copies(copies: Sequence[tuple[Path, Path, StrippedFile]], output: Path, named: bool
                 ) -> int:
    """Link the copies into `output` under their final names, and print what was removed from them:
    the names of all copies with the same lines about them, these lines, and texts of the user. A
    second copy of the same name gets "-2" before its suffix, and so on. Two kinds of copies are
    left out and named on standard error: those of Flent's own tests that Flent, which is started
    for it, can't open or plot, and those whose name a file in `output` has already. Return the
    number of copies left out. Raises OSError if a copy can't be linked.

    Args:
        copies: data file, copy, and its cleaned content.
        output: folder for the copies.
        named: print full paths.
    """
    from flent_aqm.base.words import plain
    from flent_aqm.results.grouping import collect
    from flent_aqm.results.share.check import is_of_flent, open_all

    opened = open_all([copy for _, copy, stripped in copies
                       if is_of_flent(stripped.whole["metadata"]["NAME"])])
    faults = 0
    taken: set[Path] = set()
    told: list[tuple[str, StrippedFile]] = []
    for file, copy, stripped in copies:
        why = opened.get(copy, "")
        target = output / stripped.name
        number = 1
        while target in taken:  # files of several folders may have the same name
            number += 1
            target = output / stripped.name.replace(".flent", f"-{number}.flent", 1)
        taken.add(target)
        if not why:
            try:
                os.link(copy, target)  # unlike rename, never replaces a file
            except FileExistsError:
                why = f"{target} is there already; name another folder with -o"
            except OSError as error:
                if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
                    raise
                # The file system has no links, as those of memory sticks.
                os.rename(copy, target)
        if why:
            faults += 1
            print(f"flent-aqm: skipped: {BadResult(f'{file}: {why}')}", file=sys.stderr)
        else:
            told.append((plain(target if named else Path(target.name)), stripped))
    # Runs of one sweep differ in little: what is the same of all is said once.
    for lines, alike in collect(told, lambda one: _about(one[1])).items():
        words = dict.fromkeys(text for _, stripped in alike for text in _free_texts(stripped))
        print(*(name for name, _ in alike), *(f"  {line}" for line in lines), sep="\n")
        if words:
            print("  your words, where, as in the file's name, names of people and telephone "
                  "numbers are not found: " + ", ".join(words))
    return faults


def _about(stripped: StrippedFile) -> tuple[str, ...]:
    """Return lines about a copy: what was removed from it, or that nothing was, and if its test is
    not one of Flent's, a line about that.

    Args:
        stripped: the cleaned content.
    """
    from flent_aqm.base.words import plain
    from flent_aqm.results.grouping import harmless
    from flent_aqm.results.share.check import is_of_flent

    test = stripped.whole["metadata"]["NAME"]
    lines = [plain(line) for line in stripped.removed] or [
        "nothing removed: nothing in it names a machine or a person"]
    if not is_of_flent(test):
        lines.append(f"its test {harmless(test)!r} is not one of Flent's: to plot it, Flent needs "
                     "its definition, or this package")
    return tuple(lines)


def _free_texts(stripped: StrippedFile) -> list[str]:
    """Return the texts of the user that a copy still has (FREE_TEXTS, such as its title), each as
    "KEY 'TEXT'", in which TEXT is cut to LONGEST_SHOWN characters. Empty if it has none.

    Args:
        stripped: the cleaned content.
    """
    from flent_aqm.results.grouping import harmless
    from flent_aqm.results.share.allowed import FREE_TEXTS

    metadata = stripped.whole["metadata"]
    return [f"{key} {harmless(str(metadata[key]))!r}" for key in FREE_TEXTS if metadata.get(key)]

# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a folder for publication: data files, and everything needed to repeat their runs.

That is their batch, versions, the kernel's recipe, checksums, README, licence and citation.

Data files may come from anyone. A file is copied only if it can be read as a data file, and under a
name of harmless characters. Paths in a data file are not followed, and paths in sweep.json beside
it only to files with the SHA-256 that it records.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from flent_aqm import __version__
from flent_aqm.base.errors import BadResult, ConfigError, cause_of
from flent_aqm.base.json_text import json_text
from flent_aqm.base.paths import base_batch
from flent_aqm.base.regular_file import open_regular
from flent_aqm.base.waiting import with_progress
from flent_aqm.base.words import counted, plain
from flent_aqm.results import status
from flent_aqm.results.data_file import SUFFIX, read_data_file
from flent_aqm.results.share.batch_text import clean_batch, lines_that_tell
from flent_aqm.setup.kernel import locate, recipe
from flent_aqm.spec.kernel import STOCK

DATA, BATCH, KERNEL = "data", "batch", "kernel"
BASE = "base.batch"
CHECKSUMS = "SHA256SUMS"
VERSIONS = "versions.json"
OVERRIDES = "overrides.txt"
LICENCES = {
    "CC-BY-4.0": ("Creative Commons Attribution 4.0 International",
                  "https://creativecommons.org/licenses/by/4.0/legalcode"),
    "CC0-1.0": ("Creative Commons Zero 1.0 Universal",
                "https://creativecommons.org/publicdomain/zero/1.0/legalcode"),
}


@dataclass(frozen=True)
class Packed:
    """One data file in the archive. Names of test, testbed and batch are one printable line each,
    and cut if they are long.

    Attributes:
        name: file name in the folder DATA.
        test: name of the test as the file records it, "" if it doesn't.
        testbed: name of the testbed as the file records it, "" if it doesn't.
        batch: name of the batch as the file records it, "" if it doesn't.
        kernel: hash of the lab's kernel, "" if the file records none, as for a run on real routers.
        facts: with what the run was made, as the file records it: "kernel" and "tools" (objects),
            "flent", "flent-aqm" (versions) and "flent-aqm hash". None for those that it doesn't
            record.
        own_kernel: name of the kernel if the user built it, otherwise "".
    """

    name: str
    test: str
    testbed: str
    batch: str
    kernel: str
    facts: Mapping[str, Any]
    own_kernel: str = ""


@dataclass(frozen=True)
class ReplayedRuns:
    """Result of repeating some runs of an archive. Files that were not tried are in neither
    attribute.

    Attributes:
        identical: names, in the folder DATA, of files whose repeated runs gave the same result.
        not_again: name of a file that can't be read, or whose run can't be repeated -> the reason.
    """

    identical: tuple[str, ...]
    not_again: dict[str, str]


def pack_data(files: Sequence[Path], target: Path) -> list[Packed]:
    """Copy data files, which must have been cleaned, into the new folder `target`/data. `target`
    must exist. Return a record of each, in their order. Names are changed to harmless and different
    ones, and contents are not. Progress is shown on a terminal.

    Raises BadResult for the first file that can't be read or is damaged, and OSError if the folder
    exists, or it or a copy can't be written. What was copied before stays.
    """
    (target / DATA).mkdir()
    packed, taken = [], set[str]()
    read = ((file, read_data_file(file)) for file in files)
    for file, data_file in with_progress(read, len(files), "reading data files"):
        name = _harmless_name(file.name)
        number = 1
        while name.lower() in taken:  # files of several folders may have the same name
            number += 1
            name = f"{_harmless_name(file.name).removesuffix(SUFFIX)}-{number}{SUFFIX}"
        taken.add(name.lower())
        shutil.copyfile(file, target / DATA / name)
        packed.append(_record_of(name, data_file.metadata))
    return packed


def _harmless_name(name: str) -> str:
    """Return the name of a data file with all characters but ASCII letters, digits and _.+=,@-
    replaced by "_", without . and - at the beginning, and of at most 150 characters and SUFFIX.
    "run" and SUFFIX if nothing is left."""
    stem = re.sub(r"[^\w.+=,@-]", "_", name.removesuffix(SUFFIX), flags=re.ASCII)
    return f"{stem.lstrip('.-')[:150] or 'run'}{SUFFIX}"


def _record_of(name: str, file_metadata: Mapping[str, Any]) -> Packed:
    """Return the record of a data file.

    Args:
        name: file name in the archive.
        file_metadata: metadata of the file.
    """
    aqm = file_metadata.get("AQM")
    aqm = aqm if isinstance(aqm, dict) else {}
    kernel = aqm.get("kernel")
    hash_ = kernel.get("hash") if isinstance(kernel, dict) else None
    facts = {"kernel": kernel, "tools": aqm.get("tools"),
             "flent": file_metadata.get("FLENT_VERSION"), "flent-aqm": aqm.get("flent_aqm"),
             "flent-aqm hash": aqm.get("flent_aqm_hash")}
    return Packed(name, plain(file_metadata.get("NAME", ""))[:60],
                  plain(aqm.get("testbed", ""))[:60],
                  plain(file_metadata.get("BATCH_NAME") or "")[:100],
                  hash_ if isinstance(hash_, str) else "", facts, _own_name(kernel))


def _own_name(kernel: object) -> str:
    """Return the name of the kernel that a file records (its object "kernel") if the user built it,
    "" for set-up's kernel, and if none is recorded."""
    name = plain(kernel.get("name") or "")[:60] if isinstance(kernel, dict) else ""
    return "" if name == STOCK else name


def pack_batch(sources: Sequence[Path], batch_file: Path | None, target: Path
               ) -> tuple[str, str]:
    """Copy the batch file that the runs came from, and those of the files from which it inherits
    that have not changed since, into the new folder `target`/batch, cleaned, and print which lines
    were changed. Return the batch file's name and "". If there is no batch file to copy, return ""
    and the reason; then there is no folder.

    Args:
        sources: the folders of the data files. Each folder's sweep.json names its batch files by
            path and SHA-256.
        batch_file: the batch file that the user gives. It must have the content of one that a
            sweep.json names. If none names any, it is taken as it is. None takes the file that
            sweep.json names, if it has not changed since.
        target: folder of the archive.

    Raises ConfigError if `batch_file` can't be read or is not the runs' batch, or if it is None and
    the runs came from several batches, or from one that changed in between. Raises BadResult if a
    line would still reveal a machine or a person after cleaning, or the file names too many hosts,
    and OSError if the folder exists or a copy can't be written.
    """
    if batch_file is not None:
        try:
            open_regular(batch_file).close()  # a pipe could be read only once
        except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
            raise ConfigError(f"--batch: {batch_file}: {cause_of(error)}; expected the batch file "
                              "of these runs") from None
    by_folder = [found.batches if (found := status.read(folder)) else ()
                 for folder in dict.fromkeys(sources)]
    recorded: list[Mapping[str, str]] = []
    for batches in by_folder:
        recorded += [files for files in batches if files not in recorded]
    apart = ", or publish each folder by itself" if len(by_folder) > 1 else ""
    if batch_file is not None:
        # Without --batch, the only record counts for all folders.
        without = ", or leave --batch out" if len(recorded) == 1 and all(by_folder) else ""
        files = _matching_record(batch_file, recorded, without + apart)
        by_hand = (_CLEAN_BY_HAND if not files else _LEAVE_OUT if len(recorded) == 1 else _COPY)
        return _copy_batch(batch_file, files, target, by_hand), ""
    if len(recorded) > 1:
        raise ConfigError("these runs came from different batch files, or from one that changed in "
                          "between, or a file from which it inherits did: "
                          f"{_named_batches(recorded)}; name one with --batch FILE{apart}")
    if not recorded:
        return "", "no sweep.json beside the data files names their batch"
    path = Path(name := _batch_path(recorded[0]))
    if (digest := _digest(path)) != recorded[0][name]:
        return "", f"{plain(path)} " + (
            "has changed since the runs were made" if digest else "can't be read any more")
    return _copy_batch(path, recorded[0], target, _CLEAN_BY_HAND), ""


def pack_overrides(sources: Sequence[Path], target: Path) -> None:
    """Write the `--batch-override` arguments of the sweeps' commands, as each folder's sweep.json
    records them, to `target`/batch/overrides.txt: each different KEY=VALUE of a command once, one a
    line. If the commands have different ones, each command's are a paragraph with a heading.
    `target`/batch is made if it is missing. Secrets are replaced as in a batch file, and lines that
    were changed are printed. Nothing is written if there are no such arguments.

    Args:
        sources: the folders of the data files.
        target: folder of the archive.

    Raises BadResult if a line would still reveal a machine or a person after cleaning, or the lines
    name too many hosts, and OSError if the file can't be written.
    """
    sweeps = filter(None, map(status.read, dict.fromkeys(sources)))
    of_commands = list(dict.fromkeys(
        tuple(dict.fromkeys(plain(one) for one in _overrides(command)))
        for sweep in sweeps for command in sweep.commands))
    if not any(of_commands):
        return
    paragraphs = []
    for number, lines in enumerate(of_commands, 1):
        clean = clean_batch(OVERRIDES, "".join(f"{line}\n" for line in lines),
                            f"remove it from the --batch-override in {status.NAME}")
        for line in clean.changed:
            print(f"  {plain(line)}")
        heading = f"# {number}{'' if lines else ': without overrides'}\n"
        paragraphs.append(f"{heading if of_commands[1:] else ''}{clean.text}")
    (target / BATCH).mkdir(exist_ok=True)
    (target / BATCH / OVERRIDES).write_text("\n".join(paragraphs), encoding="utf-8")


def _overrides(command: Sequence[str]) -> Iterator[str]:
    """Yield KEY=VALUE of each `--batch-override KEY=VALUE` or `--batch-override=KEY=VALUE` in the
    words of a sweep's command line, also where the option is abbreviated: --batch-o is the shortest
    form that Flent accepts."""
    for at, word in enumerate(command):
        option, equals, value = word.partition("=")
        if option.startswith("--batch-o") and "--batch-override".startswith(option):
            if equals:
                yield value
            elif at + 1 < len(command):
                yield command[at + 1]


def _batch_path(files: Mapping[str, str]) -> str:
    """Return the path of the sweep's batch file among the files that were read together. It is the
    last, because the files from which it inherits are read before it.

    Args:
        files: path -> SHA-256, in the order of reading, at least one.
    """
    return list(files)[-1]


def _named_batches(recorded: Sequence[Mapping[str, str]]) -> str:
    """Return the paths of the batch files of some records, each once, for a message."""
    return ", ".join(dict.fromkeys(plain(_batch_path(files)) for files in recorded))


def _matching_record(batch_file: Path, recorded: Sequence[Mapping[str, str]], advice: str
                     ) -> Mapping[str, str]:
    """Return the first of the records whose batch file had the same content as the user's batch
    file has now, or an empty one if there are no records. Raises ConfigError if there are records,
    but none with that content.

    Args:
        batch_file: the user's batch file.
        recorded: records of sweep.json files: each path -> SHA-256 of the files that a sweep read,
            with its batch file last.
        advice: what else can be done, the end of the message.
    """
    digest = _digest(batch_file)
    for files in recorded:
        if files[_batch_path(files)] == digest:
            return files
    if recorded:
        raise ConfigError(f"--batch: {batch_file} is none of the batches that {status.NAME} "
                          f"records ({_named_batches(recorded)}), as they were then; give a file "
                          f"with the content of that time, such as from git{advice}")
    return {}


def _copy_batch(batch_file: Path, files: Mapping[str, str], target: Path, by_hand: str) -> str:
    """Copy a batch file, and those of the files from which it inherits that have not changed since,
    without their comments and secrets, to the new folder `target`/batch, and print which lines were
    changed. Return the batch file's name. Raises BadResult if a line would still reveal a machine
    or a person, or a file names too many hosts, and OSError if the folder exists or a file can't be
    read or written.

    Args:
        batch_file: the batch file.
        files: path -> SHA-256 of the files that were read together, with the batch file last. If it
            is empty, the base.batch that is read before the batch, see base_batch(), is copied,
            too.
        target: folder of the archive.
        by_hand: what the user has to do about a line of the batch file that can't be cleaned, for
            the message.
    """
    (target / BATCH).mkdir()
    beside = {Path(path) for path, digest in files.items() if _digest(Path(path)) == digest
              and path != _batch_path(files)}
    if not files and (base := base_batch(batch_file)):
        beside = {base}
    for path in {batch_file, *beside}:
        _clean_copy(path, target / BATCH / path.name,
                    by_hand if path == batch_file else _CLEAN_BY_HAND)
    return batch_file.name


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits, or "" if it can't be read or is no
    file."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    except OSError:
        return ""


# A file that isn't any more as sweep.json records it is left out of the archive.
_CLEAN_BY_HAND = (f"remove it from the file, which is then left out if {status.NAME} records its "
                  "earlier content")
# With --batch, such a file is refused.
_LEAVE_OUT = (f"remove it from the file, and give no --batch: then the file is left out, because "
              f"{status.NAME} records its earlier content")

# Where the folders' runs came from several batches, one has to be given.
_COPY = (f"remove it from a copy of the file, move the files {status.NAME} of these folders away, "
         "and give the copy by --batch")


def _clean_copy(path: Path, target: Path, by_hand: str) -> None:
    """Copy a batch file without its comments and secrets, and print which lines were changed. The
    files of this package's folder of batches are cleaned, too, because users save and edit their
    own there. Raises BadResult if a line would still reveal a machine or a person, or the file
    names too many hosts, and OSError if a file can't be read or written.

    Args:
        path: the batch file.
        target: path of the copy, which is overwritten.
        by_hand: what the user has to do about a line that can't be cleaned, for the message.
    """
    clean = clean_batch(path.name, path.read_text("utf-8", errors="replace"), by_hand)
    for line in clean.changed:
        print(f"  {plain(line)}")
    target.write_text(clean.text, encoding="utf-8")


def refuse_telling_texts(target: Path) -> None:
    """Raise BadResult, with file and line, for the first line in the archive `target` that has an
    IP or hardware address of a machine, or the user of a URL (lines_that_tell()). Raises OSError if
    a file can't be read.

    Files whose names end with .gz or .patch are not searched: data files have been cleaned before
    they were packed, and patches of the kernel are this package's own.
    """
    for path in _all_files(target):
        if path.suffix in (".gz", ".patch"):
            continue
        for number, what in lines_that_tell(path.read_text("utf-8", errors="replace")):
            raise BadResult(f"{path.relative_to(target)}, line {number}: {what!r} would be "
                            "published, which may reveal a machine or a person; remove it from "
                            "where it came: --title, --author, a data file or the batch")


def pack_kernel(packed: Sequence[Packed], target: Path) -> None:
    """Copy this version's recipe of the lab's kernel into the new folder `target`/kernel: options,
    patches, and what set-up noted beside the kernel's program (versions). Nothing is copied if no
    file of `packed` records a kernel's hash.

    Raises BadResult if a run was made with another kernel, such as that of FLENT_AQM_KERNEL, whose
    recipe isn't known, ToolMissing if the lab's kernel isn't built, and OSError if the folder
    exists or can't be written.
    """
    if not any(one.kernel for one in packed):
        return
    kernel = locate.find_lab_kernel()
    for one in packed:
        if one.own_kernel:
            raise BadResult(f"{one.name} was made with your own kernel {one.own_kernel!r}, whose "
                            "source and options --publish can't add; share these runs without "
                            "--publish, and give its patches and files by hand")
        if one.kernel not in ("", kernel.hash):
            raise BadResult(f"{one.name} was made with the kernel {plain(one.kernel)[:60]}; this "
                            f"version only has the recipe of {kernel.hash}: publish runs of that "
                            "kernel by themselves, with the version of flent-aqm whose lab kernel "
                            "it is, or repeat them with this version's")
    folder = target / KERNEL
    (folder / "patches").mkdir(parents=True)
    for patch in sorted(recipe.PATCHES.glob("*.patch")):
        shutil.copyfile(patch, folder / "patches" / patch.name)
    shutil.copyfile(recipe.FRAGMENT, folder / recipe.FRAGMENT.name)
    for name in ("kernel.json", "config"):  # a damaged cache has none
        if (beside := kernel.path.with_name(name)).is_file():
            shutil.copyfile(beside, folder / name)


def write_versions(packed: Sequence[Packed], target: Path) -> None:
    """Write versions.json to the archive `target`. It has "made_with", a list of objects with
    kernel, tools and packages with which runs were made (Packed.facts) and the names of these runs'
    data files ("files"), and "archived_with", the versions of the Python packages that made this
    archive. Raises OSError if it can't be written, and PackageNotFoundError if this package isn't
    installed."""
    made: dict[str, list[str]] = {}
    for run in packed:
        made.setdefault(json_text(run.facts, sort_keys=True), []).append(run.name)
    text = {"made_with": [{**json.loads(facts), "files": names}
                          for facts, names in made.items()],
            "archived_with": _python_packages()}
    (target / VERSIONS).write_text(json_text(text, indent=1) + "\n", encoding="utf-8")


def _python_packages() -> dict[str, str]:
    """Return name -> installed version, of this package and of its requirements without extras.
    Requirements that aren't installed under that name are left out. Raises PackageNotFoundError if
    this package isn't installed."""
    names = ["flent-aqm"]
    for line in metadata.requires("flent-aqm") or ():
        if "extra ==" not in line:
            names.append(re.split(r"[^\w.-]", line, maxsplit=1)[0])
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # a system package's name may differ
    return versions


def write_checksums(target: Path) -> None:
    """Write SHA256SUMS over all files that the archive `target` has by now, for `sha256sum -c` in
    that folder. Raises OSError if a file can't be read or SHA256SUMS not be written."""
    lines = []
    for path in _all_files(target):
        with path.open("rb") as file:  # a release's image doesn't fit into memory
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        lines.append(f"{digest}  {path.relative_to(target)}\n")
    (target / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def _all_files(target: Path) -> Iterator[Path]:
    """Yield the paths of all files in the archive and its subfolders but SHA256SUMS, sorted."""
    yield from (path for path in sorted(target.rglob("*"))
                if path.is_file() and path != target / CHECKSUMS)


README = f"""\
# {{title}}

{{files}} of Flent (tests: {{tests}}), published by flent-aqm share {{version}}.

| | |
| --- | --- |
| `{DATA}/` | the data: gzipped JSON in Flent's format, with all raw samples |
{{more}}| `versions.json` | kernel, tools and packages that the data were made with |
| `SHA256SUMS` | checksums; `sha256sum -c SHA256SUMS` compares |
| `LICENSE` | {{licence}} for the data |
{{citation}}
## Available

This folder is to be deposited as it is, for example on Zenodo. The deposit's own page has the DOI.

## Functional

Every file in it was read and checked when it was archived. To look at them, install flent-aqm
{{version}}: type `make setup` and `. .venv/bin/activate` in a checkout of its source tree, or
install its wheel with pip. If you have neither, ask the publisher of this folder for that version.
Then type, in this folder:

```
flent-gui {DATA}/*.flent.gz
flent-aqm report {DATA} --title {{title_word}} -o report.html
```

## {{badge}}

{{reproduced}}
"""
KERNEL_LINE = (f"| `{KERNEL}/` | options and patches of the lab's kernel; its source is Debian's "
               "package named in `kernel.json` |\n")
REPRODUCED = ("{identical} of {all} runs were made again out of this folder when it was made, with "
              "identical samples, results and counters:")


def write_texts(target: Path, packed: Sequence[Packed], checked: ReplayedRuns, *, title: str,
                authors: Sequence[str], licence: str, batch: str) -> None:
    """Write README.md and LICENSE, and CITATION.cff if there are authors. README.md names the batch
    files and the kernel's folder that the archive has, so call this after the pack_… functions.
    Raises OSError if a file can't be written.

    Args:
        target: folder of the archive.
        packed: its data files.
        checked: the runs that were repeated from the archive.
        title: title of the data, as the user gives it.
        authors: each as "Family, Given", or a name alone.
        licence: SPDX identifier, a key of LICENCES.
        batch: name of the batch file in the archive, or "".
    """
    (target / "README.md").write_text(
        _readme(target, packed, checked, title, licence, batch, cited=bool(authors)),
        encoding="utf-8")
    name, address = LICENCES[licence]
    (target / "LICENSE").write_text(
        f"SPDX-License-Identifier: {licence}\n\nThe data in {DATA}/ and this folder's texts: "
        f"{name},\n{address}\n\nThe files in {BATCH}/ and {KERNEL}/, where they are: "
        "GPL-3.0-or-later and, for\nchanges to the kernel, GPL-2.0-only.\n", encoding="utf-8")
    if authors:
        (target / "CITATION.cff").write_text(
            _citation(title, authors, licence), encoding="utf-8")


def _readme(target: Path, packed: Sequence[Packed], checked: ReplayedRuns, title: str, licence: str,
            batch: str, *, cited: bool) -> str:
    """Return the text of README.md.

    Args:
        target: folder of the archive, with the folders of batch and kernel, if any.
        packed: its data files.
        checked: the runs that were repeated from the archive.
        title: title of the data, as the user gives it.
        licence: SPDX identifier.
        batch: name of the batch file in the archive, "" for none.
        cited: the archive has CITATION.cff.
    """
    more = (f"| `{BATCH}/{batch}` | the batch that the runs came from |\n") if batch else ""
    if batch != BASE and (target / BATCH / BASE).is_file():
        more += f"| `{BATCH}/{BASE}` | the settings that the batch inherits |\n"
    if (target / BATCH / OVERRIDES).is_file():
        more += (f"| `{BATCH}/{OVERRIDES}` | what the command line changed in the batch, each line "
                 "a `--batch-override`; if there were several commands, a paragraph each |\n")
    if (target / KERNEL).is_dir():
        more += KERNEL_LINE
    return README.format(
        title=_without_markup(title), title_word=shlex.quote(_without_markup(title)),
        files=counted(len(packed), "data file"), more=more,
        licence=licence, version=__version__,
        citation="| `CITATION.cff` | how to cite the data |\n" if cited else "",
        tests=", ".join(sorted({_as_code(one.test) for one in packed})),
        badge="Reproduced" if checked.identical else "Not reproduced",
        reproduced="\n".join(_reproduced_lines(packed, checked)))


def _without_markup(text: str) -> str:
    """Return the text with brackets [ ] < >, backticks, *, _, | and backslashes, which have a
    meaning in Markdown or HTML, replaced, because it may come from anyone: by blanks if the text
    has a blank, else by dashes."""
    return re.sub(r"[\[\]`<>*_|\\]", " " if " " in text else "-", text)


def _as_code(text: str) -> str:
    """Return a name as code in Markdown, with dashes in place of backticks, <, > and |, which would
    end it or break a table's line. The name must be one line."""
    return f"`{re.sub('[`<>|]', '-', text)}`"


def _reproduced_lines(packed: Sequence[Packed], checked: ReplayedRuns) -> list[str]:
    """Return the README's lines on the runs that were repeated, how to repeat one, and which can't
    be repeated, with the reasons. If no run was tried, return a line that says so."""
    if not checked.identical and not checked.not_again:
        return ["No run was made again when this folder was made."]
    lines = [REPRODUCED.format(identical=len(checked.identical), all=len(packed)), ""]
    lines += [f"- `{name}`" for name in checked.identical] or ["- none"]
    if checked.not_again:
        lines += ["", "These can't be made again:", ""]
        lines += [f"- `{name}`: {_without_markup(why)}" for name, why in checked.not_again.items()]
    if checked.identical:
        lines += ["", "To do the same for a file:", "",
                  "```", "flent-aqm setup",
                  f"flent-aqm replay {DATA}/{checked.identical[0]}", "```"]
    return lines


def _citation(title: str, authors: Sequence[str], licence: str) -> str:
    """Return the text of CITATION.cff, with quotes around names and title. An author without a
    comma is an entity of CFF: which word of "Jane Doe" is the family name isn't known.

    Args:
        title: title of the data.
        authors: each as "Family, Given", or a name alone. At least one.
        licence: SPDX identifier.
    """
    # JSON strings are YAML strings
    lines = ["cff-version: 1.2.0", 'message: "If you use these data, please cite them."',
             "type: dataset", f"title: {json_text(title)}", f"license: {licence}", "authors:"]
    for author in authors:
        name, comma, given_names = (part.strip() for part in author.partition(","))
        lines.append(f"  - {'family-names' if comma else 'name'}: {json_text(name)}")
        if given_names:
            lines.append(f"    given-names: {json_text(given_names)}")
    return "\n".join(lines) + "\n"

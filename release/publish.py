# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a release of a tag in a folder, from which it can be published.

    make release RELEASE_ARGUMENTS='v0.2.0 /tmp/release'
    make release RELEASE_ARGUMENTS='v0.2.0 /tmp/release --trial --without debian --without image'

The folder has the wheels and the source archive, the Debian packages, an image, the site, the
section of CHANGELOG.md as notes.md, CITATION.cff with day and address, and SHA256SUMS. Each part is
made by the command that also tries it. Nothing is written to the folder before all
parts are made.
"""

from __future__ import annotations

import argparse
import datetime
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flent_aqm.base.errors import AqmError, ConfigError, ToolMissing, cause_of
from flent_aqm.results.share.archive import write_checksums

ROOT = Path(__file__).parents[1]
# What stands in CITATION.cff in place of the address, which only a release knows.
ADDRESS = "https://flent-aqm.example/"
# Ends of a heading in CHANGELOG.md of a version that isn't released.
UNRELEASED = ", unreleased"


@dataclass(frozen=True)
class Part:
    """A part of a release.

    Attributes:
        name: name on the command line.
        what: what it is, for the notes and messages.
        commands: commands that make the part, in the checkout.
        files: function that returns the paths of the part's files. It is called after the commands
            have succeeded, with an existing folder for files that it has to pack itself.
        programs: programs that the commands need and that set-up doesn't install.
    """

    name: str
    what: str
    commands: Sequence[Sequence[str]]
    files: Callable[[Path], list[Path]]
    programs: Sequence[str] = ()


def _wheels(_: Path) -> list[Path]:
    return [*sorted((ROOT / "dist").glob("*.whl")), *sorted((ROOT / "dist").glob("*.tar.gz"))]


def _debian(_: Path) -> list[Path]:
    # Logs of the build and the demo's picture are beside them.
    return sorted(one for pattern in ("*.deb", "*.dsc", "*.tar.*")
                  for one in (ROOT / "dist" / "deb").glob(pattern))


def _image(_: Path) -> list[Path]:
    return [ROOT / "build" / "flent-aqm-image.tar.gz"]


def _site(folder: Path) -> list[Path]:
    path = folder / "flent-aqm-site.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(ROOT / "build" / "site", "site")
    return [path]


PARTS = (
    Part("wheels", "wheels and source archive", [["make", "dist-check"]], _wheels, ["mmdebstrap"]),
    Part("debian", "Debian packages", [["make", "deb-check"]], _debian,
         ["mmdebstrap", "dpkg-source"]),
    Part("image", "an image", [["release/container/build.sh"]], _image, ["buildah", "mmdebstrap"]),
    Part("site", "the site", [["make", "site"]], _site),
)


def main() -> int:
    """Make the release that the command line names: write the files of its parts, notes.md,
    CITATION.cff and SHA256SUMS into its folder. The parts are made in the checkout, and stay there.
    Return the exit status, 1, with a line on standard error, if something is missing or fails; the
    folder is then as it was. Raises SystemExit for wrong usage."""
    parser = argparse.ArgumentParser(
        prog="make release", description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("tag", help="the version with a v before it, such as v0.2.0")
    parser.add_argument("folder", type=Path, help="folder for the release; made if it isn't there")
    parser.add_argument("--address", default="", metavar="URL",
                        help="address of the project, for CITATION.cff")
    parser.add_argument("--without", action="append", default=[], metavar="PART",
                        choices=[part.name for part in PARTS],
                        help="leave out a part, and say so in the notes; repeatable")
    parser.add_argument("--trial", action="store_true",
                        help="without a tag and an address, of a version that isn't released yet; "
                             "wheels aren't tried in a Debian of their own")
    args = parser.parse_args()
    parts = selected(args.without, trial=args.trial)
    try:
        check(args.tag, args.folder, args.address, trial=args.trial)
        check_programs(parts)
        changes = changes_of(args.tag.removeprefix("v"),
                             (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
        texts = {"notes.md": notes(changes, args.without),
                 "CITATION.cff": citation((ROOT / "CITATION.cff").read_text(encoding="utf-8"),
                                          datetime.datetime.now(datetime.UTC).date(), args.address)}
        with tempfile.TemporaryDirectory() as name:
            work = Path(name)
            for file, text in texts.items():
                (work / file).write_text(text, encoding="utf-8")
            files = [file for part in parts for file in _made(part, work)]
            write_release([*files, *(work / file for file in texts)], args.folder)
    except AqmError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print(f"release: {args.tag} is in {args.folder}; sha256sum -c SHA256SUMS compares its files")
    return 0


def check(tag: str, folder: Path, address: str, *, trial: bool) -> None:
    """Raise ConfigError if the release can't be made: tag and version differ, CHANGELOG.md has no
    section of the version, `folder` is there and is no empty folder, or, unless it is a trial, the
    version is unreleased in CHANGELOG.md, the checkout isn't that of the tag or has changes, or no
    address is given.

    Args:
        tag: the version with a v before it, such as v0.2.0.
        folder: folder for the release.
        address: the project's address, "" for none.
        trial: whether it is a trial.
    """
    checked = subprocess.run([ROOT / ".ci" / "check_tag", tag], capture_output=True, text=True,
                             check=False)
    if checked.returncode:
        raise ConfigError(checked.stderr.strip())
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is there already; give a folder that is empty or isn't there")
    if trial:
        return
    heading = f"## {tag.removeprefix('v')}{UNRELEASED}"
    if heading in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines():
        raise ConfigError(f"CHANGELOG.md says {heading[3:]!r}; write the day there, or try the "
                          "release with --trial")
    if not address:
        raise ConfigError("--address: CITATION.cff needs the project's address; give it, or try "
                          "the release with --trial")
    at_tag, head = (_output(["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"])
                    for name in (tag, "HEAD"))
    if not at_tag or at_tag != head:
        raise ConfigError(f"the checkout isn't that of the tag {tag}: git checkout {tag}")
    if changed := _output(["git", "status", "--porcelain"]):
        raise ConfigError(f"the checkout has changes, such as {changed.splitlines()[0]!r}; commit "
                          "or remove them")


def selected(without: Sequence[str], *, trial: bool) -> list[Part]:
    """Return the parts of PARTS but those named in `without`. In a trial, the wheels are made by
    `make dist`, which doesn't try them in a Debian of their own."""
    return [replace(part, commands=[["make", "dist"]], programs=[])
            if trial and part.name == "wheels" else part
            for part in PARTS if part.name not in without]


def check_programs(parts: Sequence[Part]) -> None:
    """Raise ToolMissing if a program is missing that the parts need."""
    for part in parts:
        for program in part.programs:
            if not shutil.which(program):
                raise ToolMissing(f"{program} is not installed, but needed for {part.what}; "
                                  f"install it, or give --without {part.name}")


def _made(part: Part, work: Path) -> list[Path]:
    """Make a part, and return the paths of its files. Raises AqmError if a command fails or the
    part has no file. work: folder for files that have to be packed."""
    for command in part.commands:
        _run(command)
    files = part.files(work)
    if not files:
        raise AqmError(f"{' '.join(part.commands[-1])} has made no file of {part.what}")
    return files


def _run(command: Sequence[str]) -> None:
    """Run a command in the checkout, with its output on the terminal. Raises AqmError if it ends
    with another status than 0, OSError if it can't be started."""
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode:
        raise AqmError(f"{' '.join(command)} ended with status {done.returncode}; its output "
                       "above says why")


def _output(command: Sequence[str]) -> str:
    """Return what a command in the checkout prints to standard output, without white space around
    it. If the command fails, no error is raised; it usually has printed nothing then, which gives
    ""."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False
                          ).stdout.strip()


def changes_of(version: str, changelog: str) -> str:
    """Return the section of a version in CHANGELOG.md, without its heading and with one line end at
    its end. Raises ConfigError if there is none or it is empty.

    Args:
        version: the version, without a v.
        changelog: the text of CHANGELOG.md.
    """
    match = re.search(rf"^## {re.escape(version)}(?![\w.])[^\n]*\n(.*?)(?=^## |\Z)", changelog,
                      re.MULTILINE | re.DOTALL)
    if not match or not match[1].strip():
        raise ConfigError(f"CHANGELOG.md says nothing of {version}")
    return match[1].strip() + "\n"


def notes(changes: str, without: Sequence[str]) -> str:
    """Return the release's notes: the changes, and a line that names the parts that are not in the
    folder, if there are any.

    Args:
        changes: as changes_of() returns them.
        without: names of the parts that were left out.
    """
    missing = [part.what for part in PARTS if part.name in without]
    return changes + (f"\nNot in this release: {', '.join(missing)}.\n" if missing else "")


def citation(text: str, day: datetime.date, address: str) -> str:
    """Return CITATION.cff with the day of the release, and with the project's address in place of
    ADDRESS.

    Args:
        text: the content of CITATION.cff.
        day: day of the release.
        address: the project's address. "": ADDRESS stays.

    Raises ConfigError if the text lacks a line for the day or the address.
    """
    for line in (r"^date-released: .*$", rf'^repository-code: "{re.escape(ADDRESS)}"$'):
        if not re.search(line, text, re.MULTILINE):
            raise ConfigError(f"CITATION.cff has no line {line[1:-1]!r}, which a release fills in")
    text = re.sub(r"^date-released: .*$", f"date-released: {day.isoformat()}", text,
                  flags=re.MULTILINE)
    return text.replace(ADDRESS, address or ADDRESS)


def write_release(files: Sequence[Path], folder: Path) -> None:
    """Copy files into a folder, with their checksums in SHA256SUMS. The folder must be empty or not
    exist, and gets all files at once: they are first copied to .NAME.part beside it, which is
    deleted if it is there. If anything fails, the folder stays as it was. Raises ConfigError if two
    files have the same name, one can't be read, or the folder isn't empty or can't be written."""
    names = [file.name for file in files]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"two files of the release are called {min(doubled)}")
    part = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        for file in files:
            shutil.copy2(file, part / file.name)
        write_checksums(part)
        part.replace(folder)  # also in place of an empty folder
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise ConfigError(f"{folder}: can't be written: {cause_of(error)}") from None


if __name__ == "__main__":
    sys.exit(main())

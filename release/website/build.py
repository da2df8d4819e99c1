# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the site: gather its pages, draw the gallery, and run MkDocs with --strict.

    python -m release.website.build                 into build/site
    python -m release.website.build --no-gallery    without pictures, to check the text

It has the pages of docs/ and of release/website/pages, CHANGELOG.md, and four that are generated:
the commands' options from their parsers, the checks against theory in full, and the gallery and a
sample report from golden runs.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from flent_aqm.commands.table import COMMANDS, fill
from release.website.gallery import Drawing, drawings, page
from research.validation.all_checks import CHECKS
from research.validation.page import in_full

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGES = ROOT / "build" / "site-pages"
SITE = ROOT / "build" / "site"
# Files of the source tree's root: their links lead into docs/, which is the site's root.
FROM_ROOT = ("CHANGELOG.md",)
SAMPLE_REPORT = "sample-report.html"
_LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")


def main() -> int:
    """Build the site into SITE; with --no-gallery without the gallery's pictures and the sample
    report. Return MkDocs' exit status, or 1 if a page would load something from other hosts. Exits
    with a message if a picture of the gallery can't be drawn. Raises CalledProcessError if the
    sample report can't be made."""
    parser = argparse.ArgumentParser(prog="release.website.build")
    parser.add_argument("--no-gallery", action="store_true", help="draw nothing")
    args = parser.parse_args()
    shutil.rmtree(PAGES, ignore_errors=True)
    gather(PAGES)
    if not args.no_gallery:
        sample_report(PAGES / SAMPLE_REPORT)
    draw([] if args.no_gallery else list(drawings()), PAGES / "gallery")
    status = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "-q", "-f",
         HERE / "mkdocs.yml"], check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    ).returncode
    if calls := [f"{path}: {call}" for path in sorted(SITE.rglob("*.html"))
                 for call in requests_of(path.read_text(encoding="utf-8"))]:
        print("the site would load files from other hosts; copy them into the site:", *calls,
              sep="\n  ", file=sys.stderr)
        return 1
    if not status:
        print(f"the site: {SITE / 'index.html'}")
    return status


def sample_report(page: Path) -> None:
    """Write the report on the golden batch, which README's table and picture show as well, to the
    HTML file `page`. Raises CalledProcessError if it can't be made."""
    program = Path(sys.executable).with_name("flent-aqm")
    subprocess.run([program, "report", "tests/golden/batches/quick", "-o", page, "--title",
                    "Sample: four queues at 100 Mbit/s"], cwd=ROOT, check=True)


def requests_of(text: str) -> list[str]:
    """Return the tags of an HTML page that load something by an address with a host in it: script,
    link, img, iframe, source and video. Links to follow (a) don't count."""
    tags = re.findall(r"<(?:script|link|img|iframe|source|video)\b[^>]*>", text)
    return [tag for tag in tags if re.search(r"""\b(?:src|href)=["']?(?:https?:)?//""", tag)]


def gather(pages: Path) -> None:
    """Collect all pages in the folder `pages`, which must not exist, and adjust their links: those
    of docs/, of this folder's pages/, FROM_ROOT, and the generated ones but the sample report.
    draw() adds the gallery's pictures. Sets the environment variable COLUMNS to 88."""
    shutil.copytree(ROOT / "docs", pages, ignore=shutil.ignore_patterns("*.bib"))
    shutil.copytree(HERE / "pages", pages, dirs_exist_ok=True)
    for name in FROM_ROOT:
        shutil.copy(ROOT / name, pages / name)
    (pages / "reference" / "options.md").write_text("\n".join(_option_lines()), encoding="utf-8")
    (pages / "results" / "validation-in-full.md").write_text(
        in_full(CHECKS, (pages / "results" / "validation.csv").read_text(encoding="utf-8")),
        encoding="utf-8")
    (pages / "gallery.md").write_text(page(drawings()), encoding="utf-8")
    for document in pages.rglob("*.md"):
        text = document.read_text(encoding="utf-8")
        document.write_text(_LINK.sub(partial(_adjust_link, document), text), encoding="utf-8")


def _adjust_link(document: Path, link: re.Match[str]) -> str:
    """Return what the site needs in place of the end of a link, "](TARGET#ANCHOR)". It stays if
    TARGET is an address, is made later (gallery, sample report) or is there; it gets a target
    without "docs/" if that is there. Otherwise, for a file of the source tree that the site lacks,
    it is "]", so that the words stay without a link.

    Args:
        document: page with the link.
        link: match of _LINK, the part of the link behind its words.
    """
    opening, target, anchor, closing = link[1], link[2], link[3] or "", link[4]
    made = re.match(rf"[a-z]+:|gallery/|{SAMPLE_REPORT}", target)
    if made or (document.parent / target).exists():
        return link[0]
    inside = target.removeprefix("docs/")
    if (document.parent / inside).exists():
        return f"{opening}{inside}{anchor}{closing}"
    return "]"


def _option_lines() -> Iterator[str]:
    # argparse wraps the help at the terminal's width
    os.environ["COLUMNS"] = "88"
    yield ("# Every option\n\nEach section below is the output of `flent-aqm COMMAND --help`.\n")
    for name, command in sorted(COMMANDS.items()):
        parser = fill(argparse.ArgumentParser(prog=f"flent-aqm {name}"), name)
        yield f"## {name}\n\n{command.summary.capitalize()}.\n"
        yield f"```text\n{parser.format_help().rstrip()}\n```\n"


def draw(wanted: list[Drawing], folder: Path) -> None:
    """Draw the gallery's pictures into `folder`, which is made if it isn't there, with the commands
    that the gallery's page shows, but in another resolution. Exits with a message if one fails."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for one, done in zip(wanted, pool.map(lambda one: _run_drawing(one, folder), wanted),
                             strict=True):
            if done.returncode:
                raise SystemExit(f"gallery: {' '.join(one.words)}: {done.stderr.strip()}")


def _run_drawing(one: Drawing, folder: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name(one.words[0])
    words = [str(folder / word) if word == one.picture else word for word in one.words[1:]]
    return subprocess.run([program, *words, "--figure-dpi", "80"], cwd=ROOT, text=True,
                          capture_output=True, check=False)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-3.0-or-later
"""Each page with measured numbers says once what they were measured with: this version."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import pytest

from flent_aqm import __version__
from flent_aqm.base.errors import ConfigError
from research.validation import from_runs, marked, stamp
from research.validation.stamp import Made
from tests.files import ROOT, RUNS

DOCS = ROOT / "docs"
PAGES = sorted([*(DOCS / "results").glob("*.md"), DOCS / "repeatable-runs.md", DOCS / "wifi.md",
                DOCS / "scorecard.md"])
# What a page says whose numbers are of an older version.
OLDER = re.compile(r"^Older numbers, because .{10,}$", re.MULTILINE)
# The lab's kernel, of whose runs the samples' digests are kept, too.
_OF_DIGESTS = json.loads((ROOT / "tests" / "golden" / "digests.json").read_text())["versions"]
KERNEL = f"{_OF_DIGESTS['lab kernel']} ({_OF_DIGESTS['kernel']})"
NOW, THEN = (Made((version,), (KERNEL,), day, runs) for version, day, runs in (
    (__version__, "2026-11-24", 3), ("0.0.9", "2026-11-21", 4)))


def refuse_older(page: str) -> None:
    """Refuse a page that names another version, or another kernel of the lab, beside its numbers
    and doesn't say why."""
    versions = {one for made in stamp.parts_of(page).values() for one in made.versions}
    versions |= set(re.findall(r"flent-aqm (\d+\.\d+\.\d+)", page))
    kernels = {one for made in stamp.parts_of(page).values() for one in made.kernels
               if "real time" not in one}
    assert (versions <= {__version__} and kernels <= {KERNEL}) or OLDER.search(page), (
        f"measured with {', '.join(sorted(versions))} on {', '.join(sorted(kernels))}, this is "
        f"{__version__} on {KERNEL}: make the page anew, or write a line 'Older numbers, because …'"
    )


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_page_has_one_stamp_that_its_parts_give(path: Path) -> None:
    """Of this version, or with a reason."""
    page = path.read_text(encoding="utf-8")
    assert stamp.parts_of(page), "no part says what it was made with"
    assert stamp.renewed(page) == page
    refuse_older(page)


@pytest.mark.parametrize("path", sorted({*DOCS.glob("*.md")} - {*PAGES}),
                         ids=lambda path: path.name)
def test_numbers_of_other_pages_are_of_this_version(path: Path) -> None:
    """Where they name one."""
    refuse_older(path.read_text(encoding="utf-8"))


def test_stamp_tells_versions_and_days_of_all_parts() -> None:
    """The first and the last day, and the sum of the runs."""
    assert stamp.line([NOW, THEN]) == (
        f"*Measured with flent-aqm 0.0.9, {__version__} on Linux {KERNEL}, "
        "2026-11-21 to 2026-11-24: 7 runs.*")


def test_numbers_of_an_older_version_need_a_reason(tmp_path: Path) -> None:
    """Which the page gives."""
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n<!-- part: x -->\n<!-- end of part -->\n{stamp.LINE}\n")
    marked.replace(page, "part", "| a |", THEN)
    with pytest.raises(AssertionError, match=r"measured with 0\.0\.9"):
        refuse_older(page.read_text())
    refuse_older(page.read_text() + "Older numbers, because the router is gone.\n")
    marked.replace(page, "part", "| b |", NOW)
    refuse_older(page.read_text())
    marked.replace(page, "part", "| c |", Made((__version__,), ("7.3.4 (ab)",), "2026-11-24"))
    with pytest.raises(AssertionError, match=r"on 7\.3\.4 \(ab\), this is"):
        refuse_older(page.read_text())
    real_time = Made((__version__,), (KERNEL, "6.18.44 (real time)"), "2026-11-24")
    marked.replace(page, "part", "| d |", real_time)
    refuse_older(page.read_text())


def test_page_without_its_line_is_refused(tmp_path: Path) -> None:
    """Where it is to stand, its writer decides."""
    page = tmp_path / "page.md"
    page.write_text("<!-- part: x -->\n<!-- end of part -->\n")
    with pytest.raises(ConfigError, match="0 lines begin with"):
        marked.replace(page, "part", "new", NOW)
    with pytest.raises(ValueError, match="no part of the page has a stamp"):
        stamp.renewed(f"# Page\n{stamp.LINE}\n")


def test_folder_without_the_page_is_one_line(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As where -o names a folder of one's own in place of docs."""
    args = argparse.Namespace(results=[RUNS / "ndt7.flent.gz"], output=tmp_path)
    assert from_runs.make(args, "bbr.md", "bbr", lambda runs: ["a table"]) == 1
    out, err = capsys.readouterr()
    assert out == "a table\n"
    assert err == (f"bbr: {tmp_path / 'bbr.md'} can't be read: No such file or directory; give the "
                   "folder docs of a checkout\n")
    (tmp_path / "bbr.md").write_text("# BBR\n")
    assert from_runs.make(args, "bbr.md", "bbr", lambda runs: ["a table"]) == 1
    assert "lacks the marks of the part 'bbr'" in capsys.readouterr().err


def test_runs_that_lack_a_value_are_refused_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """As those of another batch do, of which a table reads what only its own runs record."""
    def lines(runs: object) -> list[str]:
        raise KeyError("wifi")

    args = argparse.Namespace(results=[RUNS / "ndt7.flent.gz"], output=None)
    assert from_runs.make(args, "wifi.md", "three stations", lines) == 1
    assert capsys.readouterr().err == (
        "three stations: a run lacks a value: 'wifi' is missing; expected the runs of the table's "
        "batch\n")


def test_page_whose_line_is_twice_there_is_not_called_another_folder(tmp_path: Path) -> None:
    """The folder is right, and the page is what has to be mended."""
    page = tmp_path / "bbr.md"
    page.write_text(f"{stamp.LINE} a\n{stamp.LINE} b\n<!-- bbr: x -->\n<!-- end of bbr -->\n")
    with pytest.raises(ConfigError, match=rf"^{page}: 2 lines begin with .*, where one is expected"
                                          "; restore the page"):
        marked.replace(page, "bbr", "a table", NOW)

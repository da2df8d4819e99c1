# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of strangers, where people and programs read them."""

from __future__ import annotations

import csv
import os
import re
import subprocess
from pathlib import Path

import pyarrow.csv
import pytest

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.words import for_plot, for_spreadsheet, plain, plain_lines
from flent_aqm.cli import main
from research.bench.checkouts import python_for_all_users
from tests.files import RUNS, load, save

GOLDEN = RUNS
FORMULA = "=cmd|' /C calc'!A0"


def made(path: Path, title: str, test: str = "iperf3_download", **parameters: str) -> Path:
    """A real file with another title and more test parameters."""
    whole = load(GOLDEN / f"{test}.flent.gz")
    whole["metadata"]["TITLE"] = title
    whole["metadata"]["TEST_PARAMETERS"] |= parameters
    save(path, whole)
    return path


@pytest.mark.parametrize(("words", "shown", "lines"), [
    (words, shown, shown) for words, shown in (
        ("a title", "a title"), ("\x1b[2Jx\x07", "?[2Jx?"), ("\udcff", "?"),
        ("a\u202eb", "a?b"), ("caf\u00e9 \u65e5\u672c", "caf\u00e9 \u65e5\u672c"))]
    + [("a\nb\tc", "a b c", "a\nb\tc"), ("a\r\n\x1b", "a  ?", "a \n?")])
def test_plain_keeps_text_and_nothing_that_a_terminal_obeys(
        words: str, shown: str, lines: str) -> None:
    """In one line, or with line ends and tabs, and for any encoder."""
    assert plain(words) == shown
    assert plain_lines(f"{words}\n") == f"{lines}\n"


@pytest.mark.parametrize(("words", "cell"), [
    (FORMULA, f"'{FORMULA}"), ("@x", "'@x"), ("+1", "+1"), ("-5.5", "-5.5"), ("+1+1", "'+1+1"),
    ("-o", "'-o"), ("  =1", "'  =1"), ("a=b", "a=b"), ("", "")])
def test_cell_is_no_formula(words: str, cell: str) -> None:
    """Numbers stay numbers."""
    assert for_spreadsheet(words) == cell


def test_dollars_make_no_formula_of_a_label() -> None:
    """However often it is said."""
    assert for_plot("$a$") == r"\$a\$" == for_plot(for_plot("$a$"))


def test_errors_are_one_line_of_bounded_length() -> None:
    """Whatever they quote."""
    assert str(ConfigError("\x1b[2J\na")) == "?[2J a"
    assert len(str(BadResult("x" * 100_000))) <= BadResult.LONGEST + 1


def test_half_a_character_leaves_report_and_score_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a title, in a file's name that is no UTF-8, and in both commands."""
    name = os.fsdecode(b"caf\xe9-\x1b[2J.flent.gz")
    made(tmp_path / name, "\ud800")
    made(tmp_path / "good.flent.gz", "a title")
    page = tmp_path / "x.html"
    assert main(["report", str(tmp_path), "-o", str(page)]) == 0
    assert "caf?-?[2J.flent.gz" in page.read_text() or r"caf\udce9" in page.read_text()
    assert main(["score", str(tmp_path)]) == 0
    assert main(["score", "--format=json", str(tmp_path)]) == 0
    assert main(["assert", "p50(latency_loaded) < 1000ms", str(tmp_path)]) == 0
    assert main(["export", str(tmp_path), "-o", str(tmp_path / "x.parquet")]) == 0
    assert main(["share", str(tmp_path), "-o", str(tmp_path / "shared")]) == 0
    output = capsys.readouterr()
    assert "\x1b" not in output.out + output.err


def test_damaged_file_of_such_a_name_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its cause stands once, without the name before it."""
    (tmp_path / os.fsdecode(b"\xff\x1b[2J.flent.gz")).write_bytes(b"x")
    made(tmp_path / "good.flent.gz", "a title")
    page = tmp_path / "x.html"
    assert main(["report", str(tmp_path), "-o", str(page)]) == 0
    assert "\x1b" not in capsys.readouterr().err
    assert "??[2J.flent.gz" in page.read_text()


def test_tables_have_no_formulas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither from values nor from keys nor from names of files."""
    made(tmp_path / "=a.flent.gz", FORMULA, **{FORMULA: "@x", "minus": "-5"})
    assert main(["score", "--format", "csv", str(tmp_path)]) == 0
    lines = list(csv.reader(capsys.readouterr().out.splitlines()))
    assert f"'{FORMULA}" in lines[0]
    assert {f"'{FORMULA}", "'@x", "-5"} <= set(lines[1])
    table = tmp_path / "x.csv"
    assert main(["export", str(tmp_path), "-o", str(table)]) == 0
    assert pyarrow.csv.read_csv(table)["title"].to_pylist() == [f"'{FORMULA}"]
    assert main(["export", str(tmp_path), "-o", str(tmp_path / "x.parquet")]) == 0


def test_unreadable_cache_folder_is_as_good_as_none(tmp_path: Path) -> None:
    """One of another user, and one with an impossible name; root may read all, so the
    command runs as nobody."""
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    code = (
        "import os, sys\n"
        "from flent_aqm.cli import main\n"
        "import flent_aqm.commands.doctor, flent_aqm.setup.tools\n"
        "from flent_aqm.base.paths import find_cached\n"
        "if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "find_cached('bin', 'irtt'); flent_aqm.setup.tools.tool_dirs()\n"
        "sys.exit(main(['doctor']))")
    with python_for_all_users() as python:
        for cache in (private / "cache", "/" + "x" * 300):
            done = subprocess.run(
                [python, "-c", code], capture_output=True, text=True, check=False,
                env={**os.environ, "XDG_CACHE_HOME": str(cache)})
            # All parts are listed. Which of them this machine has decides the status.
            assert re.search(r"^(irtt|iperf3) .*\n(.*\n)*\d+ of \d+ parts found$", done.stdout,
                             re.MULTILINE), done.stdout + done.stderr
            assert done.returncode in (0, 1)
            assert "Error" not in done.stderr

# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent -B FILE`: which batches run, and with what status it ends.

They are planned, not run: no guest is started.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import Ended, Env

OURS = """\
[Arg::one]
title = one

[Batch::base]
abstract = yes
testbed = virtual
test_name = aqm_probe
hosts = localhost
length = 1

[Batch::study]
inherits = base
for_number = one

[Batch::other]
inherits = base

[Batch::off]
inherits = base
disabled = yes

[Batch::never]
inherits = base
enabled = no
"""
STOCK = OURS.replace("testbed = virtual\n", "")


def flent(env: Env, folder: Path, *words: str | Path) -> Ended:
    return env.flent(*words, "--batch-dry-run", cwd=folder)


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def ran(ended: Ended) -> list[str]:
    """The batches that a dry run went through, in order."""
    return re.findall(r"^Running batch '(.*)'\.$", ended.out, re.MULTILINE)


@pytest.mark.parametrize(("file", "expected"), [
    ("study.batch", ["study"]), ("Study.batch", ["study"]), ("some.batch", ["study", "other"]),
    ("base.batch", ["study", "other"]), ("off.batch", ["study", "other"]),
])
def test_batch_file_without_b_runs_its_namesake_or_else_all(
    file: str, expected: list[str], installed: Env, tmp_path: Path
) -> None:
    """The batch named like the file; without one, all that are neither abstract nor disabled."""
    ended = flent(installed, tmp_path, "-B", write(tmp_path / file, OURS))
    assert (ended.status, ended.err, ran(ended)) == (0, "", expected)
    assert f"No -b given, running: {', '.join(expected)}." in ended.out


def test_batch_file_without_b_runs_in_editable_and_as_module(
    editable: Env, tmp_path: Path
) -> None:
    """An editable install and `python -m flent` do the same."""
    file = write(tmp_path / "study.batch", OURS)
    ended = editable.run("python", "-m", "flent", "-B", file, "--batch-dry-run", cwd=tmp_path)
    assert (ended.status, ended.err, ran(ended)) == (0, "", ["study"])


@pytest.mark.parametrize(("text", "output"), [(OURS, False), (STOCK, True)])
def test_time_of_runs_in_a_row_is_announced_for_stock_batches_alone(
    text: str, output: bool, installed: Env, tmp_path: Path
) -> None:
    """Flent adds up real time; in the lab that says half an hour before four minutes."""
    (tmp_path / "study.batch").write_text(text)
    ended = flent(installed, tmp_path, "-B", "study.batch", "-b", "study")
    assert ended.status == 0
    assert ("Estimated total runtime" in ended.out + ended.err) is output


def test_two_batch_files_without_b_run_the_namesake_of_either(
    installed: Env, tmp_path: Path
) -> None:
    """A file with the base of the batches may stand before the file with the study."""
    base, study = OURS.split("[Batch::study]")
    ended = flent(installed, tmp_path, "-B", write(tmp_path / "base.batch", base),
                  "-B", write(tmp_path / "study.batch", "[Batch::study]" + study))
    assert (ended.status, ended.err, ran(ended)) == (0, "", ["study"])


def test_named_batch_when_given_with_b_runs_alone(installed: Env, tmp_path: Path) -> None:
    """-b keeps its meaning, ALL included, which tries the others and says why not."""
    file = write(tmp_path / "study.batch", OURS)
    assert ran(flent(installed, tmp_path, "-B", file, "-b", "other")) == ["other"]
    everything = flent(installed, tmp_path, "-B", file, "-b", "ALL")
    assert ran(everything) == ["base", "study", "other", "off", "never"]
    assert everything.status == 0


def test_batch_file_when_a_test_is_named_is_stock(
    installed: Env, stock: Env, tmp_path: Path
) -> None:
    """`flent -B FILE TEST` runs the test, as it ever did. Here it fails for lack of a host, for
    which Flent ends with 0 and this package with 1."""
    file = write(tmp_path / "study.batch", STOCK)
    ended, theirs = (flent(env, tmp_path, "-B", file, "ping") for env in (installed, stock))
    assert (ended.status, theirs.status) == (1, 0)
    assert (ended.out, ended.err) == (theirs.out, theirs.err)
    assert "Must specify host" in ended.err


def test_override_when_it_enables_a_batch_counts(installed: Env, tmp_path: Path) -> None:
    """--batch-override disabled=no is honoured before the batches are chosen."""
    file = write(tmp_path / "off.batch", OURS)
    ended = flent(installed, tmp_path, "-B", file, "--batch-override", "disabled=no")
    assert (ended.status, ended.err, ran(ended)) == (0, "", ["off"])


BAD = {
    "unknown batch": (OURS, ("-b", "nosuch"), "unknown batch nosuch; batches: base, study"),
    "unknown arg": (OURS.replace("for_number = one", "for_number = two"), (),
                    "for_number: no section [Arg::two]"),
    "unknown parent": (OURS.replace("inherits = base", "inherits = bose", 1), (),
                       "study inherits from non-existent parent bose."),
    "no test name": (OURS.replace("test_name", "name_test"), (), ("batch study has no test; set "
                                                                 "the key test_name")),
    "pause": (OURS.replace("testbed =", "pause = long\ntestbed ="), (),
              "pause: 'long'; expected whole seconds"),
    "key that Flent sets": (OURS + "batch_time = 1\n", (), "batch_time is set by Flent for each "),
    "no batch": ("[Arg::a]\ntestbed = virtual\n", ("--batch-override", "testbed=virtual"),
                 "no batch to run: there is no section [Batch::NAME]"),
    "unknown section": (OURS + "[Batsh::x]\n", (), ("section [Batsh::x] is of the unknown type "
                                                   "'Batsh'; expected [Batch::NAME]")),
    "section without type": (OURS + "[x]\n", (), ("section [x] has no '::' in its name; expected "
                                                 "[Batch::NAME]")),
    "section twice": (OURS + "[Batch::study]\n", (), "section 'Batch::study' already exists"),
    "line without meaning": (OURS + "what is this\n", (), "what is this"),
    "all abstract": ("[Batch::a]\nabstract = yes\ntestbed = virtual\n", (),
                     "no batch to run: all are abstract or disabled"),
    "unknown test": (OURS.replace("aqm_probe", "aqm_prube"), (),
                     "study.batch:7:13: test_name: unknown test 'aqm_prube'; did you mean"),
    "value in a list": (OURS.replace("for_number = one", "for_number = one\nfor_aqm = sfq, pi"), (),
                        "aqm: unknown value 'pi'; did you mean 'pie'?"),
    "no section": ("what is this\n", (), "study.batch', line: 1"),
    "empty file": ("", ("-b", "ALL"),
                   "study.batch: no batch to run: there is no section [Batch::NAME]"),
    "open quote": (OURS.replace("length", 'commands = "foo\nlength'), (), (
        "study.batch:9:12: commands: '\"foo': No closing quotation; expected names of sections "
        "[Command::NAME] with commas between")),
    "open quote of a command": (
        OURS.replace("length", 'commands = a\nlength')
        + '[Command::a]\nexec = true\nextra_commands = "foo\n', (),
        "study.batch:28:18: extra_commands: '\"foo': No closing quotation; expected"),
    "open quote in a list": (OURS.replace("= one", '= "one'), (), (
        "study.batch:13:14: for_number: '\"one': No closing quotation; expected names of sections "
        "[Arg::NAME]")),
    "commands that are a switch": (OURS.replace("length", "commands = no\nlength"), (),
                                   "commands: Flent reads a value of on, off, "),
    "test that is a switch": (OURS.replace("aqm_probe", "yes"), (),
                              "test_name: Flent reads a value of on, off, "),
    "hostile test": (OURS.replace("aqm_probe", "/etc/passwd"), (), "name '/etc/passwd' is a path;"),
}


@pytest.mark.parametrize("case", BAD)
def test_batch_of_ours_when_wrong_ends_with_one_line_and_status_1(
    case: str, installed: Env, tmp_path: Path
) -> None:
    """A user's mistake in a batch file of ours is one line on standard error, and status 1."""
    text, words, message = BAD[case]
    ended = flent(installed, tmp_path, "-B", write(tmp_path / "study.batch", text), *words)
    assert ended.status == 1
    assert len(ended.err.splitlines()) == 1, ended.err
    assert ended.err.startswith("ERROR: ")
    assert message in ended.err


def test_debug_error_when_asked_for_shows_where_it_came_from(
    installed: Env, tmp_path: Path
) -> None:
    """--debug-error keeps its meaning."""
    file = write(tmp_path / "study.batch", OURS)
    ended = flent(installed, tmp_path, "--debug-error", "-B", file, "-b", "nosuch")
    assert ended.status == 1
    assert "Traceback (most recent call last)" in ended.err


@pytest.mark.parametrize("case", ["unknown batch", "unknown arg", "unknown parent",
                                  "unknown section", "section twice"])
def test_batch_of_others_when_wrong_ends_as_in_stock_flent(
    case: str, installed: Env, stock: Env, tmp_path: Path
) -> None:
    """A batch file without the key `testbed` has Flent's own message, and ends with 1: Flent ends
    with 0 where nothing was run."""
    text, words, _ = BAD[case]
    file = write(tmp_path / "study.batch", text.replace("testbed = virtual\n", ""))
    words = words or ("-b", "study")
    ended, theirs = (flent(env, tmp_path, "-B", file, *words) for env in (installed, stock))
    assert (ended.status, theirs.status) == (1, 1 if case == "section twice" else 0)
    assert ended.err.splitlines()[-1] == theirs.err.splitlines()[-1]


def test_testbed_override_when_given_makes_any_batch_ours(
    installed: Env, tmp_path: Path
) -> None:
    """--batch-override testbed=… on a plain batch file asks for our way of ending, too."""
    file = write(tmp_path / "study.batch", STOCK)
    ended = flent(installed, tmp_path, "-B", file, "-b", "nosuch",
                  "--batch-override", "testbed=virtual")
    assert ended.status == 1
    assert len(ended.err.splitlines()) == 1


def test_error_in_a_process_of_the_gui_is_logged_and_its_status_stays(
    installed: Env, tmp_path: Path
) -> None:
    """fork_and_run, with which the GUI starts tests, logs the error and exits with 0."""
    file = write(tmp_path / "study.batch", OURS)
    script = tmp_path / "fork.py"
    script.write_text(
        "import os, sys\nfrom multiprocessing import Queue\n"
        "from flent import batch\nfrom flent.settings import load\n"
        "queue = Queue(); settings = load(sys.argv[1:]); settings.BATCH_NAMES = ['nosuch']\n"
        "pid = batch.new(settings).fork_and_run(queue)\n"
        "print(queue.get(timeout=30).getMessage(), os.waitpid(pid, 0)[1])\n")
    ended = installed.run("python", script, "-B", file, cwd=tmp_path)
    assert ended.status == 0, ended.err
    assert "unknown batch nosuch" in ended.out
    assert ended.out.endswith(" 0\n")


def test_study_when_its_base_names_the_testbed_is_ours(installed: Env, tmp_path: Path) -> None:
    """The key may stand in base.batch beside the file that was given."""
    write(tmp_path / "base.batch", OURS)
    file = write(tmp_path / "study.batch", "[Batsh::study]\n")
    ended = flent(installed, tmp_path, "-B", file)
    assert (ended.status, ended.err) == (1,
        (f"ERROR: {file}: section [Batsh::study] is of the unknown type 'Batsh'; expected "
         "[Batch::NAME], [Arg::NAME] or [Command::NAME]\n"))


def test_batch_file_that_is_not_utf8_is_named(installed: Env, tmp_path: Path) -> None:
    file = tmp_path / "study.batch"
    file.write_bytes(OURS.encode() + b"# \xff\n")
    ended = flent(installed, tmp_path, "-B", file, "--batch-override", "testbed=virtual")
    assert ended.status == 1
    assert ended.err.startswith(f"ERROR: batch file {file}: is not UTF-8 text (byte ")


def test_override_of_test_parameters_reaches_the_test_as_typed(
    installed: Env, tmp_path: Path
) -> None:
    """With equals signs and semicolons, which Flent splits at, and with keys of the batch."""
    file = write(tmp_path / "study.batch", STOCK)
    ended = installed.flent(
        "-B", file, "-b", "study", "--batch-dry-run", "--batch-verbose", "--batch-override",
        "test_parameters=a=1;b=${length},2", cwd=tmp_path)
    assert (ended.status, ended.err) == (0, "")
    assert "test_parameters=a=1;b=1,2\n" in ended.out

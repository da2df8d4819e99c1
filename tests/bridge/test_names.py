# SPDX-License-Identifier: GPL-3.0-or-later
"""Our test definitions by plain name, wherever Flent takes the name of a test."""

from __future__ import annotations

import gzip
import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.files import load

from .conftest import Env, new_env

RUN = ("-H", "localhost", "-l", "2", "-d", "1")


def listed(out: str) -> set[str]:
    """The names in the output of --list-tests."""
    return {line.split()[0] for line in out.splitlines() if line.startswith("  ")
            and " :  " in line}


def measure(env: Env, folder: Path, *words: str) -> Path:
    """Run our probe test by plain name; gives its data file."""
    ended = env.flent("aqm_probe", *RUN, *words, cwd=folder)
    assert (ended.status, ended.err) == (0, "")
    return next(folder.glob("*.flent.gz"))


def write_data(path: Path, **metadata: object) -> Path:
    """A data file with an empty series and that metadata."""
    content = {"version": 4, "x_values": [0.0, 1.0], "results": {"probe": [1.0, 2.0]},
               "raw_values": {},
               "metadata": {"TIME": "2026-01-01T00:00:00.000000Z", "HOSTS": ["server"],
                            "HOST": "server", "SERIES_META": {}, "TITLE": "", "LENGTH": 2,
                            "TOTAL_LENGTH": 2, "STEP_SIZE": 1.0, "TEST_PARAMETERS": {},
                            "DATA_FILENAME": path.name, **metadata}}
    with gzip.open(path, "wt") as file:
        json.dump(content, file)
    return path


@pytest.fixture(scope="module")
def stock_list(stock: Env) -> set[str]:
    """The tests that a Flent without us lists."""
    return listed(stock.flent("--list-tests").out)


@pytest.mark.parametrize("command", [("flent",), ("python", "-m", "flent")], ids=" ".join)
def test_list_when_asked_for_has_stock_tests_and_ours(
    command: tuple[str, ...], either: Env, stock_list: set[str]
) -> None:
    """--list-tests shows ours among the stock ones, and none of those is gone."""
    ended = either.run(*command, "--list-tests")
    assert (ended.status, ended.err) == (0, "")
    assert stock_list | {"aqm_probe"} <= listed(ended.out)
    assert "Probe of the bridge's own tests" in ended.out
    assert {"rrul", "ping"} <= stock_list


@pytest.mark.parametrize("command", [("flent",), ("python", "-m", "flent")], ids=" ".join)
def test_our_test_when_run_by_name_writes_and_loads_data(
    command: tuple[str, ...], either: Env, tmp_path: Path
) -> None:
    """A definition of ours, its include, its runner, its data file: all work by plain name."""
    ended = either.run(*command, "aqm_probe", *RUN, cwd=tmp_path)
    assert (ended.status, ended.err) == (0, "")
    data = next(tmp_path.glob("*.flent.gz"))
    content = load(data)
    assert content["metadata"]["NAME"] == "aqm_probe"
    assert [sample["val"] for sample in content["raw_values"]["probe"]] == [2.0]
    shown = either.run(*command, data, "-f", "summary", cwd=tmp_path)
    assert (shown.status, shown.err) == (0, "")
    assert "probe" in shown.out


def test_our_test_when_plotted_draws(either: Env, tmp_path: Path) -> None:
    """A plot of a definition of ours is drawn from its data file."""
    data = measure(either, tmp_path)
    picture = tmp_path / "probe.svg"
    ended = either.run("flent", data, "-p", "probe", "-o", picture, cwd=tmp_path)
    assert (ended.status, ended.err) == (0, "")
    assert b"<svg" in picture.read_bytes()


def test_our_test_when_named_in_batch_runs(installed: Env, tmp_path: Path) -> None:
    """A batch file names our test as it names a stock one."""
    batch = tmp_path / "some.batch"
    batch.write_text("[Batch::some]\ntest_name = aqm_probe\nhosts = localhost\n"
                     "length = 1\ndelay = 0\n")
    ended = installed.flent("-B", batch, "-b", "some", cwd=tmp_path)
    assert (ended.status, ended.err) == (0, "")
    assert len(list(tmp_path.glob("batch-some-*.flent.gz"))) == 1


def test_stock_name_when_ours_is_equal_stays_stock(installed: Env) -> None:
    """A file of ours named like a stock test (here one that raises) is never looked at."""
    ended = installed.flent("ping", "--list-plots")
    assert (ended.status, ended.err) == (0, "")
    assert "ping_cdf" in ended.out


def test_two_test_names_when_given_are_refused(installed: Env) -> None:
    """Ours and a stock name at once: Flent's message, with both names."""
    for words in (("rrul", "aqm_probe"), ("aqm_probe", "rrul")):
        ended = installed.flent(*words, "--list-plots")
        assert "ERROR: Multiple test names specified" in ended.err


def test_unknown_word_when_given_is_a_host(installed: Env) -> None:
    """A word that names no test is still taken for a host's name."""
    ended = installed.flent("aqm_probe", "localhost", "-l", "1", "-d", "0", "--list-plots")
    assert "probe" in ended.out
    assert ended.err == ""


def test_unknown_name_when_in_data_file_is_reported_as_by_flent(
    installed: Env, stock: Env, tmp_path: Path
) -> None:
    """A data file of a test that nobody has gives Flent's own message, but ends with 1: without
    the test there is nothing to show."""
    data = write_data(tmp_path / "x.flent.gz", NAME="no_such_test")
    ours, theirs = (env.flent(data, "-f", "summary", cwd=tmp_path)
                    for env in (installed, stock))
    assert "Error loading test 'no_such_test'" in ours.err
    assert (ours.status, theirs.status) == (1, 0)
    assert ours.err.replace(str(installed.path), "") == theirs.err.replace(str(stock.path), "")


@pytest.fixture(scope="module")
def besieged(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Env:
    """An environment with this package, and files named evil all around its two folders of
    tests. Whoever executes one of them makes a file `executed` in the environment."""
    env = new_env(tmp_path_factory.mktemp("besieged") / "env")
    env.install(wheel)
    evil = f"open({str(env.path / 'executed')!r}, 'w').close()\n"
    stock = (env.site / "flent").resolve()
    # Flent's folder becomes a copy, so that evil files can be put around it.
    (env.site / "flent").unlink()
    shutil.copytree(stock, env.site / "flent")
    ours = env.site / "flent_aqm" / "tests_defs"
    for folder in (env.path.parent, env.site, ours.parent, env.site / "flent",
                   env.site / "flent/tests", env.site / "flent/tests/sub", ours / "sub"):
        folder.mkdir(exist_ok=True)
        (folder / "evil.conf").write_text(evil)
    return env


@pytest.mark.parametrize("name", ["{evil}/evil", "../evil", "../../evil", "./evil", "sub/evil",
                                  "../tests/rrul"])
def test_hostile_name_when_in_data_file_is_refused(
    name: str, besieged: Env, tmp_path: Path
) -> None:
    """No NAME executes a file outside the two folders: not beside, above, below, absolute."""
    executed = besieged.path / "executed"
    executed.unlink(missing_ok=True)
    data = write_data(tmp_path / "x.flent.gz", NAME=name.format(evil=besieged.path.parent))
    ended = besieged.flent(data, "-f", "summary", cwd=tmp_path)
    assert not executed.exists()
    assert len(ended.err.splitlines()) == 1
    assert "expected the plain name of a test" in ended.err
    # The same files are executed by a Flent without us, else this test proves nothing.
    if name != "../tests/rrul":
        besieged.flent(data, "-f", "summary", cwd=tmp_path, environ={"FLENT_AQM_DISABLE": "1"})
        assert executed.exists()


def test_hostile_output_when_in_data_file_writes_nothing(
    installed: Env, stock: Env, tmp_path: Path
) -> None:
    """Metadata can't choose the file that a command writes (stock Flent lets it)."""
    target = tmp_path / "written"
    data = write_data(tmp_path / "x.flent.gz", NAME="ping", OUTPUT=str(target))
    ended = installed.flent(data, "-f", "csv", cwd=tmp_path)
    assert not target.exists()
    assert ended.status == 0
    stock.flent(data, "-f", "csv", cwd=tmp_path)
    assert target.exists()


def test_delay_when_given_is_stored_and_restored(installed: Env, tmp_path: Path) -> None:
    """DELAY and IRTT_INTERVAL come back from a data file as they were given."""
    data = measure(installed, tmp_path, "--irtt-sampling-interval", "10")
    metadata = load(data)["metadata"]
    assert (metadata["DELAY"], metadata["IRTT_INTERVAL"]) == (1, 10)
    printed = installed.code(
        "from flent.settings import new; from flent.resultset import load\n"
        f"s = new(); s.update(load({str(data)!r}).meta()); print(s.DELAY, s.IRTT_INTERVAL)")
    assert printed.split() == ["1", "10"]


def test_data_file_when_written_with_us_loads_in_stock_flent(
    installed: Env, stock: Env, tmp_path: Path
) -> None:
    """What is added to the metadata doesn't disturb a Flent without this package."""
    code = ("from flent.settings import new; from flent import resultset as r\n"
            "s = new(); s.update({'NAME': 'ping', 'HOSTS': ['h'], 'HOST': 'h'})\n"
            "s.load_test(informational=True)\n"
            f"r.new(s).dump_dir({str(tmp_path)!r})")
    installed.code(code)
    data = next(tmp_path.glob("*.flent.gz"))
    ended = stock.flent(data, "-f", "metadata", cwd=tmp_path)
    assert (ended.status, ended.err) == (0, "")
    assert '"DELAY": 5' in ended.out


DIALOG = """\
import sys
from flent.settings import load
from flent import gui
from multiprocessing import Queue
settings = load(["--gui", "aqm_probe"])
app = gui.QApplication(sys.argv)
dialog = gui.NewTestDialog(None, settings, Queue())
names = [dialog.testName.itemData(i) for i in range(dialog.testName.count())]
print(dialog.testName.itemData(dialog.testName.currentIndex()), "rrul" in names, len(names))
from flent.gui import results_load_helper
print(results_load_helper(sys.argv[1])["description"])
"""


@pytest.mark.skipif(not (find_spec("qtpy") and find_spec("PySide6")),
                    reason="needs the extra `gui`: pip install -e '.[gui]'")
def test_gui_when_new_test_is_asked_for_lists_ours_and_loads_its_data(
    installed: Env, tmp_path: Path
) -> None:
    """The GUI's dialog for a new test offers our tests, and their data files load."""
    data = measure(installed, tmp_path)
    script = tmp_path / "dialog.py"
    script.write_text(DIALOG)
    ended = installed.run("python", script, data, environ={"QT_QPA_PLATFORM": "offscreen"})
    assert ended.status == 0, ended.err
    selected, has_stock, count = ended.out.splitlines()[-2].split()
    assert (selected, has_stock) == ("aqm_probe", "True")
    assert int(count) > 80
    assert ended.out.splitlines()[-1] == "Probe of the bridge's own tests"

# SPDX-License-Identifier: GPL-3.0-or-later
"""The start-up hook: in Flent it works, everywhere else it can't be noticed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .conftest import Env

MODULES = "import sys; print(*sorted(sys.modules))"
HOOK = {"flent_aqm", "flent_aqm.bridge", "flent_aqm.bridge.hook"}
# Loads Flent, its settings and one definition; --list-tests, which loads all of them, takes three
# times as long.
PLOTS_OF_RRUL = ("rrul", "--list-plots")
HAS_RUNNER = "import flent.runners as r; print(r.get('aqm_probe').__name__)"


def test_other_program_when_started_loads_the_hook_and_nothing_else(
    stock: Env, either: Env
) -> None:
    """A Python program that isn't Flent gets three tiny modules, not one of the library."""
    without, with_us = stock.code(MODULES).split(), either.code(MODULES).split()
    # An editable install leaves nothing else at start-up either.
    assert set(with_us) - set(without) == HOOK


def test_other_program_when_importing_numpy_loads_nothing_more_of_ours(either: Env) -> None:
    """The finder lets all other imports pass."""
    printed = either.code(f"import numpy, json; {MODULES}").split()
    assert {name for name in printed if name.startswith("flent")} == HOOK


def test_stock_test_when_run_imports_no_runner_of_ours(installed: Env) -> None:
    """A look-up of one of Flent's own runners doesn't load our table."""
    printed = installed.code(f"import flent.runners as r; r.get('ping'); {MODULES}").split()
    assert "flent.runners" in printed
    assert not [name for name in printed if name.startswith("flent_aqm.measure.runners")]


def test_guest_when_flent_is_loaded_imports_nothing_of_the_sweep(installed: Env) -> None:
    """Inside the lab, where imports cost wall time, the host's half stays away."""
    printed = installed.code(f"import flent.batch; {MODULES}", {"FLENT_AQM_CELL": "1"}).split()
    assert "flent_aqm.bridge.batch" in printed
    assert not [name for name in printed if name.startswith(("flent_aqm.sweep", "rich"))]


def test_disable_switch_when_set_gives_stock_flent(stock: Env, installed: Env) -> None:
    """With FLENT_AQM_DISABLE=1 the list of tests is the stock one; with 0, ours are known."""
    listed = installed.run("flent", "--list-tests", environ={"FLENT_AQM_DISABLE": "1"}).out
    assert listed == stock.run("flent", "--list-tests").out
    for value, is_ours in (("1", False), ("0", True)):
        ended = installed.run("flent", "aqm_probe", "--list-plots",
                              environ={"FLENT_AQM_DISABLE": value})
        assert ("Available plots for test 'aqm_probe'" in ended.out) is is_ours


def test_start_file_when_package_is_gone_is_silent(own_installed: Env) -> None:
    """A left-over flent_aqm.pth harms neither Python nor Flent."""
    assert "flent_aqm" in own_installed.code(MODULES)
    shutil.rmtree(own_installed.site / "flent_aqm")
    assert "flent_aqm" not in own_installed.code(MODULES)
    ended = own_installed.run("flent", *PLOTS_OF_RRUL)
    assert (ended.status, ended.err) == (0, "")


def test_start_file_when_editable_checkout_is_gone_is_silent(
    fresh: Env, own_checkout: Path
) -> None:
    """A deleted checkout harms neither Python nor Flent."""
    fresh.install(own_checkout, "-e")
    shutil.rmtree(own_checkout)
    assert "flent_aqm" not in fresh.code(MODULES)
    ended = fresh.run("flent", *PLOTS_OF_RRUL)
    assert (ended.status, ended.err) == (0, "")


def test_start_file_entry_when_resolved_as_python_3_15_does_installs(installed: Env) -> None:
    """The .start file names a function that exists and puts the finder in place once."""
    printed = installed.code(
        "import sys, pkgutil, pathlib, flent_aqm\n"
        "start = pathlib.Path(flent_aqm.__file__).parents[1] / 'flent_aqm.start'\n"
        "sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != '_Finder']\n"
        "for _ in range(2): pkgutil.resolve_name(start.read_text().strip())()\n"
        "print([type(f).__name__ for f in sys.meta_path].count('_Finder'))\n"
        + HAS_RUNNER)
    assert printed.split() == ["1", "AqmProbeRunner"]


def test_install_when_flent_is_loaded_already_patches_it(installed: Env) -> None:
    """Programs that call install() late get the same as those started with it."""
    printed = installed.code(
        "import os, flent.batch; del os.environ['FLENT_AQM_DISABLE']\n"
        "from flent_aqm.bridge.hook import install; install()\n" + HAS_RUNNER,
        environ={"FLENT_AQM_DISABLE": "1"})
    assert printed.strip() == "AqmProbeRunner"


def test_patch_when_it_fails_gives_one_warning_and_flent_goes_on(own_installed: Env) -> None:
    """A defect of ours costs the user our features, not Flent."""
    (own_installed.site / "flent_aqm/bridge/plots.py").write_text("1 / 0\n")
    ended = own_installed.run("flent", *PLOTS_OF_RRUL)
    assert ended.status == 0
    assert "Available plots for test 'rrul'" in ended.out
    assert len(ended.err.splitlines()) == 1
    assert ("can't extend flent.plotters, so Flent works without this part of flent-aqm: "
            "ZeroDivisionError") in ended.err
    assert ended.err.rstrip().endswith("to silence this, set FLENT_AQM_DISABLE=1)")


def test_own_test_that_fails_is_the_users_to_mend(installed: Env, tmp_path: Path) -> None:
    """No other version of Flent would make it better."""
    (tmp_path / "mine.py").write_text("1 / 0\n")
    ended = installed.run("flent", *PLOTS_OF_RRUL,
                          environ={"FLENT_AQM_OWN_TOOL": str(tmp_path / "mine.py")})
    line = next(one for one in ended.err.splitlines() if "can't extend" in one)
    assert line.endswith("mine.py: line 1 raises ZeroDivisionError: division by zero; mend it, see "
                         "docs/extend.md")


def test_patched_module_when_inspected_looks_untouched(installed: Env) -> None:
    """Source, loader and reload of a patched module are what they are in stock Flent."""
    printed = installed.code(
        "import importlib, inspect, flent.batch as b\n"
        "print(type(b.__loader__).__name__, type(b.__spec__.loader).__name__)\n"
        "print(len(inspect.getsource(b)) > 1000)\n"
        "import flent.runners as r; importlib.reload(r); print(r.get('aqm_probe').__name__)")
    assert printed.split() == [
        "SourceFileLoader", "SourceFileLoader", "True", "AqmProbeRunner"]


def test_child_process_when_spawned_knows_our_runners(installed: Env, tmp_path: Path) -> None:
    """Flent hands runners to worker processes, which newer Pythons don't fork."""
    script = tmp_path / "spawn.py"
    script.write_text(
        "import multiprocessing as m, flent.runners as r\n"
        "if __name__ == '__main__':\n"
        "    with m.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.apply(r.get, ('aqm_probe',)).__name__)\n")
    ended = installed.run("python", script)
    assert (ended.status, ended.out.strip()) == (0, "AqmProbeRunner"), ended.err


def test_runner_when_nobody_knows_it_is_refused_as_by_flent(installed: Env, stock: Env) -> None:
    """The message of an unknown runner is Flent's."""
    code = ("import flent.runners as r\ntry: r.get('nosuch')\n"
            "except RuntimeError as e: print(e)")
    assert installed.code(code) == stock.code(code) == "Runner not found: 'nosuch'\n"


def test_runner_when_its_module_is_imported_first_is_found(installed: Env) -> None:
    """Our runners import Flent and Flent finds our runners: installed may come first."""
    printed = installed.code(f"import flent_aqm.measure.runners.aqm_probe\n{HAS_RUNNER}")
    assert printed.strip() == "AqmProbeRunner"


def test_tables_when_missing_are_empty(own_installed: Env) -> None:
    """Without a table of runners Flent has its own ones."""
    (own_installed.site / "flent_aqm/measure/runners/all_runners.py").unlink()
    printed = own_installed.code(
        "from flent_aqm.bridge.names import RUNNERS, import_table; import flent.runners as r\n"
        "print(import_table(*RUNNERS), r.get('ping').__name__)")
    assert printed == "{} PingRunner\n"


def test_run_in_the_guest_loads_neither_numpy_nor_matplotlib() -> None:
    """What a run doesn't need isn't loaded, and Flent goes on without it."""
    code = "import sys, flent.batch; print({'numpy', 'matplotlib'} & set(sys.modules))"
    for value, loaded in (("1", "set()"), ("", "{")):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "FLENT_AQM_CELL": "1", "FLENT_AQM_WITHOUT_PLOTS": value})
        assert done.stdout.startswith(loaded)


def test_module_that_a_run_does_without_is_named_with_the_way_to_have_it() -> None:
    """A user's server in Python inherits the variable, too. What stands for xmlrpc.client may
    outlive its loading."""
    code = ("import xmlrpc.client as c\nc.ServerProxy\n"
            "try: c.__odd__\nexcept AttributeError as e: print(e)\nimport numpy")
    done = subprocess.run(
        [sys.executable, "-c", f"from flent_aqm.bridge import hook; hook.install()\n{code}"],
        capture_output=True, text=True, check=False,
        env={**os.environ, "FLENT_AQM_WITHOUT_PLOTS": "1"})
    assert done.stdout == ("'xmlrpc.client' is loaded at the first use of a public name; what "
                           "stands for it has no '__odd__'\n")
    assert done.stderr.endswith("runs as: env -u FLENT_AQM_WITHOUT_PLOTS PROGRAM\n")

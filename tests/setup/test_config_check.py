# SPDX-License-Identifier: GPL-3.0-or-later
"""kconfig drops options in silence; the build must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base.errors import SetupError
from flent_aqm.setup.kernel import compile as compiling
from flent_aqm.setup.kernel.config_check import check_config, parse_config
from flent_aqm.setup.kernel.recipe import FRAGMENT

GENERATED = """\
# Automatically generated file; DO NOT EDIT.
CONFIG_NET=y
CONFIG_HZ=100
CONFIG_DEBUG=y
# CONFIG_RSEQ is not set
"""


@pytest.mark.parametrize(("fragment", "named"), [
    ("CONFIG_RSEQ=y", r"RSEQ=n \(wanted y\)"),
    ("CONFIG_ABSENT=y", r"ABSENT=n \(wanted y\)"),
    ("CONFIG_DEBUG=n", r"DEBUG=y \(wanted n\)"),
    ("CONFIG_HZ=1000", r"HZ=100 \(wanted 1000\)"),
    ("CONFIG_DEBUG=m", r"DEBUG=y \(wanted m\); expected .* \(not m, as the lab has no modules\)$"),
], ids=["switched off", "unknown", "switched on", "other value", "module"])
def test_check_config_when_an_option_differs_names_it(fragment: str, named: str) -> None:
    """Every way in which kconfig can depart from the fragment is an error."""
    with pytest.raises(SetupError, match=named):
        check_config(f"CONFIG_NET=y\n{fragment}\n", GENERATED)


def test_check_config_when_two_options_differ_names_both() -> None:
    """All faults at once: a kernel takes minutes to configure again."""
    with pytest.raises(SetupError, match=r"RSEQ.*ABSENT"):
        check_config("CONFIG_RSEQ=y\nCONFIG_ABSENT=y\n", GENERATED)


def test_check_config_when_all_is_met_is_silent() -> None:
    """Off may be written as n or left out."""
    check_config("# why\n\nCONFIG_NET=y\nCONFIG_HZ=100\nCONFIG_RSEQ=n\n", GENERATED)


def test_parse_config_when_a_line_is_no_setting_gives_its_number() -> None:
    """A slip of the pen in the fragment isn't taken for a comment."""
    with pytest.raises(SetupError, match="line 2: 'CONFIG_B y'"):
        parse_config("CONFIG_A=y\nCONFIG_B y\n")


def test_lab_config_names_each_option_once() -> None:
    """Of two settings of one option only the last would count."""
    lines = [line.split("=")[0] for line in FRAGMENT.read_text().splitlines()
             if line.startswith("CONFIG_")]
    assert len(lines) == len(set(lines)), FRAGMENT


def test_lab_config_keeps_the_host_out() -> None:
    """Without these, runs would differ or others could stop the guest."""
    options = parse_config(FRAGMENT.read_text())
    assert (options["UML_RANDOM"], options["MCONSOLE"]) == ("n", "n")


@pytest.fixture
def obedient_make(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of make and kconfig, which takes all that is asked for."""
    def make(tree: Path, *words: str) -> str:
        (tree / ".config").write_text((tree / "lab.config").read_text())
        return ""

    monkeypatch.setattr(compiling, "make", make)


@pytest.mark.usefixtures("obedient_make")
@pytest.mark.parametrize(("kconfig", "requested"), [
    ("config PROC_SYSCTL\n\tbool\n\tselect SYSCTL\n", "CONFIG_PROC_SYSCTL=y\n"),
    ("config SYSCTL\n\tbool\n", ""),
    (None, ""),
], ids=["before 7.3", "7.3", "neither"])
def test_option_of_an_older_kernel_is_asked_for_where_there_is_one(
        kconfig: str | None, requested: str, tmp_path: Path) -> None:
    """It brings the newer one with it."""
    if kconfig is not None:
        (tmp_path / "fs" / "proc").mkdir(parents=True)
        (tmp_path / "fs" / "proc" / "Kconfig").write_text(kconfig)
    compiling.configure(tmp_path, "CONFIG_SYSCTL=y\n")
    assert (tmp_path / ".config").read_text() == f"CONFIG_SYSCTL=y\n{requested}"


@pytest.mark.usefixtures("obedient_make")
@pytest.mark.parametrize("there", [True, False])
def test_option_that_came_later_is_left_out_where_the_source_lacks_it(
        there: bool, tmp_path: Path) -> None:
    """And no other option."""
    sched = tmp_path / "net" / "sched"
    sched.mkdir(parents=True)
    (sched / "Kconfig").write_text(f"config NET_SCH_{'DUALPI2' if there else 'SFB'}\n\ttristate\n")
    requested = "CONFIG_NET_SCH_SFB=y\nCONFIG_NET_SCH_DUALPI2=y\n"
    compiling.configure(tmp_path, requested)
    assert (tmp_path / ".config").read_text() == (requested if there else "CONFIG_NET_SCH_SFB=y\n")

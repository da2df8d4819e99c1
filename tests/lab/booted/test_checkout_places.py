# SPDX-License-Identifier: GPL-3.0-or-later
"""A checkout works wherever people put one: each of these places has one, with its own environment.

Guests and namespaces have a /tmp, /run and /dev/shm of their own, which hide checkouts there; users
can't look into each other's homes; a first line of a program can't hold a path with a blank.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from research.bench.checkouts import copy_checkout

pytestmark = pytest.mark.lab

NOBODY = 65534
ONE_CELL = " ".join(f"--batch-override {setting}" for setting in (
    "test_name=iperf3_upload", "aqm=codel", "rate_mbps=100", "burst_shaping=0", "cross_traffic=0",
    "length=1"))
# Those that start programs as other users, in guests, and in copies of the checkout.
TESTS = ("tests/results/test_words.py", "tests/setup/test_install.py",
         "tests/parts/scorecard/test_own.py::test_file_with_a_tool_is_scored",
         "tests/lab/booted/test_determinism.py::test_run_repeats[rrul-other_user,below_tmp]")


@dataclass(frozen=True)
class Place:
    """Where a checkout is, below a new folder in `base`.

    folder: its path there; link: a link in the place of the folder, through which it is reached;
    home: nobody but its user may look into the folder above it; user, owner: numbers of the users
    that run commands and that the files belong to.
    """

    name: str
    base: str
    folder: str = "flent-aqm"
    link: str = ""
    home: bool = False
    user: int = 0
    owner: int = 0


PLACES = (
    Place("tmp", "/tmp"),
    Place("memory", "/dev/shm"),
    Place("blank", "/var/tmp", "a folder/flent aqm"),
    Place("blank-in-tmp", "/tmp", "a folder/flent aqm"),
    Place("link", "/var/tmp", "there/flent-aqm", link="here"),
    Place("link-to-tmp", "/tmp", "there/flent-aqm", link="here"),
    Place("home-of-root", "/var/tmp", home=True),
    Place("home-of-user", "/var/tmp", home=True, user=NOBODY, owner=NOBODY),
    Place("home-in-tmp", "/tmp", home=True, user=NOBODY, owner=NOBODY),
    Place("of-another-user", "/var/tmp", user=NOBODY),
)


@dataclass(frozen=True)
class Checkout:
    """A checkout in its place, and how its user runs commands in it."""

    place: Place
    folder: Path
    home: Path

    def run(self, *words: str, timeout_s: float = 300) -> str:
        """Run a command in the checkout and return its output. Fails the test if it fails."""
        before: Sequence[str] = ()
        if os.geteuid() == 0 and self.place.user:
            before = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--")
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("PYTEST_", "XDG_", "MAKE", "MFLAGS"))}
        done = subprocess.run(
            [*before, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False, timeout=timeout_s, stdin=subprocess.DEVNULL,
            env={**kept, "HOME": str(self.home), "PWD": str(self.folder)})
        assert done.returncode == 0, done.stdout[-8000:]
        assert "Traceback" not in done.stdout
        return done.stdout


@pytest.fixture(params=PLACES, ids=lambda place: place.name, scope="module")
def checkout(request: pytest.FixtureRequest) -> Iterator[Checkout]:
    """Make a checkout in a place, for one user."""
    place: Place = request.param
    if os.geteuid() != 0 and place.owner != place.user:
        pytest.skip("needs root, to have files of another user")
    with tempfile.TemporaryDirectory(prefix="flent-aqm-place-", dir=place.base,
                                     ignore_cleanup_errors=True) as name:
        top = Path(name)
        home = top / "home"
        home.mkdir()
        folder = copy_checkout((home if place.home else top) / place.folder)
        if os.geteuid() == 0:
            os.chown(home, place.user, place.user)
            if place.owner:
                _give(folder, place.owner)
        top.chmod(0o755)
        home.chmod(0o700)
        if place.link:
            (top / place.link).symlink_to(top / Path(place.folder).parts[0])
            folder = top / place.link / Path(*Path(place.folder).parts[1:])
        yield Checkout(place, folder, home)


def _give(folder: Path, owner: int) -> None:
    """Make a user the owner of all files but those that are links to this checkout's own."""
    for above, _, names in os.walk(folder):
        os.chown(above, owner, owner)
        for name in names:
            path = os.path.join(above, name)
            if os.lstat(path).st_nlink == 1:
                os.chown(path, owner, owner, follow_symlinks=False)


def test_demo_draws_its_picture(checkout: Checkout) -> None:
    """`make demo`, of one queue."""
    output = checkout.run("make", "demo", "DEMO_ARGUMENTS=--batch-override aqm=codel")
    assert "2 done, 0 failed" in output
    picture = re.search(r"^picture: (.*)$", output, re.MULTILINE)
    assert picture
    assert Path(picture[1]).stat().st_size > 10_000


def test_sweep_writes_its_report(checkout: Checkout) -> None:
    """`make sweep`, of one run."""
    output = checkout.run("make", "sweep", f"SWEEP_ARGUMENTS={ONE_CELL}")
    assert "1 done, 0 failed" in output
    assert "report.html" in output


def test_lab_and_namespaces_find_the_package(checkout: Checkout) -> None:
    """The testbed netns inside a lab, so it needs no root, and in a folder below /tmp."""
    with tempfile.TemporaryDirectory(prefix="flent-aqm-place-", dir="/tmp") as name:
        folder = Path(name)
        shutil.copy(checkout.folder / "batches" / "base.batch", folder)
        (folder / "try.batch").write_text(
            "[Batch::try]\ninherits = base\noutput_path = results\ntest_name = iperf3_upload\n"
            "length = 1\ndelay = 1\nrate_mbps = 20\naqm = sfq\ntestbed = netns\n")
        if os.geteuid() == 0:
            os.chown(folder, checkout.place.user, checkout.place.user)
        flent_aqm = checkout.folder / ".venv" / "bin" / "flent-aqm"
        output = checkout.run("sh", "-c", 'cd "$0" && exec "$@"', name, str(flent_aqm), "lab",
                              "--", "flent", "-B", "try.batch")
        assert "1 done, 0 failed" in output
        assert len(list((folder / "results").glob("*.flent.gz"))) == 1


@pytest.mark.skipif(os.environ.get("FLENT_AQM_IN_A_PLACE") == "1", reason="in such a checkout")
def test_tests_pass_that_hang_on_the_place(checkout: Checkout) -> None:
    """Those of `make test` that start programs as other users, in guests and in copies."""
    output = checkout.run(".venv/bin/pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *TESTS,
                          timeout_s=900)
    assert re.search(r"^\d+ passed", output, re.MULTILINE), output[-2000:]


def test_make_test_says_that_it_writes(checkout: Checkout) -> None:
    """Where it may not, one line names what works instead. Where it may, it goes on."""
    if checkout.place.owner == checkout.place.user:
        assert checkout.run("make", "-s", "writable") == ""
        return
    told = checkout.run("sh", "-c", "! make -s writable 2>&1")
    assert told.startswith("make test writes build/ and caches into the checkout")
    assert ".venv/bin/pytest" in told.splitlines()[0]

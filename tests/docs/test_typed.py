# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documents tell people to type is typed here, in a folder with results of golden runs.

Sweeps are planned (--batch-dry-run), not run. Commands that look at results and short ones of the
lab run as they are. What else there is runs in another test, by the table below, or a comment of
Markdown above its block says why it isn't run: <!-- not run: reason -->.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from flent import settings

from flent_aqm.commands.table import COMMANDS, fill
from flent_aqm.spec.keys import BATCH_KEYS, PARAMETER_PREFIXES, SCENARIO_KEYS, SWEEP_KEYS
from tests.files import ROOT

from ..warm_flent import run_flent, run_flent_aqm

GOLDEN = ROOT / "tests" / "golden"
DOCUMENTS = (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")),
             *sorted(ROOT.glob("release/website/pages/**/*.md")))
FLENT_SETTINGS = frozenset(action.dest.lower() for action in settings.parser._actions)
_BLOCK = re.compile(r"(?P<mark>^ *<!-- not run: [^>]+-->\n)?^ *```(?:sh)?\n(?P<text>.*?)^ *```$",
                    re.MULTILINE | re.DOTALL)
# What a line begins with that people type, perhaps behind a prompt.
_PROGRAM = re.compile(
    r"(\$ |# )?(sudo )?(\S*/bin/)?(flent|flent-aqm|flent-gui|make|pip|python3?|pytest|dask|umask|"
    r"export|openssl|iperf3|irtt|netserver|apt-get|podman|uci) ")
_PLANNED = re.compile(r"flent -B ")
_LOOKS = re.compile(
    r"flent-aqm (score|report|share|export|figures|assert) |flent-aqm( report)?$|"
    r"flent -[ip] |flent \w+ --list-plots")
_LAB = re.compile(r"flent-aqm lab ")
# Lines that need those before them: their whole block is run.
_SCRIPT = re.compile(r"(umask|openssl) ")
# What needs more than this folder, the file of tests that runs its like, and a word of that file.
_ELSEWHERE = (
    (r"flent-aqm (lab .*flent-aqm )?speedtest", "sweep/test_speedtest.py", "flent-aqm"),
    (r"flent-aqm lab --delay \d{6,}", "lab/booted/test_far.py", "base_delay_ms"),
    (r"flent-aqm lab .*wifi_rates_mbps", "parts/wifi/test_wifi.py", "wifi_rates_mbps"),
    (r"flent-aqm lab .*link_(\w+_)?trace=", "parts/links/test_links.py", "_trace"),
    (r"flent-aqm lab .*--server ", "lab/booted/test_own_programs.py", "--server"),
    (r"flent-aqm lab .*router_program=", "lab/booted/test_router_program.py", "router_program"),
    (r"flent-aqm lab .*tx_queues=", "lab/booted/test_topologies.py", "tx_queues"),
    (r"flent-aqm lab .*mine\.topology", "lab/booted/test_topologies.py", "topology"),
    (r"flent-aqm lab .*librespeed", "lab/booted/test_speedtests.py", "librespeed"),
    (r"flent-aqm lab .*ndt7-client", "servers/ndt7/test_crate_client.py", "ndt7-client"),
    (r"flent-aqm figures results/paper", "show/plots/test_figures.py", '["figures", '),
    (r"flent-aqm report --follow ", "show/report/test_follow.py", "--follow"),
    (r"flent-aqm verdict ", "parts/kernels/verdict/test_verdict.py", '"verdict"'),
    (r"flent-aqm replay ", "sweep/replay/test_replay.py", '"replay"'),
    (r"flent-aqm share .*--publish", "sweep/replay/test_archive.py", "--publish"),
    (r"flent-aqm kernel |.* kernel=", "parts/kernels/test_own_kernel.py", '"kernel"'),
    (r"flent-aqm doctor --testbed|flent-aqm restore |.* testbed=ssh", "parts/ssh/test_sweep.py",
     "testbed=ssh"),
    (r"flent-aqm try-router", "parts/ssh/test_try_router.py", "try-router"),
    (r"flent-aqm doctor", "setup/test_doctor.py", "doctor"),
    (r"flent-aqm worker |dask scheduler |.* scheduler=|export DASK",
     "parts/cluster/test_cluster.py", "scheduler="),
    (r"flent-aqm why ", "parts/why/test_known.py", '"why"'),
    (r"flent-aqm infer ", "parts/infer/test_command.py", "infer"),
    (r"flent-aqm scorecard ", "parts/scorecard/test_own.py", "scorecard"),
    (r"flent-aqm serve", "servers/test_command.py", "serve"),
    (r"flent-gui ", "show/plots/test_gui.py", "flent-gui"),
    (r"flent -B batches/aqm_sweep.batch -b paper", "sweep/plan/test_batch_keys.py", "dry-run"),
    (r"flent -B .*--batch-resume", "sweep/test_sweep.py", "batch-resume"),
    (r"python -m research.validation.(bbr|l4s|cake_mq|wifi)", "research/test_case_tables.py",
     "validation"),
    (r"python -m research.validation.quic", "research/test_quic.py", "validation"),
    (r"python -m research.validation.papers", "research/test_papers.py", "papers"),
    (r"python -m research.validation.study", "research/test_study_router.py", "validation"),
    (r"python -m research.validation.numbers", "research/test_numbers.py", "numbers.PARTS"),
    (r"python -m research.validation.prediction", "research/test_prediction.py",
     "prediction"),
    (r"python -m research.validation.speedtests", "research/test_speedtests.py", "validation"),
)
_WARM = {"flent": run_flent, "flent-aqm": run_flent_aqm}
# What stands for names of the reader's.
_NAMES = {"FILE.flent.gz": "one.flent.gz", "run.flent.gz": "one.flent.gz",
          "FILE…": "one.flent.gz", "FILES": "one.flent.gz",
          "RESULTS…": "results", "results/speedtests-…": "results/speedtests-1",
          "results/speedtests-*": "results/speedtests-1",
          "results/FOLDER": "results/aqm_sweep-2026-11-21T084045",
          "results/…": "results/quick-2026-11-21T083614"}
# Folder of results -> golden runs in it. One sweep is whole, of others a file or two do.
_RESULTS = {"quick-2026-11-21T083614": "batches/quick/*", "ping_exp-1": "batches/ping_exp/*",
            "aqm_sweep-2026-11-21T084045": "batches/quick/ndt7-[cn]*", "rrul_gallery-1":
            "runs/stock_rrul*", "speedtests-1": "speedtests/[cn]*"}


@dataclass(frozen=True)
class Typed:
    """A line of a block. mark: why the block isn't run, None if it says nothing of it."""

    where: str
    line: str
    mark: str | None

    @property
    def words(self) -> str:
        """Without the root's prompt, the comment, and where the program is."""
        return re.sub(r"^(\$ |# )?(sudo )?(\S*/bin/)?", "", re.sub(r"\s+# .*", "", self.line))

    @property
    def elsewhere(self) -> tuple[Path, str] | None:
        """The file of tests that runs its like, and a word of it."""
        return next(((ROOT / "tests" / file, word) for pattern, file, word in _ELSEWHERE
                     if re.match(pattern, self.words)), None)

    @property
    def runs(self) -> bool:
        """Is it run here?"""
        return not self.elsewhere and any(
            kind.match(self.words) for kind in (_PLANNED, _LOOKS, _LAB, _SCRIPT))


def typed() -> Iterator[Typed]:
    """Every line of the documents that people are to type."""
    for page in DOCUMENTS:
        for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
            lines = [line.strip() for line in block["text"].replace("\\\n", " ").splitlines()]
            for line in lines if _PROGRAM.match(f"{lines[0]} ") else []:
                if _PROGRAM.match(f"{line} "):
                    yield Typed(str(page.relative_to(ROOT)), line, block["mark"])


TYPED = [*typed()]


def test_comments_behind_commands_are_not_cut_off() -> None:
    """The site has room for so many letters beside its two bars."""
    assert [one for one in TYPED if " # " in one.line and len(one.line) > 96] == []


def test_no_command_names_a_sweep_that_only_its_writer_has() -> None:
    """A folder of results has the time of its sweep in its name."""
    dated = re.compile(r"results/\S*\d{4}-\d\d-\d\dT\d")
    assert [one for one in TYPED if dated.search(one.line)] == []
    assert [name for name, command in COMMANDS.items() if dated.search(command.example)] == []


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder as readers have it: the batches, and results."""
    (tmp_path / "batches").symlink_to(ROOT / "batches")
    (tmp_path / "one.flent.gz").symlink_to(GOLDEN / "runs" / "iperf3_upload.flent.gz")
    for name, golden in _RESULTS.items():
        (tmp_path / "results" / name).mkdir(parents=True)
        for file in GOLDEN.glob(f"{golden}.flent.gz"):
            # Copies, as links in folders are not followed.
            shutil.copy(file, tmp_path / "results" / name
                        / f"batch-{file.name.replace('-both', '-download-')}")
    return tmp_path


def meant(words: str) -> str:
    """Return a line with names that there are."""
    for name, real in _NAMES.items():
        words = words.replace(name, real)
    return words


def split(words: str) -> list[str]:
    """Return a line's words, quotes and the comment taken off; what stands for the shell alone."""
    lexer = shlex.shlex(words, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    return [*lexer]


def run(desk: Path, words: str) -> str:
    """Run a line in a shell, or by forks where it needs none; returns what it printed."""
    words = meant(words)
    env = {**os.environ, "MPLBACKEND": "Agg",
           "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    shell = partial(subprocess.run, cwd=desk, capture_output=True, text=True, check=False, env=env)
    if (warm := _WARM.get(words.split()[0])) and not any(word[0] in "|&;<>"
                                                         for word in split(words)):
        expanded = shell(["bash", "-c", f"printf '%s\\0' {words}"]).stdout.split("\0")
        done = warm(*expanded[1:-1], cwd=desk, env=env)
    else:
        done = shell(["bash", "-c", words], input="exit\n")
    # 1: a condition doesn't hold on these files, or they lack what a plot shows
    may_fail = " assert " in words or "Nothing to plot: " in done.stderr
    assert done.returncode in ((0, 1) if may_fail else (0,)), done.stderr[-2000:]
    return done.stdout + done.stderr


@pytest.mark.parametrize("one", [one for one in TYPED if re.match(r"flent-aqm \w", one.words)],
                         ids=lambda one: f"{one.where}: {one.line}")
def test_command_is_one_that_there_is(one: Typed) -> None:
    """Its parser takes its words; what they do is for the tests of each command."""
    words = [*itertools.takewhile(lambda word: word[0] not in "|&;<>", split(one.words))][1:]
    assert words[0] in COMMANDS
    parser = fill(argparse.ArgumentParser(prog=words[0], exit_on_error=False), words[0])
    parser.parse_args(words[1:])


@pytest.mark.parametrize("one", [one for one in TYPED if _PLANNED.match(one.words)],
                         ids=lambda one: f"{one.where}: {one.line}")
def test_batch_and_keys_are_ones_that_there_are(one: Typed) -> None:
    """The file, its batches, and each override: a key of ours, or one that the file has."""
    options = [*itertools.pairwise(shlex.split(one.words))]
    files = [ROOT / "batches" / "base.batch",
             *(ROOT / word for option, word in options if option == "-B")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    for option, word in options:
        if option == "-b":
            assert re.search(rf"^\[Batch::{re.escape(word)}\]$", text, re.MULTILINE)
        if option == "--batch-override":
            key = word.partition("=")[0]
            assert (key in SCENARIO_KEYS | SWEEP_KEYS.keys() | BATCH_KEYS | FLENT_SETTINGS
                    or key.startswith(PARAMETER_PREFIXES)
                    or re.search(rf"^{re.escape(key)} *=", text, re.MULTILINE))


@pytest.mark.parametrize("one", [one for one in TYPED if not one.runs],
                         ids=lambda one: f"{one.where}: {one.line}")
def test_line_that_is_not_run_here_runs_elsewhere_or_has_a_reason(one: Typed) -> None:
    """In a file that is there, or above its block."""
    if one.elsewhere:
        file, word = one.elsewhere
        assert word in file.read_text(encoding="utf-8"), file
    else:
        assert one.mark, one


# Of those that differ by readers' names, or by the order of words that a parser has accepted
# above, one.
@pytest.mark.parametrize("words", sorted({
    tuple(sorted(split(meant(one.words)))): one.words
    for one in TYPED if one.runs and _LOOKS.match(one.words)}.values()))
def test_command_that_looks_at_results(desk: Path, words: str) -> None:
    """Ends well."""
    run(desk, words)


def test_certificates_of_a_cluster(desk: Path) -> None:
    """Each line of the block counts: one that fails ends it."""
    one, = {one.where for one in TYPED if _SCRIPT.match(one.words)}
    block, = (block["text"] for block in _BLOCK.finditer((ROOT / one).read_text(encoding="utf-8"))
              if _SCRIPT.match(block["text"]))
    run(desk, f"set -e\n{block}")
    run(desk, "openssl verify -CAfile authority.pem cert.pem")


@pytest.mark.lab
@pytest.mark.parametrize("words", sorted({
    one.words for one in TYPED if one.runs and _LAB.match(one.words)}))
def test_command_of_the_lab(desk: Path, words: str) -> None:
    """Ends well; without a command it has a terminal, in which a shell gets "exit"."""
    run(desk, words if " -- " in words else f"script -qec {shlex.quote(words)} /dev/null")


@pytest.mark.parametrize("words", sorted({
    one.words for one in TYPED if one.runs and _PLANNED.match(one.words)}))
def test_sweep_is_planned(desk: Path, words: str) -> None:
    """With as many runs as the comments say."""
    printed = run(desk, words if "--batch-dry-run" in words else f"{words} --batch-dry-run")
    for one in TYPED:
        if one.words == words and (output := re.search(r"# ([\d,]+) runs", one.line)):
            assert f"Would have run {output[1].replace(',', '')} tests" in printed

# SPDX-License-Identifier: GPL-3.0-or-later
"""The real `flent -B` on batch files of the tests, which inherit from the project's base."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.paths import resource_dir
from tests.files import load

from ..warm_flent import run_flent


@dataclass(frozen=True)
class Bench:
    """A folder with batch files, where sweeps run."""

    folder: Path

    def batch(self, text: str, name: str = "try") -> None:
        """Write a batch file that starts as [Batch::NAME] and inherits from base."""
        (self.folder / f"{name}.batch").write_text(
            f"[Batch::{name}]\ninherits = base\noutput_path = results\n{text}\n")

    def flent(self, *words: str, name: str = "try", env: Mapping[str, str] | None = None
              ) -> subprocess.CompletedProcess[str]:
        """Run `flent -B NAME.batch WORDS`."""
        return run_flent("-B", f"{name}.batch", *words, cwd=self.folder, timeout_s=1200,
                         env={**os.environ, **(env or {})})

    def files(self) -> list[Path]:
        """The data files that came out."""
        return sorted((self.folder / "results").glob("*.flent.gz"))

    def file(self, part: str) -> Path:
        """The one data file whose name contains part."""
        file, = (file for file in self.files() if part in file.name)
        return file

    def data(self, part: str) -> Any:
        """The content of that file."""
        return load(self.file(part))


def new_bench(folder: Path) -> Bench:
    """A Bench in folder, with the project's base.batch."""
    shutil.copy(resource_dir("batches") / "base.batch", folder)
    return Bench(folder)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """An empty Bench."""
    return new_bench(tmp_path)


@pytest.fixture(scope="session")
def goodput(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A Bench in which speed tests have run at 100, 500 and 1000 Mbit/s."""
    bench = new_bench(tmp_path_factory.mktemp("goodput"))
    bench.batch("for_rate = 100mbit, 500mbit, 1000mbit\nfor_aqm = fq_codel\nlength = 4\ndelay = 1\n"
                "for_tool = ndt7, iperf3_upload")
    done = bench.flent()
    assert done.returncode == 0, done.stderr
    return bench


@pytest.fixture(scope="session")
def full_queue(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A Bench in which iperf3 has filled each queue at 100 Mbit/s."""
    bench = new_bench(tmp_path_factory.mktemp("queues"))
    bench.batch("for_aqm = no_aqm, codel, fq_codel, sfq\ntest_name = iperf3_upload\ndelay = 1")
    done = bench.flent()
    assert done.returncode == 0, done.stderr
    return bench

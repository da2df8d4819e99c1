# SPDX-License-Identifier: GPL-3.0-or-later
"""A run of a speed test by a batch, over a line that is slow and whose queue is long."""

from __future__ import annotations

from pathlib import Path

from flent_aqm.base.paths import resource_dir

from ...warm_flent import run_flent


def make_run(test: str, folder: Path, *more: str) -> Path:
    """Make it at 10 Mbit/s and 20 ms through drop-tail; return its data file. more: lines of the
    batch."""
    (folder / "base.batch").write_text((resource_dir("batches") / "base.batch").read_text())
    lines = ["[Batch::try]", "inherits = base", "output_path = results", f"test_name = {test}",
             "aqm = no_aqm", "rate_mbps = 10", "base_delay_ms = 20", *more]
    (folder / "try.batch").write_text("".join(f"{line}\n" for line in lines))
    done = run_flent("-B", "try.batch", cwd=folder, timeout_s=300)
    assert done.returncode == 0, done.stdout + done.stderr
    file, = folder.glob("results/*.flent.gz")
    return file

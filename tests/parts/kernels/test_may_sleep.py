# SPDX-License-Identifier: GPL-3.0-or-later
"""A queue that may sleep is found by the instrumented kernel, where all samples are the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flent_aqm.base.paths import cache_to_write, resource_dir
from flent_aqm.setup.kernel import recipe
from flent_aqm.setup.kernel.tree import NOTES
from research.bench.defects import Planted

BIN = Path(sys.executable).parent
NAME = "suite-sleeps"

pytestmark = pytest.mark.lab


@pytest.mark.parametrize(("flags", "status", "words"), [
    ("GFP_KERNEL", 1, (f"Worse: the kernel {NAME}: BUG: kmalloc may sleep where it must not "
     "(in fq_codel_enqueue, sch_fq_codel.c line ")),
    ("GFP_ATOMIC", 0, ("Of 1 changed line with code 1 ran (all runs). The same: all 3 pairs have "
     "identical samples.")),
])
def test_an_allocation_that_may_sleep_is_worse_with_its_place(
    flags: str, status: int, words: str, tmp_path: Path
) -> None:
    source = recipe.stock_source()
    tree = cache_to_write() / "trees" / (f"{source.package}_{source.version}" if source else "-")
    if not (tree / NOTES).is_dir():
        pytest.skip(f"set-up has kept no objects in {tree}; flent-aqm kernel build makes them")
    patch = tmp_path / "change.patch"
    patch.write_text(Planted(
        NAME, "net/sched/sch_fq_codel.c",
        "\tcodel_set_enqueue_time(skb);\n\tflow = &q->flows[idx];",
        f"\tcodel_set_enqueue_time(skb);\n\tkfree(kmalloc(64, {flags}));\n"
        "\tflow = &q->flows[idx];", ()).patch(tree))
    shutil.copy(resource_dir("batches") / "base.batch", tmp_path)
    (tmp_path / "try.batch").write_text("""\
[Arg::one]
seed = 1
[Arg::two]
seed = 2
[Arg::three]
seed = 3
[Batch::try]
inherits = base
test_name = aqm_flows
for_draw = one, two, three
aqm = fq_codel
rate_mbps = 20
length = 1
filename_extra = ${seed}
""")
    try:
        for words_of_command in (
                ("flent-aqm", "kernel", "build", NAME, "--patch", str(patch)),
                ("flent", "-B", "try.batch", "--batch-override", "output_path=base"),
                ("flent", "-B", "try.batch", "--batch-override", "output_path=test",
                 "--batch-override", f"kernel={NAME}")):
            done = _run(*words_of_command, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
        done = _run("flent-aqm", "verdict", "--base", "base", "--test", "test", cwd=tmp_path)
    finally:
        _run("flent-aqm", "kernel", "remove", NAME, cwd=tmp_path)
    assert words in " ".join(done.stdout.split()), done.stderr
    assert done.returncode == status


def _run(program: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BIN / program, *words], cwd=cwd, timeout=1500, check=False,
                          capture_output=True, text=True)

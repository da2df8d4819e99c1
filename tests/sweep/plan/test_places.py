# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused of a batch is named with its file, line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base.paths import resource_dir
from flent_aqm.sweep.plan.places import placed_sections

from ...warm_flent import run_flent

BATCH = """\
[Arg::one]
aqm = codel
{arg}
[Command::hook]
type = pre
exec = echo hello
{command}
[Batch::first]
abstract = yes
inherits = base
test_name = ping
length = 5
for_kind = one
commands = hook
{parent}
[Batch::mine]
inherits = first
{batch}
"""


def _refused(folder: Path, *words: str, **parts: str) -> str:
    """What the terminal shows of a batch with some lines more: always one line."""
    (folder / "mine.batch").write_text(BATCH.format(
        **{"arg": "", "command": "", "parent": "", "batch": "", **parts}))
    (folder / "base.batch").write_text((resource_dir("batches") / "base.batch").read_text())
    ended = run_flent("-B", "mine.batch", "-b", "mine", *words, cwd=folder)
    assert ended.returncode == 1, ended.stdout
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    assert not list(folder.glob("**/*.log"))
    return ended.stderr


@pytest.mark.parametrize(("part", "lines", "output"), [
    # spare is the 39th character of its value
    ("batch", "topology = client-lan, lan-router,router-server, spare-other",
     "mine.batch:18:50: topology: no links lead from client to spare and other"),
    ("batch", "# more\n\ntopology: clients:40", "mine.batch:20:11: topology: 'clients:40'"),
    ("batch", "topology = client-lan,\n  lan-router, router-server, spare-other",
     "mine.batch:18:12: topology: column "),
    ("parent", "rate_mbps = ten", "mine.batch:15:13: rate_down_mbps: 'ten'"),
    ("batch", "rate_mbps = ${speed}\nspeed = fast", "mine.batch:19:9: rate_down_mbps: 'fast'"),
    ("arg", "link_loss = 101%", "mine.batch:3:13: link_loss: '101%'"),
    ("command", "esential = 1", "mine.batch:7:12: command hook: unknown key 'esential'"),
    ("command", "esential = 1\n[Command::zulu]\ntype = pre\nexec = true\nesential = 1",
     "mine.batch:7:12: command hook: unknown key 'esential'"),
    ("batch", "exec = ls",
     "mine.batch:18:8: batch mine: exec is a key of commands; move it to a section"),
    ("batch", "lenght = 6", "mine.batch:18:10: batch mine: unknown key 'lenght'"),
    ("batch", "hosts = sever", "mine.batch:18:9: batch mine: hosts: there is no host 'sever'"),
    # two keys that can't be had together, and one of the sweep
    ("batch", "shaper = cake\naqm = codel", "mine.batch:18:10: shaper: cake is AQM and shaper"),
    ("batch", "jobs = many", "mine.batch:18:8: jobs: 'many'"),
    # found when all runs are known
    ("batch", "modem_mbps = 5\nlink_outages_s = 1-1000",
     "mine.batch:19:18: link_outages_s: nothing passes for 999 s"),
])
def test_value_that_is_refused_is_named_with_line_and_column(
    tmp_path: Path, part: str, lines: str, output: str
) -> None:
    """Where it is written: in the batch, one that it inherits from, an argument, a command, or
    the key whose value it takes."""
    assert _refused(tmp_path, **{part: lines}).startswith(f"ERROR: {output}")


def test_value_of_an_override_is_named_as_one(tmp_path: Path) -> None:
    """It has no line."""
    output = _refused(tmp_path, "--batch-override", "topology=clients:40",
                    batch="topology = clients:3")
    assert output.startswith("ERROR: --batch-override: topology: 'clients:40'")


def test_positions_are_those_that_configparser_reads(tmp_path: Path) -> None:
    """Comments, empty lines and lines that continue a value are no keys, whatever is in them."""
    path = tmp_path / "x.batch"
    path.write_text("""\
# first = 1

[Batch::x]
aqm = codel
; second = 2
hosts =
  server
  third = 3
  # fourth = 4
  [Arg::y]
rate:   5
   [Arg::z]
  delay = 7
""")
    found = {(section, key): value.place and (value.place.line, value.place.column)
             for section, values in placed_sections(str(path)) for key, value in values.items()}
    assert found == {("Batch::x", "aqm"): (4, 7), ("Batch::x", "hosts"): (6, 8),
                     ("Batch::x", "rate"): (11, 9)}

# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused of a batch is named with its file, line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.paths import resource_dir
from flent_aqm.sweep.plan.places import (
    FilePosition,
    Placed,
    placed,
    placed_sections,
    placed_word,
)

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
    ("parent", "rate_mbps = ten", "mine.batch:15:13: rate_mbps: 'ten'"),
    ("batch", "rate_mbps = ${speed}\nspeed = fast", "mine.batch:19:9: rate_mbps: 'fast'"),
    ("arg", "link_loss = 101%", "mine.batch:3:13: link_loss: '101%'"),
    ("command", "esential = 1", "mine.batch:7:12: command hook: unknown key 'esential'"),
    ("command", "esential = 1\n[Command::zulu]\ntype = pre\nexec = true\nesential = 1",
     "mine.batch:7:12: command hook: unknown key 'esential'"),
    ("batch", "exec = ls",
     "mine.batch:18:8: batch mine: exec is a key of commands; move it to a section"),
    ("batch", "repetition = 3", ("mine.batch:18:14: section [Batch::mine]: repetition is set by "
                                 "Flent for each run, so it can't be given; did you mean")),
    ("batch", "lenght = 6", "mine.batch:18:10: batch mine: unknown key 'lenght'"),
    ("batch", "test_name = aqm_flows\ntest_parameters = flows=1xcubic/moon",
     "mine.batch:19:19: batch mine: test_parameters: flows: column 1: '1xcubic/moon': no server "),
    ("batch", "hosts = sever", "mine.batch:18:9: batch mine: hosts: there is no host 'sever'"),
    # two keys that can't be had together, and one of the sweep
    ("batch", "shaper = cake\naqm = codel", "mine.batch:18:10: shaper: cake is AQM and shaper"),
    ("batch", "step_size = wide", (
        "mine.batch:18:13: batch mine: step_size: Flent can't read the value 'wide': could not")),
    ("batch", "pause = ${length}\nlength = 5", "batch mine: pause: '${length}'; expected whole s"),
    ("batch", "hosts = off", "batch mine: hosts: Flent reads a value of on, off,"),
    ("batch", "rate_mbps = ${own}\nown = ${rate_mbps}", "'${own}': the ${name} in it refer to"),
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


def test_position_of_a_command_is_left_out_if_another_has_the_key(tmp_path: Path) -> None:
    """The error doesn't name the command; the position of the last would be wrong."""
    output = _refused(tmp_path, command="[Command::zulu]\ntype = pre\nexec = echo ${moon}\n"
                      "[Command::last]\ntype = pre\nexec = true", batch="commands = zulu")
    assert output.startswith("ERROR: batch mine, pre command 1: exec contains ${moon}, which no")


def test_rate_that_a_share_is_taken_of_is_named_with_its_own_place(tmp_path: Path) -> None:
    output = _refused(tmp_path, batch="rate_mbps = 85%\nmodem_mbps = fast")
    assert output.startswith("ERROR: mine.batch:19:14: modem_mbps: 'fast' is not a number")


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


def at(text: str, line: int, column: int) -> Placed:
    """A value that begins there in x.batch."""
    value = Placed(text)
    value.place = FilePosition("x.batch", line, column)
    return value


def nowhere(text: str) -> Placed:
    """A value of unknown position."""
    value = Placed(text)
    value.place = None
    return value


@pytest.mark.parametrize(("text", "word", "column"), [
    ("fq_codel, fq, pi", "fq", 17), ("fq_codel, fq, pi", "pi", 21), ("'fq','pi'", "pi", 13),
    ("fq,pi;x", "pi", 10), ("fq_codel,\n pi", "pi", 7)])
def test_word_of_a_list_has_its_own_position(text: str, word: str, column: int) -> None:
    """Not that of a longer one before it. A list of several lines gives its own."""
    value = placed_word(at(text, 4, 7), "pie", word)
    assert value == "pie"
    assert isinstance(value, Placed)
    assert value.place == FilePosition("x.batch", 4, column)
    assert type(placed_word(nowhere(text), "pie", word)) is str
    assert type(placed_word("pi", "pie", "pi")) is str


TOPOLOGY = "topology: column 4: no such host"


@pytest.mark.parametrize(("key", "message", "values", "overrides", "shown"), [
    ("aqm", "aqm: no", {"aqm": at("pie", 3, 7)}, {}, "x.batch:3:7: aqm: no"),
    # the position counts, also if an override has the key, too
    ("aqm", "aqm: no", {"aqm": at("pie", 3, 7)}, {"aqm": "pie"}, "x.batch:3:7: aqm: no"),
    ("aqm", "aqm: no", {"aqm": "pie"}, {"aqm": "pie"}, "--batch-override: aqm: no"),
    ("aqm", "aqm: no", {"aqm": "pie"}, {}, "aqm: no"),
    ("repetitions", "no", {"repetitions": 0}, {"repetitions": 0}, "--batch-repetitions: no"),
    ("repetitions", "no", {"repetitions": False}, {"repetitions": False}, "--batch-override: no"),
    ("aqm", "aqm: no", {"aqm": nowhere("pie")}, {}, "aqm: no"),
    ("aqm", "aqm: no", {"aqm": nowhere("pie")}, {"aqm": 1}, "--batch-override: aqm: no"),
    ("aqm", "aqm: no", {"other": at("pie", 3, 7)}, {"aqm": "pie"}, "aqm: no"),
    ("", "no", {"aqm": at("pie", 3, 7)}, {}, "no"),
    # the key that sets both directions, unless the direction has a value of its own
    ("rate_up_mbps", "no", {"rate_mbps": at("x", 5, 2)}, {}, "x.batch:5:2: no"),
    ("rate_up_mbps", "no", {"rate_mbps": at("x", 5, 2), "rate_up_mbps": at("y", 6, 3)}, {},
     "x.batch:6:3: no"),
    ("rate_up_mbps", "no", {"rate_mbps": at("x", 5, 2), "rate_up_mbps": at("", 6, 3)}, {},
     "x.batch:5:2: no"),
    ("streams", "no", {"rate_mbps": at("x", 5, 2)}, {}, "no"),
    # a value that is another key's, through several, in a circle, or of a key that isn't there
    ("aqm", "no", {"aqm": at("${a}", 1, 1), "a": at("${b}", 2, 2), "b": at("pie", 3, 3)}, {},
     "x.batch:3:3: no"),
    ("aqm", "no", {"aqm": at("${aqm}", 1, 9)}, {}, "x.batch:1:9: no"),
    ("aqm", "no", {"aqm": at("${moon}", 1, 9)}, {}, "no"),
    ("aqm", "no", {"aqm": at("${a}-b", 1, 9), "a": at("pie", 3, 3)}, {}, "x.batch:1:9: no"),
    # a column within the value is counted from 1, and only where the value is in the file as read
    ("topology", TOPOLOGY, {"topology": at("a-b, c-d", 2, 10)}, {},
     "x.batch:2:13: topology: no such host"),
    ("topology", TOPOLOGY, {"topology": at("a-b,\nc-d", 2, 10)}, {}, f"x.batch:2:10: {TOPOLOGY}"),
    ("topology", TOPOLOGY, {"topology": at("a-${b}", 2, 10)}, {}, f"x.batch:2:10: {TOPOLOGY}"),
])
def test_position_of_a_value_is_put_before_the_message_about_its_key(
        key: str, message: str, values: dict[str, object], overrides: dict[str, object],
        shown: str) -> None:
    with pytest.raises(ConfigError) as raised, placed(values, overrides):
        raise ConfigError(message, key)
    assert str(raised.value) == shown


@pytest.mark.parametrize(("text", "positions"), [
    ("[Batch::x]\naqm=codel\n", {"aqm": (2, 5)}),
    ("[Batch::x]\n  aqm : codel\n", {"aqm": (2, 9)}),
    ("[Batch::x]\n  aqm = codel\n  tiers = 3\n   more = 4\n", {"aqm": (2, 9), "tiers": (3, 11)}),
    ("  [Batch::x]\n   aqm = codel\n", {"aqm": (2, 10)}),  # a header is no value to continue
    ("[Batch::x]\n AQM = codel\nTiers = 3\n", {"aqm": (2, 8), "tiers": (3, 9)}),
])
def test_indented_line_continues_the_value_of_a_line_further_left(
        text: str, positions: dict[str, tuple[int, int]], tmp_path: Path) -> None:
    """As far to the right as its key it is a key."""
    path = tmp_path / "x.batch"
    path.write_text(text, encoding="utf-8-sig")
    ((_, values),) = placed_sections(str(path))
    assert {key: value.place and value.place[1:] for key, value in values.items()} == positions


def test_file_that_is_no_text_is_refused_with_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "x.batch"
    for comments in (0, 100_000):  # more than is read at once
        path.write_bytes(b"[Batch::x]\n" + b"#" * comments + b"\xff")
        with pytest.raises(ConfigError, match=rf"is not UTF-8 text \(byte {11 + comments}: "):
            list(placed_sections(str(path)))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Traces of links: what they say, and what is refused, with line and column."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.links.keys import parse_seeded
from flent_aqm.parts.links.schedule import Schedule, Step, of_opportunities, schedule_of
from flent_aqm.parts.links.trace import make_seeded, read_trace


def _read(tmp_path: Path, text: str | bytes, end: str = "repeat") -> Schedule:
    path = tmp_path / "some.trace"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_trace("link_up_trace", str(path), end).schedule


def test_mahimahi_trace_is_1500_bytes_a_line_and_ends_at_its_last_time(tmp_path: Path) -> None:
    """A line for each opportunity; what is at the last time is at the next round's beginning."""
    schedule = _read(tmp_path, "1\n1\n5\n10\r\n")
    assert [(one.at_ns, one.burst_bytes) for one in schedule.steps] == [
        (0, 1500), (10**6, 3000), (5 * 10**6, 1500)]
    assert schedule.period_ns == 10 * 10**6
    assert not schedule.counts_frames
    assert schedule.mean_mbps == pytest.approx(4 * 1500 * 8 / 10e-3 / 1e6)
    held = _read(tmp_path, "1\n1\n5\n10\n", "hold")
    assert held.steps[-1].at_ns == 10**7
    assert held.period_ns == 0
    assert held.dead_from_ns() == 10**7


def test_csv_trace_has_columns_in_any_order_and_its_last_row_ends_it(tmp_path: Path) -> None:
    """Each row holds up to the next one."""
    text = "rate_mbps,time_s,loss_pct,delay_ms\n8,0,0,5\n2.5,1.5,1,7\n4,3,0,0\n"
    schedule = _read(tmp_path, text)
    assert [(one.at_ns, one.rate_bit_s, one.delay_ns, one.loss) for one in schedule.steps] == [
        (0, 8_000_000, 5_000_000, 0), (1_500_000_000, 2_500_000, 7_000_000, 0.01)]
    assert schedule.period_ns == 3 * 10**9
    assert schedule.mean_mbps == pytest.approx(5.25)
    held = _read(tmp_path, text, "hold")
    assert (held.period_ns, held.steps[-1].rate_bit_s) == (0, 4_000_000)
    assert held.dead_from_ns() is None


def test_byte_order_mark_of_spreadsheets_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    """They write it in front of UTF-8."""
    text = "time_s,rate_mbps\n0,8\n3,8\n"
    assert _read(tmp_path, "\ufeff" + text).steps == _read(tmp_path, text).steps


@pytest.mark.parametrize(("text", "end", "output"), [
    ("", "repeat", ":1:1: the file is empty"),
    ("1\n2\n3x\n", "repeat", ":3:2: not a time"),
    ("1\n\n3\n", "repeat", ":2:1: not a time"),
    ("1\n-2\n", "repeat", ":2:1: not a time"),
    ("1.5\n", "repeat", ":1:2: not a time"),
    ("5\n7\n6\n", "repeat", ":3:1: the time is before that of the line above;"),
    ("0\n0\n", "repeat", ":2:1: all delivery opportunities are at 0 ms"),
    ("1\n1000000\n", "repeat", "nothing passes for 999.999 s"),
    ("time_s,rate\n0,1\n", "repeat", ":1:8: this is not a known column"),
    ("time_s,rate_mbps,time_s\n", "repeat",
     ":1:18: the column time_s stands twice"),
    ("time_s,loss_pct\n0,1\n", "repeat", ":1:1: the header has no rate_mbps"),
    ("time_s,rate_mbps\n1,1\n2,1\n", "repeat", ":2:1: the first row's time is not 0"),
    ("time_s,rate_mbps\n0,1\n2,1\n1,1\n", "repeat", (":4:1: the time is not after that of the row "
                                                    "above")),
    ("time_s,rate_mbps\n0,1\n1,nan\n", "repeat", ":3:3: rate_mbps is not a number from 0 to"),
    ("time_s,rate_mbps\n0,1\n1,-3\n", "repeat", ":3:3: rate_mbps is not a number from 0 to"),
    ("time_s,rate_mbps,loss_pct\n0,1,200\n1,1,0\n", "repeat", ":2:5: loss_pct is not a number"),
    ("time_s,rate_mbps\n0,1\n1\n", "repeat", ":3:1: 1 value; expected 2"),
    ("time_s,rate_mbps\n0,1\n \n1,1\n", "repeat", ":3:1: this line is blank; expected a row"),
    ("time_s,rate_mbps\n0,1\n", "repeat", ":2:1: too few rows"),
    ("time_s,rate_mbps\n", "hold", ":1:1: no row follows the header; expected at least one"),
    ("time_s,rate_mbps\n0,0\n1,0\n", "repeat", ": nothing ever passes"),
    ("time_s,rate_mbps,loss_pct\n0,5,100\n1,5,0\n", "repeat", "nothing ever passes"),
    ("time_s,rate_mbps\n0,1\n1,0\n", "hold", ":3:1: the last row holds until the end"),
    ("time_s,rate_mbps\n0,1\n1,0\n1001,1\n", "hold", ":3:1: nothing passes for 1000 s"),
    (b"\xff\xfe1\n", "repeat", ":1:1: "),
])
def test_trace_that_is_wrong_is_told_by_line_and_column(
    tmp_path: Path, text: str | bytes, end: str, output: str
) -> None:
    """One line, which names key, file, line and column."""
    with pytest.raises(ConfigError) as fault:
        _read(tmp_path, text, end)
    assert str(fault.value).startswith("link_up_trace: ")
    assert output in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize("text", [
    "root:secret:0\n", "root,secret\n", "time_s,rate_mbps\n0,1\n1,secret\n",
    "time_s,rate_mbps,secret\n0,1,1\n", "1\nsecret\n", "time_s,rate_mbps\n0,1,secret\n"])
def test_what_stands_in_a_file_is_never_quoted(tmp_path: Path, text: str) -> None:
    """It may be another file than its user thought."""
    with pytest.raises(ConfigError) as fault:
        _read(tmp_path, text)
    assert "secret" not in str(fault.value)


def test_trace_that_is_no_file_of_reasonable_size_is_refused(tmp_path: Path) -> None:
    """A pipe that nobody writes to, a device without end, a folder, a sparse file of 1 TB."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(1 << 40)
    for path, output in ((pipe, "not a regular file"), (Path("/dev/zero"), "not a regular file"),
                       (tmp_path, "Is a directory"), (large, "expected at most"),
                       (tmp_path / "none", "No such file")):
        with pytest.raises(ConfigError, match=output):
            read_trace("link_up_trace", str(path), "repeat")


def test_seeded_trace_follows_its_seed_and_has_the_mean_that_was_asked_for() -> None:
    """Equal seeds give equal traces, each way another one."""
    model = parse_seeded("link_up_trace", "seeded+mean_mbps=20+length_s=60")
    assert model is not None
    one = make_seeded("link_up_trace", model, 7, "up")
    assert one == make_seeded("link_up_trace", model, 7, "up")
    assert one != make_seeded("link_up_trace", model, 8, "up")
    assert one != make_seeded("link_up_trace", model, 7, "down")
    schedule = of_opportunities(*one)
    assert schedule.mean_mbps == pytest.approx(20, rel=0.02)
    assert schedule.period_ns == 60 * 10**9
    assert parse_seeded("link_up_trace", "some/file") is None


def test_seeded_link_that_is_never_up_is_refused_with_its_seed() -> None:
    """A second of a slow link may be one outage. Another seed may have none."""
    model = parse_seeded("link_up_trace", "seeded+mean_mbps=0.1+length_s=1")
    assert model is not None
    refused = set()
    for seed in range(60):
        try:
            make_seeded("link_up_trace", model, seed, "up")
        except ConfigError:
            refused.add(seed)
    assert 0 < len(refused) < 60
    seed = min(refused)
    with pytest.raises(ConfigError, match="^link_up_trace: the link is in an outage for all of "
                                          f"its 1 s with seed {seed}; give a smaller sigma_mbps "
                                          "or outage_s, a larger length_s, or another seed$"):
        make_seeded("link_up_trace", model, seed, "up")
    with pytest.raises(ConfigError, match="mean_mbps has the value '0'"):
        parse_seeded("link_up_trace", "seeded+mean_mbps=0")


def test_schedule_in_which_nothing_passes_is_dead_from_its_beginning() -> None:
    """Whether by loss or by its rate, and whatever follows."""
    for steps in ([Step(0, 5, loss=1)], [Step(0, 5, loss=1), Step(10, 0)], [Step(0, 0)]):
        assert schedule_of(steps).dead_from_ns() == 0

# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of pages on L4S, BBR, CAKE on several queues and Wi-Fi have a row for each cell of their
batches."""

from __future__ import annotations

import re

import pytest

from flent_aqm.base.defaults import ACCECN
from flent_aqm.base.errors import BadResult
from flent_aqm.base.paths import resource_dir
from flent_aqm.results.metrics.run import load_run
from flent_aqm.show.looks import DASH
from research.validation import bbr, cake_mq, l4s, wifi
from tests.files import ROOT, RUNS

DOCS = ROOT / "docs"


def values(batch: str, key: str) -> set[str]:
    """What a key has in a batch's arguments."""
    text = (resource_dir("batches") / batch).read_text()
    return set(re.findall(rf"^{key} = ([^$\n]+)$", text, re.MULTILINE))


def rows(page: str) -> list[list[str]]:
    """The cells of the page's first table, without its head."""
    table = re.search(r"^<!-- [\w ]+: \d.*\n((?:\|.*\n)+)", (DOCS / page).read_text(),
                      re.MULTILINE)
    assert table, page
    return [[cell.strip() for cell in line.strip("|").split("|")]
            for line in table[1].splitlines()[2:]]


def test_each_queue_of_the_l4s_batch_has_its_rows() -> None:
    """One for each classic control, in the order of the table's names."""
    names = [name for name, _ in l4s.PUBLISHED.values()]
    assert set(names) == values("papers.batch", "queue")
    assert [(row[0], row[1]) for row in rows(l4s.PAGE)] == [
        (name, control) for name in names for control in l4s.CLASSIC]


def test_each_case_of_the_bbr_batch_is_judged() -> None:
    """By its check, and stands on the page with what was wanted."""
    assert {case.check for case in bbr.CASES} == values("bbr.batch", "check")
    assert [(row[0], row[1]) for row in rows(bbr.PAGE)] == [
        (case.sections, case.wanted) for case in bbr.CASES]


def test_each_cake_has_its_row_within_5_pct_of_what_was_reported() -> None:
    """The marked flow's rate, and that of all others."""
    assert set(cake_mq.REPORTED) == values("cake_mq.batch", "aqm")
    by_queue = {row[0]: tuple(float(cell.split()[0]) for cell in row[1:3])
                for row in rows(cake_mq.PAGE)}
    assert by_queue == {aqm: pytest.approx(wanted, rel=0.05)
                        for aqm, wanted in cake_mq.REPORTED.items()}


def test_uploads_without_numbers_are_refused_with_the_file() -> None:
    """None of them is known to be the marked one."""
    with pytest.raises(BadResult, match=r"ndt7\.flent\.gz: none of its uploads is number 1"):
        cake_mq.rates(load_run(RUNS / "ndt7.flent.gz"))
    marked_mbps, others_mbps = cake_mq.rates(load_run(RUNS / "speedtest_sequential.flent.gz"))
    assert others_mbps > 3 * marked_mbps > 0


def test_each_access_point_of_the_wifi_batch_has_its_rows() -> None:
    """One for each load; and with airtime fairness the air is shared evenly."""
    assert set(wifi.ACCESS_POINTS) == values("wifi.batch", "access_point")
    assert set(wifi.LOADS) == values("wifi.batch", "load")
    cells = rows(wifi.PAGE)
    assert [(row[0], row[1]) for row in cells] == [
        (load, name) for load in wifi.LOADS for name in wifi.ACCESS_POINTS]
    shares = [[float(part) for part in row[3].split("/")] for row in cells if row[1] == "Airtime"]
    assert shares == [pytest.approx([100 / 3] * 3, abs=2)] * len(wifi.LOADS)


@pytest.mark.parametrize(("scalable", "classic", "output"), [
    (46.0, 2.0, "23:1"), (24.0, 20.0, "1.2:1"), (20.0, 24.0, "0.8:1")])
def test_ratio_is_told_as_published_ones_are(scalable: float, classic: float, output: str) -> None:
    """Near one with a digit more, as 1:1 would hide who has more."""
    assert l4s.ratio(scalable / classic) == output


def test_link_measured_with_one_ecn_has_a_dash_for_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its cells stay below their headings."""
    run = load_run(RUNS / "ndt7.flent.gz")
    monkeypatch.setattr(l4s, "_stable_rates_mbps", lambda _run: (46.0, 2.0))
    monkeypatch.setitem(vars(run), "settings", {"aqm": "pie", "tcp_ecn": ACCECN})
    heading, _, accurate = l4s.lines_of_links([run])
    assert accurate.startswith(f"| pie | constant rate | 2.00, 23:1 | {DASH} | ")
    assert accurate.count("|") == heading.count("|")
    assert re.search(rf"\| \d+\.\d, {DASH} \| \d+\.\d, {DASH} \|$", accurate)
    monkeypatch.setitem(vars(run), "settings", {"aqm": "pie"})
    *_, classic = l4s.lines_of_links([run])
    assert classic.startswith(f"| pie | constant rate | {DASH} | 2.00, 23:1 | {DASH}, ")

# SPDX-License-Identifier: GPL-3.0-or-later
"""The report in a browser: loads from itself alone, sorts, filters, toggles, prints."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.words import plain
from flent_aqm.cli import main
from flent_aqm.results import status
from flent_aqm.show.report.read import read, require_content
from tests.files import load, save

from .conftest import Browser, write_run

PLOTS = ("throughput", "latency", "tails", "glitches", "time")
QUEUES_DRAWN = """return [...document.querySelectorAll('#plot-latency .legendtext')]
    .map(one => one.textContent)"""
# The text of a column's cells.
COLUMN = """return [...document.querySelectorAll('#table-runs tbody tr')]
    .map(row => row.cells[arguments[0]].textContent)"""


@pytest.fixture
def opened(page: Path, browser: Browser) -> Iterator[Browser]:
    """The browser with the report in it."""
    browser.requests()
    browser.open(page)
    yield browser
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def click_heading(browser: Browser, text: str) -> None:
    """Sort by a column."""
    browser("[...document.querySelectorAll('#table-runs th button')]"
            ".find(one => one.textContent.startsWith(arguments[0])).click()", text)


def test_page_loads_without_complaints_or_other_requests(opened: Browser, page: Path) -> None:
    """All plots are there, and nothing but the file itself was asked for."""
    assert opened.requests() == [page.as_uri()]
    assert opened.complaints() == []
    for name in PLOTS:
        assert opened(f"return document.querySelectorAll('#plot-{name} .plotly .trace, "
                      f"#plot-{name} .plotly .boxes > path').length") > 0, name
    assert "From 18 runs" in opened("return document.querySelector('#findings').textContent")


@pytest.mark.parametrize(("testbed", "told"), [
    ("virtual", "testbed virtual; router model ideal."),
    ("ssh://root@192.0.2.1", "testbed ssh://root@192.0.2.1."), ("netns", "testbed netns.")])
def test_settings_name_a_model_of_simulated_routers_only(
        tmp_path: Path, testbed: str, told: str) -> None:
    write_run(tmp_path / "r" / "a.flent.gz", testbed=testbed)
    assert main(["report", str(tmp_path / "r"), "-o", str(tmp_path / "r.html")]) == 0
    assert told in " ".join((tmp_path / "r.html").read_text().split())


def test_policy_of_the_page_forbids_foreign_scripts_and_requests(opened: Browser) -> None:
    """The hashes hold against what would run, and nothing can be fetched."""
    opened("const own = document.createElement('script');"
           "own.textContent = 'window.foreign = 1'; document.body.append(own);")
    assert opened("return window.foreign") is None
    assert opened("return fetch('http://192.0.2.1/').then(() => 'there', () => 'refused')") \
        == "refused"
    assert any("Content Security Policy" in line for line in opened.complaints())


def test_table_of_runs_sorts_both_ways_by_numbers(opened: Browser) -> None:
    """10 comes before 100, whatever their first digits."""
    click_heading(opened, "link rate")
    assert opened(COLUMN, 1) == ["10"] * 12 + ["100"] * 6
    click_heading(opened, "link rate")
    assert opened(COLUMN, 1) == ["100"] * 6 + ["10"] * 12
    assert opened("return document.querySelectorAll('#table-runs th[aria-sort]').length") == 1


@pytest.mark.parametrize(("column", "text", "count"), [
    (0, "fq_codel", 4), (1, ">50", 6), (1, "=10", 12), (2, "iperf3", 6), (0, "nothing", 0)])
def test_table_of_runs_filters(opened: Browser, column: int, text: str, count: int) -> None:
    """By text, and by comparison for numbers."""
    opened("const input = document.querySelectorAll('#table-runs input')[arguments[0]];"
           "input.value = arguments[1]; input.dispatchEvent(new Event('input'));", column, text)
    assert len(opened(COLUMN, 0)) == count
    assert opened("return document.getElementById('runs-count').textContent") \
        == f"{count} of 18 runs."


def test_queue_that_is_toggled_goes_from_plots_and_tables(opened: Browser) -> None:
    """And comes back; a click into a plot's legend does the same."""
    assert opened(QUEUES_DRAWN) == ["no_aqm", "fq_codel", "dualpi2"]
    opened("document.querySelector('[data-queue=fq_codel]').click()")
    assert opened(QUEUES_DRAWN) == ["no_aqm", "dualpi2"]
    assert "fq_codel" not in opened(COLUMN, 0)
    assert "fq_codel" not in opened("return document.getElementById('table-scores').textContent")
    opened("document.querySelector('[data-queue=fq_codel]').click()")
    assert opened(QUEUES_DRAWN) == ["no_aqm", "fq_codel", "dualpi2"]


def test_chosen_test_decides_what_is_drawn(opened: Browser) -> None:
    """ndt7 has both directions, iperf3_upload one."""
    choose = ("const one = document.querySelector('select[aria-label=test]');"
              "one.value = [...one.options].find(option => option.text === arguments[0]).value;"
              "one.dispatchEvent(new Event('change'));")
    axes = """return document.querySelectorAll(
        '#plot-latency .ytitle, #plot-latency .y2title').length"""
    opened(choose, "ndt7")
    assert opened(axes) == 2
    opened(choose, "iperf3_upload")
    assert opened(axes) == 1
    assert "iperf3_upload" in opened("return document.getElementById('slice').textContent")


def test_scores_have_bars_only_where_queues_differ(opened: Browser) -> None:
    """no_aqm's runs are slower at 10 Mbit/s; at 100 those of all queues are the same."""
    bars = ("const one = document.querySelector("
            "\"select[aria-label='rate of single plots']\");"
            "one.value = [...one.options].find(option => option.text === arguments[0]).value;"
            "one.dispatchEvent(new Event('change'));"
            "return [...document.querySelectorAll('#table-scores tbody tr')].filter("
            "row => row.querySelector('.share')).map(row => row.cells[0].textContent)")
    assert "latency loaded median, ms" in opened(bars, "10 Mbit/s")
    assert "throughput download, Mbit/s" not in opened(bars, "10 Mbit/s")
    assert opened(bars, "100 Mbit/s") == []


def test_statistics_tell_queues_apart(opened: Browser) -> None:
    """The slower runs give no_aqm an interval and a delta of 1 at 10 Mbit/s."""
    opened("const one = document.getElementById('statistics-of');"
           "one.value = 'latency_loaded_median_ms'; one.dispatchEvent(new Event('change'));")
    rows = opened("return [...document.querySelectorAll('#table-statistics tr')]"
                  ".map(row => [...row.cells].map(cell => cell.textContent))")
    assert rows[0][:5] == ["rate", "no_aqm", "fq_codel", "dualpi2", "p"]
    at_10 = next(row for row in rows if row[0] == "10 Mbit/s")
    assert " to " in at_10[1]
    assert "(98.4 %)7 runs" in at_10[1]  # its true level
    assert at_10[rows[0].index("δ no_aqm, fq_codel")] == "0.86"
    shares = opened("return document.getElementById('table-variance').textContent")
    assert "queue" in shares
    assert "%" in shares


def test_page_is_no_wider_than_a_phone(opened: Browser) -> None:
    """Only tables scroll sideways, within themselves."""
    opened.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": 360, "height": 780, "deviceScaleFactor": 1, "mobile": True})
    opened.driver.refresh()
    opened.until("document.querySelector('#table-runs tbody tr')")
    assert opened("return document.documentElement.scrollWidth") <= 360
    assert opened("return document.querySelector('#plot-latency svg').clientWidth") <= 360
    assert opened.complaints() == []


def test_page_of_long_words_is_no_wider_than_a_phone(
    browser: Browser, runs: Path, tmp_path: Path
) -> None:
    """Titles that are one word, in the headline, on the buttons of queues and in a choice; a path
    as a setting; and a heading that is a batch's own text."""
    for number, file in enumerate(sorted(runs.rglob("*.flent.gz"))[:6]):
        data = load(file)
        title = f"rtt_48ms_ecn_cake_nooffload_vs_sch_fq_900mbit_{number % 3}"
        data["metadata"]["TITLE"] = title * 2
        data["metadata"]["TEST_PARAMETERS"]["load"] = "4" * (40 + number % 2)
        data["metadata"]["AQM"]["requested"].pop("aqm")
        save(tmp_path / f"{number}.flent.gz", data)
    page = tmp_path / "long.html"
    assert main(["report", str(tmp_path), "-o", str(page), "--title", "for_aqm=sfq," * 20]) == 0
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": 360, "height": 780, "deviceScaleFactor": 1, "mobile": True})
    browser.open(page)
    assert "rtt_48ms" in browser("return document.getElementById('findings').textContent")
    try:
        assert browser("return document.documentElement.scrollWidth") == 360
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_dark_mode_follows_the_system(opened: Browser) -> None:
    """Ground and letters change places, and black lines become white."""
    colours = ("return [getComputedStyle(document.body).backgroundColor,"
               "getComputedStyle(document.body).color,"
               "document.getElementById('plot-tails').data.map(one => one.line.color)]")
    light = opened(colours)
    opened.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    opened.until("document.documentElement.dataset.theme === 'dark'")
    ground, ink, lines = opened(colours)
    assert brightness(light[0]) == 255
    assert brightness(ground) < 50
    assert brightness(ink) > 200
    assert "#000000" in light[2]
    assert "#000000" not in lines


def brightness(colour: str) -> float:
    """Of rgb(…)."""
    parts = [float(part) for part in colour[4:-1].split(",")]
    return sum(parts) / 3


def test_page_prints(opened: Browser) -> None:
    """As a PDF; afterwards it is as before."""
    made = opened.driver.execute_cdp_cmd("Page.printToPDF", {})
    paper = base64.b64decode(made["data"])
    assert paper.startswith(b"%PDF")
    assert opened("return document.body.classList.contains('printing')") is False


HOSTILE = ("</script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>",
           "\"><svg onload=window.hacked=1>", "{{ 7*7 }}<!--<script>", "<b>bold</b>\u2028")


def test_hostile_text_of_files_is_shown_as_text(tmp_path: Path, browser: Browser) -> None:
    """Whatever field it stands in, and in names of files and of a sweep's failures."""
    folder = tmp_path / "<img src=x onerror=window.hacked=1>"
    for number, text in enumerate(HOSTILE):
        def change(whole: dict[str, Any], text: str = text) -> None:
            metadata = whole["metadata"]
            metadata |= {"TITLE": text, "NOTE": text, "BATCH_NAME": text, "HOST": text,
                         "LOCAL_HOST": text, "BATCH_TIME": text}
            metadata["TEST_PARAMETERS"] = {text: text, "odd": text}
            metadata["AQM"] |= {"tools": {text: text}, "testbed": text, "seed": text,
                                "kernel": {"version": text, "hash": text}}
            metadata["AQM"]["after"]["applied"]["down"]["qdisc"] = text
            metadata["SERIES_META"]["TCP upload"]["ERROR"] = [text]
        write_run(folder / f"{number}<b onclick=x>.flent.gz", "ndt7", change, aqm=text,
                  router_model=text)
    status.write(folder, status.Status([HOSTILE[0]], 9, 0, 1.0, 2.0, {HOSTILE[1]: HOSTILE[0]}))
    page = tmp_path / "report.html"
    assert main(["report", str(folder), "-o", str(page), "--title", HOSTILE[0]]) == 0
    browser.requests()
    browser.open(page)
    assert browser("return window.hacked") is None
    assert browser("return document.querySelectorAll('img, b[onclick], svg[onload]').length") == 0
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]
    assert browser("return document.querySelector('h1').textContent") == HOSTILE[0]
    chips = browser("return [...document.querySelectorAll('.chips button')]"
                    ".map(one => one.textContent)")
    assert sorted(chips) == sorted(map(plain, HOSTILE))
    drawn = browser(QUEUES_DRAWN)
    assert drawn
    assert {text.strip() for text in drawn} <= {text.strip() for text in HOSTILE}
    assert "49<!--" not in browser("return document.body.innerHTML")


def test_failed_runs_are_listed_with_their_causes(tmp_path: Path, browser: Browser) -> None:
    """From the sweep's state, damaged files, and tools' errors."""
    def half(whole: dict[str, Any]) -> None:
        whole["metadata"]["SERIES_META"]["TCP upload"]["ERROR"] = ["server went away"]
        whole["raw_values"]["Ping (ms) UDP irtt"].pop()  # otherwise it is a copy of the other run

    folder = tmp_path / "sweep"
    write_run(folder / "good.flent.gz")
    write_run(folder / "half.flent.gz", "ndt7", half)
    (folder / "damaged.flent.gz").write_bytes(b"no gzip")
    # A run that failed first and was made again has its file.
    status.write(folder, status.Status(["flent", "-B", "x.batch"], 5, 0, 1.0, 2.0, {
        "lost.flent.gz": "router said no", "good.flent.gz": "of before"}))
    assert main(["report", str(folder), "-o", str(tmp_path / "r.html")]) == 0
    browser.open(tmp_path / "r.html")
    rows = browser("return [...document.querySelectorAll('#top-sections table.text tbody tr')]"
                   ".map(row => [...row.cells].map(cell => cell.textContent))")
    assert [row[0] for row in rows] == ["lost.flent.gz", "damaged.flent.gz", "half.flent.gz"]
    assert rows[0][1] == "router said no"
    assert "server went away" in rows[2][1]
    assert "flent -B x.batch" in browser("return document.getElementById('again').textContent")


def test_router_that_differs_is_shown_first(tmp_path: Path, browser: Browser) -> None:
    """A file in which the kernel reported another queue and rate than asked for."""
    def change(whole: dict[str, Any]) -> None:
        whole["metadata"]["AQM"]["after"]["applied"]["up"] |= {
            "qdisc": "pfifo_fast", "rate_mbps": 7.0}
    write_run(tmp_path / "runs" / "a.flent.gz", "ndt7", change)
    write_run(tmp_path / "runs" / "b.flent.gz")
    assert main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "r.html")]) == 0
    browser.open(tmp_path / "r.html")
    assert "pfifo_fast in place of" in browser(
        "return document.querySelector('#router tr.bad').textContent")
    assert "7 in place of" in browser(
        "return document.querySelector('#router tr.bad').textContent")


def test_files_of_stock_flent_make_a_report(tmp_path: Path, browser: Browser) -> None:
    """They tell no queue, rate or router."""
    from .conftest import GOLDEN

    names = [str(path) for path in sorted(GOLDEN.glob("stock_*.flent.gz"))]
    assert main(["report", *names, "-o", str(tmp_path / "r.html")]) == 0
    browser.open(tmp_path / "r.html")
    assert browser.complaints() == []
    assert len(browser(COLUMN, 0)) == 3


def test_nothing_to_report_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And no page is written."""
    (tmp_path / "x.flent.gz").write_bytes(b"no gzip")
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "r.html")]) == 1
    assert main(["report", str(tmp_path / "x.flent.gz"), "-o", str(tmp_path / "r.txt")]) == 1
    assert not list(tmp_path.glob("r.*"))
    errors = capsys.readouterr().err.strip().splitlines()
    assert len(errors) == 2
    assert errors[0].startswith(f"flent-aqm: {tmp_path / 'x.flent.gz'}: damaged")


@pytest.mark.parametrize(("ended_s", "why"), [
    (None, "has not finished a run yet; wait, or if it was interrupted, start it again"),
    (9.0, "has ended, and no data file is there; start it again")])
def test_sweep_without_a_run_is_told_from_one_that_goes_on(
        tmp_path: Path, ended_s: float | None, why: str) -> None:
    """Nothing will come of one that has ended."""
    status.write(tmp_path, status.Status(["flent"], 3, 0, 5.0, ended_s))
    rows, damaged, folders = read([tmp_path])
    with pytest.raises(ConfigError) as refusal:
        require_content(rows, damaged, folders)
    assert str(refusal.value) == (f"nothing to report on: the sweep in {tmp_path} {why} with "
                                  f"--batch-resume {tmp_path}")
    # Commands that plan their own runs go on by themselves, and have no such option.
    status.write(tmp_path, status.Status(["/usr/bin/flent-aqm", "scorecard"], 3, 0, 5.0, ended_s))
    with pytest.raises(ConfigError) as refusal:
        require_content(*read([tmp_path]))
    assert str(refusal.value).endswith(f"{why} by the same command")


def test_files_below_the_folder_of_the_status_are_found(tmp_path: Path) -> None:
    """Somebody moved them."""
    status.write(tmp_path, status.Status(["flent"], 1, 0, 5.0))
    write_run(tmp_path / "moved" / "a.flent.gz")
    assert len(read([tmp_path])[0]) == 1


def test_status_that_makes_no_sense_is_no_status(tmp_path: Path) -> None:
    """It may be anybody's."""
    good = status.Status(["flent"], 3, 1, 5.0, None, {"a": "b"})
    status.write(tmp_path, good)
    assert status.read(tmp_path) == good
    path = tmp_path / status.NAME
    whole = json.loads(path.read_text())
    bad: dict[str, Any]
    for bad in ({"planned": "3"}, {"failed": []}, {"began_s": "x"}, {"schema": 9},
                {"command": "ls"}, {"before": None}):
        path.write_text(json.dumps({**whole, **bad}))
        assert status.read(tmp_path) is None, bad
    for text in ("", "[" * 100_000, "null", "{", "\xff"):
        path.write_text(text)
        assert status.read(tmp_path) is None


@pytest.mark.parametrize("width", [1280, 400, 360])
def test_panels_keep_what_is_in_them(tmp_path: Path, browser: Browser, width: int) -> None:
    """Long titles of configurations, both directions, losses: nothing stands out of its panel, and
    nothing on something else."""
    def losing(whole: dict[str, Any]) -> None:
        probes = whole["raw_values"]["Ping (ms) UDP irtt"]
        for sample in probes[::40]:
            sample.pop("val", None)
            sample["lost"] = True
    for at, (aqm, shaper) in enumerate((("no_aqm", "none"), ("fq_codel", "htb"),
                                        ("fq_codel", "cake"))):
        write_run(tmp_path / "runs" / f"{at}.flent.gz", "ndt7", losing, aqm=aqm, shaper=shaper,
                  aqm_parameters={"limit": "1000"}, rate_mbps=1234.5)
    assert main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "r.html")]) == 0
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
    browser.open(tmp_path / "r.html")
    try:
        assert browser("return document.documentElement.scrollWidth") <= width
        assert browser("return document.querySelectorAll('.panel tbody tr').length") == 4
        assert browser("""return [...document.querySelectorAll('.panel')].flatMap(panel => {
            const place = panel.getBoundingClientRect();
            return [...panel.querySelectorAll('tbody td, tbody th')].filter(one => {
                const own = one.getBoundingClientRect();
                const seen = [...one.querySelectorAll(':scope :not(.aside)'), one].flatMap(
                    part => [...part.childNodes].filter(node => node.nodeType === 3));
                return own.right > place.right || seen.some(node => {
                    const words = document.createRange();
                    words.selectNodeContents(node);
                    return !one.classList.contains('track') && [...words.getClientRects()].some(
                        rect => rect.right > own.right + 1 || rect.left < own.left - 1);
                });
            }).map(one => one.textContent)})""") == []
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_point_of_a_queue_is_beside_its_name(opened: Browser) -> None:
    """Also on a phone, where few letters have room beside it."""
    opened.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": 340, "height": 900, "deviceScaleFactor": 1, "mobile": True})
    names = opened("""return [...document.querySelectorAll('.panel th[scope=row]')].map(one => {
        const words = document.createRange(), point = one.querySelector('i');
        words.selectNodeContents(one.lastChild);
        const name = words.getBoundingClientRect(), dot = point.getBoundingClientRect();
        return [one.textContent, dot.right <= name.left, dot.top >= name.top,
                dot.bottom <= name.bottom]})""")
    assert names
    assert [name for name, *good in names if not all(good)] == []


def test_toolbar_of_a_plot_covers_no_legend(opened: Browser) -> None:
    for name in PLOTS:
        left, right = opened(f"""const plot = document.getElementById('plot-{name}');
            const size = plot._fullLayout._size, place = plot.getBoundingClientRect();
            return [plot.querySelector('.modebar-group').getBoundingClientRect().left,
                    place.left + size.l + size.w]""")
        assert left >= right, name


def test_latency_plot_names_those_whose_median_is_a_lost_probe(
        tmp_path: Path, browser: Browser) -> None:
    def losing(whole: dict[str, Any]) -> None:
        for sample in whole["raw_values"]["Ping (ms) UDP irtt"]:
            if sample["seq"] % 4:
                sample.pop("val", None)
                sample["lost"] = True
    write_run(tmp_path / "r" / "a.flent.gz", "iperf3_upload", losing, aqm="no_aqm")
    write_run(tmp_path / "r" / "b.flent.gz", "iperf3_upload", aqm="codel")
    assert main(["report", str(tmp_path / "r"), "-o", str(tmp_path / "r.html")]) == 0
    browser.open(tmp_path / "r.html")
    assert browser(QUEUES_DRAWN) == ["codel"]
    note = "return document.getElementById('latency-lost').textContent"
    assert browser(note) == ("Not drawn, because half of the probes or more were lost: no_aqm in "
                             "upload (74 % lost).")
    browser("document.querySelector('.chips button').click()")
    assert browser(note) == ""


# Names and values of the traces of the throughput's plot.
THROUGHPUT = """const select = document.getElementById('throughput-in');
    select.value = arguments[0];
    select.dispatchEvent(new Event('change'));
    return (document.getElementById('plot-throughput').data ?? [])
        .map((trace) => [trace.name, trace.y])"""


def test_what_tcp_can_carry_is_of_each_direction(tmp_path: Path, browser: Browser) -> None:
    """On an asymmetric line, with a modem or without."""
    shaped: dict[str, Any] = {"rate_down_mbps": 400, "rate_up_mbps": 200}
    modem: dict[str, Any] = {"modem_down_mbps": 400, "modem_up_mbps": 200}
    for number, rates in enumerate((shaped, shaped | modem,
                                    modem | {"shaper": "none"})):
        write_run(tmp_path / f"{number}" / "a.flent.gz", **rates)
        page = tmp_path / f"{number}.html"
        assert main(["report", str(page.with_suffix("")), "-o", str(page)]) == 0
        browser.open(page)
        seen = browser(THROUGHPUT, "mbps")
        assert [y for name, y in seen if name == "what TCP can carry"] == [
            [pytest.approx(rate * 1448 / 1514, rel=1e-4)] for rate in (400, 200)]
        mbps = [y[0] for name, y in seen if name != "what TCP can carry"]
        assert browser(THROUGHPUT, "share") == [
            [seen[0][0], [pytest.approx(value / rate * 100 * 1514 / 1448, rel=1e-4)]]
            for value, rate in zip(mbps, (400, 200), strict=True)]


def test_share_of_an_unknown_rate_is_not_offered(tmp_path: Path, browser: Browser) -> None:
    write_run(tmp_path / "r" / "a.flent.gz", shaper="none")
    assert main(["report", str(tmp_path / "r"), "-o", str(tmp_path / "r.html")]) == 0
    browser.open(tmp_path / "r.html")
    for unit in ("mbps", "share"):
        assert [name for name, _ in browser(THROUGHPUT, unit)] == ["fq_codel"] * 2
    assert browser("return document.getElementById('throughput-possible').offsetParent") is None

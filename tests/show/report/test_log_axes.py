# SPDX-License-Identifier: GPL-3.0-or-later
"""Logarithmic axes of the report: their numbers, as the browser shows them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import Browser

# Put all latencies of the page between two, and show round trips over time too.
SET = """
const [low, high] = arguments, data = JSON.parse(document.getElementById('data').textContent);
const at = (part) => low * (high / low) ** part;
for (const cell of data.cells) for (const way of Object.values(cell.ways)) {
  way.box = way.box.map((_, place) => at(place / (way.box.length - 1)));
  way.ms = way.ms.map((_, place) => at(place / (way.ms.length - 1)));
  const curve = way.rtt_over_time, steps = curve.middle.length - 1;
  for (const name of ['middle', 'least', 'most']) {
    if (curve[name]) curve[name] = curve[name].map((_, place) => at(place / steps));
  }
}
report.update(data);
const what = document.getElementById('time-what');
if (what.value !== 'rtt_over_time') {
  what.value = 'rtt_over_time';
  what.dispatchEvent(new Event('change'));
}
"""
# Of an axis: each number with what it stands at and its place, and the range.
READ = """
const plot = document.getElementById(arguments[0]), axis = plot._fullLayout[arguments[1]];
const texts = [...plot.querySelectorAll('.' + axis._id + 'tick text')];
return {range: axis.range.map((one) => 10 ** one), ticks: texts.map((text) => {
  const place = text.getBoundingClientRect(), data = text.__data__;
  return [text.textContent, 10 ** data.x, place.left, place.right, place.top, place.bottom];
})};
"""
AXES = (("plot-latency", "yaxis"), ("plot-latency", "yaxis2"), ("plot-tails", "xaxis"),
        ("plot-time", "yaxis"))


@pytest.fixture(scope="module", params=[1280, 400])
def opened(page: Path, browser: Browser, request: pytest.FixtureRequest) -> Iterator[Browser]:
    """The browser with the report in it, wide or narrow, which each test gives other data."""
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": request.param, "height": 900, "deviceScaleFactor": 1,
        "mobile": request.param < 600})
    browser.open(page)
    yield browser
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("decades", [0.5, 0.75, 1, 1.5, 2, 2.3, 2.5, 2.75, 2.9, 3.1, 3.5, 4, 5])
def test_numbers_on_logarithmic_axes_are_whole_with_their_unit(
    opened: Browser, decades: float
) -> None:
    """Each says the latency that it stands at, some are there, and none is on another."""
    low = 20 / 10 ** (decades / 2)
    opened(SET, low, low * 10 ** decades)
    for plot, axis in AXES:
        labels: dict[str, Any] = opened(READ, plot, axis)
        inside = labels["ticks"]
        assert (2 if decades > 2 else 3) <= len(inside) <= 12, (plot, axis, labels)
        for text, stands_at, *_ in inside:
            number, unit = text.split("\u00a0")
            assert unit == "ms"
            assert float(number.replace(",", "")) == pytest.approx(stands_at, rel=1e-4), plot
        assert labels["range"][0] < low * 1.001
        assert math.log10(labels["range"][1] / labels["range"][0]) < decades + 1
        for place, (text, _, left, right, top, bottom) in enumerate(inside):
            for other, _, left2, right2, top2, bottom2 in inside[place + 1:]:
                assert right <= left2 or right2 <= left or bottom <= top2 + 2 \
                    or bottom2 <= top + 2, (plot, axis, text, other)

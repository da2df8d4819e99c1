# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranges, ticks, colours and words of plots: what a reader would take for the data."""

from __future__ import annotations

import copy
import errno
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from matplotlib.colors import to_hex

from flent_aqm.results.metrics.run import load_run
from flent_aqm.show.looks import AQM_LOOKS, OTHER_LOOKS, mixed, shades
from flent_aqm.show.plots import frame
from flent_aqm.show.plots.axes import LogTicks
from flent_aqm.show.plots.comparing import looks_of
from flent_aqm.show.plots.latency import short_name, spans
from tests.files import load, save

from .conftest import RUNS, labels, output
from .pictures import BOTH, PING_EXP, UPLOADS

Draw = Callable[..., Any]
Variant = Callable[..., Path]


def slower_down(factor: float) -> Callable[[dict[str, Any]], None]:
    """A download as of a line whose upload has so many times its rate."""
    def change(data: dict[str, Any]) -> None:
        data["metadata"]["SERIES_META"]["TCP download"]["MEAN_VALUE"] /= factor

    return change


@pytest.mark.parametrize("kind", ["box", "violin"])
@pytest.mark.parametrize(("factor", "shared"), [(2.9, True), (3.1, False), (12.5, False)])
def test_every_panel_holds_its_values_whole(kind: str, factor: float, shared: bool, draw: Draw,
                                            variant: Variant) -> None:
    """Also the one that is drawn after the first, and has more. On the upload's scale, downloads of
    18.3 and 18.9 of 250 Mbit/s would be one."""
    files = [variant(aqm, test="ndt7", aqm=aqm, change=slower_down(factor))
             for aqm in ("no_aqm", "fq_codel")]
    plotter = draw(f"compare_throughput_{kind}", files)
    shown = [[value for line in axis.get_lines() if line.get_label() == "_values"
              for value in line.get_ydata()] for axis in plotter.axes]
    assert max(shown[1]) > 0.9 * factor * max(shown[0])
    for axis, own in zip(plotter.axes, shown, strict=True):
        low, high = axis.get_ylim()
        assert low == 0
        assert max(own) < 0.96 * high  # so that the marker isn't cut in half
        assert shared or max(own) > 0.8 * high
    assert (plotter.axes[0].get_ylim() == plotter.axes[1].get_ylim()) is shared
    caption = " ".join(output(plotter).split())
    assert ("a scale for each direction" in caption) is not shared
    assert "a mark a value where there are few" in caption
    assert "quartiles" not in caption


@pytest.mark.parametrize(("factor", "shared"), [(2.9, True), (12.5, False)])
def test_distributions_of_an_asymmetric_line_have_a_scale_each(
        factor: float, shared: bool, draw: Draw, variant: Variant) -> None:
    files = [variant(aqm, test="ndt7", aqm=aqm, change=slower_down(factor))
             for aqm in ("no_aqm", "fq_codel")]
    down, up = draw("compare_throughput_ecdf", files).axes
    assert (down.get_xlim() == up.get_xlim()) is shared
    for axis in (down, up):
        highest = max(line.get_xdata().max() for line in axis.get_lines())
        assert axis.get_xlim()[0] == 0
        assert shared or highest > 0.8 * axis.get_xlim()[1]


def test_distribution_of_throughput_keeps_off_the_edge(draw: Draw) -> None:
    """All queues give the same: their lines stand where one sees them."""
    plotter = draw("compare_throughput_ecdf", list(BOTH))
    for axis in plotter.axes:
        highest = max(line.get_xdata().max() for line in axis.get_lines())
        assert 0.9 * axis.get_xlim()[1] < highest < 0.96 * axis.get_xlim()[1]


@pytest.mark.parametrize(("low", "high"), [
    (0.09, 0.2), (12, 150), (70, 180), (1.1, 99), (0.01, 1000), (95.55, 95.56), (99, 101)])
def test_logarithmic_axis_has_three_ticks_and_not_too_many(low: float, high: float) -> None:
    """Decades where there are three of them, else numbers between."""
    ticks = LogTicks().tick_values(low, high)
    assert 3 <= len(ticks) <= 8
    assert all(low <= tick <= high for tick in ticks)
    assert list(ticks) == sorted(set(ticks))


@pytest.mark.parametrize("plot", ["totals", "ping", "ping_cdf", "box_totals", "bar_combine",
                                  "box_combine", "ping_cdf_combine", "all"])
def test_plots_that_flent_draws_have_the_colours_of_queues(plot: str, draw: Draw) -> None:
    """Of four files each; whatever else a picture has is grey, black or white."""
    plotter = draw(plot, list(UPLOADS))
    colours = set()
    for axis in plotter.figure.axes:
        colours |= {to_hex(line.get_color()).upper() for line in axis.get_lines()}
        colours |= {to_hex(patch.get_facecolor()).upper() for patch in axis.patches
                    if patch.get_width() > 0}
    wanted = {AQM_LOOKS[aqm].colour for aqm in ("no_aqm", "codel", "sfq", "fq_codel")}
    assert wanted <= colours
    assert not {look.colour for name, look in AQM_LOOKS.items()} & colours - wanted - {
        "#000000", "#777777"}


def test_file_alone_has_shades_of_its_queues_colour(draw: Draw) -> None:
    """The upload of a run with no_aqm isn't drawn in fq_codel's blue."""
    plotter = draw("ping", [UPLOADS[0]])
    first = plotter.figure.axes[0].get_lines()[0]
    assert to_hex(first.get_color()).upper() == AQM_LOOKS["no_aqm"].colour


def test_what_is_no_queue_has_no_queues_colour() -> None:
    """Neither by itself nor as a shade."""
    queues = {look.colour for look in AQM_LOOKS.values()}
    assert not queues & {look.colour for look in OTHER_LOOKS}
    for look in AQM_LOOKS.values():
        others = [one.colour.upper() for one in shades(look, 4)[1:]]
        assert not queues & set(others)
        assert len(set(others)) == 3


def test_mixing_is_linear() -> None:
    """Half of black and white is grey."""
    assert mixed("#ffffff", "#000000", 0.5) == "#808080"


def test_spans_begin_and_end_with_the_load() -> None:
    """So that no median from before the load has probes under load in it."""
    run = load_run(RUNS / "ndt7.flent.gz")
    load = run.load_window
    assert load is not None
    icmp = run.probes[1]
    at_s, statistics = spans(icmp, 4.0, load)
    before = icmp.rtt_ms[icmp.sent_s < load.start_s]
    assert statistics["slowest"][at_s < load.start_s].max() == pytest.approx(before.max())
    assert numpy.count_nonzero(at_s < load.start_s) >= 1


def test_lost_probes_of_side_by_side_have_a_strip_and_a_key(draw: Draw) -> None:
    """Above all round trips, so that nobody takes them for slow ones."""
    plotter = draw("side_by_side", list(PING_EXP))
    assert "lost, at the upper edge" in [one.get_label() for one in plotter.handles]
    axis = plotter.axes[0]
    slowest = max(line.get_ydata().max() for line in axis.get_lines()
                  if line.get_transform() == axis.transData and line.get_ydata().size)
    assert slowest / axis.get_ylim()[1] < 0.95


def test_shares_of_lost_probes_stand_in_the_legends_order(draw: Draw, variant: Variant) -> None:
    """The run has its best probe first, the legend has them by name."""
    def lose(data: dict[str, Any]) -> None:
        for part in (data["raw_values"], data["results"], data["metadata"]["SERIES_META"]):
            part["Ping (ms) ICMP alpha"] = copy.deepcopy(part["Ping (ms) ICMP server"])
        del data["raw_values"]["Ping (ms) ICMP alpha"][5:10]

    path = variant("lossy", test="ping_exp", change=lose)
    run = load_run(path)
    probes = sorted(run.probes, key=lambda probe: probe.name)
    assert probes != list(run.probes)
    assert [probe.lost.any() for probe in probes] == [True, False]
    plotter = draw("side_by_side", [path])
    shares = [f"{probe.lost.mean() * 100:.1f} %" for probe in probes]
    title = " ".join(plotter.axes[0].get_title().split())
    assert title.endswith("lost: " + ", ".join(shares))
    assert labels(plotter)[:len(probes)] == [short_name(probe.name) for probe in probes]


def test_file_that_is_refused_takes_no_other_files_colour(variant: Variant) -> None:
    """Flent draws it, and gives colours to all files in turn."""
    from flent import resultset

    def damage(data: dict[str, Any]) -> None:
        series = data["raw_values"]["Ping (ms) ICMP"]
        data["raw_values"]["Ping (ms) ICMP"] = [{**one, "seq": str(one["seq"])} for one in series]

    files = [variant("damaged", test="ndt7", aqm="sfq", change=damage), variant("a", aqm="codel"),
             variant("b", aqm="fq_codel")]
    odd, *others = looks_of([resultset.ResultSet.load_file(str(path)) for path in files])
    assert [look.colour for look in others] == [AQM_LOOKS[aqm].colour for aqm in (
        "codel", "fq_codel")]
    assert odd.colour not in {look.colour for look in AQM_LOOKS.values()}


def test_plot_without_any_data_says_so(draw: Draw) -> None:
    """Flent draws an empty axis from 0 to 8 times 10 to the 18th."""
    plotter = draw("cpu", [RUNS / "speedtest_concurrent.flent.gz"])
    assert "Nothing was measured that this plot could show." in output(plotter)
    assert not any(axis.axison for axis in plotter.figure.axes)


def test_box_without_height_is_seen_in_its_queues_colour(draw: Draw) -> None:
    """Quartiles of equal values leave the median's line alone, which is black."""
    plotter = draw("compare_latency_box", list(UPLOADS))
    thin = [line for line in plotter.axes[0].get_lines() if line.get_label() == "_thin box"]
    assert {to_hex(line.get_color()).upper() for line in thin} == {
        AQM_LOOKS[aqm].colour for aqm in ("no_aqm", "codel", "sfq", "fq_codel")}
    assert all(line.get_linewidth() > 2 for line in thin)


def test_caption_apart_is_a_file_beside_the_picture(draw: Draw, tmp_path: Path) -> None:
    """Of a plot of ours, and of one that Flent draws."""
    for plot in ("latency_tail", "totals"):
        plotter = draw(plot, [UPLOADS[0]], "--caption-apart", "--width", "8.5cm")
        assert plotter.figure.get_figwidth() == pytest.approx(3.346, abs=0.001)
        assert "client to server" in (tmp_path / f"{plot}.txt").read_text()
        assert "client" not in output(plotter)


def test_caption_that_does_not_fit_the_disk_is_named(
        draw: Draw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of a full disk has no file."""
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(frame, "write_caption", full)
    with pytest.raises(RuntimeError, match=r"/latency_tail\.txt: No space left on device$"):
        draw("latency_tail", [UPLOADS[0]], "--caption-apart", "--width", "8.5cm")


def without_irtt(path: Path, folder: Path) -> Path:
    """Write a copy of a run that has no irtt, so that its latency is from ping."""
    data = load(path)
    del data["raw_values"]["Ping (ms) UDP irtt"]
    file = folder / f"ping-{path.name}"
    save(file, data)
    return file


@pytest.mark.parametrize(("plot", "more"), [
    ("latency_tail", ()), ("overlay_latency", ()),
    ("ping_cdf_combine", ()), ("latency_percentiles_over_time", ()),
    ("latency_ecdf_idle_vs_loaded", ()), ("compare_latency_box", ()),
    ("latency_and_throughput", ()), ("heat_map", ("--metric", "latency_loaded_median_ms")),
    ("compare_metric", ("--metric", "latency_loaded_median_ms")),
    ("compare_metric", ("--metric", "rpm_ietf_estimate"))])
def test_caption_names_the_probe_that_latency_is_from(
    draw: Draw, tmp_path: Path, plot: str, more: tuple[str, ...]
) -> None:
    """Both probes where runs differ in it."""
    assert captioned_probes(draw(plot, list(UPLOADS), *more)) == "irtt"
    ping = [without_irtt(path, tmp_path) for path in UPLOADS]
    assert captioned_probes(draw(plot, ping, *more)) == "ping"
    both = [*UPLOADS[:2], *ping[:2]]  # all are drawn where a plot has room for four
    assert captioned_probes(draw(plot, both, *more)) == "irtt and ping"


def test_caption_names_the_probe_of_glitches(draw: Draw) -> None:
    """ping is too slow for them."""
    assert captioned_probes(draw("glitches_per_minute", list(UPLOADS))) == "irtt"


@pytest.mark.parametrize(("plot", "more"), [
    ("compare_throughput_box", ()), ("overlay_throughput", ()), ("qdisc_over_time", ()),
    ("tcp_info", ()), ("compare_metric", ("--metric", "total_up_mbps"))])
def test_caption_names_no_probe_where_none_is_shown(
    draw: Draw, plot: str, more: tuple[str, ...]
) -> None:
    """Throughput and the router's queue are no probe's."""
    assert captioned_probes(draw(plot, list(UPLOADS), *more)) == ""


def captioned_probes(plotter: Any) -> str:
    """Return the tools that a caption names, "" for none."""
    found = re.search(r"\(((?:irtt|ping)[^)]*)\)|latency from ([\w ]+)",
                      output(plotter).replace("\n", " "))
    return (found[1] or found[2]) if found else ""

# SPDX-License-Identifier: GPL-3.0-or-later
"""Plots of latency that every test gets: what is drawn, from real runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from flent_aqm.results.metrics.run import load_run
from flent_aqm.show.plots.values import why_no_direction
from tests.files import load, save

from .conftest import RUNS, labels, output, stock_run
from .pictures import PING_EXP

Draw = Callable[..., Any]
Variant = Callable[..., Path]

UPLOAD, NDT7 = RUNS / "iperf3_upload.flent.gz", RUNS / "ndt7.flent.gz"
LATENCY_PLOTS = ("glitches_per_minute", "latency_tail", "latency_percentiles_over_time",
                 "latency_ecdf_idle_vs_loaded")


def with_stalls(data: dict[str, Any]) -> None:
    """Three stalls of 150 ms that make replies 500 ms late, from 0.5 s after the load's start;
    all other replies take 1 ms."""
    start_s = data["metadata"]["SERIES_META"]["TCP upload"]["LOAD_START"]
    for sample in data["raw_values"]["Ping (ms) UDP irtt"]:
        if "val" not in sample:
            continue
        sent_s = sample["t"] - sample["val"] / 1000
        late = any(0 <= sent_s - start_s - at < 0.15 for at in (0.5, 1.2, 2.0))
        sample["val"] = 500.0 if late else 1.0
        sample["t"] = sent_s + sample["val"] / 1000


def test_glitches_of_three_stalls_are_three_bars_with_the_longest(
    draw: Draw, variant: Variant
) -> None:
    """Three in 3 s are 60 a minute at every threshold; each lasts 150 ms."""
    path = variant("stalls", change=with_stalls)
    window = load_run(path).load_window
    assert window is not None
    plotter = draw("glitches_per_minute", [path])
    axis, = plotter.figure.axes
    heights = [bar.get_height() for bar in axis.patches]
    assert heights == pytest.approx([3 * 60 / window.length_s] * 4)
    assert [text.get_text() for text in axis.get_xticklabels()] == [
        "30 ms", "60 ms", "100 ms", "200 ms"]
    longest = [text.get_text() for text in axis.texts]
    assert all(140 <= float(text.split()[1]) <= 160 for text in longest)
    # The probe that is too slow for it is said, too.
    assert "ICMP: probes are 200 ms apart, and glitches need 20 ms at most" in output(plotter)


def test_tail_follows_the_samples_and_marks_known_percentiles(draw: Draw) -> None:
    """At every latency the line has the share of probes that took longer."""
    run = load_run(UPLOAD)
    latencies = run.loaded().rtt_ms
    plotter = draw("latency_tail", [UPLOAD])
    axis = plotter.figure.axes[0]
    line, marks = axis.get_lines()[0], axis.get_lines()[1]
    for at_ms, share in list(zip(*line.get_data(), strict=True))[::20]:
        assert share == pytest.approx((latencies > at_ms).mean())
    # 300 samples have 10 beyond p90, and not beyond p99.
    assert list(marks.get_xdata()) == pytest.approx(numpy.percentile(latencies, (50, 90)))
    assert "UDP irtt: too few samples for p99, p99.9" in output(plotter)
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")


def test_percentiles_over_time_shade_the_load_and_know_their_spans(draw: Draw) -> None:
    """The slowest of all spans is the slowest of all probes."""
    run = load_run(NDT7)
    plotter = draw("latency_percentiles_over_time", [NDT7])
    axis, = plotter.figure.axes
    slowest = next(line for line in axis.get_lines() if "UDP irtt, slowest" in line.get_label())
    assert numpy.nanmax(slowest.get_ydata()) == pytest.approx(run.probe.rtt_ms.max())
    assert "load" in output(plotter)
    assert "spans of" in output(plotter)
    assert labels(plotter)[:2] == ["UDP irtt", "ICMP"]


def test_idle_and_loaded_are_two_lines_each_up_to_all_probes(draw: Draw) -> None:
    """NDT7 loads one direction after the other, so these have lines of their own."""
    plotter = draw("latency_ecdf_idle_vs_loaded", [NDT7])
    assert labels(plotter) == ["UDP irtt, idle", "UDP irtt, loaded", "UDP irtt, download",
                               "UDP irtt, upload", "ICMP, idle", "ICMP, loaded"]
    assert [line.get_ydata()[-1] for line in plotter.figure.axes[0].get_lines()] == [1] * 6


@pytest.mark.parametrize("plot", LATENCY_PLOTS)
def test_several_queues_have_their_colours_and_names(
    plot: str, draw: Draw, variant: Variant
) -> None:
    """Labels are what the runs differ in; colours those of the queues in every plot."""
    from flent_aqm.show.looks import AQM_LOOKS

    runs = [variant(aqm, aqm=aqm) for aqm in ("fq_codel", "no_aqm", "codel")]
    plotter = draw(plot, runs)
    assert labels(plotter)[:3] == ["no_aqm", "codel", "fq_codel"]
    colours = [handle[0].get_facecolor() if hasattr(handle, "patches") else handle.get_color()
               for handle in plotter.handles[:3]]
    from matplotlib.colors import to_hex

    assert [to_hex(one).upper() for one in colours] == [
        AQM_LOOKS[aqm].colour for aqm in ("no_aqm", "codel", "fq_codel")]
    assert "3 runs" in output(plotter)
    assert "router model ideal, testbed virtual" in output(plotter)


def test_caption_names_no_model_of_a_real_router(draw: Draw, variant: Variant) -> None:
    """A batch has one for every testbed."""
    real = draw("latency_tail", [variant("real", aqm="codel", testbed="ssh://root@192.0.2.1")])
    assert "router model" not in output(real)
    assert "testbed ssh://root@192.0.2.1" in output(real)


@pytest.mark.parametrize("plot", LATENCY_PLOTS)
@pytest.mark.parametrize("name", ["rrul", "rrul-icmp", "tcp_nup"])
def test_stock_tests_have_these_plots_too(name: str, plot: str, draw: Draw) -> None:
    """Probes 200 ms apart can't tell glitches, and the plot says so; the others draw."""
    plotter = draw(plot, [stock_run(name)])
    if plot == "glitches_per_minute":
        assert "Nothing to plot" in output(plotter)
        assert "ms apart, and glitches need 20 ms at most" in output(plotter)
    else:
        assert "can't be given" not in output(plotter)
        assert len(plotter.figure.axes[0].get_lines()) >= 2


def test_test_without_latency_is_not_offered_them(draw: Draw) -> None:
    """A stock test that only loads has no plot of ours in its list."""
    from flent import settings

    loaded = settings.load(["-p", "totals"])
    loaded.load_test("tcp_1up_noping", informational=True)
    assert not set(LATENCY_PLOTS) & set(loaded.PLOTS)


@pytest.mark.parametrize("plot", LATENCY_PLOTS)
def test_run_whose_probes_all_failed_says_why(plot: str, draw: Draw, variant: Variant) -> None:
    """No picture of nothing."""
    def without_probes(data: dict[str, Any]) -> None:
        data["raw_values"]["Ping (ms) UDP irtt"] = []
        data["raw_values"]["Ping (ms) ICMP"] = []

    plotter = draw(plot, [variant("none", change=without_probes)])
    assert "Nothing to plot: the tool of 'Ping (ms) ICMP' gave no data" in output(plotter)


@pytest.mark.parametrize("files", [PING_EXP[:1], PING_EXP[:2]], ids=len)
def test_side_by_side_of_runs_whose_pings_failed_says_why(
        files: tuple[Path, ...], draw: Draw, tmp_path: Path) -> None:
    """They have latency series, whose tools gave no sample."""
    for path in files:
        data = load(path)
        for name in data["raw_values"]:
            data["raw_values"][name] = []
            data["metadata"]["SERIES_META"][name]["ERROR"] = ["no route to the server"]
        save(tmp_path / path.name, data)
    plotter = draw("side_by_side", sorted(tmp_path.iterdir()))
    prefix = ("none of the runs has a latency series with answered probes: " if len(files) > 1
              else "")
    assert f"Nothing to plot: {prefix}Ping (ms) ICMP dest1: no route to the server" in output(
        plotter)


def test_side_by_side_tells_no_loss_of_a_probe_that_can_not_tell(
        draw: Draw, tmp_path: Path) -> None:
    """Pings without numbers; they were said to have lost 0.0 %."""
    data = load(PING_EXP[0])
    name = min(data["raw_values"])
    for sample in data["raw_values"][name]:
        sample.pop("seq", None)
    save(tmp_path / "unknown.flent.gz", data)
    known, unknown = (" ".join(output(draw("side_by_side", [path])).split())
                      for path in (PING_EXP[0], tmp_path / "unknown.flent.gz"))
    assert "not known" not in known
    assert "lost: not known," in unknown


@pytest.mark.parametrize("plot", ["latency_tail", "ping_cdf"])
def test_run_whose_probes_under_load_were_all_lost_has_a_plot_that_says_so(
        plot: str, draw: Draw, variant: Variant) -> None:
    """ping's, which counts them; its line has no point."""
    def only_idle(data: dict[str, Any]) -> None:
        start_s = data["metadata"]["SERIES_META"]["TCP upload"]["LOAD_START"]
        for name in ("Ping (ms) UDP irtt", "Ping (ms) ICMP"):
            data["raw_values"][name] = [one for one in data["raw_values"][name]
                                        if one["t"] < start_s]

    words = " ".join(output(draw(plot, [variant("idle", change=only_idle)])).split())
    assert "ICMP: 15 of 15 probes lost (100.0 %), each slower than any" in words
    assert "left out: UDP irtt: no probe was sent under load" in words


@pytest.mark.parametrize("plot", ["compare_latency_box", "latency_and_throughput"])
def test_run_whose_load_failed_is_not_called_one_without_load(
        plot: str, draw: Draw, variant: Variant) -> None:
    """The tool's error is told."""
    def failed(data: dict[str, Any]) -> None:
        data["metadata"]["SERIES_META"]["TCP upload"] = {
            "RUNNER": "AqmIperf3Runner", "UNITS": "Mbits/s",
            "ERROR": ["iperf3: unable to connect"]}
        data["raw_values"]["TCP upload"] = []
        data["results"]["TCP upload"] = [None] * len(data["x_values"])

    words = output(draw(plot, [variant("failed", change=failed)]))
    assert "no run has a download or an upload of the test" in words
    assert "iperf3: unable to connect" in words


def test_reason_without_a_direction_is_that_of_the_test_not_of_cross_traffic() -> None:
    """An idle test whose cross traffic failed, beside a speed test whose client failed."""
    def run(failed: str) -> Any:
        return SimpleNamespace(
            why_failed=lambda direction, cross: failed if cross is (failed == "web") else "",
            why_no_flow=lambda: failed)

    assert why_no_direction([run("web"), run("client")]).endswith(": client")
    assert why_no_direction([run("web")]).endswith(": web")


@pytest.mark.parametrize("plot", ["compare_latency_box", "latency_and_throughput"])
def test_run_whose_flows_names_tell_no_direction_is_not_called_one_without_load(
        plot: str, draw: Draw, variant: Variant) -> None:
    def rename(data: dict[str, Any]) -> None:
        for part in (data["raw_values"], data["results"], data["metadata"]["SERIES_META"]):
            part["TCP cubic"] = part.pop("TCP upload")

    words = output(draw(plot, [variant("a", change=rename)]))
    assert "the names of 'TCP cubic' tell no direction" in words
    words = output(draw(plot, [variant("a", change=rename), variant("b", change=failed_load)]))
    assert "iperf3: unable to connect" in words


def test_queues_whose_sampling_failed_are_not_those_of_another_test(
        draw: Draw, variant: Variant) -> None:
    def fail(data: dict[str, Any]) -> None:
        data["raw_values"].pop("Queues", None)
        data["metadata"]["SERIES_META"]["Queues"] = {"RUNNER": "AqmQdiscRunner",
                                                     "ERROR": ["no answer"]}

    def remove(data: dict[str, Any]) -> None:
        data["raw_values"].pop("Queues", None)
        data["metadata"]["SERIES_META"].pop("Queues", None)

    for change, why in ((fail, "not sampled in this run: Queues: no answer"),
                        (remove, "not sampled in this run; give runs of tests of flent-aqm")):
        assert why in output(draw("qdisc_over_time", [variant(change.__name__, change=change)]))


def test_runs_without_a_probe_under_load_say_why(draw: Draw, variant: Variant) -> None:
    words = output(draw("latency_and_throughput", [variant("idle", change=only_irtt_until(0))]))
    assert "the run has no latency under load: no probe was sent under load" in words
    words = output(draw("compare_latency_box", [variant("box", change=only_irtt_until(0))]))
    assert ("the run has no round-trip time under load: no probe was sent during "
            "the upload") in words


@pytest.mark.parametrize("plot", ["throughput_instant", "overlay_throughput"])
def test_run_without_a_capture_says_why(plot: str, draw: Draw, variant: Variant) -> None:
    """The failure that the file records, or which tests have one."""
    def without(data: dict[str, Any]) -> None:
        del data["raw_values"]["Capture"]
        data["metadata"]["SERIES_META"].pop("Capture", None)

    def failed(data: dict[str, Any]) -> None:
        data["raw_values"]["Capture"] = []
        data["metadata"]["SERIES_META"]["Capture"] = {
            "RUNNER": "AqmCaptureRunner", "UNITS": "Mbits/s", "ERROR": ["tcpdump: no permission"]}

    for name, change, why in (
            ("without", without, "the file has no samples of a series 'Capture', which a test"),
            ("failed", failed, "Capture: tcpdump: no permission")):
        runs = [variant(f"{name}-{aqm}", aqm=aqm, change=change) for aqm in ("codel", "sfq")]
        assert f"Nothing to plot: no packets were captured: {why}" in output(draw(plot, runs[:1]))
        assert ("Nothing to plot: none of the 2 runs has the values, the first because no packets "
                f"were captured: {why}") in output(draw(plot, runs))


def test_run_without_a_latency_before_the_load_is_not_said_to_send_no_probe(
        draw: Draw, variant: Variant) -> None:
    """Its first answer came under load."""
    def late(data: dict[str, Any]) -> None:
        start_s = data["metadata"]["SERIES_META"]["TCP upload"]["LOAD_START"]
        data["raw_values"]["Ping (ms) ICMP"] = []
        data["raw_values"]["Ping (ms) UDP irtt"] = [
            one for one in data["raw_values"]["Ping (ms) UDP irtt"] if one["t"] > start_s]

    words = output(draw("latency_ecdf_idle_vs_loaded", [variant("late", change=late)]))
    assert ": no probe was sent and answered before the load" in " ".join(words.split())


def test_tail_of_a_single_probe_under_load_says_so(draw: Draw, variant: Variant) -> None:
    """Many were sent before the load."""
    words = output(draw("latency_tail", [variant("one", change=only_irtt_until(1))]))
    assert "UDP irtt: fewer than two probes were sent under load" in words


def test_series_of_a_single_probe_does_not_take_the_others_away(
        draw: Draw, variant: Variant) -> None:
    """Nor does a run its group; the plot tells which is left out."""
    def single(name: str) -> Callable[[dict[str, Any]], None]:
        def change(data: dict[str, Any]) -> None:
            probes = data["raw_values"][name]
            data["raw_values"][name] = [one for one in probes if "val" in one][:1]
        return change

    plot = "latency_percentiles_over_time"
    plotter = draw(plot, [variant("one", change=single("Ping (ms) ICMP"))])
    assert "UDP irtt" in labels(plotter)
    assert "ICMP" not in labels(plotter)
    assert "left out: ICMP: Ping (ms) ICMP has a single probe; expected" in output(plotter)

    def alone(data: dict[str, Any]) -> None:
        data["raw_values"]["Ping (ms) ICMP"] = []
        single("Ping (ms) UDP irtt")(data)

    files = [variant("bad", aqm="codel", seed=1, change=alone),
             variant("good", aqm="codel", seed=2)]
    plotter = draw(plot, files, "--override-group-by", "aqm")
    assert labels(plotter)[0] == "codel"
    assert "left out: 1 of 2 runs of codel: Ping (ms) UDP irtt has a single" in output(plotter)
    assert "Nothing to plot: UDP irtt: Ping (ms) UDP irtt has a single" in output(
        draw(plot, files[:1]))


def only_irtt_until(under_load: int) -> Callable[[dict[str, Any]], None]:
    """Return a change that leaves irtt's probes until so many were sent under load, and no others.
    """
    def change(data: dict[str, Any]) -> None:
        start_s = data["metadata"]["SERIES_META"]["TCP upload"]["LOAD_START"]
        probes = data["raw_values"]["Ping (ms) UDP irtt"]
        sent_s = [one["t"] - (one["val"] or 0) / 1000 for one in probes]
        before = sum(one < start_s for one in sent_s)
        data["raw_values"]["Ping (ms) ICMP"] = []
        data["raw_values"]["Ping (ms) UDP irtt"] = probes[:before + under_load]

    return change


def failed_load(data: dict[str, Any]) -> None:
    data["metadata"]["SERIES_META"]["TCP upload"] = {
        "RUNNER": "AqmIperf3Runner", "UNITS": "Mbits/s", "ERROR": ["iperf3: unable to connect"]}
    data["raw_values"]["TCP upload"] = []
    data["results"]["TCP upload"] = [None] * len(data["x_values"])


@pytest.mark.parametrize("plot", ["latency_tail", "ping_cdf_combine", "glitches_per_minute",
                                  "latency_ecdf_idle_vs_loaded"])
def test_run_without_load_does_not_take_its_group_away(
        plot: str, draw: Draw, variant: Variant) -> None:
    """It alone is left out, and said."""
    files = [variant("good", aqm="codel", seed=1), variant("bad", aqm="codel", seed=2,
                                                          change=failed_load)]
    plotter = draw(plot, files, "--override-group-by", "aqm")
    assert any("codel" in one for one in labels(plotter))
    words = " ".join(output(plotter).split())
    assert "left out: 1 of 2 runs of codel: TCP upload: iperf3: unable to connect" in words


@pytest.mark.parametrize("plot", ["latency_tail", "ping_cdf", "glitches_per_minute"])
def test_reasons_of_several_runs_stand_apart(plot: str, draw: Draw, variant: Variant) -> None:
    """With a mark between them."""
    def only_idle(data: dict[str, Any]) -> None:
        start_s = data["metadata"]["SERIES_META"]["TCP upload"]["LOAD_START"]
        data["raw_values"]["Ping (ms) ICMP"] = []
        data["raw_values"]["Ping (ms) UDP irtt"] = [
            one for one in data["raw_values"]["Ping (ms) UDP irtt"] if one["t"] < start_s]

    files = [variant(aqm, aqm=aqm, change=only_idle) for aqm in ("codel", "sfq")]
    words = " ".join(output(draw(plot, files)).split())
    assert ("Nothing to plot: codel: no probe was sent under load; sfq: no probe was sent under "
            "load") in words


def test_damaged_run_among_good_ones_is_named_and_counted(draw: Draw, variant: Variant) -> None:
    """The others are drawn."""
    def damage(data: dict[str, Any]) -> None:
        del data["raw_values"]["Ping (ms) UDP irtt"][5]["t"]

    files = [variant("good", aqm="codel"), variant("bad", aqm="sfq", change=damage),
             variant("other", aqm="fq_codel")]
    plotter = draw("latency_tail", files)
    assert labels(plotter) == ["codel", "fq_codel"]
    assert "1 of 3 files left out" in output(plotter)
    assert "bad.flent.gz" in output(plotter)


@pytest.mark.parametrize(("plot", "test", "series", "field"), [
    ("delay_parts", "router_model", "Probe parts", "seq"),
    ("throughput_instant", "iperf3_upload", "Capture", "t")])
def test_run_with_damaged_samples_does_not_take_the_others_away(
        plot: str, test: str, series: str, field: str, draw: Draw, variant: Variant) -> None:
    """They are read for these plots alone. The file is named."""
    def damage(data: dict[str, Any]) -> None:
        del data["raw_values"][series][5][field]

    bad, good = variant("bad", test, "sfq", change=damage), variant("good", test, "codel")
    words = output(draw(plot, [bad, good]))
    assert "Nothing to plot" not in words
    assert "left out: bad.flent.gz: a sample of" in words
    also = variant("also", test, "pie", change=damage)
    assert ("Nothing to plot: none of the 2 runs has the values, the first because a sample of"
            in output(draw(plot, [bad, also])))
    assert "Nothing to plot: a sample of" in output(draw(plot, [bad]))


def test_options_for_titles_labels_and_bounds_hold(draw: Draw) -> None:
    """Flent's own options work on our plots."""
    plotter = draw("latency_tail", [UPLOAD], "--override-title", "My title", "--label-x", "mine",
                   "--bounds-x", "1,200", "--figure-note", "a note", "--no-annotation")
    axis = plotter.figure.axes[0]
    assert "My title" in output(plotter)
    assert axis.get_xlabel() == "mine"
    assert axis.get_xlim() == (1, 200)
    assert "a note" in output(plotter)
    assert "Tail of latency" not in output(plotter)


@pytest.mark.parametrize("plot", ["latency_tail", "totals"])
def test_legend_is_reversed_with_the_users_labels(plot: str, draw: Draw) -> None:
    """Each label stays with its line: the option --override-label gives them in the order in which
    they are drawn."""
    def entries(*options: str) -> list[tuple[str, str]]:
        plotter = draw(plot, [UPLOAD], *options)
        legend, = plotter.figure.legends
        return [(text.get_text(), line.get_color())
                for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True)]

    own = entries("--override-label", "mine")
    assert len(own) > 1
    assert own[0][0] == "mine"
    assert entries("--override-label", "mine", "--reverse-legend") == own[::-1]


@pytest.mark.parametrize("options", [(), ("--label-y", "mine")])
def test_latency_is_inverted_under_any_label(options: tuple[str, ...], draw: Draw) -> None:
    plotter = draw("latency_percentiles_over_time", [UPLOAD], "--invert-latency-y", *options)
    axis = plotter.figure.axes[0]
    assert axis.yaxis_inverted()
    assert axis.get_ylabel() == "mine" if options else "(ms)" in axis.get_ylabel()

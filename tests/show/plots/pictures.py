# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of golden runs that are kept, and what of a picture's words is out of place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.files import GOLDEN, load, save

KEPT = GOLDEN / "pictures"
NDT7 = (GOLDEN / "batches" / "quick" / "ndt7-fq_codel.flent.gz",)
UPLOADS = tuple(GOLDEN / "batches" / "quick" / f"iperf3_upload-{aqm}.flent.gz"
                for aqm in ("no_aqm", "codel", "sfq", "fq_codel"))
BOTH = tuple(sorted((GOLDEN / "batches" / "quick").glob("ndt7-*.flent.gz")))
PING_EXP = tuple(sorted((GOLDEN / "batches" / "ping_exp").glob("*.flent.gz")))


def one(name: str) -> tuple[Path, ...]:
    """A golden run."""
    return (GOLDEN / "runs" / f"{name}.flent.gz",)


@dataclass(frozen=True)
class Picture:
    """A plot of some files. repeated: of each at three rates, with six seeds: see repetitions()."""

    name: str
    plot: str
    files: tuple[Path, ...]
    repeated: bool = False


PICTURES = (
    Picture("demo", "latency_and_throughput", (*UPLOADS, *BOTH)),
    *(Picture(f"one-{plot}", plot, NDT7) for plot in (
        "totals", "throughput_headers", "ping", "ping_cdf", "all", "box_totals", "bar_combine",
        "throughput_instant", "tcp_info", "tcp_rtt_cdf", "qdisc_over_time",
        "latency_percentiles_over_time", "latency_ecdf_idle_vs_loaded", "compare_latency_box")),
    *(Picture(f"queues-{plot}", plot, UPLOADS) for plot in (
        "totals", "ping_cdf_log", "box_totals", "box_combine", "ping_cdf_combine", "bar_combine",
        "glitches_per_minute", "latency_tail", "latency_percentiles_over_time",
        "latency_ecdf_idle_vs_loaded", "overlay_latency", "overlay_throughput",
        "qdisc_over_time", "compare_latency_box", "compare_latency_violin",
        "compare_latency_ecdf", "heat_map")),
    *(Picture(f"both-ways-{plot}", plot, BOTH) for plot in (
        "all", "tcp_info", "throughput_instant", "compare_throughput_box",
        "compare_throughput_violin", "compare_throughput_ecdf", "compare_latency_ecdf")),
    *(Picture(f"seeds-{plot}", plot, UPLOADS, repeated=True) for plot in (
        "compare_metric", "compare_metric_box", "compare_latency_ecdf", "latency_tail")),
    Picture("ping_exp-side_by_side", "side_by_side", PING_EXP),
    Picture("ping_exp-compare_latency_box", "compare_latency_box", PING_EXP),
    Picture("empty-cpu", "cpu", one("speedtest_concurrent")),
    Picture("rrul-latency_tail", "latency_tail", one("stock_rrul")),
    Picture("compete", "compete", one("rrul_compete")),
    Picture("one-why", "why", (GOLDEN / "why" / "kept.flent.gz",)),
    Picture("empty-why", "why", NDT7),
    Picture("one-delay_parts", "delay_parts", one("router_model")),
)


PROBE = "Ping (ms) UDP irtt"


def repetitions(folder: Path) -> list[Path]:
    """Write 72 runs into a folder: those of UPLOADS, each at three rates with six seeds. The slower
    the link, the longer round trips take; seeds differ by up to a tenth."""
    files = []
    for path in UPLOADS:
        data = load(path)
        probes = data["raw_values"][PROBE]
        data["results"] = {name: [] for name in data["results"]}
        data["x_values"] = []
        data["metadata"]["SERIES_META"] = {
            name: data["metadata"]["SERIES_META"][name] for name in ("TCP upload", PROBE)}
        for rate in (20, 50, 100):
            for seed in range(6):
                stretch = 100 / rate * (1 + seed * 7 % 6 / 50)
                data["raw_values"] = {
                    "TCP upload": data["raw_values"]["TCP upload"],
                    PROBE: [one | {"val": one["val"] * stretch} if "val" in one else one
                            for one in probes]}
                requested = data["metadata"]["AQM"]["requested"]
                requested |= {"rate_up_mbps": rate, "rate_down_mbps": rate, "seed": seed}
                files.append(save(folder / f"{requested['aqm']}-{rate}-{seed}.flent.gz", data))
    return files


@contextmanager
def drawn_texts() -> Iterator[list[Any]]:
    """The texts of the last drawing meanwhile, without those that axes keep for other ranges."""
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    stock, stock_figure = Text.draw, Figure.draw
    drawn: dict[int, Any] = {}

    def draw_figure(self: Any, renderer: Any) -> None:
        drawn.clear()  # what was drawn before was drawn to lay it out
        stock_figure(self, renderer)

    def draw(self: Any, renderer: Any, *args: Any, **kwargs: Any) -> None:
        if self.get_visible() and self.get_text().strip():
            drawn[id(self)] = self
        stock(self, renderer, *args, **kwargs)

    texts: list[Any] = []
    Text.draw = draw  # type: ignore[method-assign]
    Figure.draw = draw_figure  # type: ignore[method-assign]
    try:
        yield texts
    finally:
        Text.draw = stock  # type: ignore[method-assign]
        Figure.draw = stock_figure  # type: ignore[method-assign]
        texts.extend(drawn.values())


def misplaced(figure: Any, texts: Sequence[Any]) -> list[str]:
    """Words of a picture that its edges cut, or that stand on other words.

    texts: those that were drawn.
    """
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    wide, high = figure.bbox.width, figure.bbox.height
    faults = [f"cut: {text!r}" for text, box in boxes
              if box.x0 < -1 or box.y0 < -1 or box.x1 > wide + 1 or box.y1 > high + 1]
    for place, (text, box) in enumerate(boxes):
        # Letters have some white around them: what touches is no fault.
        mine = box.padded(-1.5)
        for other, others in boxes[place + 1:]:
            if mine.width > 0 and mine.height > 0 and mine.overlaps(others.padded(-1.5)):
                faults.append(f"on each other: {text!r} and {other!r}")
    return faults

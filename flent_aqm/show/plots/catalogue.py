# SPDX-License-Identifier: GPL-3.0-or-later
"""List the plots that this package adds to tests, by the name for `flent -p` and flent-gui.

It is read whenever a test is loaded, also in the lab's guest. Therefore it imports nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Plot = Mapping[str, Any]

# Plots of every test that has a latency series, also of Flent's own tests.
LATENCY: Mapping[str, Plot] = {
    "glitches_per_minute": {
        "description": "Glitches per minute under load, by threshold", "type": "aqm_glitches"},
    "latency_tail": {
        "description": "Tail of latency under load", "type": "aqm_tail"},
    "latency_percentiles_over_time": {
        "description": "Latency over time: median, 90th percentile, slowest",
        "type": "aqm_percentiles_over_time"},
    "latency_ecdf_idle_vs_loaded": {
        "description": "Latency idle and under load", "type": "aqm_idle_loaded"},
    "why": {
        "description": "Why a probe took long: the packets around it", "type": "aqm_why"},
    "overlay_latency": {
        "description": "Latency of several runs over each other", "type": "aqm_overlay",
        "quantity": "latency"},
    "compare_latency_box": {
        "description": "Latency under load of many runs, boxes", "type": "aqm_compare_sides",
        "quantity": "latency", "kind": "box"},
    "compare_latency_violin": {
        "description": "Latency under load of many runs, violins", "type": "aqm_compare_sides",
        "quantity": "latency", "kind": "violin"},
    "compare_latency_ecdf": {
        "description": "Latency under load of many runs, distribution",
        "type": "aqm_compare_ecdf", "quantity": "latency"},
    "compare_metric": {
        "description": "A metric (--metric) of many runs, dots and the median's interval",
        "type": "aqm_compare_metric", "kind": "dots"},
    "compare_metric_box": {
        "description": "A metric (--metric) of many runs, boxes", "type": "aqm_compare_metric",
        "kind": "box"},
    "heat_map": {
        "description": "A metric of many runs (--metric), by queue and rate",
        "type": "aqm_heat"},
}

THROUGHPUT: Mapping[str, Plot] = {
    "latency_and_throughput": {
        "description": "Latency under load of many runs beside throughput, a row for each test",
        "type": "aqm_latency_and_throughput"},
    "compare_throughput_box": {
        "description": "Throughput of many runs, boxes", "type": "aqm_compare_sides",
        "quantity": "throughput", "kind": "box"},
    "compare_throughput_violin": {
        "description": "Throughput of many runs, violins", "type": "aqm_compare_sides",
        "quantity": "throughput", "kind": "violin"},
    "compare_throughput_ecdf": {
        "description": "Throughput of many runs, distribution", "type": "aqm_compare_ecdf",
        "quantity": "throughput"},
}

# Plots of this package's tests, which tests_defs/aqm_plots.inc adds.
OURS: Mapping[str, Plot] = {
    "throughput_instant": {
        "description": "Throughput in captured headers, with drops and marks",
        "type": "aqm_instant"},
    "tcp_info": {
        "description": "TCP's round-trip time, window and retransmits", "type": "aqm_tcp_info"},
    "qdisc_over_time": {
        "description": "The router's queues over time", "type": "aqm_queues"},
    "delay_parts": {
        "description": "Where a probe's time went: queue, processor, cards",
        "type": "aqm_delay_parts"},
    "overlay_throughput": {
        "description": "Throughput of several runs over each other", "type": "aqm_overlay",
        "quantity": "throughput"},
}


# Plots that can compare runs of different tests.
SEVERAL_TESTS = frozenset(
    name for name in (*LATENCY, *THROUGHPUT) if name.startswith("compare_")
    or name in ("heat_map", "latency_and_throughput"))


def plots_for(data_sets: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the plots that this package adds to a test: name -> plot as in Flent's PLOTS. Empty
    for tests without a series in ms, throughput plots only with a series in Mbit/s, too. Series
    that Flent computes from others, or whose runner is "null", don't count.

    Args:
        data_sets: the test's DATA_SETS: name of a series -> its definition.
    """
    plots: dict[str, Plot] = {}
    measured = [one for one in data_sets.values()
                if "apply_to" not in one and one.get("runner") != "null"]
    if any(one.get("units") == "ms" for one in measured):
        plots |= LATENCY
        if any(one.get("units") == "Mbits/s" for one in measured):
            plots |= THROUGHPUT
    return {name: dict(plot) for name, plot in plots.items()}

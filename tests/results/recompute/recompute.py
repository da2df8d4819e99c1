#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
# mypy: disable-error-code="no-untyped-def,no-untyped-call,var-annotated,type-arg"
"""Every metric of a data file, computed a second time, by other code.

    python tests/results/recompute/recompute.py FILE.flent.gz [FILE.pcap]

Prints JSON: "metrics", by the names of docs/reference/metrics.md, null where there is a reason to
have none; and with a capture "captured": what each flow carried, in Mbit/s, by the numbers of
the acknowledgements that its receiver sent.

It shares no code with flent_aqm and follows the page and the sources that it names, one formula
after the other, in the plainest form. For files of this package's tests whose probe is irtt.
"""

import bisect
import gzip
import json
import math
import struct
import sys
from itertools import pairwise

LOST = float("inf")
WAYS = ("download", "upload")


class Unknown(Exception):
    """There is no such number."""


class Run:
    """The raw samples of a file: probes as (sent, rtt), flows by name."""

    def __init__(self, path):
        with gzip.open(path) as file:
            whole = json.load(file)
        self.meta = whole["metadata"]
        self.raw = whole["raw_values"]
        self.aqm = self.meta["AQM"]
        self.requested = self.aqm["requested"]
        self.probes = []
        self.flows = {}
        for name, about in self.meta["SERIES_META"].items():
            samples = self.raw.get(name, [])
            if about.get("RUNNER") == "AqmIrttRunner" and not self.probes:
                self.probes = sorted((one["t"] - one["val"] / 1000, one["val"])
                                     if "val" in one else (one["t"], LOST) for one in samples)
            elif "LOAD_START" in about:
                self.flows[name] = (about, samples)

    def of_test(self, way=None):
        return [flow for name, flow in self.flows.items()
                if "cross" not in name.lower() and (way is None or way in name.lower())]

    def all_of(self, way):
        if not self.of_test(way):
            raise Unknown
        return [flow for name, flow in self.flows.items() if way in name.lower()]

    def span(self, flows):
        if not flows:
            raise Unknown
        return (min(about["LOAD_START"] for about, _ in flows),
                max(about["LOAD_END"] for about, _ in flows))

    def loaded(self, way=None):
        begin, end = self.span(self.of_test(way))
        inside = [one for one in self.probes if begin <= one[0] <= end]
        if not inside:
            raise Unknown
        return inside

    def idle(self):
        if not self.flows:
            return self.probes
        first = min(about["LOAD_START"] for about, _ in self.flows.values())
        before = [(sent, rtt) for sent, rtt in self.probes
                  if sent + (0 if rtt == LOST else rtt / 1000) < first]
        if not before:
            raise Unknown
        return before

    def spacing_ms(self):
        gaps = sorted(b[0] - a[0] for a, b in pairwise(self.probes))
        half = len(gaps) // 2
        return 1000 * (gaps[half] if len(gaps) % 2 else (gaps[half - 1] + gaps[half]) / 2)


def answered(probes):
    rtts = [rtt for _, rtt in probes if rtt != LOST]
    if not rtts:
        raise Unknown
    return rtts


def mean(values):
    return math.fsum(values) / len(values)


def quantile(values, percent):
    """Linear interpolation between the two samples around the place; LOST where one is."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = int(place)
    above = min(below + (place > below), len(ordered) - 1)
    if ordered[above] == LOST:
        return LOST
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def percentile(probes, percent):
    values = [rtt for _, rtt in probes]
    if round(min(percent, 100 - percent) / 100 * len(values)) < 10:
        raise Unknown
    value = quantile(values, percent)
    if value == LOST:
        raise Unknown
    return value


STATISTICS = {
    "min": lambda probes: min(answered(probes)),
    "median": lambda probes: percentile(probes, 50),
    "mean": lambda probes: mean(answered(probes)),
    "p90": lambda probes: percentile(probes, 90),
    "p95": lambda probes: percentile(probes, 95),
    "p99": lambda probes: percentile(probes, 99),
    "p99_9": lambda probes: percentile(probes, 99.9),
    "max": lambda probes: max(answered(probes)),
}


def differences(probes):
    came = answered(probes)
    if len(came) < 2:
        raise Unknown
    return [abs(b - a) for a, b in pairwise(came)]


def rfc3550(probes):
    jitter = 0.0
    for one in differences(probes):
        jitter += (one - jitter) / 16
    return jitter


def udp_loss_pct(flows):
    udp = [about["IPERF3"] for about, _ in flows if "lost_packets" in about.get("IPERF3", {})]
    return 100 * sum(one["lost_packets"] for one in udp) / sum(one["packets"] for one in udp)


def loss_pct(probes):
    return 100 * sum(rtt == LOST for _, rtt in probes) / len(probes)


def glitches(run, threshold):
    """(first, last) bad probe of each, and the length of the load in s."""
    limit = percentile(run.idle(), 50) + threshold
    spacing = run.spacing_ms()
    if spacing > 20:
        raise Unknown
    events = []
    for sent, rtt in run.loaded():
        if rtt > limit:
            if events and sent - events[-1][1] < 0.1 + spacing / 1000:
                events[-1][1] = sent
            else:
                events.append([sent, sent])
    begin, end = run.span(run.of_test())
    return [(last - first) * 1000 + spacing for first, last in events], end - begin


# Throughput ---------------------------------------------------------------------------------

def intervals(flow):
    spans = sorted((one["t"] - one["dur"], one["t"], one["val"])
                   for one in flow[1] if "val" in one)
    if not spans:
        raise Unknown
    return spans


def own_time(flow):
    return intervals(flow)[0][0], max(end for _, end, _ in intervals(flow))


def carried(flow, begin, end):
    """Megabits between two moments."""
    return math.fsum(mbps * max(0.0, min(stop, end) - max(start, begin))
                     for start, stop, mbps in intervals(flow))


def mean_over(flow, begin, end):
    """A flow's own mean where this is its own time, to a twentieth; else from intervals."""
    start, stop = own_time(flow)
    common = min(stop, end) - max(start, begin)
    if common >= 0.95 * max(stop - start, end - begin):
        return flow[0]["MEAN_VALUE"]
    return carried(flow, begin, end) / (end - begin)


def throughput(run, way):
    """From the first flow's start to the last one's end."""
    flows = run.of_test(way)
    if not flows:
        raise Unknown
    if not all(any("val" in one for one in raw) for _, raw in flows):
        return sum(about["MEAN_VALUE"] for about, _ in flows)
    times = [own_time(flow) for flow in flows]
    begin, end = min(a for a, _ in times), max(b for _, b in times)
    return sum(mean_over(flow, begin, end) for flow in flows)


def total(run, way):
    """All flows of a direction while the test's own ran; the test's own alone as throughput(). An
    upload alone in the lab is not more than TCP can carry at the rate, which clients exceed that
    count what they have written to their sockets."""
    flows = run.all_of(way)
    own = run.of_test(way)
    if len(flows) == len(own):
        mbps = throughput(run, way)
        if (way == "download" or run.requested.get("testbed", "virtual") != "virtual"
                or run.requested.get("burst_shaping")):
            return mbps
        try:
            return min(mbps, capacity(run, way))
        except Unknown:
            return mbps
    times = [own_time(flow) for flow in own]
    begin, end = min(a for a, _ in times), max(b for _, b in times)
    return sum(mean_over(flow, begin, end) for flow in flows)


def capacity(run, way):
    """What TCP can carry in Mbit/s."""
    if run.meta.get("TEST_PARAMETERS", {}).get("rates_mbps") or run.aqm["before"].get("routers"):
        raise Unknown
    of = "rate" if run.requested.get("shaper", "htb") != "none" else "modem"
    rate = run.requested.get(f"{of}_{'down' if way == 'download' else 'up'}_mbps")
    if rate is None:
        raise Unknown
    overhead = run.requested.get("aqm_parameters", {}).get("overhead")
    with_cake = run.requested.get("shaper") == "cake" and overhead is not None
    counted = 1500 + float(overhead) if with_cake else 1514
    return rate * 1448 / counted


def utilisation(run, way):
    flows = run.all_of(way)
    most = capacity(run, way)
    times = [own_time(flow) for flow in run.of_test(way)]
    begin, end = min(a for a, _ in times), max(b for _, b in times)
    return 100 * sum(mean_over(flow, begin, end) for flow in flows) / most


def shared(flows):
    times = [own_time(flow) for flow in flows]
    begin, end = max(a for a, _ in times), min(b for _, b in times)
    if len(flows) < 2 or end - begin < 1:
        raise Unknown
    return begin, end


def jain(values):
    if not any(values):
        raise Unknown
    return sum(values) ** 2 / (len(values) * sum(one * one for one in values))


def fairness(run, way):
    flows = run.all_of(way)
    begin, end = shared(flows)
    return jain([mean_over(flow, begin, end) for flow in flows])


def of_hosts(run, way):
    """What each host's flows carried together."""
    flows = run.of_test(way)
    hosts = sorted({about["FROM_HOST"] for about, _ in flows if about.get("FROM_HOST")})
    if len(hosts) < 2:
        raise Unknown
    begin, end = shared(flows)
    return [math.fsum(mean_over(flow, begin, end) for flow in flows
                      if flow[0].get("FROM_HOST") == host) for host in hosts]


def synchronisation(run, way):
    flows = run.all_of(way)
    if len(flows) < 2 or any(len(intervals(flow)) < 20 for flow in flows):
        raise Unknown
    times = [own_time(flow) for flow in flows]
    begin, end = max(a for a, _ in times) + 2, min(b for _, b in times)
    steps = int((end - begin + 1e-6) / 0.25)
    if steps < 20:
        raise Unknown
    falls = []
    for flow in flows:
        rates = [carried(flow, begin + 0.25 * n, begin + 0.25 * (n + 1)) / 0.25
                 for n in range(steps)]
        fall = [max(0.0, a - b) for a, b in pairwise(rates)]
        if max(fall) - min(fall) > 1e-9 * max(rates):
            falls.append(fall)
    pairs = [pearson(a, b) for n, a in enumerate(falls) for b in falls[n + 1:]]
    if not pairs:
        raise Unknown
    return mean(pairs)


def pearson(one, other):
    a, b = mean(one), mean(other)
    top = math.fsum((x - a) * (y - b) for x, y in zip(one, other, strict=True))
    return top / math.sqrt(math.fsum((x - a) ** 2 for x in one)
                           * math.fsum((y - b) ** 2 for y in other))


# Scores of others -----------------------------------------------------------------------------

def ndt7(run, way, field):
    for about, _ in run.of_test(way):
        if about.get("NDT7") and about["NDT7"].get(field) is not None:
            return about["NDT7"][field]
    raise Unknown


def ndt7_archived(run, way):
    """The median of what the kernel smoothed, at each of the server's measurements."""
    seen = [one["tcp_rtt"] for about, samples in run.of_test(way) if about.get("NDT7")
            for one in samples if one.get("tcp_rtt") is not None]
    if not seen:
        raise Unknown
    return quantile(seen, 50)


def without(values, low, high):
    """The mean without those shares of the lowest and the highest, rounded down."""
    ordered = sorted(values)
    return mean(ordered[int(low * len(ordered)):len(ordered) - int(high * len(ordered))])


def late(run, interval_s):
    """(foreign, self) times of the last four intervals of the flows that end last."""
    _, end = run.span(run.of_test())
    last = [about["LOAD_START"] for about, _ in run.of_test() if about["LOAD_END"] > end - 1]
    begin = max(end - 4 * interval_s, min(last))
    # A sample on the edge, which rounding may put on either side, is outside.
    external = [rtt for sent, rtt in run.loaded() if sent > begin + 1e-6 and rtt != LOST]
    own = [one["tcp_rtt"] for _, samples in run.of_test() for one in samples
           if one.get("tcp_rtt") is not None and begin + 1e-6 < one["t"] <= end + 1e-6]
    return external, own


def enough(values):
    if len(values) < 10:
        raise Unknown
    return values


def rpm_part(run, which):
    return 60_000 / without(enough(late(run, 5)[which]), 0, 0.05)


def rpm_go(run, of):
    external, own = late(run, 1)
    return 60_000 / ((of(sorted(enough(external))) + of(sorted(enough(own)))) / 2)


def fastest_twentieth(ordered):
    kept = ordered[:int(0.05 * len(ordered))]
    if not kept:
        raise Unknown
    return mean(kept)


def points(value, limits, worth):
    return worth[bisect.bisect_right(limits, value)]


AIM_LATENCY = ([10, 20, 50, 100, 500], [20, 10, 5, 0, -10, -20])


def aim_loaded(run, way):
    kept = []
    for sent, rtt in run.loaded(way):
        if rtt != LOST and (not kept or sent >= kept[-1][0] + 0.4 - 0.005):
            kept.append((sent, rtt))
    if not kept:
        raise Unknown
    return quantile([rtt for _, rtt in kept[-20:]], 50)


def aim(run, kind):
    idle = quantile(answered(run.idle()), 50)
    rise = max(aim_loaded(run, way) for way in WAYS) - idle
    total = (points(idle, *AIM_LATENCY) + points(rise, *AIM_LATENCY)
             + points(loss_pct(run.loaded()) / 100, [.01, .05, .25, .5], [10, 5, 0, -10, -20]))
    if kind == "streaming":
        total += points(throughput(run, "download"), [1, 10, 50, 100], [0, 5, 10, 20, 30])
    if kind == "rtc":
        total += points(mean(differences(run.idle())), [10, 20, 100, 500], [10, 5, 0, -10, -20])
    return max(0, total)


def dslreports(run):
    idle = mean(answered(run.idle()))
    return sum(mean(answered(run.loaded(way))) - idle for way in WAYS) / 2


def libreqos(run):
    """Phase -> rise."""
    base = quantile(answered(run.idle()), 25)
    spans = {way: run.span(run.of_test(way)) for way in WAYS if run.of_test(way)}
    phases = {"download": [], "upload": [], "bidirectional": []}
    for sent, rtt in run.loaded():
        on = [way for way, (begin, end) in spans.items() if begin <= sent <= end]
        if on:
            phases["bidirectional" if len(on) == 2 else on[0]].append(rtt)
    rises = {}
    for phase, rtts in phases.items():
        came = [rtt for rtt in rtts if rtt != LOST]
        if came and len(rtts) * run.spacing_ms() >= 1000:
            rises[phase] = mean(came) - base
    if not rises:
        raise Unknown
    return rises


def libreqos_total(run):
    grades = [6, 5, 4, 3, 2, 1]
    phases = mean([points(rise, [5, 30, 60, 200, 400], grades)
                   for rise in libreqos(run).values()])
    return min(phases, points(quantile(answered(run.idle()), 25), [75, 100, 125, 150, 175], grades))


def qoo(run, needs):
    probes = run.loaded()
    values = [rtt for _, rtt in probes]
    shares = []
    for percent, (best, worst) in needs.items():
        if round((100 - percent) / 100 * len(values)) < 10:
            raise Unknown
        shares.append(1 - (quantile(values, percent) - best) / (worst - best))
    shares.append(1 - (loss_pct(probes) - 1) / 4)
    shares.append(float(all(throughput(run, way) >= 4 for way in WAYS if run.of_test(way))))
    return 100 * min(max(0.0, min(1.0, one)) for one in shares)


# The router -------------------------------------------------------------------------------------

def counter(run, way, *names):
    device = "down" if way == "download" else "up"
    values = []
    for moment in ("before", "after"):
        counters = run.aqm[moment]["counters"][device]["qdisc"]
        counts = [place[name] for place in [counters, *counters.get("tins", [])]
                  for name in names if name in place]
        if not counts:
            raise Unknown
        values.append(sum(counts))
    return values


def grown(run, way, *names):
    before, after = counter(run, way, *names)
    return after - before


def top_counter(run, moment, way, name):
    device = "down" if way == "download" else "up"
    counters = run.aqm[moment]["counters"][device]["qdisc"]
    if name not in counters:
        raise Unknown
    return counters[name]


def top_grown(run, way, name):
    return top_counter(run, "after", way, name) - top_counter(run, "before", way, name)


def drop_pct(run, way):
    dropped = top_grown(run, way, "drops")
    came = dropped + top_grown(run, way, "packets")
    if not came:
        raise Unknown
    return 100 * dropped / came


def own_rtt(run, way, percent):
    """What the flows' own packets saw: the mean over connections of each one's percentile."""
    trips = [about["ROUND_TRIPS"] for about, _ in run.of_test(way) if "ROUND_TRIPS" in about]
    samples = sum(one["samples"] for one in trips)
    if 0 < percent < 100 and round(min(percent, 100 - percent) / 100 * samples) < 10:
        raise Unknown
    return sum(one["percentiles_ms"][percent] * one["connections"] for one in trips) / sum(
        one["connections"] for one in trips)


def standing(run, way):
    """Bytes in the queue at each sample under the way's load, each with its sample's number."""
    device = "down" if way == "download" else "up"
    begin, end = run.span(run.of_test(way))
    samples = [(number, one[f"{device}_backlog_bytes"])
               for number, one in enumerate(run.raw.get("Queues", [])) if begin <= one["t"] <= end]
    if not samples:
        raise Unknown
    return samples


def waits(run, way):
    """(None, ms until as many bytes were sent, or the queue was empty) of the same."""
    device = "down" if way == "download" else "up"
    samples = [(one["t"], one[f"{device}_sent_bytes"], one[f"{device}_backlog_bytes"])
               for one in run.raw["Queues"]]
    # When the queue was empty between two samples: it sent as fast as before, or faster.
    empty_at, busy = {}, 0.0
    for number, (a, b) in enumerate(pairwise(samples)):
        rate = (b[1] - a[1]) / (b[0] - a[0])
        if a[2] and b[2]:
            busy = rate
        elif a[2]:
            rate = max(rate, busy)
            empty_at[number] = min(a[0] + a[2] / rate, b[0]) if rate else b[0]
    delays = []
    for number, stands in standing(run, way):
        at, sent, _ = samples[number]
        gone = samples[-1][0]
        wanted = sent + stands - 0.5
        for a, b in pairwise(samples[number:]):
            if a[1] <= wanted < b[1]:
                gone = a[0] + (b[0] - a[0]) * (wanted - a[1]) / (b[1] - a[1])
                break
        gone = min(gone, next((when for index, when in empty_at.items() if index >= number), gone))
        delays.append((None, 1000 * (gone - at) if stands else 0.0))
    return delays


def formulas(run):
    """Name -> a function without arguments."""
    table = {}
    for way in WAYS:
        table |= {
            f"throughput_{way}_mbps": lambda way=way: throughput(run, way),
            f"total_{way}_mbps": lambda way=way: total(run, way),
            f"utilisation_{way}_pct": lambda way=way: utilisation(run, way),
            f"fairness_{way}": lambda way=way: fairness(run, way),
            f"host_fairness_{way}": lambda way=way: jain(of_hosts(run, way)),
            f"host_least_{way}_mbps": lambda way=way: min(of_hosts(run, way)),
            f"host_most_{way}_mbps": lambda way=way: max(of_hosts(run, way)),
            f"synchronisation_{way}": lambda way=way: synchronisation(run, way),
            f"ndt7_throughput_{way}_mbps": lambda way=way: ndt7(run, way, "throughput_mbps"),
            f"ndt7_latency_{way}_ms": lambda way=way: ndt7(run, way, "latency_ms"),
            f"ndt7_retransmission_{way}_pct": lambda way=way: ndt7(
                run, way, "retransmission_pct"),
            f"ndt7_rtt_{way}_ms": lambda way=way: ndt7_archived(run, way),
            f"ookla_style_iqm_{way}_ms": lambda way=way: without(
                answered(run.loaded(way)), 0.25, 0.25),
            f"ookla_style_low_{way}_ms": lambda way=way: min(answered(run.loaded(way))),
            f"ookla_style_high_{way}_ms": lambda way=way: max(answered(run.loaded(way))),
            f"ookla_style_jitter_{way}_ms": lambda way=way: mean(differences(run.loaded(way))),
            f"aim_loaded_latency_{way}_ms": lambda way=way: aim_loaded(run, way),
            f"queue_drops_{way}": lambda way=way: top_grown(run, way, "drops"),
            f"queue_drop_{way}_pct": lambda way=way: drop_pct(run, way),
            f"queue_marks_{way}": lambda way=way: grown(
                run, way, "ecn_mark", "ecn-mark", "ce_mark", "step-mark", "marked"),
            f"queue_requeues_{way}": lambda way=way: top_grown(run, way, "requeues"),
            f"queue_backlog_{way}_bytes": lambda way=way: top_counter(
                run, "after", way, "backlog"),
            f"queue_delay_{way}_mean_ms": lambda way=way: mean(
                [ms for _, ms in waits(run, way)]),
            f"queue_delay_{way}_p95_ms": lambda way=way: percentile(waits(run, way), 95),
            f"queue_delay_{way}_max_ms": lambda way=way: max(ms for _, ms in waits(run, way)),
            f"queue_standing_{way}_mean_bytes": lambda way=way: mean(
                [stands for _, stands in standing(run, way)]),
            f"queue_standing_{way}_max_bytes": lambda way=way: max(
                stands for _, stands in standing(run, way)),
        }
        for name, percent in (("min", 0), ("median", 50), ("p90", 90), ("p95", 95), ("p99", 99),
                              ("max", 100)):
            table |= {f"flow_rtt_{way}_{name}_ms": lambda way=way, percent=percent: own_rtt(
                run, way, percent)}
    for name, statistic in STATISTICS.items():
        table[f"latency_loaded_{name}_ms"] = lambda of=statistic: of(run.loaded())
        table[f"latency_idle_{name}_ms"] = lambda of=statistic: of(run.idle())
        if name in ("median", "mean", "p95", "p99"):
            table[f"latency_increase_{name}_ms"] = lambda of=statistic: (
                of(run.loaded()) - of(run.idle()))
    for threshold in (30, 60, 100, 200):
        table |= {
            f"glitches_per_minute_{threshold}ms": lambda ms=threshold: (
                len(glitches(run, ms)[0]) * 60 / glitches(run, ms)[1]),
            f"longest_glitch_{threshold}ms_ms": lambda ms=threshold: max(
                glitches(run, ms)[0], default=0),
            f"glitch_time_{threshold}ms_pct": lambda ms=threshold: min(100, sum(
                glitches(run, ms)[0]) / glitches(run, ms)[1] / 10),
        }
    for way in WAYS:
        table[f"udp_loss_{way}_pct"] = lambda way=way: udp_loss_pct(run.of_test(way))
    for phase in ("download", "upload", "bidirectional"):
        table[f"libreqos_rise_{phase}_ms"] = lambda phase=phase: libreqos(run)[phase]
    return table | {
        "jitter_loaded_ms": lambda: mean(differences(run.loaded())),
        "jitter_idle_ms": lambda: mean(differences(run.idle())),
        "jitter_rfc3550_loaded_ms": lambda: rfc3550(run.loaded()),
        "loss_loaded_pct": lambda: loss_pct(run.loaded()),
        "loss_idle_pct": lambda: loss_pct(run.idle()),
        "rpm_ietf_estimate": lambda: (rpm_part(run, 0) + rpm_part(run, 1)) / 2,
        "rpm_foreign_estimate": lambda: rpm_part(run, 0),
        "rpm_loaded_estimate": lambda: rpm_part(run, 1),
        "rpm_goresponsiveness_estimate": lambda: rpm_go(run, fastest_twentieth),
        "rpm_goresponsiveness_p90_estimate": lambda: rpm_go(
            run, lambda ordered: ordered[int(0.9 * len(ordered))]),
        "aim_streaming": lambda: aim(run, "streaming"),
        "aim_gaming": lambda: aim(run, "gaming"),
        "aim_rtc": lambda: aim(run, "rtc"),
        "dslreports_rise_ms": lambda: dslreports(run),
        "libreqos_rise_ms": lambda: mean(list(libreqos(run).values())),
        "libreqos_total": lambda: libreqos_total(run),
        "qoo": lambda: qoo(run, {99: (200, 500), 99.9: (300, 600)}),
        "qoo_p99": lambda: qoo(run, {99: (200, 500)}),
    }


def metrics(run):
    """All numbers by name; None for none."""
    values = {}
    for name, formula in formulas(run).items():
        try:
            values[name] = formula()
        except (Unknown, KeyError, ZeroDivisionError):
            values[name] = None
    return values


# The capture ---------------------------------------------------------------------------------

def acknowledged(path):
    """(server's port, way of the data) -> {connection: [(time, bytes acknowledged)]}.

    Ethernet, IPv4 and TCP, as tcpdump wrote them on this machine.
    """
    with open(path, "rb") as file:
        data = file.read()
    magic, link = struct.unpack_from("=I16xI", data)
    ticks = {0xA1B2C3D4: 1e6, 0xA1B23C4D: 1e9}[magic]
    assert link == 1, link
    places = {}
    at = 24
    while at + 16 <= len(data):
        seconds, fraction, size, _ = struct.unpack_from("=IIII", data, at)
        frame = data[at + 16:at + 16 + size]
        at += 16 + size
        if len(frame) < 54 or frame[12:14] != b"\x08\x00" or frame[23] != 6:
            continue
        tcp = 14 + (frame[14] & 15) * 4
        source, target, _, number, _, flags = struct.unpack_from("!HHIIBB", frame, tcp)
        if not flags & 0x10:
            continue
        # Servers listen below the ports that clients get.
        to_server = target < source
        key = (target, "download") if to_server else (source, "upload")
        client = source if to_server else target
        place = places.setdefault(key, {}).setdefault(client, [])
        last = place[-1][1] if place else number
        ahead = (number - last) % 2**32
        # An older number that came late, or once more.
        place.append((seconds + fraction / ticks, last + (ahead if ahead < 2**31 else 0)))
    return places


def carried_by(connections, begin, end):
    """Megabits that the receivers of some connections acknowledged between two moments."""
    total = 0.0
    for seen in connections.values():
        times = [when for when, _ in seen]
        before, after = (bisect.bisect_right(times, moment) - 1 for moment in (begin, end))
        if after >= 0:
            total += seen[after][1] - seen[max(before, 0)][1]
    return total * 8e-6


def began(connections, before):
    """When the first connection that carried more than a tenth of all sent its first byte."""
    amounts = {client: seen[-1][1] - seen[0][1] for client, seen in connections.items()}
    starts = [seen[0][0] for client, seen in connections.items()
              if amounts[client] > 0.1 * max(amounts.values())]
    return min([when for when in starts if when >= before - 0.001], default=before)


def captured(run, path):
    """Name of a TCP flow -> Mbit/s over its own time; and over the time that all flows of its
    direction share, cross traffic too. late_s: a tool's clock starts when it is started, and
    connecting takes it some round trips; so much later are the same bytes in the capture."""
    seen = acknowledged(path)
    ports = {"TCP": 8080 if "ndt7" in run.meta["NAME"] else 5201, "Cross": 5202}
    values = {}
    for name, flow in run.flows.items():
        kind = name.split()[0]
        if kind == "UDP":
            continue
        way = next(way for way in WAYS if way in name.lower())
        port = ports[kind]
        if run.meta["NAME"] == "aqm_flows":
            # A port for each group, in the order in which they were asked for.
            groups = run.meta["TEST_PARAMETERS"]["flows"].split("+")
            port = 5211 + groups.index(name.split()[-1])
        connections = seen.get((port, way), {})
        begin, end = own_time(flow)
        late = began(connections, begin) - begin
        one = {"late_s": late, "told_mbps": flow[0]["MEAN_VALUE"],
               "mbps": carried_by(connections, begin + late, end + late) / (end - begin)}
        flows = run.all_of(way)
        if len(flows) > 1:
            begin, end = shared(flows)
            one["shared_mbps"] = (
                carried_by(connections, begin + late, end + late) / (end - begin))
            one["told_shared_mbps"] = mean_over(flow, begin, end)
        values[name] = one
    return values


def main():
    run = Run(sys.argv[1])
    output = {"metrics": metrics(run)}
    if len(sys.argv) > 2:
        output["captured"] = captured(run, sys.argv[2])
    json.dump(output, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()

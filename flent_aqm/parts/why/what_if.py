# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a recorded run again with one thing changed, on the same seed: the same probe, and what else
would have been measured. Nothing is modelled."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy

from flent_aqm.base.errors import AqmError, ConfigError, LostProbe, NotAvailable
from flent_aqm.parts.why.flow_names import (
    carries_data,
    cross_ports_of,
    flow_name,
    test_parameters,
)
from flent_aqm.parts.why.ledger import TCP, Fate, Ledger
from flent_aqm.parts.why.probe_series import answers, with_series
from flent_aqm.parts.why.story import start_ns
from flent_aqm.parts.why.watched import MODEM, WatchedRun
from flent_aqm.results.advice.advice import SQM_PCT
from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.metrics.latency import (
    LISTED_GLITCH_MS,
    bad_probes,
    glitches,
    glitches_per_minute,
    idle_median_ms,
    loaded_ms,
)
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.throughput import throughput_mbps
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.cross_traffic import parse_cross_traffic
from flent_aqm.spec.keys import (
    keys_of_directions,
    refuse_unknown_scenario_keys,
    refuse_unused_rates,
)
from flent_aqm.spec.queues.external import queue_of
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep.replay.again import again
from flent_aqm.sweep.run import samples_sha256

# The four queues of the study that the default batch follows.
STUDY = ("no_aqm", "codel", "sfq", "fq_codel")
UNCHANGED = "nothing changed"
# Keys that would make it another run: another seed, another kernel, another place.
_NOT_CHANGED = ("seed", "testbed", "kernel", "router_program", "server_testbed")
AROUND_S = 1.0
_LONGEST_S = 1e6
# How long the router's filter stays after the dropped packet, in s. Odd, so that it hardly ever is
# a probe's time. IPv6 has no identification that tells a retransmission from the packet, so the
# filter is gone before one can come.
_AFTER_S, _AFTER_IPV6_S = 0.0345678, 0.0002345


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run: one probe, and the load's latency, glitches and throughput. None stands
    for a value that the run doesn't have, such as the throughput of a direction without a flow. Of
    a failed run, only `change` and `fault` are set.

    Attributes:
        change: what was changed: `key=value,…`, "without a packet at …", or UNCHANGED.
        probe_ms: RTT of the probe, None if it was lost or not sent.
        p99_ms: 99th percentile of the RTT under load, None also if it is a lost probe.
        glitches_per_minute: glitches under load per minute.
        upload_mbps: throughput of the upload.
        download_mbps: throughput of the download.
        samples_sha256: SHA-256 of the run's samples, "" if it failed.
        around: (s since the first answered probe, RTT in ms) of the answered probes within 1 s
            (AROUND_S) of the probe.
        sent_s: when the probe was sent, in s since the first answered one, or was due, if the run
            had ended before.
        glitches: start and end of each glitch under load, in s since the first answered probe. None
            if they can't be found.
        fault: cause of a failed run, "" for none.
        p99_lost: the 99th percentile of the RTT under load is a lost probe.
        lost_alone: those of `glitches` whose bad probes were all lost, if a link of the run loses
            packets at random; otherwise empty.
        load_end_s: when the load ended, in s since the first answered probe. None if it isn't
            known.
        was_sent: the run lasted until the probe was due.
    """

    change: str
    probe_ms: float | None = None
    p99_ms: float | None = None
    glitches_per_minute: float | None = None
    upload_mbps: float | None = None
    download_mbps: float | None = None
    samples_sha256: str = ""
    around: Sequence[tuple[float, float]] = ()
    sent_s: float = 0.0
    glitches: Sequence[tuple[float, float]] | None = None
    fault: str = ""
    p99_lost: bool = False
    lost_alone: Sequence[tuple[float, float]] = ()
    load_end_s: float | None = None
    was_sent: bool = True

    @property
    def is_over(self) -> bool:
        """Whether the load or the run had ended before the probe, so that it tells nothing of the
        load."""
        return not self.was_sent or (
            self.load_end_s is not None and self.sent_s > self.load_end_s)

    @property
    def is_lost_alone(self) -> bool:
        """Whether the probe was lost, and is in one of the glitches `lost_alone`."""
        return self.probe_ms is None and _holds(self.lost_alone, self.sent_s)


class Verdict(StrEnum):
    """What a change does to a glitch: REMOVES, MOVES, SPARES, KEEPS or FAILED, see judge(). The
    value is its words for users."""

    # The probe is not slow any more, and no other probe under load is, but for glitches that the
    # unchanged run has at another time.
    REMOVES = "removes the glitch"
    # The probe is not slow any more, but others are, near it or where none was.
    MOVES = "spares the probe"
    # The probe is not slow any more. The run has too few probes to tell about others.
    SPARES = "spares the probe, others unknown"
    KEEPS = "keeps the glitch"
    FAILED = "failed"


def judge(was: RunOutcome, now: RunOutcome, idle_ms: float) -> Verdict:
    """Return what a change does to a glitch: FAILED if the run failed, KEEPS if the probe still is
    a glitch, SPARES if the glitches of a run aren't known, MOVES if the run has a glitch at the
    time of the removed one, or at a time at which the unchanged run has none, else REMOVES. KEEPS
    instead of MOVES if the former, and the run's load had ended before the probe. Of glitches, only
    those of that_count() count, and a probe that is in another one is none.

    Args:
        was: outcome of the unchanged run, in which the probe is a glitch.
        now: outcome of the run with the change.
        idle_ms: median RTT before the load in the recorded run.
    """
    if now.fault:
        return Verdict.FAILED
    is_random = now.is_lost_alone and not was.is_lost_alone
    if now.was_sent and not is_random and is_glitch(now.probe_ms, idle_ms):
        return Verdict.KEEPS
    before, after = that_count(was, was), that_count(was, now)
    if before is None or after is None:
        return Verdict.SPARES
    removed = [one for one in before if _holds([one], was.sent_s)]
    others = [one for one in before if one not in removed]
    if now.is_over and any(_overlaps(one, removed) for one in after):
        return Verdict.KEEPS
    return Verdict.REMOVES if all(
        _overlaps(one, others) and not _overlaps(one, removed) for one in after
    ) else Verdict.MOVES


def that_count(was: RunOutcome, now: RunOutcome) -> Sequence[tuple[float, float]] | None:
    """Return the glitches of a run that tell what became of the explained one: without those of
    probes that were all lost, if a link loses packets at random, as these say nothing of a queue.
    All, if the explained one is of that kind. None if they can't be found.

    Args:
        was: outcome of the unchanged run, in which the probe is a glitch.
        now: outcome of a run, the unchanged one or one with a change.
    """
    if now.glitches is None or was.is_lost_alone:
        return now.glitches
    return [one for one in now.glitches if one not in now.lost_alone]


def _holds(glitches: Sequence[tuple[float, float]], at_s: float) -> bool:
    """Return whether a time is in one of the glitches, each given as its start and end."""
    return any(start <= at_s <= end for start, end in glitches)


def _overlaps(glitch: tuple[float, float], others: Sequence[tuple[float, float]]) -> bool:
    """Return whether a glitch, as its start and end, has a moment in common with one of the
    others."""
    return any(glitch[0] <= end and start <= glitch[1] for start, end in others)


def is_glitch(probe_ms: float | None, idle_ms: float) -> bool:
    """Return whether a probe was lost, or took more than 30 ms (LISTED_GLITCH_MS) longer than
    before the load.

    Args:
        probe_ms: its RTT, None if it was lost.
        idle_ms: median RTT before the load.
    """
    return probe_ms is None or probe_ms > idle_ms + LISTED_GLITCH_MS


def outcome(change: str, data: Mapping[str, Any], run: Run, number: int) -> RunOutcome:
    """Return the outcome of a run. The RTT of probe `number` is None if it was lost or the run has
    no such probe. A metric is None if the run doesn't have it. If the first latency series has no
    answered probe, only `change` and `fault` are set. Raises NotAvailable if the run has no latency
    series, which with_series() refuses before.

    Args:
        change: what was changed, for the table.
        data: content of the run's data file.
        run: the same data as metrics read it. Its first latency series is the explained one.
        number: index of the probe in that series, from 0, lost ones included.
    """
    every = answers(run.probe)
    if not every:
        return RunOutcome(change, fault="no probe came back")
    answer = every.get(number)
    begin_ns = min(one.sent_ns for one in every.values())
    # Computed like the start of a glitch, which judge() compares with it.
    begin_s, sent_s = begin_ns / 1e9, run.probe.sent_s
    was_sent = number < sent_s.size
    middle_s = (float(sent_s[number]) - begin_s if was_sent
                else number * run.probe.spacing_ms / 1000)
    around = [((one.sent_ns - begin_ns) / 1e9, one.rtt_ms) for one in every.values()]
    p99_ms, p99_lost = _p99_loaded(run)
    found = _glitches(run, begin_s)
    load = run.load_window
    return RunOutcome(
        change, answer.rtt_ms if answer else None, p99_ms,
        _of(lambda: glitches_per_minute(run, LISTED_GLITCH_MS)),
        _of(lambda: throughput_mbps(run, "upload")),
        _of(lambda: throughput_mbps(run, "download")), samples_sha256(data),
        [(at_s, rtt_ms) for at_s, rtt_ms in around if abs(at_s - middle_s) <= AROUND_S],
        middle_s, None if found is None else list(found), p99_lost=p99_lost,
        lost_alone=[one for one, is_lost in (found or {}).items() if is_lost]
        if _loses_at_random(data) else [],
        was_sent=was_sent, load_end_s=None if load is None else load.end_s - begin_s)


def _loses_at_random(data: Mapping[str, Any]) -> bool:
    """Return whether a link of a run lost packets at random, by its counters in the data file."""
    links = data.get("metadata", {}).get("AQM", {}).get("links", {})
    return any(one.get("counters", {}).get("lost_packets") for one in links.values())


def _p99_loaded(run: Run) -> tuple[float | None, bool]:
    """Return the 99th percentile of the RTT under load in ms, None if it is a lost probe or the run
    doesn't have it, and whether it is a lost probe."""
    try:
        return loaded_ms(run, "p99"), False
    except LostProbe:
        return None, True
    except NotAvailable:
        return None, False


def _glitches(run: Run, begin_s: float) -> Mapping[tuple[float, float], bool] | None:
    """Return the glitches under load, in the order of time: start and end, in s since `begin_s`,
    which is in epoch seconds -> whether all of its bad probes were lost. None if they can't be
    found."""
    probe = run.probe
    try:
        limit_ms = idle_median_ms(run) + LISTED_GLITCH_MS
        return {(one.start_s - begin_s, one.start_s - begin_s + one.length_ms / 1000):
                bool(probe.lost[bad_probes(probe, one, limit_ms)].all())
                for one in glitches(run, LISTED_GLITCH_MS)}
    except NotAvailable:
        return None


def _of(metric: Any) -> float | None:
    """Return the value of a function without arguments, None if it raises NotAvailable."""
    try:
        return float(metric())
    except NotAvailable:
        return None


def changed(cell: Cell, change: str) -> Cell:
    """Return a cell with a change of the form `key=value`. Several changes are separated by commas,
    and made in that order. "" changes nothing.

    A change of `aqm` or `up_aqm` drops the parameters that the cell has for that queue. `aqm` drops
    `up_aqm` and its parameters, too. A key for both directions drops the keys of single directions.
    `cross_traffic` is also set as parameter of the test. Raises ConfigError if a change has another
    form, its key is unknown, may not be changed, or has no such value, or if the changed settings
    contradict each other, or a changed rate has no effect.
    """
    requested, given = _as_batch_keys(cell.scenario), list[str]()
    for one in filter(None, change.split(",")):
        key, value = _parse_change(one.strip())
        given.append(key)
        if key == "cross_traffic":
            parse_cross_traffic("--what-if: cross_traffic", value)
            cell = replace(cell, settings={
                **cell.settings,
                "TEST_PARAMETERS": {**cell.test_parameters, "cross_traffic": value}})
        requested = {**_without_replaced(requested, key), key: value}
    if not change:
        return cell
    # All at once, because shaper = cake needs aqm = cake.
    scenario = Scenario.from_settings(requested)
    refuse_unused_rates("--what-if", scenario, given)
    return replace(cell, scenario=scenario)


def _parse_change(change: str) -> tuple[str, str]:
    """Return key and value of a single change KEY=VALUE. Raises ConfigError if it has another form,
    or if its key is unknown or may not be changed."""
    key, equals, value = change.partition("=")
    key, value = key.strip(), value.strip()
    if not equals or not key or not value:
        raise ConfigError(f"--what-if: {change[:60]!r} is no change; expected key=value, such as "
                          "aqm=fq_codel, and commas only between changes")
    if key in _NOT_CHANGED:
        raise ConfigError(f"--what-if: {key} can't be changed: with another seed, kernel, testbed "
                          "or program nothing would be the same; expected a key of the queue, "
                          "the path or the hosts")
    refuse_unknown_scenario_keys("--what-if", [key])
    return key, value


def _without_replaced(requested: Mapping[str, object], key: str) -> dict[str, object]:
    """Return settings without those that changed() drops when a key gets another value: parameters
    are of the queue that they were given for, and a key for both directions replaces those of
    single ones. `key` itself keeps its old value.

    Args:
        requested: batch key -> value.
        key: the key that is changed.
    """
    replaced = set(keys_of_directions(key))
    if key in ("aqm", "up_aqm"):
        replaced |= {name for name in requested if name.startswith(f"{key}_")}
    if key == "aqm":
        replaced |= {name for name in requested if name == "up_aqm"
                     or name.startswith("up_aqm_")}
    return {name: value for name, value in requested.items() if name not in replaced}


def _as_batch_keys(scenario: Scenario) -> dict[str, object]:
    """Return batch key -> value of the settings that differ from their defaults. A parameter of a
    queue or of the shaper has a key of its own, such as aqm_target."""
    keys: dict[str, object] = {}
    for name, value in scenario.differing().items():
        if isinstance(value, dict):
            prefix = name.removesuffix("_parameters")
            keys |= {f"{prefix}_{one}": text for one, text in value.items()}
        else:
            keys[name] = value
    return keys


def usual_changes(run: WatchedRun, place: str) -> Sequence[str]:
    """Return the changes that are run without --what-if, each as `key=value,…`: the others of the
    queues no_aqm, codel, sfq and fq_codel (none if the shaper is CAKE), half of the limit in
    packets that the kernel reported for the upload's queue, if it did so, it is above 1, and that
    queue has the parameter, and no cross traffic if there is some. If the probe waited in the
    modem, or there is a modem and the router doesn't shape, the changes of _sqm() take the place of
    all changes of the queue. Changes that the run's other settings don't allow are left out. Empty
    if none of these applies.

    Args:
        run: the run.
        place: place of the queue that is the cause, see Story.bottleneck.
    """
    scenario = run.cell.scenario
    now = scenario.router.aqm
    if in_modem(place) or (scenario.router.shaper == "none" and scenario.path.modem_up_mbps):
        changes = _sqm(run)
    else:
        changes = [f"aqm={name}" for name in STUDY
                   if name != now and scenario.router.shaper != "cake"]
        limit = run.run.applied("upload").get("qdisc_parameters", {}).get("limit_packets")
        upload = scenario.router.queue("up")[0]
        if isinstance(limit, int) and limit > 1 and "limit" in queue_of(upload).parameters:
            key = "aqm_limit" if scenario.router.up_aqm is None else "up_aqm_limit"
            changes.append(f"{key}={limit // 2}")
    given = test_parameters(run.data["metadata"]).get("cross_traffic", "no")
    if parse_cross_traffic("cross_traffic", given):
        changes.append("cross_traffic=no")
    return [one for one in changes if _is_allowed(run.cell, one)]


def in_modem(place: str) -> bool:
    """Return whether a place, as of Story.place, is a queue of the modem or of a link in its place,
    where changes of the router's queue have no effect."""
    return place.endswith(f"({MODEM})")


def _is_allowed(cell: Cell, change: str) -> bool:
    """Return whether changed() accepts a change of the cell."""
    try:
        changed(cell, change)
    except ConfigError:
        return False
    return True


def _sqm(run: WatchedRun) -> list[str]:
    """Return changes, as changed() takes them, that let the router shape to SQM_PCT % of the
    modem's rates, or to its own rate where that is less: with its own queue if it shapes, with
    CAKE, and with HTB and fq_codel. Empty if the modem has no rate in a direction, or one that
    changes, and if the router shapes to no more than that in both directions."""
    router, path = run.cell.scenario.router, run.cell.scenario.path
    links = run.data["metadata"].get("AQM", {}).get("links", {})
    rates, is_wide = {}, False
    for way in ("down", "up"):
        modem_mbps = path.modem_mbps(way)
        if modem_mbps is None or links.get(way, {}).get("steps", 1) > 1:
            return []
        rates[way] = SQM_PCT / 100 * modem_mbps
        if router.shaper != "none":
            is_wide |= router.rate_mbps(way) > rates[way]
            rates[way] = min(rates[way], router.rate_mbps(way))
    keys = (f"rate_mbps={rates['up']:.4g}" if rates["up"] == rates["down"] else
            ",".join(f"rate_{way}_mbps={mbps:.4g}" for way, mbps in rates.items()))
    changes = [f"shaper={shaper},aqm={aqm},ingress=ifb,{keys}"
               for shaper, aqm in (("cake", "cake"), ("htb", "fq_codel"))]
    if router.shaper == "none":
        return changes
    return [keys, *changes] if is_wide else []


def run_changed(cell: Cell, change: str, number: int, series: str = "") -> RunOutcome:
    """Run a cell with a change, and return its outcome. A run that fails, or can't be started, has
    its cause in `fault`. Nothing is kept on the disk.

    Args:
        cell: the recorded run.
        change: the change, as changed() takes it.
        number: index of the probe in its series, from 0, lost ones included.
        series: name of the probe's latency series, "" for the best.

    Raises ConfigError as changed() does.
    """
    cell = changed(cell, change)
    with tempfile.TemporaryDirectory(prefix="flent-aqm-why-") as name:
        cell = replace(cell, folder=Path(name))
        try:
            data = again(cell)
            run = with_series(as_run(as_data_file(data, cell.data_file)), series)
        except AqmError as fault:
            return RunOutcome(change or UNCHANGED, fault=str(fault))
        return outcome(change or UNCHANGED, data, run, number)


def parse_packet(text: str) -> tuple[str, float]:
    """Return the word for a flow and the seconds of FLOW:+SECONDS, which may end with an s. Raises
    ConfigError if the text has another form, or the seconds are not from 0 to below 1,000,000."""
    word, _, offset = text.rpartition(":+")
    try:
        offset_s = float(offset.removesuffix("s"))
    except ValueError:
        offset_s = -1.0
    if not word or not 0 <= offset_s < _LONGEST_S:
        raise ConfigError(f"--drop-packet: {text[:60]!r} is no packet; expected FLOW:+SECONDS, "
                          f"such as upload:+0.35s, with SECONDS from 0 to below {_LONGEST_S:,.0f}")
    return word, offset_s


def drop_filter(run: WatchedRun, text: str) -> tuple[str, str]:
    """Return the line of shell that makes the router drop one packet when it arrives, and a title
    of the run without the packet. With several routers, it is the nearest to the client.

    text: FLOW:+SECONDS. FLOW is a word in the name of a TCP flow that carries data, such as
    "upload", or its port. The packet is the flow's first with data that comes no earlier than
    SECONDS after the flow's first.

    Raises ConfigError if there is no such packet, the text has another form, or the packet is of a
    download with ingress=ifb, which the router shapes as it arrives. Raises BadResult if no probe
    of the explained series was answered.
    """
    word, offset_s = parse_packet(text)
    router, ledger = next(iter(run.ledgers.items()))
    direction, flow, title = _flow_called(run, ledger, word)
    passage, key = ledger.passage(direction), ledger.flows[flow]
    data = numpy.flatnonzero((passage.flow == flow) & (passage.payload_bytes > 0))
    first_ns = int(passage.arrived_ns[passage.flow == flow][0])
    late = data[passage.arrived_ns[data] >= first_ns + offset_s * 1e9]
    if not late.size:
        raise ConfigError(f"--drop-packet: {title} sent no packet with data {offset_s:g} s after "
                          "its first packet, or later; expected fewer seconds")
    if direction == "down" and run.cell.scenario.router.ingress == "ifb":
        raise ConfigError("--drop-packet: with ingress=ifb, what arrives at the router is shaped "
                          "at once; name an upload, or explain a run with ingress=lan")
    row, device = int(late[0]), "down" if direction == "up" else "up"
    at_s = (int(passage.arrived_ns[row]) - start_ns(run)) / 1e9
    version, protocol, after_s = ("ip6", "ipv6", _AFTER_IPV6_S) if ":" in key.source else (
        "ip", "ip", _AFTER_S)
    seq = f"match u32 {int(passage.seq[row])} 0xffffffff at"
    # TCP's number too, because the identification repeats after 65,536 packets.
    which = (f"{seq} 44" if version == "ip6" else
             f"match u16 {int(passage.ip_id[row])} 0xffff at 4 {seq} 24")
    selectors = (f"match {version} src {key.source} match {version} sport {key.source_port} 0xffff "
                 f"match {version} dport {key.target_port} 0xffff {which}")
    line = (f'ip netns exec {router} "$PYTHON" -I -S "$GUEST_DIR/drop.py" {device} '
            f"{int(passage.arrived_ns[row])} {after_s} {protocol} {selectors} </dev/null "
            f">/run/lab/out/why_drop 2>&1 &\n")
    anyway = "" if passage.fate[row] == Fate.LEFT else ", which the queue drops anyway"
    return line, f"without a packet at {at_s:.4f} s{anyway}"


def _flow_called(run: WatchedRun, ledger: Ledger, word: str) -> tuple[str, int, str]:
    """Return direction ("up" or "down"), index in Ledger.flows and name of the first TCP flow with
    a load's data, see carries_data(), whose name contains a word, or one of whose ports is the
    word. Uploads come before downloads. The word's case doesn't matter. Raises ConfigError if there
    is none."""
    cross = cross_ports_of(run.data["metadata"])
    known: dict[str, None] = {}
    for direction in ("up", "down"):
        for index, key in enumerate(ledger.flows):
            name = flow_name(ledger, direction, index, cross)
            if key.protocol != TCP or not carries_data(ledger, direction, index):
                continue
            known[f"{name} (port {key.ports[0]})"] = None
            if word.lower() in name or word in map(str, key.ports):
                return direction, index, name
    raise ConfigError(f"--drop-packet: no TCP flow with a load's data is called {word[:40]!r}; the "
                      f"run has {', '.join(known) or 'none'}")

# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute the plan of one direction of a link from the scenario.

The plan has the schedule (from a trace, a model or a rate, with access and outages applied), loss,
jitter and buffer.
"""

from __future__ import annotations

import functools

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.links.keys import (
    NS,
    Access,
    Link,
    Outage,
    parse_access,
    parse_loss,
    parse_outages,
    parse_seeded,
)
from flent_aqm.parts.links.plan import WAYS, LinkPlan
from flent_aqm.parts.links.schedule import (
    TCP_GIVES_UP_S,
    Schedule,
    allot,
    constant,
    cut,
    of_opportunities,
    unplayable,
    unrolled,
)
from flent_aqm.parts.links.trace import make_seeded, read_trace
from flent_aqm.spec.scenario import Scenario

# Least size of the buffer: one full Ethernet frame has to fit, even if its time is 0 ms.
_FRAME_BYTES = 1514


@functools.lru_cache(maxsize=8)
def lay_out(scenario: Scenario, direction: str) -> LinkPlan:
    """Return the plan of one direction of the link.

    Reads the trace file, if the scenario has one. The last 8 plans are cached, so a file that has
    changed meanwhile isn't read again for the same scenario and direction.

    The plan's buffer has modem_..._buffer_packets if that is given. Otherwise it has the bytes that
    the mean rate before access and outages carries in modem_..._buffer_ms, at least those of a full
    frame, or without a rate no limit.

    Args:
        scenario: settings of the run.
        direction: "down" or "up".

    Raises ConfigError if the direction has access or outages but no rate, if TCP would starve on
    the link (after the end of a schedule that ends, refuse_link_that_ends() checks that), if the
    schedule gets too many steps, or if the trace is wrong or can't be read.
    """
    seed = defaults.LAB_SEED if scenario.lab.seed is None else scenario.lab.seed
    mbps = scenario.path.modem_mbps(direction)
    link: Link = scenario.record("link")
    access_text: str = link.of(direction, "link_access")
    access = (parse_access(f"link_{direction}_access", access_text, direction) if access_text
              else Access())
    schedule, about = _schedule_before_access(scenario, direction, seed, mbps)
    outages = parse_outages("link_outages_s", link.link_outages_s)
    if schedule is None and (access_text or outages):
        key = f"link_{direction}_access" if access_text else "link_outages_s"
        shown = link.shown_key(direction, "link_access") if access_text else key
        raise ConfigError(f"{shown}: the link has no rate in the direction {direction}; give "
                          f"modem_{direction}_mbps or link_{direction}_trace, or for both "
                          "directions modem_mbps or link_trace", key)
    dead_ns = again_ns = limit_bytes = 0
    packets: int | None = link.of(direction, "modem_buffer_packets")
    if schedule is not None:
        before, schedule = schedule, allot(schedule, access, outages, seed, direction)
        dead_ns = before.dead_from_ns() or 0
        if outages or (len(before.table) > 1 and not before.period_ns):
            again_ns = schedule.period_ns
        # Whether a schedule that ends is long enough depends on the run's length:
        # refuse_link_that_ends().
        if fault := unplayable(schedule):
            key = _key_to_blame(direction, outages, before, schedule, access)
            if not len(schedule.passing) and len(before.passing):
                fault = _why_nothing_passes(key, access)
            shown = key if key == "link_outages_s" else link.shown_key(
                direction, key.replace(f"_{direction}", ""))
            raise ConfigError(f"{shown}: {fault}", key)
        about |= {"mean_mbps": round(before.mean_mbps, 6), "steps": len(schedule.table),
                  "period_s": schedule.period_ns / NS or None}
        if packets is None:
            buffer_ms: float = scenario.path.modem_buffer_ms(direction)
            limit_bytes = max(round(before.mean_mbps * 125 * buffer_ms), _FRAME_BYTES)
    return LinkPlan(
        schedule, round(access.request_ms * 1e6), round(access.cycle_ms * 1e6),
        round(link.of(direction, "link_jitter_ms") * 1e6),
        parse_loss(f"link_{direction}_loss", link.of(direction, "link_loss")),
        limit_bytes, packets or 0,
        # The two directions have different seeds for every seed of the lab.
        (2 * seed + WAYS.index(direction)) % 2**63,
        {**about, "buffer_bytes": limit_bytes or None, "buffer_packets": packets},
        dead_ns, again_ns)


def _why_nothing_passes(key: str, access: Access) -> str:
    """Return why nothing ever passes a link on which packets would pass without outages and access
    model, and how to mend that.

    Args:
        key: the key to blame, see _key_to_blame().
        access: the access model.
    """
    if key == "link_outages_s":
        return ("nothing ever passes this link: all that it could carry is in an outage; give "
                "shorter outages")
    if access.period_s and access.gap_ms >= 1000 * access.period_s:
        return (f"nothing ever passes this link: its gap_ms, {access.gap_ms:.15g}, is not below "
                f"its period_s, {access.period_s:.15g} s; give a smaller gap_ms")
    return ("nothing ever passes this link with this access model; give a smaller cycle_ms or "
            "gap_ms, or another model")


def _key_to_blame(direction: str, outages: tuple[Outage, ...], before: Schedule,
                  schedule: Schedule, access: Access) -> str:
    """Return the key to blame in the message about an unplayable schedule: link_outages_s if an
    outage, or several without a time between them, last longer than TCP waits (TCP_GIVES_UP_S), or
    if there are outages and the access model sends neither in cycles nor is reallocated, or if the
    outages cover all that the link could carry without it. Otherwise link_down_access or
    link_up_access if the model does and the schedule repeats, else link_down_trace or
    link_up_trace.

    Args:
        direction: "down" or "up".
        outages: the outages.
        before: the schedule before access and outages.
        schedule: the unplayable schedule that allot() made of it.
        access: the access model.
    """
    begun_ns = ended_ns = longest_ns = 0
    for begin, end in outages:
        begun_ns = begun_ns if begin == ended_ns else begin
        ended_ns = end
        longest_ns = max(longest_ns, ended_ns - begun_ns)
    has_access = bool(access.cycle_ms or access.period_s)
    one_round = unrolled(before, schedule.period_ns) if schedule.period_ns else before
    if longest_ns > TCP_GIVES_UP_S * NS or (outages and (
            not has_access or not len(cut(one_round, outages).passing))):
        return "link_outages_s"
    what = "access" if has_access and schedule.period_ns else "trace"
    return f"link_{direction}_{what}"


def _schedule_before_access(scenario: Scenario, direction: str, seed: int,
                            mbps: float | None) -> tuple[Schedule | None, dict[str, object]]:
    """Return the direction's schedule before access and outages, and a description of its trace for
    the data file.

    The schedule is that of the trace file, or of the seeded model, or the constant rate `mbps`. It
    is None without any of them. The description of a file is "trace" (its name without folder),
    "sha256" and "size_bytes", that of a seeded model only "trace" (its text). It is empty without a
    trace.

    Args:
        scenario: settings of the run.
        direction: "down" or "up".
        seed: seed of a seeded trace.
        mbps: rate of the modem, None if it isn't limited.

    Raises ConfigError if the trace is wrong or can't be read, or if the rates of a seeded trace are
    all 0.
    """
    key = f"link_{direction}_trace"
    link: Link = scenario.record("link")
    shown = link.shown_key(direction, "link_trace")
    text: str = link.of(direction, "link_trace")
    if not text:
        return (None if mbps is None else constant(mbps)), {}
    model = parse_seeded(key, text)
    if model is not None:
        return of_opportunities(*make_seeded(shown, model, seed, direction)), {"trace": text}
    trace = read_trace(shown, text, link.link_trace_end)
    return trace.schedule, {"trace": trace.name, "sha256": trace.sha256,
                            "size_bytes": trace.size_bytes}

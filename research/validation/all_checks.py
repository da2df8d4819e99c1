# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks, in the order of the page."""

from __future__ import annotations

from research.validation.check import Check
from research.validation.checks import (
    bbr_drain,
    cake_hosts,
    codel_law,
    dualpi2_l4s,
    equal_flows,
    fair_queueing,
    fq_codel_sparse,
    goodput,
    host_moderation,
    late_timers,
    netem_shift,
    pfifo_delay,
    red_thresholds,
    reno_response,
    router_fairness,
    router_saturated,
    router_waiting,
    shallow_buffers,
    standing_queue,
    waits,
)

CHECKS: tuple[Check, ...] = (
    goodput.CHECK,
    host_moderation.CHECK,
    pfifo_delay.CHECK,
    codel_law.CHECK,
    standing_queue.CHECK,
    fq_codel_sparse.CHECK,
    fair_queueing.CHECK,
    equal_flows.CHECK,
    cake_hosts.CHECK,
    red_thresholds.CHECK,
    dualpi2_l4s.CHECK,
    reno_response.CHECK,
    shallow_buffers.CHECK,
    bbr_drain.CHECK,
    netem_shift.CHECK,
    late_timers.CHECK,
    router_saturated.CHECK,
    router_waiting.CHECK,
    router_fairness.CHECK,
    waits.CHECK,
)

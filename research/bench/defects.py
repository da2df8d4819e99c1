# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes to the kernel that a gate has to see, and some that it must not."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Planted:
    """A change to a file of the kernel. old is there once; overrides choose the queue, for both
    sides; has_effect: whether packets notice."""

    name: str
    file: str
    old: str
    new: str
    overrides: tuple[str, ...]
    has_effect: bool = True

    def patch(self, tree: Path) -> str:
        """Return it as a patch of a kept source. Raise SystemExit where the source is another."""
        saved = tree / ".flent-aqm" / "before" / self.file
        before = (saved if saved.is_file() else tree / self.file).read_text()
        if before.count(self.old) != 1:
            raise SystemExit(f"bench.defects: {self.file}: expected {self.old!r} once, found it "
                             f"{before.count(self.old)} times; mend it")
        after = before.replace(self.old, self.new)
        return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True),
                                            f"a/{self.file}", f"b/{self.file}"))


_CODEL, _FQ_CODEL, _CAKE = "include/net/codel_impl.h", "net/sched/sch_fq_codel.c", \
    "net/sched/sch_cake.c"
_RED, _CUBIC = "include/net/red.h", "net/ipv4/tcp_cubic.c"

DEFECTS = (
    Planted("CoDel at 6 ms that reports 5", _CODEL,
            "codel_time_before(vars->ldelay, params->target) ||",
            "codel_time_before(vars->ldelay, params->target + MS2TIME(1)) ||", ("aqm=codel",)),
    Planted("FQ-CoDel with 4 of 1024 queues", _FQ_CODEL,
            "return reciprocal_scale(skb_get_hash(skb), q->flows_cnt);",
            "return reciprocal_scale(skb_get_hash(skb), 4);", ("aqm=fq_codel",)),
    Planted("PIE without burst allowance", "include/net/pie.h",
            "vars->burst_time = PSCHED_NS2TICKS(150 * NSEC_PER_MSEC);", "vars->burst_time = 0;",
            ("aqm=pie",)),
    Planted("CAKE that forgets its overhead", _CAKE,
            "len = max((s32)len + q->rate_overhead, (s32)q->rate_mpu);",
            "len = max((s32)len, (s32)q->rate_mpu);",
            # Without the cells that other shapers make.
            ("aqm=cake", "shaper=cake", "aqm_overhead=44",
             ("for_check=one_flow,fair,many_flows,round_trips,overload,bursts,comes_and_goes,"
              "ecn"))),
    Planted("FQ-CoDel that leaves flows new", _FQ_CODEL,
            "flow->deficit + q->quantum);\n\t\tlist_move_tail(&flow->flowchain, &q->old_flows);",
            "flow->deficit + q->quantum);\n\t\tlist_move_tail(&flow->flowchain, head);",
            ("aqm=fq_codel",)),
    Planted("FQ-CoDel that spares 100 packets", _FQ_CODEL, "q->cparams.mtu = mtu;",
            "q->cparams.mtu = 100 * mtu;", ("aqm=fq_codel",)),
    Planted("CoDel with 1/n for 1/√n", _CODEL,
            "reciprocal_scale(interval,\n\t\t\t\t\t  rec_inv_sqrt << REC_INV_SQRT_SHIFT));",
            "reciprocal_scale(reciprocal_scale(interval,\n\t\t\t\t\t  rec_inv_sqrt << "
            "REC_INV_SQRT_SHIFT),\n\t\t\t\t\t  rec_inv_sqrt << REC_INV_SQRT_SHIFT));",
            ("aqm=codel",)),
    Planted("SFQ with 32 of 1024 queues", "net/sched/sch_sfq.c",
            "return skb_get_hash_perturb(skb, &q->perturbation) & (q->divisor - 1);",
            "return skb_get_hash_perturb(skb, &q->perturbation) & 31;", ("aqm=sfq",)),
    Planted("PIE without derivative", "net/sched/sch_pie.c",
            "delta += beta * (qdelay - qdelay_old);", "delta += 0 * beta;", ("aqm=pie",)),
    Planted("RED without decay when idle", _RED,
            "\telse\n\t\treturn red_calc_qavg_from_idle_time(p, v);",
            "\telse\n\t\treturn v->qavg;", ("aqm=red",)),
    Planted("HTB 1 % too slow", "net/sched/sch_htb.c",
            "toks -= (s64) psched_l2t_ns(&cl->ceil, bytes);",
            "toks -= (s64) psched_l2t_ns(&cl->ceil, bytes) * 101 / 100;", ("aqm=fq_codel",)),
    Planted("Cubic with a β of 0.75", _CUBIC, "static int beta __read_mostly = 717;",
            "static int beta __read_mostly = 768;", ("aqm=codel",)),
    Planted("FQ-CoDel that charges no deficit", _FQ_CODEL,
            "WRITE_ONCE(flow->deficit, flow->deficit - qdisc_pkt_len(skb));",
            "WRITE_ONCE(flow->deficit, flow->deficit);", ("aqm=fq_codel",)),
    Planted("CoDel that waits for no interval", _CODEL,
            "vars->first_above_time = now + params->interval;", "vars->first_above_time = now;",
            ("aqm=codel",)),
    Planted("A drop-tail queue of half its length", "net/sched/sch_fifo.c",
            "{\n\tif (likely(sch->q.qlen < READ_ONCE(sch->limit)))",
            "{\n\tif (likely(sch->q.qlen < READ_ONCE(sch->limit) / 2))",
            ("aqm=no_aqm",)),
    Planted("Cubic without HyStart", _CUBIC, "static int hystart __read_mostly = 1;",
            "static int hystart __read_mostly;", ("aqm=codel",)),
    Planted("RED that averages nothing", _RED,
            "return v->qavg + (backlog - (v->qavg >> p->Wlog));",
            "return (unsigned long)backlog << p->Wlog;", ("aqm=red",)),
    Planted("CAKE with one queue", _CAKE, "reduced_hash = flow_hash % CAKE_QUEUES;",
            "reduced_hash = 0;", ("aqm=cake",)),
    Planted("FQ-CoDel in another order", _FQ_CODEL,
            "codel_set_enqueue_time(skb);\n\tflow = &q->flows[idx];",
            "flow = &q->flows[idx];\n\tcodel_set_enqueue_time(skb);", ("aqm=fq_codel",), False),
    Planted("CoDel with drops counted first", _CODEL,
            ("\t\t\t\tstats->drop_len += skb_len_func(skb);\n\t\t\t\tdrop_func(skb, ctx);\n"
             "\t\t\t\tstats->drop_count++;"),
            ("\t\t\t\tstats->drop_count++;\n\t\t\t\tstats->drop_len += skb_len_func(skb);\n"
             "\t\t\t\tdrop_func(skb, ctx);"), ("aqm=codel",), False),
    Planted("Cubic with a maximum turned round", _CUBIC,
            "return max((tcp_snd_cwnd(tp) * beta) / BICTCP_BETA_SCALE, 2U);",
            "return max(2U, (tcp_snd_cwnd(tp) * beta) / BICTCP_BETA_SCALE);", ("aqm=codel",),
            False),
)

# Of the kinds that an outside maintainer planted, who had not looked at the gate's cells: at that
# time none of fourteen was found to be worse.
OTHERS = (
    Planted("FQ-CoDel with IPv6 in one queue", _FQ_CODEL,
            "{\n\treturn reciprocal_scale(skb_get_hash(skb), q->flows_cnt);",
            "{\n\tif (skb->protocol == htons(ETH_P_IPV6))\n\t\treturn 0;\n"
            "\treturn reciprocal_scale(skb_get_hash(skb), q->flows_cnt);", ("aqm=fq_codel",)),
    Planted("CAKE without isolation of hosts", _CAKE,
            "\tif (cake_dsrc(flow_mode))\n\t\thost_load = max(host_load,\n"
            "\t\t\t\tq->hosts[flow->srchost].srchost_bulk_flow_count);\n\n"
            "\tif (cake_ddst(flow_mode))\n\t\thost_load = max(host_load,\n"
            "\t\t\t\tq->hosts[flow->dsthost].dsthost_bulk_flow_count);\n", "",
            ("aqm=cake", "aqm_flow_isolation=dual-srchost")),
    Planted("HTB 5 % too slow above 100 Mbit/s", "net/sched/sch_htb.c",
            "toks -= (s64) psched_l2t_ns(&cl->ceil, bytes);",
            "toks -= (s64) psched_l2t_ns(&cl->ceil, bytes);\n"
            "\tif (cl->ceil.rate_bytes_ps > 12500000)\n"
            "\t\ttoks -= (s64) psched_l2t_ns(&cl->ceil, bytes) / 20;", ("aqm=fq_codel",)),
    Planted("BBR without ProbeRTT", "net/ipv4/tcp_bbr.c",
            "if (bbr_probe_rtt_mode_ms > 0 && filter_expired &&",
            "if (bbr_probe_rtt_mode_ms > 1000 && filter_expired &&", ("aqm=no_aqm",)),
    Planted("DualPI2 with half the coupling", "net/sched/sch_dualpi2.c",
            "local_l_prob = (u64)prob * q->coupling_factor;",
            "local_l_prob = (u64)prob * q->coupling_factor / 2;", ("aqm=dualpi2",)),
    Planted("FQ-CoDel that drops GSO packets", _FQ_CODEL,
            "\tcodel_set_enqueue_time(skb);\n\tflow = &q->flows[idx];",
            "\tif (skb_is_gso(skb))\n\t\treturn qdisc_drop(skb, sch, to_free);\n"
            "\tcodel_set_enqueue_time(skb);\n\tflow = &q->flows[idx];", ("aqm=fq_codel",)),
    Planted("FQ-CoDel that gives no memory back", _FQ_CODEL,
            "\t\tq->memory_usage -= get_codel_cb(skb)->mem_usage;\n", "", ("aqm=fq_codel",)),
    Planted("CoDel without lastcount", _CODEL,
            "delta = vars->count - vars->lastcount;", "delta = 0;", ("aqm=codel",)),
    Planted("PIE tuned from 1/1000 on", "net/sched/sch_pie.c",
            "if (vars->prob < MAX_PROB / 10) {", "if (vars->prob < MAX_PROB / 1000) {",
            ("aqm=pie",)),
)

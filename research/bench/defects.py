# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes to the kernel that a gate has to see, and some that it must not see."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Planted:
    """A change to a file of the kernel.

    Attributes:
        name: description of the change.
        file: path of the file in the source tree.
        old: text to replace, which the file has once.
        new: text in its place.
        overrides: batch overrides, KEY=VALUE, for the runs of the changed kernel and of the
            unchanged one. The first one is aqm=NAME, the queue. Empty if nothing is run.
        has_effect: True for a defect, also one that changes no packet, such as a leak or a mistake
            in the syntax. False for a harmless change.
        cells: cells of gate.batch in which gate.py judges the change with --named-cells, in place
            of all.
    """

    name: str
    file: str
    old: str
    new: str
    overrides: tuple[str, ...]
    has_effect: bool = True
    cells: tuple[str, ...] = ("one_flow", "overload")

    def patch(self, tree: Path) -> str:
        """Return the change as a patch (unified diff) for the original source of a kernel.

        Args:
            tree: folder of the source. If the file has been changed there, its original is taken
                from the folder .flent-aqm/before in it.

        Raises SystemExit if the original file doesn't have `old` exactly once, OSError if it can't
        be read.
        """
        saved = tree / ".flent-aqm" / "before" / self.file
        before = (saved if saved.is_file() else tree / self.file).read_text()
        if before.count(self.old) != 1:
            raise SystemExit(f"bench.defects: {self.name}: {self.file} has the text to replace "
                             f"{before.count(self.old)} times, expected once: {self.old!r}; adapt "
                             "the change to this kernel's source")
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
             ("for_check=one_flow,fair,many_flows,overload,bursts,"
              "scalable"))),
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

# Fourteen of the kinds that an outside maintainer planted, who had not looked at the gate's cells.
# At that time none of fourteen was found to be worse.
OTHERS = (
    Planted("FQ-CoDel with IPv6 in one queue", _FQ_CODEL,
            "{\n\treturn reciprocal_scale(skb_get_hash(skb), q->flows_cnt);",
            "{\n\tif (skb->protocol == htons(ETH_P_IPV6))\n\t\treturn 0;\n"
            "\treturn reciprocal_scale(skb_get_hash(skb), q->flows_cnt);", ("aqm=fq_codel",),
            cells=("ipv6", "one_flow")),
    Planted("CAKE without isolation of hosts", _CAKE,
            "\tif (cake_dsrc(flow_mode))\n\t\thost_load = max(host_load,\n"
            "\t\t\t\tq->hosts[flow->srchost].srchost_bulk_flow_count);\n\n"
            "\tif (cake_ddst(flow_mode))\n\t\thost_load = max(host_load,\n"
            "\t\t\t\tq->hosts[flow->dsthost].dsthost_bulk_flow_count);\n", "",
            ("aqm=cake", "aqm_isolation=dual-srchost"), cells=("two_hosts", "one_flow")),
    Planted("HTB 5 % too slow above 100 Mbit/s", "net/sched/sch_htb.c",
            "toks -= (s64) psched_l2t_ns(&cl->ceil, bytes);",
            "toks -= (s64) psched_l2t_ns(&cl->ceil, bytes);\n"
            "\tif (cl->ceil.rate_bytes_ps > 12500000)\n"
            "\t\ttoks -= (s64) psched_l2t_ns(&cl->ceil, bytes) / 20;", ("aqm=fq_codel",),
            cells=("mbit_900", "one_flow")),
    Planted("BBR without ProbeRTT", "net/ipv4/tcp_bbr.c",
            "if (bbr_probe_rtt_mode_ms > 0 && filter_expired &&",
            "if (bbr_probe_rtt_mode_ms > 1000 && filter_expired &&", ("aqm=no_aqm",),
            cells=("bbr", "one_flow")),
    Planted("DualPI2 with half the coupling", "net/sched/sch_dualpi2.c",
            "local_l_prob = (u64)prob * q->coupling_factor;",
            "local_l_prob = (u64)prob * q->coupling_factor / 2;", ("aqm=dualpi2",),
            cells=("ect1", "scalable")),
    Planted("FQ-CoDel that drops GSO packets", _FQ_CODEL,
            "\tcodel_set_enqueue_time(skb);\n\tflow = &q->flows[idx];",
            "\tif (skb_is_gso(skb))\n\t\treturn qdisc_drop(skb, sch, to_free);\n"
            "\tcodel_set_enqueue_time(skb);\n\tflow = &q->flows[idx];", ("aqm=fq_codel",),
            cells=("gso", "one_flow")),
    Planted("FQ-CoDel that gives no memory back", _FQ_CODEL,
            "\t\tq->memory_usage -= get_codel_cb(skb)->mem_usage;\n", "", ("aqm=fq_codel",)),
    Planted("CoDel without lastcount", _CODEL,
            "delta = vars->count - vars->lastcount;", "delta = 0;", ("aqm=codel",),
            cells=("one_flow", "overload")),
    Planted("PIE tuned from 1/1000 on", "net/sched/sch_pie.c",
            "if (vars->prob < MAX_PROB / 10) {", "if (vars->prob < MAX_PROB / 1000) {",
            ("aqm=pie",), cells=("long_path", "one_flow")),
    Planted("FQ-CoDel that tells its parent of no drop", _FQ_CODEL,
            "\t\tqdisc_tree_reduce_backlog(sch, q->cstats.drop_count,\n"
            "\t\t\t\t\t  q->cstats.drop_len);\n", "", ("aqm=fq_codel",)),
    Planted("FQ-CoDel that leaks memory with each packet", _FQ_CODEL,
            "\tcodel_set_enqueue_time(skb);\n\tflow = &q->flows[idx];",
            "\tcodel_set_enqueue_time(skb);\n\talloc_skb(2048, GFP_ATOMIC);\n"
            "\tflow = &q->flows[idx];", ("aqm=fq_codel",), cells=("one_flow",)),
    Planted("FQ-CoDel that hangs when a deficit is used up", _FQ_CODEL,
            "WRITE_ONCE(flow->deficit, flow->deficit + q->quantum);\n\t\tlist_move_tail",
            "list_move_tail", ("aqm=fq_codel",), cells=("one_flow",)),
    Planted("FQ-CoDel that may sleep in enqueue", _FQ_CODEL,
            "\tcodel_set_enqueue_time(skb);\n\tflow = &q->flows[idx];",
            "\tcodel_set_enqueue_time(skb);\n\tkfree(kmalloc(64, GFP_KERNEL));\n"
            "\tflow = &q->flows[idx];", ("aqm=fq_codel",), cells=("one_flow",)),
    Planted("ETS with a mistake in its syntax (not compiled)", "net/sched/sch_ets.c",
            "struct ets_class {", "struct ets_class {{", ("aqm=fq_codel",), cells=("one_flow",)),
)

# Chosen by file of the kernel, one or two each, as a maintainer would who breaks what the code is
# there for. Their author had seen the list of cells once, but not what each of them finds.
FURTHER = (
    Planted("FQ-CoDel without a pass through the old flows", _FQ_CODEL,
            "\t\tif ((head == &q->new_flows) && !list_empty(&q->old_flows))\n"
            "\t\t\tlist_move_tail(&flow->flowchain, &q->old_flows);\n\t\telse\n"
            "\t\t\tlist_del_init(&flow->flowchain);",
            "\t\tlist_del_init(&flow->flowchain);", ("aqm=fq_codel",),
            cells=("overload", "paced_line", "rate_falls")),
    Planted("CAKE whose BLUE never drops more", _CAKE,
            "\t\tWRITE_ONCE(vars->p_drop, p_drop);\n\t\tWRITE_ONCE(vars->blue_timer, now);\n"
            "\t}\n\tWRITE_ONCE(vars->dropping, true);",
            "\t\tWRITE_ONCE(vars->blue_timer, now);\n\t}\n\tWRITE_ONCE(vars->dropping, true);",
            ("aqm=cake",), cells=("overload", "bursts")),
    Planted("FQ with ten times the quantum", "net/sched/sch_fq.c",
            "\t\tf->credit += q->quantum;\n", "\t\tf->credit += 10 * q->quantum;\n",
            ("aqm=fq",), cells=("fair", "one_flow")),
    Planted("SFQ with a quarter of a flow's packets", "net/sched/sch_sfq.c",
            "\tif (slot->qlen >= q->maxdepth) {\ncongestion_drop:",
            "\tif (slot->qlen >= q->maxdepth / 4) {\ncongestion_drop:", ("aqm=sfq",)),
    Planted("PIE that drops from queues of a packet", "net/sched/sch_pie.c",
            "similar to min_th in RED\n\t */\n\tif (backlog < 2 * mtu)\n\t\treturn false;\n",
            "similar to min_th in RED\n\t */\n", ("aqm=pie",)),
    Planted("DualPI2 that takes ECT(1) for classic", "net/sched/sch_dualpi2.c",
            "if (cb->ect & q->ecn_mask) {",
            "if (cb->ect == INET_ECN_CE && (cb->ect & q->ecn_mask)) {", ("aqm=dualpi2",),
            cells=("ect1",)),
    Planted("RED that doesn't space its marks", _RED,
            "\t\t\t\t\tv->qcount = 0;\n", "", ("aqm=red",)),
    Planted("HTB that saves tokens without bound", "net/sched/sch_htb.c",
            "\tif (toks > cl->buffer)\n\t\ttoks = cl->buffer;\n"
            "\ttoks -= (s64) psched_l2t_ns(&cl->rate, bytes);\n"
            "\tif (toks <= -cl->mbuffer)\n\t\ttoks = 1 - cl->mbuffer;\n\n"
            "\tWRITE_ONCE(cl->tokens, toks);\n}\n\n"
            "static inline void htb_accnt_ctokens(struct htb_class *cl, int bytes, s64 diff)\n{\n"
            "\ts64 toks = diff + cl->ctokens;\n\n"
            "\tif (toks > cl->cbuffer)\n\t\ttoks = cl->cbuffer;\n",
            "\ttoks -= (s64) psched_l2t_ns(&cl->rate, bytes);\n"
            "\tif (toks <= -cl->mbuffer)\n\t\ttoks = 1 - cl->mbuffer;\n\n"
            "\tWRITE_ONCE(cl->tokens, toks);\n}\n\n"
            "static inline void htb_accnt_ctokens(struct htb_class *cl, int bytes, s64 diff)\n{\n"
            "\ts64 toks = diff + cl->ctokens;\n\n", ("aqm=fq_codel",),
            cells=("bursts", "one_flow")),
    Planted("TBF that charges nothing for small packets", "net/sched/sch_tbf.c",
            "\t\ttoks -= (s64) psched_l2t_ns(&q->rate, len);\n\n\t\tif ((toks",
            "\t\tif (len > 100)\n\t\t\ttoks -= (s64) psched_l2t_ns(&q->rate, len);\n\n"
            "\t\tif ((toks", ("aqm=fq_codel",), cells=("token_bucket",)),
    Planted("BBR without conservation of packets", "net/ipv4/tcp_bbr.c",
            "bbr->packet_conservation = 1;", "bbr->packet_conservation = 0;", ("aqm=codel",),
            cells=("bbr",)),
    Planted("Cubic that isn't friendly to Reno", _CUBIC,
            "static int tcp_friendliness __read_mostly = 1;",
            "static int tcp_friendliness __read_mostly;", ("aqm=fq_codel",),
            cells=("fair", "many_flows")),
    Planted("RACK without a window for reordering", "net/ipv4/tcp_recovery.c",
            "return min((tcp_min_rtt(tp) >> 2) * tp->rack.reo_wnd_steps,\n\t\t   "
            "tp->srtt_us >> 3);", "return 0;", ("aqm=fq_codel",), cells=("reordering",)),
)

# Ten by somebody who knew the kernel's source, and had seen neither the cells nor these defects.
BLIND = (
    # DRR's debt is forgiven at every turn: a flow of 64 kB packets (GSO) sends one a round.
    Planted("FQ-CoDel that forgives a flow its debt at each round", _FQ_CODEL,
            "\t\tWRITE_ONCE(flow->deficit, flow->deficit + q->quantum);\n",
            "\t\tWRITE_ONCE(flow->deficit, q->quantum);\n", ("aqm=fq_codel",), cells=("gso",)),
    # After the first excursion over the target no later one has to last an interval.
    Planted("CoDel that does not restart its interval below the target", _CODEL,
            "\t\t/* went below - stay below for at least interval */\n"
            "\t\tvars->first_above_time = 0;\n\t\treturn false;\n",
            "\t\t/* went below - stay below for at least interval */\n\t\treturn false;\n",
            ("aqm=codel",)),
    # The receiving host with many flows is not held back.
    Planted("CAKE that reads the source's count for the destination", _CAKE,
            "\t\t\t\tq->hosts[flow->dsthost].dsthost_bulk_flow_count);\n",
            "\t\t\t\tq->hosts[flow->dsthost].srchost_bulk_flow_count);\n", ("aqm=cake",),
            cells=("two_hosts",)),
    # A flow that keeps a queue returns to dropping at its old rate.
    Planted("CAKE whose count no longer decays below the target", _CAKE,
            "\t\twhile (next_due) {\n\t\t\tcount--;\n\t\t\tcobalt_invsqrt(vars, count);\n",
            "\t\twhile (next_due) {\n\t\t\tcobalt_invsqrt(vars, count);\n", ("aqm=cake",)),
    # The difference is always 0: slow to react.
    Planted("PIE that compares the delay with itself", "net/sched/sch_pie.c",
            "\t\tqdelay_old = vars->qdelay_old;\n", "\t\tqdelay_old = vars->qdelay;\n",
            ("aqm=pie",)),
    # Scalable flows see half the coupled signal.
    Planted("DualPI2 that marks the L queue without the coupling factor", "net/sched/sch_dualpi2.c",
            "\tif (dualpi2_roll(local_l_prob)) {\n", "\tif (dualpi2_roll(prob)) {\n",
            ("aqm=dualpi2",), cells=("scalable",)),
    # A class cannot borrow.
    Planted("HTB that charges the ceiling at the guaranteed rate", "net/sched/sch_htb.c",
            "\ttoks -= (s64) psched_l2t_ns(&cl->ceil, bytes);\n",
            "\ttoks -= (s64) psched_l2t_ns(&cl->rate, bytes);\n", ("aqm=fq_codel",),
            cells=("borrowing",)),
    # After a loss the old epoch's curve goes on, past its plateau.
    Planted("Cubic that does not end its epoch on a loss", _CUBIC,
            "\tca->epoch_start = 0;\t/* end of epoch */\n\n", "", ("aqm=no_aqm",)),
    # A stale rate stays when others arrive.
    Planted("BBR that filters out the wrong samples of bandwidth", "net/ipv4/tcp_bbr.c",
            "\tif (!rs->is_app_limited || bw >= bbr_max_bw(sk)) {\n",
            "\tif (rs->is_app_limited || bw >= bbr_max_bw(sk)) {\n", ("aqm=no_aqm",),
            cells=("bbr",)),
    # Each ACK releases the whole sum again.
    Planted("PRR that forgets what it has sent in recovery", "net/ipv4/tcp_input.c",
            "\t\tsndcnt = div_u64(dividend, tp->prior_cwnd) - tp->prr_out;\n",
            "\t\tsndcnt = div_u64(dividend, tp->prior_cwnd);\n", ("aqm=no_aqm",)),
)

# Ten more by somebody who had seen neither cells nor defects but the names of BLIND, after the
# cells had been changed by what BLIND showed.
BLIND_LATER = (
    # New flows lose their priority.
    Planted("FQ-CoDel that queues a new flow behind the old ones",
            _FQ_CODEL,
            "\t\tlist_add_tail(&flow->flowchain, &q->new_flows);\n",
            "\t\tlist_add_tail(&flow->flowchain, &q->old_flows);\n",
            ("aqm=fq_codel",)),
    # The count ratchets up: bulk flows lose too many packets.
    Planted("CoDel that forgets the count it started dropping with",
            _CODEL,
            "\t\tWRITE_ONCE(vars->lastcount, vars->count);\n",
            "",
            ("aqm=codel",)),
    # The last busy tin always wins.
    Planted("CAKE that forgets which tin is due first",
            _CAKE,
            "\t\t\t\t\tbest_time = time_to_pkt;\n",
            "",
            ("aqm=cake",)),
    # A host that has had many connections gets an ever smaller quantum.
    Planted("CAKE that keeps counting a host's idle flows as bulk",
            _CAKE,
            ("\t\t\t\t\tcake_dec_srchost_bulk_flow_count(b, flow, q->config->flow_mode);\n"
             "\t\t\t\t\tcake_dec_dsthost_bulk_flow_count(b, flow, q->config->flow_mode);\n"
             "\n"
             "\t\t\t\t\tWRITE_ONCE(b->decaying_flow_count, b->decaying_flow_count + 1);\n"),
            "\t\t\t\t\tWRITE_ONCE(b->decaying_flow_count, b->decaying_flow_count + 1);\n",
            ("aqm=cake",)),
    # A small rise in delay makes the probability jump.
    Planted("PIE that does not scale down beta at low drop probability",
            "net/sched/sch_pie.c",
            ("\t\t\talpha >>= 2;\n"
             "\t\t\tbeta >>= 2;\n"),
            "\t\t\talpha >>= 2;\n",
            ("aqm=pie",)),
    # The classic queue gets 90 % while both have packets.
    Planted("DualPI2 that swaps the weights of its two queues",
            "net/sched/sch_dualpi2.c",
            ("\t\t\t*credit_change = q->c_protection_wc;\n"
             "\t\tqdisc_qstats_backlog_dec(q->l_queue, skb);\n"
             "\n"
             "\t\t/* Keep the global queue size consistent */\n"
             "\t\tqdisc_qlen_dec(sch);\n"
             "\t} else if (c_len) {\n"
             "\t\tskb = __qdisc_dequeue_head(&sch->q);\n"
             "\t\tWRITE_ONCE(q->c_head_ts, head_enqueue_time(sch));\n"
             "\t\tif (qdisc_qlen(q->l_queue))\n"
             "\t\t\t*credit_change = ~((s32)q->c_protection_wl) + 1;\n"),
            ("\t\t\t*credit_change = q->c_protection_wl;\n"
             "\t\tqdisc_qstats_backlog_dec(q->l_queue, skb);\n"
             "\n"
             "\t\t/* Keep the global queue size consistent */\n"
             "\t\tqdisc_qlen_dec(sch);\n"
             "\t} else if (c_len) {\n"
             "\t\tskb = __qdisc_dequeue_head(&sch->q);\n"
             "\t\tWRITE_ONCE(q->c_head_ts, head_enqueue_time(sch));\n"
             "\t\tif (qdisc_qlen(q->l_queue))\n"
             "\t\t\t*credit_change = ~((s32)q->c_protection_wc) + 1;\n"),
            ("aqm=dualpi2",)),
    # A class that was idle sends at its ceiling, past its parent.
    Planted("HTB that lets an idle class save its tokens beyond the burst",
            "net/sched/sch_htb.c",
            ("\tif (toks > cl->buffer)\n"
             "\t\ttoks = cl->buffer;\n"),
            "",
            ("aqm=fq_codel",)),
    # Slow start ends at once: long or fast paths need seconds to fill.
    Planted("Cubic whose HyStart takes the largest RTT of a round",
            _CUBIC,
            "\t\tif (ca->curr_rtt > delay)\n",
            "\t\tif (ca->curr_rtt < delay)\n",
            ("aqm=fq_codel",)),
    # The queue of STARTUP stays.
    Planted("BBR that ends its drain before the queue is drained",
            "net/ipv4/tcp_bbr.c",
            ("\t    bbr_inflight(sk, bbr_max_bw(sk), BBR_UNIT))\n"
             "\t\tbbr_reset_probe_bw_mode(sk);  /* we estimate queue is drained */\n"),
            ("\t    bbr_inflight(sk, bbr_max_bw(sk), bbr->cwnd_gain))\n"
             "\t\tbbr_reset_probe_bw_mode(sk);  /* we estimate queue is drained */\n"),
            ("aqm=no_aqm",)),
    # srtt_us is kept times eight: timeouts replace fast recovery.
    Planted("RACK that takes the scaled SRTT for the RTT",
            "net/ipv4/tcp_recovery.c",
            "\treturn tp->rack.rtt_us + reo_wnd -\n",
            "\treturn tp->srtt_us + reo_wnd -\n",
            ("aqm=fq_codel",)),
)

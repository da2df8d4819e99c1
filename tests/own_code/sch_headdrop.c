// SPDX-License-Identifier: GPL-2.0-only
/*
 * A FIFO that drops its oldest packet when it is full: with the same limit as pfifo, what
 * arrives always gets in, and what has waited longest goes. For tests of queues that
 * flent-aqm doesn't know.
 */
#include <linux/module.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#define DEFAULT_LIMIT 1000	/* packets */

enum { TCA_HEADDROP_UNSPEC, TCA_HEADDROP_LIMIT, __TCA_HEADDROP_MAX };
#define TCA_HEADDROP_MAX (__TCA_HEADDROP_MAX - 1)

static const struct nla_policy headdrop_policy[TCA_HEADDROP_MAX + 1] = {
	[TCA_HEADDROP_LIMIT] = { .type = NLA_U32 },
};

static int headdrop_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			    struct sk_buff **to_free)
{
	unsigned int before;

	if (likely(sch->q.qlen < sch->limit))
		return qdisc_enqueue_tail(skb, sch);

	/* Some packet always goes; the ancestors are told of the oldest. */
	before = sch->qstats.backlog;
	__qdisc_queue_drop_head(sch, &sch->q, to_free);
	qdisc_qstats_drop(sch);
	qdisc_enqueue_tail(skb, sch);
	qdisc_tree_reduce_backlog(sch, 1, before + qdisc_pkt_len(skb) - sch->qstats.backlog);
	return NET_XMIT_SUCCESS;
}

static int headdrop_change(struct Qdisc *sch, struct nlattr *opt,
			   struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_HEADDROP_MAX + 1];
	int err;

	err = nla_parse_nested_deprecated(tb, TCA_HEADDROP_MAX, opt, headdrop_policy, extack);
	if (err < 0)
		return err;
	if (tb[TCA_HEADDROP_LIMIT]) {
		u32 limit = nla_get_u32(tb[TCA_HEADDROP_LIMIT]);

		if (!limit) {
			NL_SET_ERR_MSG(extack, "limit has to be 1 packet or more");
			return -EINVAL;
		}
		sch->limit = limit;
	}
	return 0;
}

static int headdrop_init(struct Qdisc *sch, struct nlattr *opt,
			 struct netlink_ext_ack *extack)
{
	sch->limit = DEFAULT_LIMIT;
	return opt ? headdrop_change(sch, opt, extack) : 0;
}

static int headdrop_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct nlattr *opts = nla_nest_start_noflag(skb, TCA_OPTIONS);

	if (!opts || nla_put_u32(skb, TCA_HEADDROP_LIMIT, sch->limit))
		return -EMSGSIZE;
	return nla_nest_end(skb, opts);
}

static struct Qdisc_ops headdrop_qdisc_ops __read_mostly = {
	.id		= "headdrop",
	.enqueue	= headdrop_enqueue,
	.dequeue	= qdisc_dequeue_head,
	.peek		= qdisc_peek_head,
	.init		= headdrop_init,
	.reset		= qdisc_reset_queue,
	.change		= headdrop_change,
	.dump		= headdrop_dump,
	.owner		= THIS_MODULE,
};

static int __init headdrop_module_init(void)
{
	return register_qdisc(&headdrop_qdisc_ops);
}

static void __exit headdrop_module_exit(void)
{
	unregister_qdisc(&headdrop_qdisc_ops);
}

module_init(headdrop_module_init)
module_exit(headdrop_module_exit)
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("FIFO that drops at its head");

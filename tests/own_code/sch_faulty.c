// SPDX-License-Identifier: GPL-2.0-only
/*
 * A FIFO with a mistake at its 100th packet, which the txqueuelen of its device chooses. For
 * tests of what becomes of such runs.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/pkt_sched.h>

/* USES_FREED to LOCKS_BOTH_WAYS are found by kernels that check their own code: --config debug. */
enum { WARNS = 1001, LEAKS, CRASHES, HANGS, USES_FREED, SLEEPS, LOCKS_BOTH_WAYS,
       CRASHES_LATE, HANGS_LATE, HOLDS };

struct faulty {
	unsigned int packets;
	unsigned int *nowhere;
};

static DEFINE_SPINLOCK(one);
static DEFINE_SPINLOCK(other);

static noinline void faulty_use_freed(void)
{
	unsigned int *freed = kmalloc(64, GFP_ATOMIC);

	kfree(freed);
	if (freed)
		WRITE_ONCE(freed[2], 1);
}

static noinline void faulty_lock(spinlock_t *first, spinlock_t *second)
{
	spin_lock(first);
	spin_lock(second);
	spin_unlock(second);
	spin_unlock(first);
}

static int faulty_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			  struct sk_buff **to_free)
{
	struct faulty *q = qdisc_priv(sch);

	/* Every packet's memory, by a reference that nobody gives back. */
	if (qdisc_dev(sch)->tx_queue_len == HOLDS)
		skb_clone(skb, GFP_ATOMIC);
	if (sch->q.qlen >= 1000)
		return qdisc_drop(skb, sch, to_free);
	if (++q->packets == 100) {
		switch (qdisc_dev(sch)->tx_queue_len) {
		case WARNS:
			WARN_ON(q->packets == 100);
			break;
		case LEAKS:
			/* Counted, and gone. */
			sch->q.qlen++;
			qdisc_qstats_backlog_inc(sch, skb);
			kfree_skb(skb);
			return NET_XMIT_SUCCESS;
		case CRASHES:
			*q->nowhere = 1;
			break;
		case HANGS:
			while (READ_ONCE(q->packets))
				cpu_relax();
			break;
		case USES_FREED:
			faulty_use_freed();
			break;
		case SLEEPS:
			/* This may wait for memory. */
			kfree(kmalloc(64, GFP_KERNEL));
			break;
		case LOCKS_BOTH_WAYS:
			faulty_lock(&one, &other);
			faulty_lock(&other, &one);
			break;
		}
	}
	return qdisc_enqueue_tail(skb, sch);
}

/* With the mistake where a timer of the shaper above calls it, in a softirq of no process. */
static struct sk_buff *faulty_dequeue(struct Qdisc *sch)
{
	struct faulty *q = qdisc_priv(sch);

	if (q->packets >= 100 && is_idle_task(current)) {
		switch (qdisc_dev(sch)->tx_queue_len) {
		case CRASHES_LATE:
			((struct sk_buff *)q->nowhere)->prev = NULL;
			break;
		case HANGS_LATE:
			while (READ_ONCE(q->packets))
				cpu_relax();
			break;
		}
	}
	return qdisc_dequeue_head(sch);
}

static struct Qdisc_ops faulty_qdisc_ops __read_mostly = {
	.id		= "faulty",
	.priv_size	= sizeof(struct faulty),
	.enqueue	= faulty_enqueue,
	.dequeue	= faulty_dequeue,
	.peek		= qdisc_peek_head,
	.reset		= qdisc_reset_queue,
	.owner		= THIS_MODULE,
};

static int __init faulty_module_init(void)
{
	return register_qdisc(&faulty_qdisc_ops);
}

static void __exit faulty_module_exit(void)
{
	unregister_qdisc(&faulty_qdisc_ops);
}

module_init(faulty_module_init)
module_exit(faulty_module_exit)
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("FIFO with mistakes");

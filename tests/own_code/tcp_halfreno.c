// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reno that gives way: a loss leaves a quarter of the window instead of a half. For tests of
 * congestion controls that flent-aqm doesn't know.
 */
#include <linux/module.h>
#include <net/tcp.h>

static u32 halfreno_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) >> 2U, 2U);
}

static struct tcp_congestion_ops halfreno __read_mostly = {
	.ssthresh	= halfreno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.cong_avoid	= tcp_reno_cong_avoid,
	.owner		= THIS_MODULE,
	.name		= "halfreno",
};

static int __init halfreno_register(void)
{
	return tcp_register_congestion_control(&halfreno);
}

static void __exit halfreno_unregister(void)
{
	tcp_unregister_congestion_control(&halfreno);
}

module_init(halfreno_register);
module_exit(halfreno_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reno that gives way");

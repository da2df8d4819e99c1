# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Fair queueing by flow, made for hosts, where it paces TCP. On a router: a drop-tail queue for
# each flow, with the kernel's defaults.

scheme_help() {
    printf '%s\n' 'fq: aqm_limit=PACKETS aqm_flow_limit=PACKETS aqm_buckets=N aqm_quantum=BYTES aqm_initial_quantum=BYTES aqm_refill_delay=40ms aqm_horizon=10s'
}

scheme_requires() {
    printf '%s\n' 'sch_fq (Linux 3.12, CONFIG_NET_SCH_FQ)'
}

scheme_qdisc() {
    leaf fq 'limit flow_limit buckets quantum initial_quantum refill_delay horizon' "$@"
}

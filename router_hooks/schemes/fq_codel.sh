# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# FQ-CoDel (RFC 8290) with the kernel's defaults: 1024 flows, target 5 ms, interval 100 ms.

scheme_help() {
    printf '%s\n' 'fq_codel: aqm_limit=PACKETS aqm_flows=N aqm_quantum=BYTES aqm_target=5ms aqm_interval=100ms aqm_memory_limit=BYTES aqm_drop_batch=N aqm_ce_threshold=1ms aqm_ecn=yes|no'
}

scheme_requires() {
    printf '%s\n' 'sch_fq_codel (Linux 3.5, CONFIG_NET_SCH_FQ_CODEL)'
}

scheme_qdisc() {
    leaf fq_codel 'limit flows quantum target interval memory_limit drop_batch ce_threshold ecn=ecn/noecn' "$@"
}

# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# FQ-PIE with the kernel's defaults: 1024 flows, target 15 ms, no ECN.

scheme_help() {
    printf '%s\n' 'fq_pie: aqm_limit=PACKETS aqm_flows=N aqm_target=15ms aqm_tupdate=15ms aqm_alpha=N aqm_beta=N aqm_quantum=BYTES aqm_memory_limit=BYTES aqm_ecn_prob=PERCENT aqm_ecn=yes|no aqm_bytemode=yes|no aqm_dq_rate_estimator=yes|no'
}

scheme_requires() {
    printf '%s\n' 'sch_fq_pie (Linux 5.6, CONFIG_NET_SCH_FQ_PIE) and tc of iproute2 5.6'
}

scheme_qdisc() {
    leaf fq_pie 'limit flows target tupdate alpha beta quantum memory_limit ecn_prob ecn=ecn/noecn bytemode=bytemode/nobytemode dq_rate_estimator=dq_rate_estimator/no_dq_rate_estimator' "$@"
}

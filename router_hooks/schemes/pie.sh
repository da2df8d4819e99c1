# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# PIE (RFC 8033) with the kernel's defaults: target 15 ms, no ECN.

scheme_help() {
    printf '%s\n' 'pie: aqm_limit=PACKETS aqm_target=15ms aqm_tupdate=15ms aqm_alpha=N aqm_beta=N aqm_ecn=yes|no aqm_bytemode=yes|no aqm_dq_rate_estimator=yes|no'
}

scheme_requires() {
    printf '%s\n' 'sch_pie (Linux 3.14, CONFIG_NET_SCH_PIE)'
}

scheme_qdisc() {
    leaf pie 'limit target tupdate alpha beta ecn=ecn/noecn bytemode=bytemode/nobytemode dq_rate_estimator=dq_rate_estimator/no_dq_rate_estimator' "$@"
}

# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# CoDel (RFC 8289) with the kernel's defaults: target 5 ms, interval 100 ms.

scheme_help() {
    printf '%s\n' 'codel: aqm_limit=PACKETS aqm_target=5ms aqm_interval=100ms aqm_ce_threshold=1ms aqm_ecn=yes|no'
}

scheme_requires() {
    printf '%s\n' 'sch_codel (Linux 3.5, CONFIG_NET_SCH_CODEL)'
}

scheme_qdisc() {
    leaf codel 'limit target interval ce_threshold ecn=ecn/noecn' "$@"
}

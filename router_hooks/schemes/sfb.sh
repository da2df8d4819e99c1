# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Stochastic Fair Blue with the kernel's defaults, except the limit, which would be txqueuelen.

scheme_help() {
    printf '%s\n' 'sfb: aqm_limit=PACKETS aqm_max=PACKETS aqm_target=PACKETS aqm_increment=0.0005 aqm_decrement=0.00005 aqm_penalty_rate=PACKETS_PER_S aqm_penalty_burst=PACKETS aqm_rehash=MS aqm_db=MS'
}

scheme_requires() {
    printf '%s\n' 'sch_sfb (Linux 2.6.39, CONFIG_NET_SCH_SFB)'
}

scheme_qdisc() {
    given limit "$@" || set -- "$@" "limit=${pfifo_limit_packets}"
    leaf sfb 'limit max target increment decrement penalty_rate penalty_burst rehash db' "$@"
}

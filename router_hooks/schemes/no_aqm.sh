# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# No AQM: one drop-tail queue, counted in packets.

scheme_help() {
    printf '%s\n' 'pfifo: drop-tail; aqm_limit=PACKETS'
}

scheme_requires() {
    printf '%s\n' 'sch_fifo (in every kernel that has qdiscs)'
}

scheme_qdisc() {
    [ "$#" -gt 0 ] || set -- "limit=${pfifo_limit_packets}"
    leaf pfifo 'limit' "$@"
}

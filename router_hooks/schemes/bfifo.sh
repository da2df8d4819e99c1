# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# No AQM: one drop-tail queue, counted in bytes.

scheme_help() {
    printf '%s\n' 'bfifo: drop-tail; aqm_limit=BYTES'
}

scheme_requires() {
    printf '%s\n' 'sch_fifo (in every kernel that has qdiscs)'
}

scheme_qdisc() {
    [ "$#" -gt 0 ] || set -- "limit=${bfifo_limit_bytes}"
    leaf bfifo 'limit' "$@"
}

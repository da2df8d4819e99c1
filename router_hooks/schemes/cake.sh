# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# CAKE. Below another shaper it does not shape; with shaper=cake it is the shaper.

scheme_help() {
    printf '%s\n' 'cake: aqm_rtt=100ms aqm_diffserv=diffserv3|diffserv4|diffserv8|besteffort|precedence aqm_isolation=triple-isolate|dual-srchost|dual-dsthost|hosts|flows|srchost|dsthost|flowblind aqm_nat=yes|no aqm_wash=yes|no aqm_split_gso=yes|no aqm_ack_filter=yes|no aqm_overhead=BYTES aqm_mpu=BYTES aqm_memlimit=BYTES'
}

scheme_requires() {
    printf '%s\n' 'sch_cake (Linux 4.19, CONFIG_NET_SCH_CAKE) and tc of iproute2 4.19'
}

scheme_qdisc() {
    leaf "cake ${cake_bandwidth}" 'rtt overhead mpu memlimit diffserv=* isolation=* nat=nat/nonat wash=wash/nowash split_gso=split-gso/no-split-gso ack_filter=ack-filter/no-ack-filter' "$@"
}

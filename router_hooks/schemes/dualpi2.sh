# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# DualPI2 (RFC 9332), the L4S queue, with the kernel's defaults: target 15 ms, step 1 ms.

scheme_help() {
    printf '%s\n' 'dualpi2: aqm_limit=PACKETS aqm_memlimit=BYTES aqm_target=15ms aqm_tupdate=16ms aqm_alpha=0.16 aqm_beta=3.2 aqm_step_thresh=1ms aqm_min_qlen_step=PACKETS aqm_coupling_factor=N aqm_classic_protection=PERCENT'
}

scheme_requires() {
    printf '%s\n' 'sch_dualpi2 (Linux 6.17, CONFIG_NET_SCH_DUALPI2) and tc of iproute2 6.18'
}

scheme_qdisc() {
    for parameter in "$@"; do
        shift
        case ${parameter} in # tc wants a % sign
            classic_protection=*) parameter=${parameter}% ;;
            *) ;;
        esac
        set -- "$@" "${parameter}"
    done
    leaf dualpi2 'limit memlimit target tupdate alpha beta step_thresh min_qlen_step coupling_factor classic_protection' "$@"
}

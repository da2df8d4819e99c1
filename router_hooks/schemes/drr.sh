# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Deficit round robin: hashed flows, each with its own drop-tail queue.

scheme_help() {
    printf '%s\n' 'drr: aqm_flows=N aqm_quantum=BYTES'
}

scheme_requires() {
    printf '%s\n' 'sch_drr and cls_flow (CONFIG_NET_SCH_DRR, CONFIG_NET_CLS_FLOW)'
}

scheme_qdisc() {
    for parameter in "$@"; do
        case ${parameter} in
            flows=* | quantum=*) ;;
            *) die "aqm_${parameter}: drr has no such parameter; known: flows quantum" ;;
        esac
    done
    printf drr
}

# tc can't create the classes together with the qdisc. DRR drops packets without a class,
# so the filter is for all protocols.
scheme_below() {
    below_flows=${drr_flows}
    below_quantum=${drr_quantum_bytes}
    for parameter in ${overrides}; do
        case ${parameter} in
            flows=*) below_flows=${parameter#*=} ;;
            quantum=*) below_quantum=${parameter#*=} ;;
            *) ;;
        esac
    done
    case ${below_flows} in
        '' | 0* | ?????* | *[!0-9]*) die "aqm_flows=${below_flows}: expected a whole number from 1 to 1023" ;;
        *) [ "${below_flows}" -le 1023 ] || die "aqm_flows=${below_flows}: expected 1 to 1023" ;;
    esac
    # Class numbers are hexadecimal, from 1 on; these loops need no $(printf) for each.
    digits='0 1 2 3 4 5 6 7 8 9 a b c d e f'
    flow=0
    for high in 0 1 2 3; do
        for middle in ${digits}; do
            for low in ${digits}; do
                [ "${flow}" -le "${below_flows}" ] || break 3
                [ "${flow}" -eq 0 ] ||
                    do_tc "class add dev $1 parent $2: classid $2:${high}${middle}${low} drr quantum ${below_quantum}"
                flow=$((flow + 1))
            done
        done
    done
    do_tc "filter add dev $1 parent $2: protocol all prio 1 handle 1 flow hash keys src,dst,proto,proto-src,proto-dst divisor ${below_flows} baseclass $2:1"
}

# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# RED with thresholds derived from the rate; see red_* in defaults.sh.

scheme_help() {
    printf '%s\n' 'red: aqm_limit=BYTES aqm_min=BYTES aqm_max=BYTES aqm_avpkt=BYTES aqm_burst=PACKETS aqm_probability=0.02 aqm_ecn=yes|no aqm_harddrop=yes|no aqm_adaptive=yes|no; values that are not given are derived from the rate and aqm_min'
}

scheme_requires() {
    printf '%s\n' 'sch_red (CONFIG_NET_SCH_RED)'
}

scheme_qdisc() {
    # shellcheck disable=SC2017 # in this order it fits into 32 bits
    red_min=$((leaf_bit_s / 1000 * red_min_us / 8000))
    [ "${red_min}" -gt "${red_min_floor_bytes}" ] || red_min=${red_min_floor_bytes}
    [ "${red_min}" -lt "${red_min_top_bytes}" ] || red_min=${red_min_top_bytes}
    red_avpkt=${red_avpkt_bytes}
    for parameter in "$@"; do
        case ${parameter} in
            min=* | avpkt=*) ;;
            *) continue ;;
        esac
        number=${parameter#*=}
        case ${number} in
            0* | *[!0-9]*) die "aqm_${parameter}: expected a whole number of bytes" ;;
            *) ;;
        esac
        case ${parameter} in
            min=*) red_min=${number} ;;
            *) red_avpkt=${number} ;;
        esac
    done
    given min "$@" || set -- "$@" "min=${red_min}"
    given max "$@" || set -- "$@" "max=$((red_min * 3))"
    given limit "$@" || set -- "$@" "limit=$((red_min * 12))"
    given avpkt "$@" || set -- "$@" "avpkt=${red_avpkt}"
    above=$((red_min * 2 / red_avpkt / 3))
    [ "${above}" -lt "${red_burst_top_packets}" ] || above=${red_burst_top_packets}
    given burst "$@" || set -- "$@" "burst=$((red_min / red_avpkt + above + 1))"
    red_bandwidth=${leaf_bit_s}
    [ "${red_bandwidth}" -lt "${red_bandwidth_top_bit_s}" ] || red_bandwidth=${red_bandwidth_top_bit_s}
    leaf "red bandwidth ${red_bandwidth}bit" 'limit min max avpkt burst probability ecn=ecn/ harddrop=harddrop/ adaptive=adaptive/' "$@"
}

# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Reads and checks the settings of a hook. Read by the router's shell before router.sh, which
# lists them and calls these functions.

# unfilled TEXT: true if the batch left a ${variable} in it.
unfilled() {
    case $1 in
        *\$\{*) return 0 ;;
        *) return 1 ;;
    esac
}

take_settings() {
    for setting in "$@"; do
        value=${setting#*=}
        unfilled "${setting}" && die "${setting}: the batch leaves this variable unfilled; set it in the batch"
        case ${setting} in
            aqm=*) aqm=${value} ;;
            rate_down_mbps=*) rate_down_mbps=${value} ;;
            rate_up_mbps=*) rate_up_mbps=${value} ;;
            burst_shaping=*) burst_shaping=${value} ;;
            shaper=*) shaper=${value} ;;
            tiers=*) tiers=${value} ;;
            ingress=*) ingress=${value} ;;
            txqueuelen=*) txqueuelen=${value} ;;
            tc_json=*) tc_json=${value} ;;
            only=*) only=${value} ;;
            subscribers=*) subscribers=${value} ;;
            plan_down_mbps=*) plan_down_mbps=${value} ;;
            plan_up_mbps=*) plan_up_mbps=${value} ;;
            dev_down=*) dev_down=${value} ;;
            dev_up=*) dev_up=${value} ;;
            dev_ifb=*) dev_ifb=${value} ;;
            aqm_options=*[!A-Za-z0-9_.%:,-]*) die "${setting}: expected words of letters, digits and _ . % : -, separated by commas" ;;
            aqm_options=?*) overrides="${overrides} ${setting#aqm_}" ;;
            aqm_*[!A-Za-z0-9_=.-]*) die "${setting}: expected letters, digits, dots and hyphens only" ;;
            aqm_?*=?*) overrides="${overrides} ${setting#aqm_}" ;;
            *) die "unknown setting '${setting}'; known: aqm, rate_down_mbps, rate_up_mbps, burst_shaping, shaper, tiers, ingress, txqueuelen, only, subscribers, plan_down_mbps, plan_up_mbps, dev_down, dev_up, dev_ifb, aqm_PARAMETER" ;;
        esac
    done
}

check_device() {
    case $2 in
        '' | . | .. | *[!A-Za-z0-9_.@-]*) die "$1: '$2' is not a valid name of a network device" ;;
        *) [ -d "/sys/class/net/$2" ] || die "$1: the router has no device '$2'" ;;
    esac
}

# take_flag NAME VALUE: sets flag to yes or no. Flent turns `yes` in a batch into True.
take_flag() {
    case $2 in
        [Yy][Ee][Ss] | [Tt][Rr][Uu][Ee] | [Oo][Nn] | 1) flag=yes ;;
        [Nn][Oo] | [Ff][Aa][Ll][Ss][Ee] | [Oo][Ff][Ff] | 0) flag=no ;;
        *) die "$1: '$2' is not yes or no" ;;
    esac
}

# take_rate NAME MBPS: sets rate_bit_s. Shifts the decimal point in the text, as
# tc's floating point turns some rates of 96000 bytes/s into 95999.
take_rate() {
    case $2 in
        '') die "$1 is missing; give it in Mbit/s" ;;
        . | *[!0-9.]* | *.*.*) die "$1: '$2' is not a number; give it in Mbit/s" ;;
        *.*) fraction=${2#*.}000000 ;;
        *) fraction=000000 ;;
    esac
    finer=${fraction#??????}
    case ${finer} in
        *[!0]*) die "$1: '$2' Mbit/s has more than 6 decimals; the smallest unit in tc is 1 bit/s" ;;
        *) rate_bit_s=${2%%.*}${fraction%"${finer}"} ;;
    esac
    while :; do
        case ${rate_bit_s} in
            0?*) rate_bit_s=${rate_bit_s#0} ;;
            *) break ;;
        esac
    done
    # Compare lengths first: 20 digits would overflow the shell's integers.
    if [ "${#rate_bit_s}" -gt "${#max_rate_bit_s}" ] ||
        [ "${rate_bit_s}" -gt "${max_rate_bit_s}" ] || [ "${rate_bit_s}" -lt "${min_rate_bit_s}" ]; then
        die "$1: '$2' Mbit/s is out of range; expected 0.064 to 40000"
    fi
}

# one_of NAME VALUE KNOWN: dies unless VALUE is one of the words.
one_of() {
    case " $3 " in
        *" $2 "*) ;;
        *) die "$1: unknown value '$2'; known: $3" ;;
    esac
}

# given NAME name=value…: true if NAME is among them.
given() {
    wanted=$1
    shift
    for parameter in "$@"; do
        [ "${parameter%%=*}" != "${wanted}" ] || return 0
    done
    return 1
}

# leaf KIND KNOWN name=value…: prints tc's words for the leaf qdisc. KNOWN lists the
# parameters and what each becomes: `name` becomes "name value", `name=*` the value alone,
# `name=WORD/WORD` the first word for yes, the second for no.
leaf() {
    words=$1
    known=$2
    shift 2
    for parameter in "$@"; do
        name=${parameter%%=*}
        value=${parameter#*=}
        case " ${known}" in
            *" ${name} "* | *" ${name}") words="${words} ${name} ${value}" ;;
            *" ${name}=* "* | *" ${name}=*") words="${words} ${value}" ;;
            *" ${name}="*)
                form=" ${known} "
                form=${form#*" ${name}="}
                form=${form%% *}
                take_flag "aqm_${name}" "${value}"
                [ "${flag}" = yes ] && words="${words} ${form%/*}" || words="${words} ${form#*/}"
                ;;
            *) die "aqm_${parameter}: ${words%% *} has no such parameter; known: ${known}" ;;
        esac
    done
    printf '%s' "${words}"
}

#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Puts the queue under test on the router, reads it back, takes it away. on_router.sh
# has the router's shell read it after defaults.sh and schemes/NAME.sh:
#
#   apply name=value…   aqm, rate_down_mbps, rate_up_mbps, burst_shaping, dev_down, dev_up,
#                       and aqm_PARAMETER for a parameter of the AQM
#   read-back           prints what the kernel reports, as one JSON object
#   undo                gives both devices their default queue
#
#   client ── down [router] up ── server     on each device:  1: htb ── 1:1 rate ── 10: AQM
#
# Plain POSIX sh, for BusyBox's ash too; few processes, as each costs the lab 5 ms.
set -u

# Over ssh, PATH often lacks the folders of tc and ethtool.
PATH=${PATH}:/usr/sbin:/sbin
newline='
'

die() {
    printf 'router hook: %s\n' "$1" >&2
    exit "${2:-2}"
}

# ---- settings ----------------------------------------------------------------

# unfilled TEXT: true when the batch left a ${variable} unfilled in it.
unfilled() {
    case $1 in
        *\$\{*) return 0 ;;
        *) return 1 ;;
    esac
}

take_settings() {
    for setting in "$@"; do
        value=${setting#*=}
        unfilled "${setting}" && die "${setting}: the batch left this variable unfilled; set it there"
        case ${setting} in
            aqm=*) aqm=${value} ;;
            rate_down_mbps=*) rate_down_mbps=${value} ;;
            rate_up_mbps=*) rate_up_mbps=${value} ;;
            burst_shaping=*) burst_shaping=${value} ;;
            dev_down=*) dev_down=${value} ;;
            dev_up=*) dev_up=${value} ;;
            aqm_*[!A-Za-z0-9_=.]*) die "${setting}: expected letters, digits and dots only" ;;
            aqm_?*=?*) overrides="${overrides} ${setting#aqm_}" ;;
            *) die "unknown setting '${setting}'; known: aqm, rate_down_mbps, rate_up_mbps, burst_shaping, dev_down, dev_up, aqm_PARAMETER" ;;
        esac
    done
}

check_device() {
    case $2 in
        '' | . | .. | *[!A-Za-z0-9_.@-]*) die "$1: '$2' is not a name of a network device" ;;
        *) [ -d "/sys/class/net/$2" ] || die "$1: the router has no device '$2'" ;;
    esac
}

# take_flag NAME VALUE: sets flag to yes or no. Flent turns a batch's yes into True.
take_flag() {
    case $2 in
        [Yy][Ee][Ss] | [Tt][Rr][Uu][Ee] | [Oo][Nn] | 1) flag=yes ;;
        [Nn][Oo] | [Ff][Aa][Ll][Ss][Ee] | [Oo][Ff][Ff] | 0) flag=no ;;
        *) die "$1: '$2' is neither on nor off; give yes or no" ;;
    esac
}

# take_rate NAME MBPS: sets rate_bit_s. Shifts the decimal point in the text, as
# tc's floating point makes 95999 bytes/s of some rates that are 96000.
take_rate() {
    case $2 in
        '') die "$1 is missing; give it in Mbit/s" ;;
        . | *[!0-9.]* | *.*.*) die "$1: '$2' is not a number; give it in Mbit/s" ;;
        *.*) fraction=${2#*.}000000 ;;
        *) fraction=000000 ;;
    esac
    finer=${fraction#??????}
    case ${finer} in
        *[!0]*) die "$1: '$2' Mbit/s has more than 6 decimals; tc knows no part of a bit/s" ;;
        *) rate_bit_s=${2%%.*}${fraction%"${finer}"} ;;
    esac
    while :; do
        case ${rate_bit_s} in
            0?*) rate_bit_s=${rate_bit_s#0} ;;
            *) break ;;
        esac
    done
    # By length first: a number of 20 digits would wrap around in the shell.
    if [ "${#rate_bit_s}" -gt "${#max_rate_bit_s}" ] ||
        [ "${rate_bit_s}" -gt "${max_rate_bit_s}" ] || [ "${rate_bit_s}" -lt "${min_rate_bit_s}" ]; then
        die "$1: '$2' Mbit/s is out of range; expected 0.064 to 40000"
    fi
}

# leaf KIND KNOWN name=value…: what a scheme prints, tc's words for the leaf qdisc.
leaf() {
    words=$1
    known=$2
    shift 2
    for parameter in "$@"; do
        case " ${known} " in
            *" ${parameter%%=*} "*) ;;
            *) die "aqm_${parameter}: ${words%% *} has no such parameter; known: ${known}" ;;
        esac
        case ${parameter} in
            ecn=*)
                take_flag aqm_ecn "${parameter#ecn=}"
                [ "${flag}" = yes ] && words="${words} ecn" || words="${words} noecn"
                ;;
            *) words="${words} ${parameter%%=*} ${parameter#*=}" ;;
        esac
    done
    printf '%s' "${words}"
}

# ---- apply and undo ----------------------------------------------------------

# One tc runs all that was noted; what undoes it is noted beside it, last first.
todo=
toundo=
do_tc() { todo="${todo}$*${newline}"; }
undo_tc() { toundo="$*${newline}${toundo}"; }

# run_tc LINES: sets said to tc's messages on one line.
run_tc() {
    said=$(
        tc -batch - 2>&1 << END
$1
END
    )
    status=$?
    [ -n "${said}" ] || return "${status}"
    said=$(
        IFS=${newline}
        set -f
        # shellcheck disable=SC2086 # split into lines, which are then joined by a space
        set -- ${said}
        IFS=' '
        printf '%s' "$*"
    )
    return "${status}"
}

undo_all() {
    todo_again=${toundo}
    toundo=
    run_tc "${todo_again}"
}

# empty_root DEVICE: no qdisc of ours or others is left below a new root. Kernels refuse
# to delete a default root and to change HTB's, so a pfifo takes the place first.
empty_root() {
    do_tc "qdisc replace dev $1 root pfifo"
    undo_tc "qdisc del dev $1 root"
}

# shape DEVICE BIT_S: HTB at that rate with the AQM below it.
shape() {
    empty_root "$1"
    do_tc "qdisc replace dev $1 root handle 1: htb default 1"
    undo_tc "qdisc replace dev $1 root pfifo"
    if [ "${burst_shaping}" = yes ]; then
        ceil_bit_s=$(($2 * burst_ceil_percent / 100))
        [ "${ceil_bit_s}" -gt "$2" ] || die "rate $2 bit/s is too high for this shell's 32-bit arithmetic"
        shaping="ceil ${ceil_bit_s}bit burst ${burst_size} cburst ${cburst_size}"
    else
        shaping="ceil $2bit"
    fi
    do_tc "class add dev $1 parent 1: classid 1:1 htb rate $2bit ${shaping} quantum ${htb_quantum_bytes}"
    do_tc "qdisc add dev $1 parent 1:1 handle 10: ${leaf_words}"
}

apply() {
    take_rate rate_down_mbps "${rate_down_mbps}"
    down_bit_s=${rate_bit_s}
    take_rate rate_up_mbps "${rate_up_mbps}"
    up_bit_s=${rate_bit_s}
    take_flag burst_shaping "${burst_shaping}"
    burst_shaping=${flag}
    # shellcheck disable=SC2086 # one word each; take_settings let no other characters in
    leaf_words=$(scheme_qdisc ${overrides}) || exit

    read -r _ _ _ psched_hz < /proc/net/psched
    [ "${psched_hz}" = "${psched_fine}" ] || printf 'router hook: warning: %s\n' \
        "timers tick at 0x${psched_hz} Hz instead of 0x${psched_fine}, so bursts are larger" >&2

    shape "${dev_down}" "${down_bit_s}"
    shape "${dev_up}" "${up_bit_s}"
    trap 'undo_all; exit 1' HUP INT TERM
    if run_tc "${todo}"; then
        [ -z "${said}" ] || printf 'router hook: tc: %s\n' "${said}" >&2
        return
    fi
    refusal=${said}
    requires=$(scheme_requires)
    undo_all
    die "tc refused ${aqm}, which needs ${requires}: ${refusal}" 1
}

undo() {
    empty_root "${dev_down}"
    empty_root "${dev_up}"
    run_tc "${todo}${toundo}" || die "tc could not restore the default queues: ${said}" 1
}

# ---- read back ---------------------------------------------------------------

# offload NAME: prints NAME's state in features, the text of ethtool -k, as JSON.
offload() {
    case ${features} in
        *"$1: on"*) printf 'true' ;;
        *"$1: off"*) printf 'false' ;;
        *) printf 'null' ;;
    esac
}

# offloads DEVICE: the three that let a queue see several packets as one.
offloads() {
    features=$(ethtool -k "$1" 2> /dev/null)
    printf '{"tso":'
    offload tcp-segmentation-offload
    printf ',"gso":'
    offload generic-segmentation-offload
    printf ',"gro":'
    offload generic-receive-offload
    printf '}'
}

# json_text TEXT: as a JSON string. tc prints neither quotes nor backslashes nor tabs.
json_text() {
    printf '"'
    rest=$1
    while :; do
        case ${rest} in
            *"${newline}"*)
                printf '%s\\n' "${rest%%"${newline}"*}"
                rest=${rest#*"${newline}"}
                ;;
            *) break ;;
        esac
    done
    printf '%s"' "${rest}"
}

# report DEVICE QDISCS CLASSES: one direction as JSON.
report() {
    read -r txqueuelen < "/sys/class/net/$1/tx_queue_len"
    printf '{"device":"%s","txqueuelen":%s,"offloads":' "$1" "${txqueuelen}"
    offloads "$1"
    printf ',"qdiscs":%s,"classes":' "$2"
    json_text "$3"
    printf '}'
}

# Classes are read as text: tc writes them as JSON only since iproute2 6.2, and only
# -r tells the bursts exactly, in ticks. `parent 1:` leaves out the flows that sfq and
# fq_codel show as classes, up to a thousand. In the text no line tells the device, so
# the one line about lo's qdisc parts the two devices.
read_back() {
    qdiscs=$(
        tc -s -d -j -batch - << END
qdisc show dev ${dev_down}
qdisc show dev ${dev_up}
END
    ) || die "tc could not show the qdiscs" 1
    classes=$(
        tc -s -d -r -batch - << END
class show dev ${dev_down} parent 1:
qdisc show dev lo
class show dev ${dev_up} parent 1:
END
    ) || die "tc could not show the classes" 1
    classes=${newline}${classes}${newline}
    case ${classes} in
        *"${newline}qdisc "*"${newline}qdisc "*) die "lo has several qdiscs on the router; expected one" 1 ;;
        *"${newline}qdisc "*) ;;
        *) die "tc did not show lo's qdisc on the router; is lo there?" 1 ;;
    esac
    classes_down=${classes%%"${newline}qdisc "*}
    classes_up=${classes#*"${newline}qdisc "}
    case ${classes_up} in # between the line about lo and the first class are lo's counters
        *"${newline}class "*) classes_up="class ${classes_up#*"${newline}class "}" ;;
        *) classes_up= ;;
    esac
    read -r kernel < /proc/sys/kernel/osrelease
    read -r psched < /proc/net/psched
    printf '{"format":1,"kernel":"%s","psched":"%s","directions":{"down":' "${kernel}" "${psched}"
    report "${dev_down}" "${qdiscs%%"${newline}"*}" "${classes_down}"
    printf ',"up":'
    report "${dev_up}" "${qdiscs#*"${newline}"}" "${classes_up}"
    printf '}}\n'
}

# ---- main --------------------------------------------------------------------

aqm=
rate_down_mbps=
rate_up_mbps=
overrides=
command=${1:-}
[ "$#" -eq 0 ] || shift
take_settings "$@"
check_device dev_down "${dev_down}"
check_device dev_up "${dev_up}"
[ "${dev_down}" != "${dev_up}" ] || die "dev_down and dev_up are both '${dev_up}'; name two devices"
case ${command} in
    apply) apply ;;
    read-back) read_back ;;
    undo) undo ;;
    *) die "unknown command '${command}'; known: apply, read-back, undo" ;;
esac

#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Puts the queue under test on the router, reads it back, removes it. The router's shell
# reads it after defaults.sh and read_back.sh (see on_router.sh):
#
#   apply SETTING… -- LINE…   tries the queues out, then has one tc do the lines; restores the
#                             default queues if it fails. flent_aqm/router/tc/words.py makes them
#   read-back SETTING…        prints what the kernel reports; see read_back for the form
#   undo                      restores the default queue of both devices
#
#   dev_down=D, dev_up=D      the devices that shape
#   ingress=ifb               makes dev_ifb, to which the lines redirect what arrives at dev_up
#   txqueuelen=PACKETS        of both shaped devices; set before the queues, which copy it
#   requires=TEXT             what the next queue takes, for messages
#   foreign=yes               the next queue is of the user's own kernel, so tc needn't know it
#   try=WORDS                 a queue, as for tc
#
# Plain POSIX sh, as BusyBox's ash runs it too. Few processes: each costs the lab 5 ms.
set -u

# Over ssh, PATH often lacks the folders of tc and ethtool.
PATH=${PATH}:/usr/sbin:/sbin
newline='
'

die() {
    printf 'router hook: %s\n' "$1" >&2
    exit "${2:-2}"
}

check_device() {
    case $2 in
        '' | . | .. | *[!A-Za-z0-9_.@-]*) die "$1: '$2' is not a valid name of a network device" ;;
        *) [ -d "/sys/class/net/$2" ] || die "$1: the router has no device '$2'" ;;
    esac
}

# run_tc LINES: runs them, and sets said to tc's messages on one line.
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

# try_out WORDS: tries the queue ${kind} on a temporary device, to find what kernel or tc lack before
# anything changes. A router that can make no such device skips this; if tc fails later,
# all is undone.
try_out() {
    probe=flent-probe
    case ${kind} in
        cake_mq) probe_queues='numtxqueues 2' ;; # it refuses devices with one queue
        *) probe_queues= ;;
    esac
    trap 'ip link del dev "${probe}"; exit 1' HUP INT TERM
    # shellcheck disable=SC2086 # several words
    ip link add dev "${probe}" ${probe_queues} type ifb 2> /dev/null ||
        ip link add dev "${probe}" ${probe_queues} type dummy 2> /dev/null || return 0
    run_tc "qdisc add dev ${probe} root handle 10: $1"
    status=$?
    ip link del dev "${probe}"
    [ "${status}" -eq 0 ] ||
        die "tc on the router refused '$1'; ${kind} needs ${requires}, and values that its kernel takes; nothing was changed: ${said}" 1
    [ "${foreign}" != yes ] || return 0
    # Old versions of tc pass an unknown name to the kernel if nothing follows it.
    case $(tc qdisc add dev lo root "${kind}" help 2>&1) in
        *[Uu]nknown*) die "the router's tc doesn't know ${kind}, which needs ${requires}; nothing was changed" 1 ;;
        *) ;;
    esac
}

# default_queues: removes the redirection, also that of an earlier run, and all queues.
# Kernels refuse to delete a default root, so a pfifo replaces it first.
default_queues() {
    no_redirect
    run_tc "qdisc replace dev ${dev_up} root pfifo
qdisc del dev ${dev_up} root
qdisc replace dev ${dev_down} root pfifo
qdisc del dev ${dev_down} root"
}

no_redirect() {
    [ -d "/sys/class/net/${dev_ifb}" ] || return 0
    tc qdisc del dev "${dev_up}" ingress 2> /dev/null
    ip link del dev "${dev_ifb}" || die "the router could not delete its device ${dev_ifb}" 1
}

# set_lengths DOWN UP: sets the queue lengths of the devices.
set_lengths() {
    [ "${ingress}" = ifb ] || printf '%s\n' "$1" > "/sys/class/net/${dev_down}/tx_queue_len"
    printf '%s\n' "$2" > "/sys/class/net/${dev_up}/tx_queue_len"
}

take_back() {
    default_queues
    # tc doesn't undo a queue length.
    [ -z "${txqueuelen}" ] || set_lengths "${length_down}" "${length_up}"
}

# apply LINE…
apply() {
    read -r _ _ _ psched_hz < /proc/net/psched
    [ "${psched_hz}" = "${psched_fine}" ] || printf 'router hook: warning: %s\n' \
        "timers tick at 0x${psched_hz} Hz instead of 0x${psched_fine}, so bursts are larger" >&2
    no_redirect
    read -r length_down < "/sys/class/net/${dev_down}/tx_queue_len"
    read -r length_up < "/sys/class/net/${dev_up}/tx_queue_len"
    trap 'take_back; exit 1' HUP INT TERM
    if [ "${ingress}" = ifb ]; then
        ip link add dev "${dev_ifb}" type ifb || die "ingress=ifb: the router could not add the IFB device ${dev_ifb}; does its kernel have CONFIG_IFB?" 1
        ip link set dev "${dev_ifb}" txqueuelen "${txqueuelen:-${ifb_txqueuelen}}" up
    fi
    [ -z "${txqueuelen}" ] || set_lengths "${txqueuelen}" "${txqueuelen}"
    lines=$(
        IFS=${newline}
        printf '%s' "$*"
    )
    if run_tc "${lines}"; then
        [ -z "${said}" ] || printf 'router hook: tc: %s\n' "${said}" >&2
        return
    fi
    refusal=${said}
    take_back
    # Which line it was is not known: some versions of tc count from 0.
    die "tc refused a line for ${asked}, or for the shaper or filters above it: ${refusal}" 1
}

# ---- main --------------------------------------------------------------------

ingress=lan
txqueuelen=
subscribers=
tc_json=
asked=
requires=
foreign=no
command=${1:-}
[ "$#" -eq 0 ] || shift
while [ "$#" -gt 0 ]; do
    case $1 in
        --) break ;;
        dev_down=*) dev_down=${1#*=} ;;
        dev_up=*) dev_up=${1#*=} ;;
        ingress=ifb) ingress=ifb ;;
        txqueuelen=*) txqueuelen=${1#*=} ;;
        subscribers=*) subscribers=${1#*=} ;;
        tc_json=*) tc_json=${1#*=} ;;
        requires=*) requires=${1#*=} ;;
        foreign=*) foreign=${1#*=} ;;
        try=*)
            kind=${1#*=}
            kind=${kind%% *}
            asked="${asked}${asked:+ and }${kind}, which needs ${requires}"
            # In a shell of its own for its trap
            (try_out "${1#*=}") || exit
            ;;
        *) die "unknown setting '$1'" ;;
    esac
    shift
done
check_device dev_down "${dev_down}"
check_device dev_up "${dev_up}"
[ "${dev_down}" != "${dev_up}" ] || die "dev_down and dev_up are both '${dev_up}'; name two devices"
case ${command} in
    apply)
        [ "$#" -gt 1 ] || die "apply: the lines for tc are missing"
        shift
        apply "$@"
        ;;
    read-back) read_back ;;
    undo) default_queues || die "tc could not restore the default queues: ${said}" 1 ;;
    *) die "unknown command '${command}'; known: apply, read-back, undo" ;;
esac

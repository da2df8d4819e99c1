#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Puts the queue under test on the router, reads it back, takes it away. on_router.sh
# has the router's shell read it after defaults.sh and schemes/NAME.sh:
#
#   apply name=value…   the settings below, and aqm_PARAMETER for a parameter of the AQM
#   read-back           prints what the kernel reports; see read_back for the form
#   undo                gives both devices their default queue
#
#   aqm, rate_down_mbps, rate_up_mbps, burst_shaping=yes|no, dev_down, dev_up
#   shaper=htb|tbf|cake|none     none: the AQM alone, for a slower link behind it
#   tiers=1|3                    with HTB: one queue, or one for EF, the rest, background
#   ingress=lan|ifb              where the download is shaped: on what leaves dev_down, or
#                                on what arrives at dev_up, redirected through dev_ifb
#   only=both|down|up            what is shaped; on_router.sh gives it where the upload has
#                                another queue (up_aqm), down before up
#   txqueuelen=PACKETS           of both shaped devices; before their queues, which copy it
#
#   client ── down [router] up ── server
#
#   on each device:  htb 1: ── 1:1 rate ── AQM 10:        tbf 1: ── 1:1 ── AQM 10:
#                    shaper=cake or none: AQM 10: at the root
#   three tiers:     htb 1: ── 1:1 rate ─┬─ 1:11 EF ── AQM 11:
#                                        ├─ 1:12 the rest ── AQM 12:
#                                        └─ 1:13 background ── AQM 13:
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
            shaper=*) shaper=${value} ;;
            tiers=*) tiers=${value} ;;
            ingress=*) ingress=${value} ;;
            txqueuelen=*) txqueuelen=${value} ;;
            tc_json=*) tc_json=${value} ;;
            only=*) only=${value} ;;
            dev_down=*) dev_down=${value} ;;
            dev_up=*) dev_up=${value} ;;
            dev_ifb=*) dev_ifb=${value} ;;
            aqm_*[!A-Za-z0-9_=.-]*) die "${setting}: expected letters, digits, dots and hyphens only" ;;
            aqm_?*=?*) overrides="${overrides} ${setting#aqm_}" ;;
            *) die "unknown setting '${setting}'; known: aqm, rate_down_mbps, rate_up_mbps, burst_shaping, shaper, tiers, ingress, txqueuelen, only, dev_down, dev_up, dev_ifb, aqm_PARAMETER" ;;
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

# one_of NAME VALUE KNOWN: dies unless VALUE is one of the words.
one_of() {
    case " $3 " in
        *" $2 "*) ;;
        *) die "$1: unknown value '$2'; known: $3" ;;
    esac
}

# given NAME name=value…: whether NAME is among them.
given() {
    wanted=$1
    shift
    for parameter in "$@"; do
        [ "${parameter%%=*}" != "${wanted}" ] || return 0
    done
    return 1
}

# leaf KIND KNOWN name=value…: what a scheme prints, tc's words for the leaf qdisc. KNOWN
# tells what becomes of a parameter: `name` of "name value", `name=*` of the value alone,
# `name=yes/no` of a switch.
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

# leaf_at DEVICE PLACE HANDLE: the AQM in that place (root, or parent and a class).
leaf_at() {
    do_tc "qdisc replace dev $1 $2 handle $3: ${leaf_words}"
    scheme_below "$1" "$3"
}

# htb_class DEVICE PARENT CLASS RATE_BIT_S CEIL_BIT_S [MORE]
htb_class() {
    do_tc "class add dev $1 parent $2 classid $3 htb rate $4bit ceil $5bit ${6:-} quantum ${htb_quantum_bytes}"
}

# one_tier DEVICE BIT_S: HTB with one class.
one_tier() {
    do_tc "qdisc replace dev $1 root handle 1: htb default 1"
    if [ "${burst_shaping}" = yes ]; then
        ceil_bit_s=$(($2 * burst_ceil_percent / 100))
        [ "${ceil_bit_s}" -gt "$2" ] || die "rate $2 bit/s is too high for this shell's 32-bit arithmetic"
        htb_class "$1" 1: 1:1 "$2" "${ceil_bit_s}" "burst ${burst_size} cburst ${cburst_size}"
    else
        htb_class "$1" 1: 1:1 "$2" "$2"
    fi
    leaf_at "$1" 'parent 1:1' 10
}

# three_tiers DEVICE BIT_S: EF never gets more than its part. Background gets its part when
# all want the rate, as the rest goes first with what is left; else it may have it all.
three_tiers() {
    # shellcheck disable=SC2017 # in this order it fits into 32 bits
    ef_bit_s=$(($2 / 100 * ef_percent))
    # shellcheck disable=SC2017 # in this order it fits into 32 bits
    background_bit_s=$(($2 / 100 * background_percent))
    do_tc "qdisc replace dev $1 root handle 1: htb default 12"
    htb_class "$1" 1: 1:1 "$2" "$2"
    htb_class "$1" 1:1 1:11 "${ef_bit_s}" "${ef_bit_s}" 'prio 1'
    htb_class "$1" 1:1 1:12 "$(($2 - ef_bit_s - background_bit_s))" "$2" 'prio 2'
    htb_class "$1" 1:1 1:13 "${background_bit_s}" "$2" 'prio 3'
    leaf_at "$1" 'parent 1:11' 11
    leaf_at "$1" 'parent 1:12' 12
    leaf_at "$1" 'parent 1:13' 13
    for dscp in ${ef_dscps}; do
        classify "$1" "${dscp}" 1:11
    done
    for dscp in ${background_dscps}; do
        classify "$1" "${dscp}" 1:13
    done
}

# classify DEVICE DSCP CLASS: by the byte in the header of IPv4 and of IPv6.
classify() {
    do_tc "filter add dev $1 parent 1: protocol ip prio 1 u32 match ip dsfield 0x$2 0xfc flowid $3"
    do_tc "filter add dev $1 parent 1: protocol ipv6 prio 2 u32 match ip6 priority 0x$2 0xfc flowid $3"
}

# token_bucket DEVICE BIT_S: TBF. Its limit is that of a queue that the AQM replaces.
token_bucket() {
    # shellcheck disable=SC2017 # in this order it fits into 32 bits
    burst=$(($2 / 1000 * tbf_burst_us / 8000))
    [ "${burst}" -gt "${tbf_min_burst_bytes}" ] || burst=${tbf_min_burst_bytes}
    do_tc "qdisc replace dev $1 root handle 1: tbf rate $2bit burst ${burst} limit ${burst}"
    leaf_at "$1" 'parent 1:1' 10
}

# shape DEVICE BIT_S: the shaper at that rate with the AQM below it.
shape() {
    # What is written here stays when something later fails; so it is noted, too.
    if [ -n "${txqueuelen}" ]; then
        before=${ifb_txqueuelen}
        [ "$1" = "${dev_ifb}" ] || read -r before < "/sys/class/net/$1/tx_queue_len"
        lengths="$1 ${before}${newline}${lengths}"
    fi
    leaf_bit_s=$2
    cake_bandwidth=unlimited
    [ "${shaper}" != cake ] || cake_bandwidth="bandwidth $2bit"
    # shellcheck disable=SC2086 # one word each; take_settings let no other characters in
    leaf_words=$(scheme_qdisc ${overrides}) || exit
    empty_root "$1"
    case ${shaper}${tiers} in
        htb1) one_tier "$1" "$2" ;;
        htb3) three_tiers "$1" "$2" ;;
        tbf1) token_bucket "$1" "$2" ;;
        *) leaf_at "$1" root 10 ;;
    esac
    undo_tc "qdisc replace dev $1 root pfifo"
}

check_settings() {
    take_rate rate_down_mbps "${rate_down_mbps}"
    down_bit_s=${rate_bit_s}
    take_rate rate_up_mbps "${rate_up_mbps}"
    up_bit_s=${rate_bit_s}
    take_flag burst_shaping "${burst_shaping}"
    burst_shaping=${flag}
    one_of shaper "${shaper}" 'htb tbf cake none'
    one_of tiers "${tiers}" '1 3'
    one_of ingress "${ingress}" 'lan ifb'
    one_of only "${only}" 'both down up'
    case ${shaper}${tiers}${burst_shaping} in
        htb1* | *1no | htb3no) ;;
        htb3yes) die 'tiers=3: goes without burst_shaping' ;;
        *3*) die "tiers=3: needs shaper=htb, not ${shaper}" ;;
        *) die "burst_shaping: needs shaper=htb, not ${shaper}" ;;
    esac
    [ "${shaper}" != cake ] || [ "${aqm}" = cake ] || die "shaper=cake: is AQM and shaper in one; give aqm=cake, not ${aqm}"
    case ${txqueuelen} in
        *[!0-9]* | ????????*) die "txqueuelen: '${txqueuelen}' is not a number of packets" ;;
        *) ;;
    esac
}

# try_out WORDS: puts the AQM onto a device of its own that is gone again afterwards, so
# that what kernel or tc lack is told before anything changes. A router that can make
# neither kind of device goes without, and undoes all when tc is refused later.
try_out() {
    probe=flent-probe
    trap 'ip link del dev "${probe}"; exit 1' HUP INT TERM
    ip link add dev "${probe}" type ifb 2> /dev/null ||
        ip link add dev "${probe}" type dummy 2> /dev/null || return 0
    run_tc "qdisc add dev ${probe} root handle 10: $1"
    status=$?
    ip link del dev "${probe}"
    [ "${status}" -eq 0 ] || {
        requires=$(scheme_requires)
        die "the router can't do ${aqm}, which needs ${requires}; nothing was changed: ${said}" 1
    }
    # Old versions of tc hand on a name that they don't know, if nothing follows it.
    case $(tc qdisc add dev lo root "${1%% *}" help 2>&1) in
        *[Uu]nknown*)
            requires=$(scheme_requires)
            die "the router's tc doesn't know ${1%% *}, which needs ${requires}; nothing was changed" 1
            ;;
        *) ;;
    esac
}

# redirect: what arrives at dev_up goes through dev_ifb, where it can be shaped.
redirect() {
    ip link add dev "${dev_ifb}" type ifb || die "ingress=ifb: the router can't make an IFB device (CONFIG_IFB)" 1
    ip link set dev "${dev_ifb}" txqueuelen "${ifb_txqueuelen}" up
    do_tc "qdisc add dev ${dev_up} handle ffff: ingress"
    do_tc "filter add dev ${dev_up} parent ffff: protocol all prio 1 u32 match u32 0 0 action mirred egress redirect dev ${dev_ifb}"
}

# no_redirect: removes what redirect made, from an earlier run, too.
no_redirect() {
    [ -d "/sys/class/net/${dev_ifb}" ] || return 0
    tc qdisc del dev "${dev_up}" ingress 2> /dev/null
    ip link del dev "${dev_ifb}" || die "the router could not delete its device ${dev_ifb}" 1
}

# set_lengths: of the devices in lengths, to txqueuelen; or back to what they had.
set_lengths() {
    rest=${lengths}
    while [ -n "${rest}" ]; do
        device=${rest%% *}
        before=${rest#* }
        [ ! -d "/sys/class/net/${device}" ] ||
            printf '%s\n' "${1:-${before%%"${newline}"*}}" > "/sys/class/net/${device}/tx_queue_len"
        rest=${rest#*"${newline}"}
    done
}

take_back() {
    undo_all
    [ "${ingress}" != ifb ] || no_redirect
    set_lengths
}

apply() {
    check_settings
    read -r _ _ _ psched_hz < /proc/net/psched
    [ "${psched_hz}" = "${psched_fine}" ] || printf 'router hook: warning: %s\n' \
        "timers tick at 0x${psched_hz} Hz instead of 0x${psched_fine}, so bursts are larger" >&2

    lengths=
    case ${only}${ingress} in
        up*) ;;
        *ifb)
            empty_root "${dev_down}"
            shape "${dev_ifb}" "${down_bit_s}"
            ;;
        *) shape "${dev_down}" "${down_bit_s}" ;;
    esac
    [ "${only}" = down ] || shape "${dev_up}" "${up_bit_s}"
    try_out "${leaf_words}"

    [ "${only}" = up ] || no_redirect
    trap 'take_back; exit 1' HUP INT TERM
    [ "${only}${ingress}" = upifb ] || [ "${ingress}" != ifb ] || redirect
    [ -z "${txqueuelen}" ] || set_lengths "${txqueuelen}"
    if run_tc "${todo}"; then
        [ -z "${said}" ] || printf 'router hook: tc: %s\n' "${said}" >&2
        return
    fi
    refusal=${said}
    requires=$(scheme_requires)
    take_back
    die "tc refused ${aqm}, which needs ${requires}: ${refusal}" 1
}

undo() {
    no_redirect
    empty_root "${dev_down}"
    empty_root "${dev_up}"
    run_tc "${todo}${toundo}" || die "tc could not restore the default queues: ${said}" 1
}

# ---- read back ---------------------------------------------------------------

# offload NAME: prints NAME's state in features, the text of ethtool -k.
offload() {
    case ${features} in
        *"$1: on"*) printf 'on' ;;
        *"$1: off"*) printf 'off' ;;
        *) printf 'unknown' ;;
    esac
}

# device_facts DEVICE: offloads let a queue see several packets as one; byte queue limits
# bound what the driver takes out of the queue.
device_facts() {
    read -r length < "/sys/class/net/$1/tx_queue_len"
    read -r mtu < "/sys/class/net/$1/mtu"
    features=$(ethtool -k "$1" 2> /dev/null)
    bql=none
    [ ! -r "/sys/class/net/$1/queues/tx-0/byte_queue_limits/limit" ] ||
        read -r bql < "/sys/class/net/$1/queues/tx-0/byte_queue_limits/limit"
    driver=none
    [ ! -e "/sys/class/net/$1/device" ] || driver=device
    tso=$(offload tcp-segmentation-offload)
    gso=$(offload generic-segmentation-offload)
    gro=$(offload generic-receive-offload)
    printf '@txqueuelen %s\n@mtu %s\n@bql %s\n@hardware %s\n@tso %s\n@gso %s\n@gro %s\n' \
        "${length}" "${mtu}" "${bql}" "${driver}" "${tso}" "${gso}" "${gro}"
}

# has_qdisc NAME HANDLE: whether qdiscs, JSON or text, have it.
has_qdisc() {
    case ${qdiscs} in
        *"\"kind\":\"$1\",\"handle\":\"$2\""* | *"qdisc $1 $2 "*) return 0 ;;
        *) return 1 ;;
    esac
}

# report ROLE DEVICE. Classes are read as text: tc writes them as JSON only since iproute2
# 6.2, and only -r tells bursts exactly, in ticks. Asked for by their parents, as sfq and
# fq_codel show flows as classes, up to a thousand. A tc without JSON knows no -j.
report() {
    printf '@device %s %s\n' "$1" "$2"
    device_facts "$2"
    qdiscs=
    [ "${tc_json}" = no ] || qdiscs=$(tc -s -d -j qdisc show dev "$2" 2> /dev/null) || qdiscs=
    [ -n "${qdiscs}" ] || qdiscs=$(tc -s -d qdisc show dev "$2") || die "tc could not show the qdiscs" 1
    todo=
    if has_qdisc htb 1:; then
        do_tc "class show dev $2 parent 1:"
        do_tc "filter show dev $2 parent 1:"
    fi
    for handle in 10: 11: 12: 13:; do
        has_qdisc drr "${handle}" || continue
        do_tc "class show dev $2 parent ${handle}"
        do_tc "filter show dev $2 parent ${handle}"
    done
    ! has_qdisc ingress ffff: || do_tc "filter show dev $2 parent ffff:"
    shown=
    [ -z "${todo}" ] || shown=$(printf '%s' "${todo}" | tc -s -d -r -batch -) || die "tc could not show the classes" 1
    printf '@qdiscs\n%s\n@classes\n%s\n' "${qdiscs}" "${shown}"
}

# read_back: lines that begin with @ tell what comes; the others are tc's own.
read_back() {
    read -r kernel < /proc/sys/kernel/osrelease
    read -r psched < /proc/net/psched
    tc_version=$(tc -V)
    # Named by a date, iproute2 is older than 5.10, and its JSON broken or not whole.
    case ${tc_version} in
        *iproute2-ss[0-9]*) tc_json=no ;;
        *) ;;
    esac
    printf '@format 2\n@kernel %s\n@psched %s\n@tc %s\n' "${kernel}" "${psched}" "${tc_version}"
    if [ -d "/sys/class/net/${dev_ifb}" ]; then
        report down "${dev_ifb}"
    else
        report down "${dev_down}"
    fi
    report up "${dev_up}"
    printf '@end\n'
}

# ---- main --------------------------------------------------------------------

aqm=
rate_down_mbps=
rate_up_mbps=
overrides=
shaper=htb
tiers=1
ingress=lan
txqueuelen=
only=both
tc_json=
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

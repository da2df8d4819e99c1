# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# What the hooks may change on a router: told as text, and put back from a plan. Read by
# the router's shell before survey.sh and session.sh; wants `devices`, the names of the
# devices that are measured, separated by blanks.

set -u
# Over ssh, PATH often lacks the folders of tc and ethtool.
PATH=${PATH}:/usr/sbin:/sbin
newline='
'

die() {
    printf 'router: %s\n' "$1" >&2
    exit 1
}

# check_devices: ends with a message unless all of `devices` are there.
check_devices() {
    for device in ${devices}; do
        case ${device} in
            . | .. | *[!A-Za-z0-9_.@-]*) die "'${device}' is not a valid name of a network device" ;;
            *) [ -d "/sys/class/net/${device}" ] || die "the router has no device '${device}'" ;;
        esac
    done
}

# All devices, so that those which a hook adds are known by being new.
show_links() {
    for path in /sys/class/net/*; do
        printf '@link %s\n' "${path##*/}"
    done
}

# What stays the same as long as nothing was changed: counters and the numbers that the
# kernel gives out are left out.
show_tc() {
    tc "$@" 2> /dev/null | sed -e 's/ refcnt [0-9]*//' -e 's/ direct_packets_stat [0-9]*//' \
        -e 's/[[:space:]]index [0-9]* ref [0-9]* bind [0-9]*//' -e 's/[[:space:]]*$//'
}

# Filters hang on qdiscs and on classes, and tc lists those of one parent at a time.
show_filters() {
    {
        tc qdisc show dev "$1" | while read -r _ kind handle _; do
            case ${kind}:${handle} in
                ingress:*) printf 'ingress\n' ;;
                clsact:*) printf 'ingress\negress\n' ;;
                *:0:) ;;
                *) printf 'parent %s\n' "${handle}" ;;
            esac
        done
        tc class show dev "$1" | while read -r _ kind handle _; do
            [ "${kind}" != htb ] || printf 'parent %s\n' "${handle}"
        done
    } | while read -r where handle; do
        printf '@filter %s\n' "${where}${handle:+ }${handle}"
        # shellcheck disable=SC2086 # no word where there is no handle
        show_tc filter show dev "$1" "${where}" ${handle}
    done
}

# show_state: prints the state of all devices, to be read by router_state.py and to be
# compared with later. The order of tc's lines is not part of it.
show_state() {
    read -r psched < /proc/net/psched
    version=$(tc -V)
    printf '@tc %s\n@psched %s\n' "${version}" "${psched}"
    show_links
    for device in ${devices}; do
        printf '@device %s\n' "${device}"
        read -r length < "/sys/class/net/${device}/tx_queue_len"
        printf '@txqueuelen %s\n@qdisc\n' "${length}"
        show_tc -d qdisc show dev "${device}" | sort
        printf '@class\n'
        # Those of queues by flow come and go with the packets. -r: bursts in ticks, too, as
        # bytes are rounded.
        show_tc -d -r class show dev "${device}" | sed -e 's/buffer \[\([0-9a-f]*\)\]/buffer \1/g' -e '/^class cake /d' -e '/^class fq_codel /d' \
            -e '/^class sfq /d' -e '/^class fq_pie /d' | sort
        show_filters "${device}"
        printf '@offload\n'
        ethtool -k "${device}" 2> /dev/null | sed -n -e 's/^[[:space:]]*//' \
            -e '/^tx-tcp[a-z0-9-]*-segmentation: o[nf]*$/p' \
            -e '/^generic-segmentation-offload: o[nf]*$/p' \
            -e '/^generic-receive-offload: o[nf]*$/p'
    done
}

# ---- putting back ------------------------------------------------------------

# clear_device DEVICE: no qdisc but the kernel's default is left. Kernels refuse to delete
# a default root, so a pfifo takes the place first.
clear_device() {
    tc qdisc replace dev "$1" root pfifo 2> /dev/null
    tc qdisc del dev "$1" root 2> /dev/null
    tc qdisc del dev "$1" clsact 2> /dev/null
    tc qdisc del dev "$1" ingress 2> /dev/null
}

# remove_new_ifbs LINKS: IFB devices that LINKS, the lines of show_links, doesn't list. A
# kernel that loads the module makes ifb0 and ifb1.
remove_new_ifbs() {
    for path in /sys/class/net/ifb* /sys/class/net/flent-*; do
        name=${path##*/}
        [ -d "${path}" ] || continue
        case "${newline}$1${newline}" in
            *"${newline}@link ${name}${newline}"*) ;;
            *) ip link del dev "${name}" ;;
        esac
    done
}

# put_lengths PLAN: of the transmit queues.
put_lengths() {
    while read -r verb device length _; do
        [ "${verb}" != txqueuelen ] ||
            printf '%s\n' "${length}" > "/sys/class/net/${device}/tx_queue_len"
    done < "$1"
}

# put_back PLAN LINKS: carries out the plan, a file of lines as restore_plan.py writes
# them. Goes on after an error; what it couldn't do shows when states are compared.
put_back() {
    # Lengths and offloads first, as a new queue may take over the length.
    put_lengths "$1"
    while read -r verb device name value; do
        [ "${verb}" != offload ] || ethtool -K "${device}" "${name}" "${value}" > /dev/null
    done < "$1"
    for device in ${devices}; do
        clear_device "${device}"
    done
    remove_new_ifbs "$2"
    sed -n 's/^tc //p' "$1" | tc -force -batch -
}

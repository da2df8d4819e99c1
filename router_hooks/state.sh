# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Prints the state that hooks may change on a router, and restores it from a plan. Read by
# the router's shell before probe.sh, session.sh and server.sh. Needs ${devices}, the names
# of the measured devices, separated by blanks.

set -u
# Over ssh, PATH often lacks the folders of tc and ethtool.
PATH=${PATH}:/usr/sbin:/sbin
newline='
'

die() {
    printf 'host: %s\n' "$1" >&2
    exit 1
}

# check_devices: dies unless the router has all of ${devices}.
check_devices() {
    for device in ${devices}; do
        case ${device} in
            . | .. | *[!A-Za-z0-9_.@-]*) die "'${device}' is not a valid name of a network device" ;;
            *) [ -d "/sys/class/net/${device}" ] || die "this host has no device '${device}'" ;;
        esac
    done
}

# Lists all devices, so that devices which a hook adds can be recognised.
show_links() {
    for path in /sys/class/net/*; do
        printf '@link %s\n' "${path##*/}"
    done
}

# Prints what stays the same while nobody changes it: without counters and without numbers
# that the kernel assigns.
show_tc() {
    tc "$@" 2> /dev/null | sed -e 's/ refcnt [0-9]*//' -e 's/ direct_packets_stat [0-9]*//' \
        -e 's/[[:space:]]index [0-9]* ref [0-9]* bind [0-9]*//' -e 's/[[:space:]]*$//'
}

# Filters belong to qdiscs and classes, and tc lists those of one parent at a time.
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
            [ "${kind}" != htb ] && [ "${kind}" != hfsc ] || printf 'parent %s\n' "${handle}"
        done
    } | while read -r where handle; do
        printf '@filter %s\n' "${where}${handle:+ }${handle}"
        # shellcheck disable=SC2086 # no word where there is no handle
        show_tc filter show dev "$1" "${where}" ${handle}
    done
}

# show_state: prints the state of all devices, for flent_aqm/parts/ssh/restore.py and to be
# compared later. Lines of tc are sorted, as their order may change.
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
        # Without classes that stand for flows, which come and go. -r: bursts also in ticks,
        # as bytes are rounded.
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

# ---- restoring ---------------------------------------------------------------

# clear_device DEVICE: leaves only the kernel's default qdisc. Kernels refuse to delete a
# default root, so a pfifo replaces it first.
clear_device() {
    tc qdisc replace dev "$1" root pfifo 2> /dev/null
    tc qdisc del dev "$1" root 2> /dev/null
    tc qdisc del dev "$1" clsact 2> /dev/null
    tc qdisc del dev "$1" ingress 2> /dev/null
}

# remove_new_ifbs LINKS: removes IFB devices that LINKS, the lines of show_links, don't
# list. A kernel that loads the module adds ifb0 and ifb1.
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

# put_lengths PLAN: sets the lengths of the transmit queues.
put_lengths() {
    while read -r verb device length _; do
        [ "${verb}" != txqueuelen ] ||
            printf '%s\n' "${length}" > "/sys/class/net/${device}/tx_queue_len"
    done < "$1"
}

# put_back PLAN LINKS: executes the plan, a file that flent_aqm/parts/ssh/restore.py has written.
# Goes on after an error; the comparison of states will show it.
put_back() {
    # Lengths and offloads first, as a new queue may copy the length.
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

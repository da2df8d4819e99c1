# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Prints what the kernel reports, for flent_aqm/router/tc/read_back.py. Read by the router's
# shell before router.sh, which calls read_back.

# offload NAME: sets state to NAME's state in ${features}, the output of ethtool -k.
offload() {
    case ${features} in
        *"$1: on"*) state=on ;;
        *"$1: off"*) state=off ;;
        *) state=unknown ;;
    esac
}

# device_facts DEVICE: prints what affects its queue. With offloads, a queue sees several
# packets as one; byte queue limits bound what the driver takes out of the queue. The number
# of queues is printed if there are several.
device_facts() {
    read -r length < "/sys/class/net/$1/tx_queue_len"
    read -r mtu < "/sys/class/net/$1/mtu"
    features=$(ethtool -k "$1" 2> /dev/null)
    bql=none
    [ ! -r "/sys/class/net/$1/queues/tx-0/byte_queue_limits/limit" ] ||
        read -r bql < "/sys/class/net/$1/queues/tx-0/byte_queue_limits/limit"
    driver=none
    [ ! -e "/sys/class/net/$1/device" ] || driver=device
    printf '@txqueuelen %s\n@mtu %s\n@bql %s\n@hardware %s\n' "${length}" "${mtu}" "${bql}" "${driver}"
    offload tcp-segmentation-offload
    printf '@tso %s\n' "${state}"
    offload generic-segmentation-offload
    printf '@gso %s\n' "${state}"
    offload generic-receive-offload
    printf '@gro %s\n' "${state}"
    set -- "/sys/class/net/$1/queues/tx-"*
    [ "$#" -eq 1 ] || printf '@queues %s\n' "$#"
}

# has_qdisc NAME HANDLE: true if ${qdiscs}, JSON or text, have it.
has_qdisc() {
    case ${qdiscs} in
        *"\"kind\":\"$1\",\"handle\":\"$2\""* | *"qdisc $1 $2 "*) return 0 ;;
        *) return 1 ;;
    esac
}

# json_of DEVICE DEVICE: sets json_down and json_up to their qdiscs. One tc prints both, one
# line each; any other output is ignored.
json_of() {
    json_down=
    json_up=
    [ "${tc_json}" != no ] || return 0
    both=$(
        tc -s -d -j -batch - 2> /dev/null << END
qdisc show dev $1
qdisc show dev $2
END
    ) || return 0
    case ${both} in
        *"${newline}"*"${newline}"*) ;;
        *"${newline}"*)
            json_down=${both%"${newline}"*}
            json_up=${both#*"${newline}"}
            ;;
        *) ;;
    esac
}

# Lines that one tc runs later.
todo=
do_tc() { todo="${todo}$*${newline}"; }

# report ROLE DEVICE JSON: prints one device. Classes are read as text: tc prints them as JSON
# only since iproute2 6.2, and only -r shows exact bursts, in ticks. They are listed by parent,
# as sfq and fq_codel show up to a thousand flows as classes. Old versions of tc have no -j.
report() {
    printf '@device %s %s\n' "$1" "$2"
    device_facts "$2"
    qdiscs=$3
    [ -n "${qdiscs}" ] || [ "${tc_json}" = no ] || qdiscs=$(tc -s -d -j qdisc show dev "$2" 2> /dev/null) || qdiscs=
    [ -n "${qdiscs}" ] || qdiscs=$(tc -s -d qdisc show dev "$2") || die "tc could not show the qdiscs of $2" 1
    todo=
    if has_qdisc htb 1: || has_qdisc hfsc 1:; then
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
    [ -z "${todo}" ] || shown=$(printf '%s' "${todo}" | tc -s -d -r -batch -) || die "tc could not show the classes and filters of $2" 1
    printf '@qdiscs\n%s\n@classes\n%s\n' "${qdiscs}" "${shown}"
}

# report_many ROLE DEVICE: for a thousand queues tc prints megabytes, too much for a shell to
# search; so its output is passed through.
report_many() {
    printf '@device %s %s\n' "$1" "$2"
    device_facts "$2"
    printf '@qdiscs\n'
    if [ "${tc_json}" = no ]; then
        tc -s -d qdisc show dev "$2"
    else
        tc -s -d -j qdisc show dev "$2"
    fi || die "tc could not show the qdiscs of $2" 1
    printf '\n@classes\n'
    tc -s -d -r -batch - << END || die "tc could not show the classes and filters of $2" 1
class show dev $2 parent 1:
filter show dev $2 parent 1:
END
}

# read_back: lines that begin with @ are headings and facts; the others come from tc.
read_back() {
    read -r kernel < /proc/sys/kernel/osrelease
    read -r psched < /proc/net/psched
    tc_version=$(tc -V)
    # Versions named by a date are older than 5.10; their JSON is broken or incomplete.
    case ${tc_version} in
        *iproute2-ss[0-9]*) tc_json=no ;;
        *) ;;
    esac
    printf '@format 2\n@kernel %s\n@psched %s\n@tc %s\n' "${kernel}" "${psched}" "${tc_version}"
    [ ! -d "/sys/class/net/${dev_ifb}" ] || dev_down=${dev_ifb}
    if [ -n "${subscribers}" ]; then
        report_many down "${dev_down}"
        report_many up "${dev_up}"
    else
        json_of "${dev_down}" "${dev_up}"
        report down "${dev_down}" "${json_down}"
        report up "${dev_up}" "${json_up}"
    fi
    printf '@end\n'
}

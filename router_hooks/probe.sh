# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Prints what a router is and supports, as lines `name value` for probe.py. Changes
# nothing: queues are tried in a temporary network namespace (the kernel may load their
# modules). Read by the router's shell after defaults.sh and state.sh:
#
#   route=ADDRESS …   tells the device through which the router reaches the address
#   kind=KIND …       tells whether kernel and tc support this qdisc; or u32 or flow, the
#                     filters; or ifb, the device and the redirection to it

# value_after WORD TEXT: sets value to the word after WORD in TEXT, else to nothing.
value_after() {
    value=
    case " $2 " in
        *" $1 "*)
            value="$2 "
            value=${value#*" $1 "}
            value=${value%% *}
            ;;
        *) ;;
    esac
}

# tell_route NAME ADDRESS: prints the device, if there is a route.
tell_route() {
    case $2 in
        *%*) value=${2#*%} ;; # link-local IPv6 ends with its device
        *)
            route=$(ip route get "$2" 2> /dev/null)
            value_after dev "${route}"
            ;;
    esac
    [ -z "${value}" ] || printf 'route %s %s\n' "$1" "${value}"
}

# words_of KIND: sets words to the options that tc requires for it, if any.
words_of() {
    case $1 in
        tbf) words='rate 1mbit burst 5kb latency 70ms' ;;
        red) words='limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10mbit' ;;
        *) words= ;;
    esac
}

# in_namespace COMMAND…: runs it in a network namespace; 125 if none can be made.
in_namespace() {
    if unshare -n true 2> /dev/null; then
        unshare -n "$@"
    elif ip netns add flent-aqm-probe 2> /dev/null; then
        ip netns exec flent-aqm-probe "$@"
        status=$?
        ip netns del flent-aqm-probe
        return "${status}"
    else
        return 125
    fi
}

# has_module NAME: true if files show that the kernel has it, loaded or not.
has_module() {
    [ -d "/sys/module/$1" ] && return
    grep -q "/$1\\.ko" "/lib/modules/${kernel}/modules.builtin" "/lib/modules/${kernel}/modules.dep" 2> /dev/null && return
    for file in "/lib/modules/${kernel}/$1.ko"*; do # OpenWrt's has no subfolders
        [ ! -e "${file}" ] || return 0
    done
    return 1
}

# answer KIND STATUS MODULE: prints `kind KIND yes`, or `no` and the reason in ${said}.
answer() {
    if [ "$2" -eq 0 ]; then
        printf 'kind %s yes\n' "$1"
    elif [ "$2" -ne 125 ]; then
        printf 'kind %s no its kernel refuses it: %s\n' "$1" "${said%%"${newline}"*}"
    elif [ "$1" = pfifo ] || [ "$1" = bfifo ] || has_module "$3"; then
        printf 'kind %s yes\n' "$1"
    else
        printf 'kind %s no its kernel has no module of that name\n' "$1"
    fi
}

# tell_part KIND: tries a filter or the IFB device.
tell_part() {
    module=cls_$1
    case $1 in
        u32) trial='tc qdisc add dev lo root handle 1: htb && tc filter add dev lo parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:1' ;;
        flow) trial='tc qdisc add dev lo root handle 1: htb && tc filter add dev lo parent 1: protocol all prio 1 handle 1 flow hash keys src,dst divisor 64 baseclass 1:1' ;;
        *)
            module=$1
            trial='tc qdisc add dev lo handle ffff: ingress && tc filter add dev lo parent ffff: protocol all prio 1 u32 match u32 0 0 action mirred egress redirect dev lo'
            # Loading its module adds two devices that would stay. So try to add one only if
            # the module is loaded, built in, or missing.
            found=
            for path in /sys/class/net/ifb* /sys/module/ifb; do
                [ ! -d "${path}" ] || found=yes
            done
            [ -z "${found}" ] && has_module ifb || trial="ip link add flent-probe type ifb && ${trial}"
            ;;
    esac
    said=$(in_namespace sh -c "${trial}" 2>&1)
    answer "$1" "$?" "${module}"
}

# tell_kind KIND: tries a qdisc.
tell_kind() {
    words_of "$1"
    # tc parses its arguments before it asks the kernel.
    case $(tc qdisc add dev lo root "$1" help 2>&1) in
        *'Unknown qdisc'*)
            printf 'kind %s no its tc does not know this queue\n' "$1"
            return
            ;;
        *) ;;
    esac
    if [ "$1" = cake_mq ]; then # from CAKE's module; needs several queues
        said=$(in_namespace sh -c 'ip link add dev flent-probe numtxqueues 2 type dummy &&
            tc qdisc add dev flent-probe root cake_mq' 2>&1)
        answer "$1" "$?" sch_cake
        return
    fi
    # shellcheck disable=SC2086 # split into words
    said=$(in_namespace tc qdisc add dev lo root "$1" ${words} 2>&1)
    answer "$1" "$?" "sch_$1"
}

# tell_link NAME: its state, queue length, driver, BQL, and lower devices (a bridge's ports).
tell_link() {
    path=/sys/class/net/$1
    lower=
    for below in "${path}"/lower_*; do
        [ ! -e "${below}" ] || lower="${lower}${lower:+,}${below##*/lower_}"
    done
    read -r state < "${path}/operstate"
    read -r length < "${path}/tx_queue_len"
    driver=$(readlink "${path}/device/driver")
    bql=no
    [ ! -e "${path}/queues/tx-0/byte_queue_limits/limit" ] || bql=yes
    printf 'link %s %s %s %s %s %s\n' "$1" "${state}" "${length}" "${driver##*/}-" "${bql}" "${lower}-"
}

read -r kernel < /proc/sys/kernel/osrelease
uid=$(id -u)
version=$(tc -V 2> /dev/null)
json=no
case $(tc -j qdisc show dev lo 2> /dev/null) in
    '['*) json=yes ;;
    *) ;;
esac
psched=
read -r psched < /proc/net/psched
model=
for file in /tmp/sysinfo/model /proc/device-tree/model /sys/class/dmi/id/product_name; do
    [ -n "${model}" ] || [ ! -r "${file}" ] || read -r model < "${file}" || :
done
# shellcheck source=/dev/null
system=$([ ! -r /etc/os-release ] || { . /etc/os-release && printf '%s' "${PRETTY_NAME:-}"; })
free_kb=$(df -k "${state_folder%/*}" 2> /dev/null | awk 'END { print $(NF - 2) }')
if [ -d "${state_folder}" ]; then
    read -r holder < "${state_folder}/holder" || :
fi 2> /dev/null
sqm=no
for file in /var/run/sqm/*.state; do
    [ ! -x /etc/init.d/sqm ] || [ ! -e "${file}" ] || sqm=yes
done
command -v ethtool > /dev/null && ethtool=yes || ethtool=no

printf 'format 1\nuid %s\nkernel %s\npsched %s\ntc %s\njson %s\nethtool %s\nfree_kb %s\nsqm %s\n' \
    "${uid}" "${kernel}" "${psched}" "${version}" "${json}" "${ethtool}" "${free_kb}" "${sqm}"
printf 'model %s\nsystem %s\nholder %s\n' "${model}" "${system}" "${holder:-}"
# The device that carries this ssh connection.
ssh=${SSH_CONNECTION:-}
tell_route management "${ssh%% *}"
for path in /sys/class/net/*; do
    [ ! -d "${path}" ] || tell_link "${path##*/}"
done
for setting in "$@"; do
    case ${setting} in
        route=*) tell_route "${setting#route=}" "${setting#route=}" ;;
        kind=u32 | kind=flow | kind=ifb) tell_part "${setting#kind=}" ;;
        kind=*) tell_kind "${setting#kind=}" ;;
        *) ;;
    esac
done
printf 'end\n'

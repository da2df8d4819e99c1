# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Sets up one node of a topology, in its namespace: node.sh NAME router|host|serving|far DEVICE…

set -eu
. "$GUEST_DIR/devices.sh"
. "$GUEST_DIR/serving.sh"

node=$1
kind=$2
shift 2

no_address_detection
if [ "$kind" = router ] || [ "$#" -gt 1 ]; then
    echo 1 >/proc/sys/net/ipv4/ip_forward
    echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
fi
ip -batch "/run/lab/topology/$node"
if [ "$kind" = router ] || [ "$#" -gt 1 ]; then
    no_offloads "$@"
else
    host_card "$node"
fi
if [ "$kind" != router ]; then
    host_tcp
elif [ -n "${NAT:-}" ]; then
    iptables-legacy -t nat -A POSTROUTING -o up -j MASQUERADE || {
        echo "NAT needs the program iptables-legacy, and a kernel that can translate addresses:" \
            "flent-aqm kernel build nat --config nat"
        exit 1
    }
fi
case $kind in
far)
    delay_of eth0 "$HALF_DELAY_US"
    start_servers
    ;;
serving) start_servers ;;
*) ;;
esac

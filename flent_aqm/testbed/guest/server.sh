# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# The server's network, the added base delay, and the servers asked for.

set -eu
. "$GUEST_DIR/devices.sh"
. "$GUEST_DIR/serving.sh"

no_address_detection
ip -batch - <<END
link set dev lo up
addr add $SERVER_IPV4/24 dev eth0
addr add $SERVER_IPV6/64 dev eth0 nodad
link set dev eth0 up
route add default via $ROUTER_UP_IPV4
route add default via $ROUTER_UP_IPV6 dev eth0
END
host_end eth0

if [ -n "${DEST2_IPV4:-}" ]; then
    echo 1 >/proc/sys/net/ipv4/ip_forward
    echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
    ip -batch - <<END
addr add $SERVER_DEST2_IPV4/24 dev dest2
addr add $SERVER_DEST2_IPV6/64 dev dest2 nodad
link set dev dest2 up
END
    ethtool -K dest2 tso off gso off gro off >/dev/null
fi
delay_of eth0 "$HALF_DELAY_US"
start_servers

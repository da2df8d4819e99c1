# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Sets up the router's network: forwarding, no offloads.

set -eu
. "$GUEST_DIR/devices.sh"

no_address_detection
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding

ip -batch - <<END
link set dev lo up
addr add $ROUTER_DOWN_IPV4/24 dev down
addr add $ROUTER_DOWN_IPV6/64 dev down nodad
addr add $ROUTER_UP_IPV4/24 dev up
addr add $ROUTER_UP_IPV6/64 dev up nodad
link set dev down up
link set dev up up
$(neighbour down 02:00:00:00:01:02 "$CLIENT_IPV4" "$CLIENT_IPV6")
$(neighbour up 02:00:00:00:02:02 "$SERVER_IPV4" "$SERVER_IPV6")
END
no_offloads down up
slow_cards "${ROUTER_CARDS:-}"
if [ -n "${DEST2_IPV4:-}" ] && [ -n "${DEST2_IPV6:-}" ]; then
    ip -batch - <<END
route add $DEST2_IPV4/32 via $SERVER_IPV4
route add $DEST2_IPV6/128 via $SERVER_IPV6 dev up
END
fi

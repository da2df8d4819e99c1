# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Sets up the server's network and the base delay, and starts the required servers.

set -eu
. "$GUEST_DIR/devices.sh"
. "$GUEST_DIR/serving.sh"

end_host server "$SERVER_IPV4" "$SERVER_IPV6" "$ROUTER_UP_IPV4" "$ROUTER_UP_IPV6" 02:00:00:00:02:01
slow_cards "${SERVER_CARDS:-}"
if [ -n "${DEST2_IPV4:-}" ] && [ -n "${DEST2_IPV6:-}" ]; then
    echo 1 >/proc/sys/net/ipv4/ip_forward
    echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
    ip -batch - <<END
addr add $SERVER_DEST2_IPV4/24 dev dest2
addr add $SERVER_DEST2_IPV6/64 dev dest2 nodad
link set dev dest2 up
$(neighbour dest2 02:00:00:00:04:02 "$DEST2_IPV4" "$DEST2_IPV6")
END
    no_offloads dest2
fi
# With a delay, packets wait in netem's queue instead.
[ "$((HALF_DELAY_US + ${REORDER_US:-0}))" -gt 0 ] || sender_waits "${SERVER_CARDS:-}"
delay_of eth0 "$HALF_DELAY_US"
start_servers

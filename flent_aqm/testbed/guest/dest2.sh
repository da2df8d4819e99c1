# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# The second server, behind the first one, and that much farther away. Run in its namespace.

set -eu
. "$GUEST_DIR/devices.sh"
. "$GUEST_DIR/serving.sh"

no_address_detection
ip -batch - <<END
link set dev lo up
addr add $DEST2_IPV4/24 dev eth0
addr add $DEST2_IPV6/64 dev eth0 nodad
link set dev eth0 up
route add default via $SERVER_DEST2_IPV4
route add default via $SERVER_DEST2_IPV6 dev eth0
END
host_end eth0
delay_of eth0 "$DEST2_HALF_DELAY_US"
start_servers

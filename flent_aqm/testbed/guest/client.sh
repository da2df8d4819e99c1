# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# The client's network, and the namespaces and links of the others. MAC addresses are
# fixed, so that they are the same in every capture.

set -eu
. "$GUEST_DIR/devices.sh"

ip -batch - <<END
netns add router
netns add server
link add name eth0 address 02:00:00:00:01:02 type veth peer name down address 02:00:00:00:01:01 netns router
link add name up address 02:00:00:00:02:01 netns router type veth peer name eth0 address 02:00:00:00:02:02 netns server
END
no_address_detection
ip -batch - <<END
link set dev lo up
addr add $CLIENT_IPV4/24 dev eth0
addr add $CLIENT_IPV6/64 dev eth0 nodad
link set dev eth0 up
route add default via $ROUTER_DOWN_IPV4
route add default via $ROUTER_DOWN_IPV6 dev eth0
END
host_end eth0

# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Sets up the client's network, and the namespaces and links of the other hosts. MAC
# addresses are fixed, so every capture has the same ones.

set -eu
. "$GUEST_DIR/devices.sh"

# With TX_QUEUES the router's devices have several transmit queues, and their peers as many receive
# queues. The router has one receive queue, so it chooses a transmit queue by the flow's hash.
router_side=${TX_QUEUES:+numtxqueues $TX_QUEUES numrxqueues 1}
other_side=${TX_QUEUES:+numtxqueues 1 numrxqueues $TX_QUEUES}
between_router_and_server="
link add name up $router_side address 02:00:00:00:02:01 netns router type veth peer name eth0 $other_side address 02:00:00:00:02:02 netns server
"
[ -z "${MODEM:-}" ] || between_router_and_server="
netns add modem
link add name up $router_side address 02:00:00:00:02:01 netns router type veth peer name lan $other_side address 02:00:00:00:03:01 netns modem
link add name wan address 02:00:00:00:03:02 netns modem type veth peer name eth0 address 02:00:00:00:02:02 netns server
"
behind_server=
[ -z "${DEST2_IPV4:-}" ] || behind_server="
netns add dest2
link add name dest2 address 02:00:00:00:04:01 netns server type veth peer name eth0 address 02:00:00:00:04:02 netns dest2
"
end_host client "$CLIENT_IPV4" "$CLIENT_IPV6" "$ROUTER_DOWN_IPV4" "$ROUTER_DOWN_IPV6" 02:00:00:00:01:01 "
netns add router
netns add server
link add name eth0 $other_side address 02:00:00:00:01:02 type veth peer name down $router_side address 02:00:00:00:01:01 netns router
$between_router_and_server
$behind_server"
! is_far "$((HALF_DELAY_US + ${DEST2_HALF_DELAY_US:-0}))" || very_patient
slow_cards "${CLIENT_CARDS:-}"
sender_waits "${CLIENT_CARDS:-}"

# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Sets up the modem: it forwards each packet from one device to the other unchanged, through what
# $MODEM puts there. It has no addresses. Runs in its namespace.
#
#   router up ── lan [modem] wan ── server eth0

set -eu
. "$GUEST_DIR/devices.sh"

no_address_detection
ip -batch - <<END
link set dev lo up
link set dev lan up
link set dev wan up
END
no_offloads lan wan
# shellcheck disable=SC2034  # for a model of the path
STEP=modem
# shellcheck source=/dev/null
. "$GUEST_DIR/$MODEM"
# A packet from the server still counts as unsent by its socket: a packet is taken off that
# account where it enters a host or a router, and here it is only passed on. TCP small queues, or
# a full socket buffer, would hold back what the server sends as long as packets wait in the
# modem. A copy has no socket, and the original ends here.
tc -batch - <<END
qdisc add dev lan clsact
filter add dev lan ingress matchall action mirred egress redirect dev wan
qdisc add dev wan clsact
filter add dev wan ingress matchall action mirred egress mirror dev lan drop
END

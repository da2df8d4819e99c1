# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Sets up the modem: it forwards each packet from one device to the other unchanged, through a
# shaper with a drop-tail queue, or through a link that follows a schedule. It has no
# addresses. Runs in its namespace.
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
if [ -n "${LINK_UP:-}" ]; then
    plays_schedule "$LINK_DOWN" "$LINK_UP"
else
    tc -batch - <<END
qdisc add dev lan root tbf rate ${MODEM_DOWN_BIT_S}bit burst $MODEM_DOWN_BURST_BYTES limit $MODEM_DOWN_BUFFER_BYTES
qdisc add dev wan root tbf rate ${MODEM_UP_BIT_S}bit burst $MODEM_UP_BURST_BYTES limit $MODEM_UP_BUFFER_BYTES
END
fi
tc -batch - <<END
qdisc add dev lan clsact
filter add dev lan ingress matchall action mirred egress redirect dev wan
qdisc add dev wan clsact
filter add dev wan ingress matchall action mirred egress redirect dev lan
END

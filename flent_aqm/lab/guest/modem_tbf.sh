# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# The modem's drop-tail queues.

tc -batch - <<END
qdisc add dev lan root tbf rate ${MODEM_DOWN_BIT_S}bit burst $MODEM_DOWN_BURST_BYTES limit $MODEM_DOWN_BUFFER_BYTES
qdisc add dev wan root tbf rate ${MODEM_UP_BIT_S}bit burst $MODEM_UP_BURST_BYTES limit $MODEM_UP_BUFFER_BYTES
END

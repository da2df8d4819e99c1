# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Sets up the second server, which is behind the first one, with its own additional delay. Runs in
# its namespace.

set -eu
. "$GUEST_DIR/devices.sh"
. "$GUEST_DIR/serving.sh"

end_host dest2 "$DEST2_IPV4" "$DEST2_IPV6" "$SERVER_DEST2_IPV4" "$SERVER_DEST2_IPV6" \
    02:00:00:00:04:01
delay_of eth0 "$DEST2_HALF_DELAY_US"
start_servers

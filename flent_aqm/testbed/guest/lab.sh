# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# In the lab's guest, whose first process (init.pl) has mounted all file systems: what
# inside.sh has. The file `uptime` in out/ is written, too.

set -u

fail() {
    echo "flent-aqm-guest: $*"
    exit 1
}

# shellcheck source=/dev/null
. /run/lab/settings.sh || fail "can't read settings.sh"
. "$GUEST_DIR/inside.sh" || fail "can't read inside.sh"
set_up_network

# Until the first tick of virtual time has passed, /proc/net/psched says 100 Hz and
# tc computes wrong default bursts from it. The kernel takes notice of links once a
# second, and only then are IPv6 addresses in use. And by the end of this time every
# server has started: computing takes no virtual time, so whatever isn't waiting is done.
sleep 3
read -r psched </proc/net/psched
[ "${psched##* }" = 3b9aca00 ] || fail "the packet scheduler's clock is not ready"

# Schedules of links begin with the command.
[ -z "${LINK_UP:-}" ] || echo now >/sys/module/sch_lablink/parameters/start
run_command
[ -z "${LINK_UP:-}" ] || cat /sys/module/sch_lablink/parameters/link >/run/lab/out/links
[ -z "${WIFI:-}" ] || cat /sys/module/lab_wifi/parameters/channel >/run/lab/out/wifi
read -r uptime _ </proc/uptime
echo "$uptime" >/run/lab/out/uptime
[ -z "${OWN_KERNEL:-}" ] || sh "$GUEST_DIR/check_kernel.sh"
hand_over_results

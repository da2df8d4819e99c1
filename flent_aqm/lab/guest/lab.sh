# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Runs inside.sh in the lab's guest, after its first process (init.pl) has mounted all file
# systems. Also writes `uptime` into out/.

set -u

fail() {
    echo "flent-aqm-guest: $*"
    exit 1
}

# shellcheck source=/dev/null
. /run/lab/settings.sh || fail "can't read settings.sh"
. "$GUEST_DIR/inside.sh" || fail "can't read inside.sh"
. "$GUEST_DIR/own_programs.sh" || fail "can't read own_programs.sh"
# Of a user's kernel the console gets all, as of one that crashes nothing else is left.
[ -z "${OWN_KERNEL:-}" ] || echo 7 >/proc/sys/kernel/printk
set_up_network

# Until the first tick of virtual time, /proc/net/psched says 100 Hz, and tc would compute
# wrong default bursts from it. The kernel notices links once a second, and only then uses
# IPv6 addresses. And after this sleep every server has started, as computing takes no
# virtual time.
sleep 3
read -r psched </proc/net/psched
[ "${psched##* }" = 3b9aca00 ] ||
    fail "the packet scheduler's clock isn't that of high-resolution timers: /proc/net/psched ends with ${psched##* }, expected 3b9aca00; does the kernel have CONFIG_HIGH_RES_TIMERS?"

start_own_servers

# Schedules start here, before the command waits for a full second.
path_models begin
# Of an instrumented kernel: which code the run itself has used, not the start of the network.
[ ! -w /proc/lab_coverage ] || echo 0 >/proc/lab_coverage
run_command
[ ! -r /proc/lab_coverage ] || cat /proc/lab_coverage >/run/lab/out/coverage
path_models end
read -r uptime _ </proc/uptime
echo "$uptime" >/run/lab/out/uptime
[ -z "${OWN_KERNEL:-}" ] || sh "$GUEST_DIR/check_kernel.sh"
hand_over_results

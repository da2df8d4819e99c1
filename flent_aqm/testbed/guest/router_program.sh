# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# The user's program on the router, which goes on behind this script. Run once the router's queue
# is in place. What it prints, and its status if it ends before the run does, are for the host.

cd / || exit
# bash has it for <(…).
[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd
(
    ip netns exec router sh /run/lab/router_program </dev/null >/run/lab/out/router_program 2>&1
    echo "$?" >/run/lab/out/router_program_status
) </dev/null >/dev/null 2>&1 &

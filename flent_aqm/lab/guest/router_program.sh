# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Starts the user's program on the router in the background, once the router's queue is in place.
# The host gets its output, and its status if it ends before the run.

cd / || exit
# bash needs /dev/fd for <(…).
[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd
(
    ip netns exec router sh /run/lab/router_program </dev/null >/run/lab/out/router_program 2>&1
    echo "$?" >/run/lab/out/router_program_status
) </dev/null >/dev/null 2>&1 &

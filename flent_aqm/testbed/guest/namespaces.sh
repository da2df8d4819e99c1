#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# First process of new namespaces of the host's kernel, for the testbed netns: mounts, then
# what inside.sh has. It begins in the folder from the host, in mount, network, process and
# host-name namespaces that are all its own, with mounts that nobody else sees. Its end is
# that of every process and name in them: there is nothing to clean up.

set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

fail() {
    echo "flent-aqm-guest: $*"
    exit 1
}

# New /run and /tmp, with the same folders in them as in the lab's guest. They are put
# together below the folder from the host and moved in place when they are whole, as they
# hide what they have to show: the folder itself and what KEEP_VISIBLE names. -n: mount keeps
# a table of its own in /run, which would be the host's.
mount_file_systems() {
    mkdir run
    mount -n -t tmpfs -o mode=755 run run || return
    (cd run && mkdir lab bin home netns results work tmp python package) || return
    mount -n -t tmpfs tmp run/tmp || return
    mount -n --bind . run/lab && mount -n --bind bin run/bin || return
    # One a line, whatever else is in their names.
    set -f
    IFS='
'
    for path in $KEEP_VISIBLE; do
        shown=run/${path#/run/}
        [ "$shown" != "run/$path" ] || shown=run$path
        if [ -d "$path" ]; then
            mkdir -p "$shown"
        else
            mkdir -p "${shown%/*}" && : >"$shown"
        fi || return
        mount -n --bind "$path" "$shown" || return
    done
    unset IFS
    set +f
    for name in python package; do  # as in the lab's guest
        [ ! -L "links/$name" ] ||
            mount -n --bind "$(readlink -f "links/$name")" "run/$name" || return
    done
    mount -n --move run /run || return
    mount -n --move /run/tmp /tmp || return
    # Those of the new namespaces: devices below /sys, processes below /proc.
    mount -n -t proc proc /proc && mount -n -t sysfs sys /sys || return
    for file in hosts gai.conf resolv.conf nsswitch.conf; do
        [ ! -e "/etc/$file" ] || mount -n --bind "/run/lab/etc/$file" "/etc/$file"
    done
}

# Real time: servers take a moment to start. LISTENING has server:protocol:port of each.
wait_for_servers() {
    for one in $LISTENING; do
        server=${one%%:*} port=${one##*:}
        protocol=${one#*:} protocol=${protocol%:*}
        waited=0
        until ip netns exec server ss -Hln "--$protocol" "sport = :$port" | grep -q .; do
            waited=$((waited + 1))
            [ "$waited" -lt 600 ] || fail "server $server doesn't listen on $port"
            sleep 0.1
        done
    done
}

# The kernel takes notice of links once a second, and only then are IPv6 addresses in use.
wait_for_links() {
    for address in "$SERVER_IPV4" "$SERVER_IPV6" ${DEST2_IPV4:-} ${DEST2_IPV6:-}; do
        fping -q -B 1 -p 100 -t 250 -r 120 "$address" >/dev/null 2>&1 ||
            fail "the server doesn't answer at $address"
    done
}

# shellcheck source=/dev/null
. ./settings.sh || fail "can't read settings.sh"
mount_file_systems || fail "can't mount file systems"
. "$GUEST_DIR/inside.sh" || fail "can't read inside.sh"
set_up_network
wait_for_links
wait_for_servers
run_command
hand_over_results

#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# First process in new namespaces of the host's kernel, for the testbed netns: mounts file
# systems, then runs inside.sh. Starts in the folder from the host, in new mount, network,
# process and host-name namespaces. When it ends, the kernel removes these with all their
# processes and mounts, so there is nothing to clean up.

set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

fail() {
    echo "flent-aqm-guest: $*"
    exit 1
}

# Mounts a new /run and /tmp with the same folders as in the lab's guest. They hide the folder
# from the host and the paths in KEEP_VISIBLE, which must stay visible; so they are built below
# that folder, and moved when complete. -n: don't write mount's table, in the host's /run.
mount_file_systems() {
    mkdir run
    mount -n -t tmpfs -o mode=755 run run || return
    (cd run && mkdir lab bin home netns results work tmp python package) || return
    mount -n -t tmpfs tmp run/tmp || return
    mount -n --bind . run/lab && mount -n --bind bin run/bin || return
    # One path per line; names may contain blanks.
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
    # As in the lab's guest: without it Python would look for the package where it is on the host,
    # which the new /tmp may hide.
    [ -z "$PATH_FILE" ] || mount -n --bind /run/lab/flent_aqm.pth "$PATH_FILE" || return
    # Show the new namespaces' processes in /proc, and their devices in /sys.
    mount -n -t proc proc /proc && mount -n -t sysfs sys /sys || return
    for file in hosts gai.conf resolv.conf nsswitch.conf; do
        [ ! -e "/etc/$file" ] || mount -n --bind "/run/lab/etc/$file" "/etc/$file"
    done
}

# In real time, servers take a moment to start. LISTENING lists server:protocol:port.
wait_for_servers() {
    for one in $LISTENING; do
        server=${one%%:*} port=${one##*:}
        protocol=${one#*:} protocol=${protocol%:*}
        waited=0
        until ip netns exec server ss -Hln "--$protocol" "sport = :$port" | grep -q .; do
            waited=$((waited + 1))
            [ "$waited" -lt 600 ] ||
                fail "$server opened no $protocol port $port within 60 s: it did not start, or has ended"
            sleep 0.1
        done
    done
}

# The kernel notices links once a second, and only then uses IPv6 addresses.
wait_for_links() {
    for address in "$SERVER_IPV4" "$SERVER_IPV6" ${DEST2_IPV4:-} ${DEST2_IPV6:-}; do
        fping -q -B 1 -p 100 -t 250 -r 120 "$address" >/dev/null 2>&1 ||
            fail "the address $address of a server does not answer to fping"
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

# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Starts the user's servers on the host "server", one after the other, each when the one before
# listens. lab.sh reads it. If a server fails, its number and the reason are in out/server_fault.

listening_sockets() {
    ip netns exec server ss -Hltun | while read -r kind _ _ _ address _; do
        echo "$kind $address"
    done | sort
}

# Waits until there is a socket more than in "before", or as long as the user says.
await_server() { # number
    status="/run/lab/out/server-$1-status"
    if [ -n "${SERVER_READY_S:-}" ]; then
        sleep "$SERVER_READY_S"
        [ ! -s "$status" ] || read -r ended <"$status"
        [ "${ended:-0}" = 0 ] || server_failed "$1" ended
        return
    fi
    tries=0
    while [ "$(listening_sockets)" = "$before" ]; do
        [ ! -s "$status" ] || server_failed "$1" ended
        tries=$((tries + 1))
        [ "$tries" -le $((SERVER_PATIENCE_S * 10)) ] || server_failed "$1" silent
        sleep 0.1
    done
}

server_failed() { # number, reason
    echo "$1 $2" >/run/lab/out/server_fault
    fail "server $1: $2"
}

start_own_servers() {
    [ -n "${OWN_SERVERS:-}" ] || return 0
    # bash needs /dev/fd for <(…).
    [ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd
    number=0
    while [ "$number" -lt "$OWN_SERVERS" ]; do
        number=$((number + 1))
        before=$(listening_sockets)
        (
            cd "$COMMAND_DIR" || exit
            ip netns exec server sh "/run/lab/server-$number" </dev/null \
                >"/run/lab/out/server-$number" 2>&1
            echo "$?" >"/run/lab/out/server-$number-status"
        ) </dev/null >/dev/null 2>&1 &
        await_server "$number"
    done
}

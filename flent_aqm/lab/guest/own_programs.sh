# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Starts the user's own programs: servers on the host "server", one after the other, each when the
# one before listens, and a program on the router, once the router's queue is in place. lab.sh
# reads it for the servers, and apply.sh (guest_files.py) for the router's program. If a server
# fails, its number and the reason are in out/server_fault.

# Starts the program whose command is in /run/lab/NAME in the background. out/NAME gets its output,
# out/NAME-status its status if it ends before the run.
start_own_program() { # host, name, folder to start it in
    # bash needs /dev/fd for <(…).
    [ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd
    (
        cd "$3" || exit
        ip netns exec "$1" sh "/run/lab/$2" </dev/null >"/run/lab/out/$2" 2>&1
        echo "$?" >"/run/lab/out/$2-status"
    ) </dev/null >/dev/null 2>&1 &
}

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
    number=0
    while [ "$number" -lt "$OWN_SERVERS" ]; do
        number=$((number + 1))
        before=$(listening_sockets)
        start_own_program server "server-$number" "$COMMAND_DIR"
        await_server "$number"
    done
}

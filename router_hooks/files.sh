# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Reads and writes small files in ${state_folder}, and identifies processes by PID and start
# time. Read by the router's shell before session.sh and server.sh.

# stored NAME TEXT: writes and reads back; true if equal. A full disk may fail late.
stored() {
    printf '%s\n' "$2" 2> /dev/null > "${state_folder}/$1" || return 1
    text=$(cat "${state_folder}/$1") && [ "${text}" = "$2" ]
}

# get NAME: sets value to the first line of the file; empty if there is none.
get() {
    value=
    [ ! -r "${state_folder}/$1" ] || read -r value < "${state_folder}/$1"
}

# uptime_s: sets now. Nobody can set this clock during a sweep, unlike the router's.
uptime_s() {
    read -r now _ < /proc/uptime
    now=${now%%.*}
}

# identify PID: sets identity to PID and start time, as the kernel reuses PIDs. `self` is
# the shell or subshell that runs this.
identify() {
    identity=
    [ -r "/proc/$1/stat" ] || return 1
    read -r stat < "/proc/$1/stat" 2> /dev/null || return 1
    # The name is in brackets and may contain blanks.
    # shellcheck disable=SC2086 # split into words
    set -- "${stat%% *}" ${stat##*) }
    identity="$1 ${21}"
}

# alive FILE: true if the process named in the file still runs.
alive() {
    get "$1"
    known=${value}
    [ -n "${known}" ] && is_process "${known}"
}

# is_process IDENTITY: true if it still runs.
is_process() {
    identify "${1%% *}" && [ "${identity}" = "$1" ]
}

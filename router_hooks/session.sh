# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# A sweep's session on a router: the lock, the state to restore, and the watchdog that
# restores it when the sweep is gone. Read by the router's shell after defaults.sh, state.sh
# and files.sh:
#
#   begin   token=T holder=WHO devices='D …'   takes the lock, starts the watchdog, stops sqm
#   survey  token=T      prints the state and stores it
#   plan    token=T LINE…   stores how to restore it; from now on hooks may change the router
#   clear   token=T      removes the qdiscs that were on the devices, so that none is measured,
#                        and resets the queue lengths
#   end     token=T      restores the router and releases the lock
#   restore              the same by hand, whoever holds the router
#   status               tells who holds the router; changes nothing
#
# ${state_folder} exists as long as the router is held (mkdir is atomic), and has:
#   token, holder, began, devices   of the session; began in seconds of uptime
#   owner      the process that runs begin; `begun` exists once it is done
#   watchdog   the watchdog's process
#   beat.TOKEN a number that grows while the sweep is alive; gone: exists once it has ended
#   sqm        exists if sqm-scripts were stopped
#   found      the original state; plan: how to restore it
#   processes  servers that server.sh has started
#   restoring/ exists while a process restores the router; its file owner names the process

command=${1:-}
[ "$#" -eq 0 ] || shift
token=
holder=
devices=

# held: sets told to who holds the router.
held() {
    get holder
    told="held by ${value:-somebody}"
    get began
    uptime_s
    [ -z "${value}" ] || told="${told} for $((now - value)) s"
}

need_session() {
    get token
    if [ -z "${token}" ] || [ "${value}" != "${token}" ] || [ -e "${state_folder}/restoring" ]; then
        die "this sweep no longer holds this host: it has restarted, or its watchdog has restored it, or flent-aqm restore has"
    fi
    get devices
    devices=${value}
}

sqm_is_active() {
    [ -x /etc/init.d/sqm ] || return 1
    for file in /var/run/sqm/*.state; do
        [ ! -e "${file}" ] || return 0
    done
    return 1
}

# ---- begin -------------------------------------------------------------------

# take_lock: lets one process at a time take or give back the router; until it ends. A hard link
# is there at once, with the name of its process in it; that of a dead process is removed.
take_lock() {
    [ -w "${state_folder%/*}" ] || die "this user can't write to ${state_folder%/*}; log in as root, or mount it writable"
    identify self
    trap 'rm -f "${state_folder}.lock" "${state_folder}.$$"' EXIT
    printf '%s\n' "${identity}" 2> /dev/null > "${state_folder}.$$"
    [ -s "${state_folder}.$$" ] || die "can't write files to ${state_folder%/*}; is it full? nothing was changed"
    ln "${state_folder}.$$" "${state_folder}.lock" 2> /dev/null && return
    known=
    [ ! -r "${state_folder}.lock" ] || read -r known < "${state_folder}.lock"
    if [ -n "${known}" ] && ! is_process "${known}"; then
        rm -f "${state_folder}.lock"
        ln "${state_folder}.$$" "${state_folder}.lock" 2> /dev/null && return
    fi
    trap - EXIT
    rm -f "${state_folder}.$$"
    die 'another sweep begins or restores at this moment; try again in some seconds'
}

refuse_held() {
    if alive restoring/owner; then
        die "${told}; it is being restored now; try again in ${watchdog_limit_s} s"
    elif alive watchdog || alive owner; then
        die "${told}; if that sweep is gone, its watchdog restores this host within ${watchdog_limit_s} s"
    fi
}

# take_over: restores what a sweep has left whose watchdog was killed, too.
take_over() {
    held
    refuse_held
    # A session that ended before it had a watchdog has changed nothing.
    if [ -e "${state_folder}/watchdog" ] || [ -e "${state_folder}/restoring" ]; then
        get token
        beat=beat.${value}
        get "${beat}"
        last=${value}
        [ -e "${state_folder}/gone" ] || sleep "${watchdog_patience_s}"
        get "${beat}"
        [ "${value}" = "${last}" ] || die "${told}; that sweep goes on, but its watchdog is gone"
        wanted_devices=${devices}
        trap '' HUP PIPE
        finish
        devices=${wanted_devices}
        trap - HUP PIPE
    fi
    rm -rf "${state_folder}"
    mkdir -m 700 "${state_folder}" || exit
}

begin() {
    check_devices
    if ! mkdir -m 700 "${state_folder}" 2> /dev/null; then
        [ -d "${state_folder}" ] || die "can't make the folder ${state_folder}; is ${state_folder%/*} full, or read-only?"
        take_over
    fi
    trap 'rm -rf "${state_folder}"; exit 1' HUP INT TERM PIPE
    uptime_s
    identify self
    if ! { stored owner "${identity}" && stored token "${token}" && stored holder "${holder}" &&
        stored began "${now}" && stored devices "${devices}" && stored "beat.${token}" 0; }; then
        rm -rf "${state_folder}"
        die "can't write files to ${state_folder}; is it full? nothing was changed"
    fi
    # The state must fit, too: try with more than was ever seen.
    if ! dd if=/dev/zero of="${state_folder}/room" bs=1024 count=256 2> /dev/null; then
        rm -rf "${state_folder}"
        die "can't write 256 KB to ${state_folder}; is it full? nothing was changed"
    fi
    rm -f "${state_folder}/room"
    # `watch > /dev/null` would keep the shell's old descriptors open, and with them the
    # ssh session.
    (
        exec < /dev/null > /dev/null 2>&1
        watch
    ) &
    identify "$!"
    if ! stored watchdog "${identity}"; then
        kill "$!"
        rm -rf "${state_folder}"
        die "can't write files to ${state_folder}; is it full? nothing was changed"
    fi
    trap '' HUP INT TERM PIPE
    if sqm_is_active; then
        : > "${state_folder}/sqm"
        /etc/init.d/sqm stop > /dev/null 2>&1
    fi
    : > "${state_folder}/begun"
}

# ---- watchdog ----------------------------------------------------------------

# Restores the router if the beat hasn't changed for watchdog_patience_s, or if `connect`
# has seen the end of its input. Counts its own naps, so it needs no clock.
watch() {
    trap '' HUP PIPE
    last=
    idle=0
    while :; do
        sleep "${watchdog_nap_s}"
        get token
        [ "${value}" = "${token}" ] || exit 0
        get "beat.${token}"
        if [ "${value}" = "${last}" ]; then
            idle=$((idle + watchdog_nap_s))
        else
            last=${value}
            idle=0
        fi
        if [ "${idle}" -ge "${watchdog_patience_s}" ] || [ -e "${state_folder}/gone" ]; then
            come_back
            case $? in
                0) said='restored this host' ;;
                2) said='another process restores this host' ;;
                *) said="restored this host, but ${difference}" ;;
            esac
            logger -t flent-aqm "the sweep is gone: ${said}"
            exit
        fi
    done
}

# ---- restoring ---------------------------------------------------------------

# come_back: restores the router. Status 0 if its state is the one that was found, else
# ${difference} tells how it differs. Status 2 if another process is restoring it.
come_back() {
    difference=
    # Go on even if the disk is full.
    if ! mkdir "${state_folder}/restoring" 2> /dev/null; then
        [ -d "${state_folder}" ] || return 0
        ! alive restoring/owner || return 2
    fi
    identify self
    stored restoring/owner "${identity}"
    get devices
    devices=${value}
    if [ -e "${state_folder}/plan" ]; then
        found=$(cat "${state_folder}/found")
        put_back "${state_folder}/plan" "${found}"
        state=$(show_state)
        [ "${state}" = "${found}" ] || difference=$(differing "${found}" "${state}")
    fi
    if [ -e "${state_folder}/processes" ]; then
        while read -r process; do
            identify "${process%% *}"
            [ "${identity}" != "${process}" ] || kill "${process%% *}"
        done < "${state_folder}/processes"
    fi
    if [ -e "${state_folder}/sqm" ]; then
        /etc/init.d/sqm start > /dev/null 2>&1 || difference="${difference} sqm did not start"
    fi
    rm -rf "${state_folder}" || rm -rf "${state_folder}"
    [ -z "${difference}" ]
}

# differing OLD NEW: prints the first line of each that the other lacks.
differing() {
    first_missing "$1" "$2"
    printf 'was: %s; ' "${missing:-nothing else}"
    first_missing "$2" "$1"
    printf 'is: %s' "${missing:-nothing else}"
}

# first_missing OLD NEW: sets missing to the first line of OLD that NEW lacks.
first_missing() {
    missing=$(printf '%s\n' "$1" | while IFS= read -r line; do
        case "${newline}$2${newline}" in
            *"${newline}${line}${newline}"*) ;;
            *)
                printf '%s' "${line}"
                break
                ;;
        esac
    done)
}

finish() {
    come_back
    case $? in
        0) ;;
        2)
            # The other process needs a few seconds at most, even with sqm.
            tries=0
            while [ -d "${state_folder}" ] && [ "${tries}" -lt "${watchdog_limit_s}" ]; do
                sleep 1
                tries=$((tries + 1))
            done
            [ ! -d "${state_folder}" ] || die "another process is restoring this host and has not ended in ${watchdog_limit_s} s"
            ;;
        *) die "this host is not as it was found: ${difference}; set that by hand, or restart the host" ;;
    esac
}

restore() {
    if [ ! -d "${state_folder}" ]; then
        printf 'nothing to restore: no sweep holds this host (what a killed one left, its watchdog restored)\n'
        return
    fi
    held
    if [ ! -e "${state_folder}/watchdog" ]; then
        alive owner && die "${told}; that sweep has only just begun, so try again in some seconds"
        rm -rf "${state_folder}"
        printf 'was %s; that sweep had changed nothing\n' "${told}"
        return
    fi
    get watchdog
    # Stop it first, so that it doesn't restore at the same time.
    ! alive watchdog || kill "${known%% *}"
    trap '' HUP PIPE
    finish
    printf 'restored; was %s\n' "${told}"
}

# ---- main --------------------------------------------------------------------

case ${command} in
    plan) ;;
    *)
        for setting in "$@"; do
            case ${setting} in
                token=*) token=${setting#*=} ;;
                holder=*) holder=${setting#*=} ;;
                devices=*) devices=${setting#*=} ;;
                *) die "unknown setting '${setting}'" ;;
            esac
        done
        ;;
esac
case ${command} in
    begin)
        take_lock
        begin
        ;;
    survey)
        need_session
        state=$(show_state)
        stored found "${state}" || die "can't write this host's state to ${state_folder}; is it full?"
        printf '%s\n' "${state}"
        ;;
    plan)
        token=${1#token=}
        shift
        need_session
        text=$(printf '%s\n' "$@")
        stored plan.part "${text}" || die "can't write the plan to restore this host to ${state_folder}; is it full?"
        mv "${state_folder}/plan.part" "${state_folder}/plan"
        ;;
    clear)
        need_session
        [ -e "${state_folder}/plan" ] || die 'no plan to restore this host is stored yet'
        put_lengths "${state_folder}/plan"
        for device in ${devices}; do
            clear_device "${device}"
        done
        : # tc fails if there was nothing to remove
        ;;
    end)
        need_session
        trap '' HUP PIPE
        finish
        ;;
    restore)
        take_lock
        restore
        ;;
    status)
        if [ -d "${state_folder}" ]; then
            held
            alive watchdog && watched=yes || watched=no
            printf '%s; watchdog: %s\n' "${told}" "${watched}"
        else
            printf 'free\n'
        fi
        ;;
    *) die "unknown command '${command}'; known: begin, survey, plan, clear, end, restore, status" ;;
esac

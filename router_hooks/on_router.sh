#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs a router hook on the router. Called on the client:
#
#   on_router.sh apply     testbed=T [routers=R,R2] SETTING… -- LINE…
#   on_router.sh read-back testbed=T [routers=R] SETTING…
#   on_router.sh undo      testbed=T SETTING…
#
# The router's shell reads defaults.sh, read_back.sh and router.sh, which has the settings.
# routers: namespaces, if there are several. flent_aqm/router/hook.py makes these commands.
# Status 0: done; 2: wrong arguments, nothing changed; 1: failed.
#
# For routers behind ssh, testbed=ssh://[USER@]HOST[:PORT]:
#
#   on_router.sh probe testbed=T …    prints what the router is and supports; see probe.sh
#                             (netns: this machine)
#   on_router.sh begin | survey | plan | clear | end | restore | status testbed=T …    see session.sh
#   on_router.sh start | delay testbed=T TOKEN …    on a server; see server.sh
#   on_router.sh connect testbed=T    opens a connection that the others share, and prints
#                             `ready`; each line of input is the token of a sweep that
#                             is alive; ends at the end of input
#
# and these variables, which a sweep sets:
#   FLENT_AQM_SSH_CONTROL   socket of the connection
#   FLENT_AQM_SSH_TOKEN     the sweep's token; apply, read-back and undo need it
#   FLENT_AQM_DEV_DOWN, FLENT_AQM_DEV_UP   the router's devices, if the arguments name none
set -u

hooks=${FLENT_AQM_HOOKS:-}
if [ -z "${hooks}" ]; then
    case $0 in
        */*) hooks=${0%/*} ;;
        *) hooks=. ;;
    esac
fi
commands='apply, read-back, undo; behind ssh also probe, begin, survey, plan, clear, end, restore, status, start, delay, connect'
# Longest accepted answer of a router in bytes. A read-back of all queues has 20,000.
answer_limit_bytes=1000000
end='flent-aqm: end of answer'

# die TEXT [STATUS]
die() {
    printf 'router hook: %s\n' "$1" >&2
    exit "${2:-2}"
}

# quoted TEXT: prints it quoted, as one word for a shell.
quoted() {
    rest=$1
    printf " '"
    while :; do
        case ${rest} in
            *\'*)
                printf "%s'\\''" "${rest%%\'*}"
                rest=${rest#*\'}
                ;;
            *) break ;;
        esac
    done
    printf "%s'" "${rest}"
}

# script ARGUMENT…: prints ${files} as one script with these arguments. It is in braces,
# because a shell reads a whole group before it runs any of it: a connection that breaks
# meanwhile leaves nothing half-done. The arguments are part of the script, as dropbear
# refuses command lines above 9,000 bytes. Its last line of output is ${end} and a sum of
# ${summand}, which neither a host that repeats its input nor an answer that is cut off has.
script() {
    printf '{\nset --'
    for argument in "$@"; do
        quoted "${argument}"
    done
    printf '\n'
    for file in ${files}; do
        cat "${hooks}/${file}"
    done
    # shellcheck disable=SC2016 # expanded by the host's shell
    [ -z "${summand:-}" ] ||
        printf '\nset -- "$?"\nprintf "%%s %%s\\n" "%s" "$((%s + 7919))"\nexit "$1"' "${end}" "${summand}"
    printf '\n}\n'
}

# without_end: copies its input without the last line, which has to be the end of an answer. Status
# 1 if it is another.
without_end() {
    LC_ALL=C awk -v wanted="${end} $((summand + 7919))" '
        NR > 1 { print last }
        { last = $0 }
        END { if (last == wanted) exit 0; if (NR) print last; exit 1 }'
}

# run_ssh COMMAND: runs it on the router, over the open connection if there is one.
run_ssh() {
    address=${testbed#ssh://}
    port=
    case ${address} in
        -* | *@-*) die "testbed=${testbed}: user and host names can't begin with -" ;;
        *]:*) port=${address##*:} ;;
        *]) ;;
        *:*) port=${address##*:} ;;
        *) ;;
    esac
    address=${address%":${port}"}
    case ${address} in # ssh wants IPv6 addresses without brackets
        *\[*\]) address=${address%%\[*}$(printf '%s' "${address#*\[}" | tr -d ']') ;;
        *) ;;
    esac
    master=no
    [ "${command}" != connect ] || master=yes
    # BatchMode: never ask for a password.
    ${run:-} ssh -T -x -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 \
        ${FLENT_AQM_SSH_CONTROL:+-o "ControlMaster=${master}" -o ControlPersist=no \
            -o "ControlPath=${FLENT_AQM_SSH_CONTROL}"} \
        ${port:+-p "${port}"} -- "${address}" "$1"
}

# over_ssh ARGUMENT…: runs ${files} on the router and exits with their status. Cuts the
# answer to answer_limit_bytes, and removes control characters, which a terminal would obey.
over_ssh() {
    summand=$$
    exec 4>&1
    status=$(
        {
            {
                {
                    script "$@" | {
                        run_ssh 'sh -s' 3>&- 4>&-
                        printf '%s\n' "$?" >&3
                    }
                } 2>&1 >&5 | LC_ALL=C tr -cd '\n -~' | head -c "${answer_limit_bytes}" >&2
            } 5>&1 | LC_ALL=C tr -cd '\n\t -~' | head -c "$((answer_limit_bytes - 1))" | {
                without_end >&4 && printf 'whole\n' >&3
            }
        } 3>&1
    )
    case ${status} in
        *whole*) ended=yes ;;
        *) ended=no ;;
    esac
    status=$(printf '%s' "${status}" | tr -cd '0-9')
    case ${status} in
        255) exit 1 ;; # ssh has printed the reason
        '') exit 2 ;; # run_ssh has printed the reason
        141) die "testbed=${testbed}: the answer is longer than ${answer_limit_bytes} bytes" ;;
        0)
            [ "${ended}" = yes ] ||
                die "testbed=${testbed}: ssh ended without the whole answer of the host's shell, so what was done there is not known" 1
            exit 0
            ;;
        *) exit "${status}" ;;
    esac
}

# on_router ARGUMENT…: runs the command on ${router}, and exits with its status.
on_router() {
    case ${testbed} in
        virtual | netns)
            # A namespace sees these files, so its shell reads them without a pipe.
            # shellcheck disable=SC2016 # expanded by the router's shell
            exec ip netns exec "${router}" \
                sh -c '. "$0/defaults.sh" && . "$0/read_back.sh" && . "$0/router.sh"' \
                "${hooks}" "${command}" "$@"
            ;;
        ssh://*)
            [ -n "${FLENT_AQM_SSH_TOKEN:-}" ] ||
                die "testbed=${testbed}: only a sweep may ${command} on a router behind ssh, because a sweep also restores it; see docs/routers.md"
            files='defaults.sh guard.sh read_back.sh router.sh'
            over_ssh "${FLENT_AQM_SSH_TOKEN}" "${command}" \
                ${FLENT_AQM_DEV_DOWN:+"dev_down=${FLENT_AQM_DEV_DOWN}"} \
                ${FLENT_AQM_DEV_UP:+"dev_up=${FLENT_AQM_DEV_UP}"} "$@"
            ;;
        *)
            die "testbed: unknown value '${testbed}'; known: virtual, netns, ssh://ROUTER"
            ;;
    esac
}

[ "$#" -gt 0 ] || die "no command given; known: ${commands}"
command=$1
shift
case ${command} in
    apply | read-back | undo) ;;
    probe | begin | survey | plan | clear | end | restore | status | start | delay | connect) ;;
    *) die "unknown command '${command}'; known: ${commands}" ;;
esac

testbed=
routers=router
while [ "$#" -gt 0 ]; do
    case $1 in
        testbed=*) testbed=${1#*=} ;;
        routers=*) routers=${1#*=} ;;
        *) break ;;
    esac
    shift
done
[ -n "${testbed}" ] || die "testbed is missing; give testbed=virtual, netns or ssh://ROUTER"

case ${command}:${testbed} in
    apply:* | read-back:* | undo:* | probe:netns | *:ssh://*) ;;
    probe:*) die "probe: only for testbed=netns or ssh://…, not for '${testbed}'" ;;
    *) die "${command}: only for testbed=ssh://…, not for '${testbed}'" ;;
esac
case ${command} in
    probe)
        files='defaults.sh state.sh probe.sh'
        [ "${testbed}" = netns ] || over_ssh "$@"
        script "$@" | sh -s
        exit
        ;;
    begin | survey | plan | clear | end | restore | status)
        files='defaults.sh state.sh files.sh session.sh'
        over_ssh "${command}" "$@"
        ;;
    start | delay)
        files='defaults.sh guard.sh state.sh files.sh server.sh'
        token=$1
        shift
        over_ssh "${token}" "${command}" "$@"
        ;;
    connect)
        state_folder=
        # shellcheck source=defaults.sh
        . "${hooks}/defaults.sh"
        # shellcheck disable=SC2016 # expanded by the router's shell
        text=$(quoted 'echo ready; n=0; while read -r token; do n=$((n + 1)); last=$token; [ ! -e "$0/beat.$token" ] || echo "$n" > "$0/beat.$token"; done; [ ! -e "$0/beat.$last" ] || : > "$0/gone"')
        run='exec'
        run_ssh "exec sh -c${text} ${state_folder}"
        ;;
    *) ;;
esac

case ${routers} in
    '' | *[!a-z0-9,]* | ,* | *,,*) die "routers: '${routers}'; expected names separated by commas" ;;
    *) ;;
esac
while :; do
    router=${routers%%,*}
    [ "${router}" != "${routers}" ] || break
    routers=${routers#*,}
    (on_router "$@") || exit
done
on_router "$@"

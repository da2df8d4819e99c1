#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs a router hook where the router is. Called on the client:
#
#   on_router.sh apply     testbed=T aqm=NAME rate_down_mbps=R rate_up_mbps=R [burst_shaping=yes] …
#   on_router.sh read-back testbed=T [dev_down=D] [dev_up=D]
#   on_router.sh undo      testbed=T [dev_down=D] [dev_up=D]
#   on_router.sh help      lists the AQMs and their parameters; needs no router
#
# What runs there is defaults.sh, the scheme of the AQM, and router.sh. Status 0: done; 2: wrong arguments, nothing changed; 1: it failed.
set -u

hooks=${FLENT_AQM_HOOKS:-}
if [ -z "${hooks}" ]; then
    case $0 in
        */*) hooks=${0%/*} ;;
        *) hooks=. ;;
    esac
fi
commands='apply, read-back, undo, help'

die() {
    printf 'router hook: %s\n' "$1" >&2
    exit 2
}

known_aqms() {
    names=
    for file in "${hooks}"/schemes/*.sh; do
        name=${file##*/}
        names="${names:+${names}, }${name%.sh}"
    done
    printf '%s' "${names}"
}

help() {
    for file in "${hooks}"/schemes/*.sh; do
        name=${file##*/}
        printf 'aqm=%s: ' "${name%.sh}"
        (
            # shellcheck source=/dev/null # each scheme in turn, apart from the others
            . "${file}"
            scheme_help
        )
    done
}

# on_router SCHEME_FILE COMMAND SETTING…: runs the three files on the router, and ends
# with their status.
on_router() {
    case ${testbed} in
        virtual | netns)
            # A namespace has our files; reading them there saves the pipe that ssh needs.
            # shellcheck disable=SC2016 # expanded by the router's shell
            exec ip netns exec router \
                sh -c '. "$0/defaults.sh" && . "$1" && shift && . "$0/router.sh"' "${hooks}" "$@"
            ;;
        ssh://*)
            # The place for ssh: the three files, one after the other, on the standard input
            # of `sh -s -- COMMAND SETTING…`, with each setting quoted for the remote shell.
            die "testbed=${testbed}: routers behind ssh are not supported yet; use virtual or netns"
            ;;
        *)
            die "testbed: unknown value '${testbed}'; known: virtual, netns"
            ;;
    esac
}

[ "$#" -gt 0 ] || die "no command given; known: ${commands}"
command=$1
shift
case ${command} in
    apply | read-back | undo) ;;
    help)
        help
        exit
        ;;
    *) die "unknown command '${command}'; known: ${commands}" ;;
esac

# Takes testbed=… out of the arguments; the others are the router's.
testbed=
aqm=
for setting in "$@"; do
    shift
    case ${setting} in
        testbed=*) testbed=${setting#testbed=} ;;
        aqm=*)
            aqm=${setting#aqm=}
            set -- "$@" "${setting}"
            ;;
        *) set -- "$@" "${setting}" ;;
    esac
done
[ -n "${testbed}" ] || die "testbed is missing; give testbed=virtual or testbed=netns"

scheme=/dev/null
if [ "${command}" = apply ]; then
    scheme=${hooks}/schemes/${aqm}.sh
    case ${aqm} in
        '' | *[!a-z0-9_]*) scheme= ;;
        *) [ -r "${scheme}" ] || scheme= ;;
    esac
    if [ -z "${scheme}" ]; then
        known=$(known_aqms)
        die "aqm: unknown value '${aqm}'; known: ${known}"
    fi
fi

on_router "${scheme}" "${command}" "$@"

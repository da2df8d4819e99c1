#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs a router hook where the router is. Called on the client:
#
#   on_router.sh apply     testbed=T aqm=NAME rate_down_mbps=R rate_up_mbps=R [burst_shaping=yes] …
#   on_router.sh read-back testbed=T [dev_down=D] [dev_up=D]
#   on_router.sh undo      testbed=T [dev_down=D] [dev_up=D]
#
# The router needs none of our files: what it runs arrives on the standard input of
# its shell. Status 0: done; 2: wrong arguments, nothing changed; 1: it failed.
set -u

hooks=${FLENT_AQM_HOOKS:-${0%/*}}
commands='apply, read-back, undo'

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

# How to start a shell on the router of each testbed.
shell_on_router() {
    case ${testbed} in
        virtual | netns)
            ip netns exec router sh -s -- "$@"
            ;;
        ssh://*)
            # The place for ssh: its remote command line must quote each argument.
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

scheme=
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

# shellcheck disable=SC2002,SC2312 # cat's failure leaves the shell without a script, seen by its status
cat "${hooks}/defaults.sh" ${scheme:+"${scheme}"} "${hooks}/router.sh" | shell_on_router "${command}" "$@"

# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Before router.sh, on routers behind ssh: a hook changes the router only for the sweep
# that holds it and whose watchdog knows the way back (session.sh). The first argument
# is the sweep's token; the others are router.sh's.

held_by=
[ ! -r "${state_folder}/token" ] || read -r held_by < "${state_folder}/token"
if [ -z "${1:-}" ] || [ "${held_by}" != "$1" ] || [ ! -e "${state_folder}/plan" ] ||
    [ -e "${state_folder}/restoring" ]; then
    printf '%s\n' 'router hook: this sweep no longer holds the router: the router has restarted, or its watchdog has restored it' >&2
    exit 1
fi
shift

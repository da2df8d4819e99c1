# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Runs before router.sh on routers behind ssh. Only the sweep that holds the router, and
# has stored a plan to restore it (session.sh), may change it. The first argument is the
# sweep's token; the others are for router.sh.

held_by=
[ ! -r "${state_folder}/token" ] || read -r held_by < "${state_folder}/token"
if [ -z "${1:-}" ] || [ "${held_by}" != "$1" ] || [ ! -e "${state_folder}/plan" ] ||
    [ -e "${state_folder}/restoring" ]; then
    printf '%s\n' 'router hook: this sweep no longer holds this host: it has restarted, or its watchdog has restored it, or flent-aqm restore has' >&2
    exit 1
fi
shift

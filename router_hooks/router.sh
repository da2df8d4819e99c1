#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Puts the queue under test on the router, reads it back, removes it. The router's shell
# reads it after defaults.sh, schemes/NAME.sh, settings.sh, queues.sh and read_back.sh
# (see on_router.sh):
#
#   apply name=value…   the settings below, and aqm_PARAMETER for a parameter of the AQM
#   read-back           prints what the kernel reports; see read_back for the form
#   undo                restores the default queue of both devices
#
#   aqm, rate_down_mbps, rate_up_mbps, burst_shaping=yes|no, dev_down, dev_up
#   shaper=htb|tbf|cake|none     none: the AQM alone, for a slower link behind it
#   tiers=1|3                    with HTB: one queue, or one for EF, the rest, background
#   ingress=lan|ifb              where the download is shaped: as it leaves dev_down, or
#                                as it arrives at dev_up, redirected through dev_ifb
#   only=both|down|up            directions to shape; on_router.sh sets it if the upload has
#                                another queue (up_aqm), down before up
#   subscribers=N                with HTB: a class and a queue for each of N addresses, which
#                                get at most plan_down_mbps and plan_up_mbps
#   txqueuelen=PACKETS           of both shaped devices; set before the queues, which copy it
#
#   client ── down [router] up ── server
#
#   on each device:  htb 1: ── 1:1 rate ── AQM 10:        tbf 1: ── 1:1 ── AQM 10:
#                    shaper=cake or none: AQM 10: at the root
#   three tiers:     htb 1: ── 1:1 rate ─┬─ 1:11 EF ── AQM 11:
#                                        ├─ 1:12 the rest ── AQM 12:
#                                        └─ 1:13 background ── AQM 13:
#   subscribers:     htb 1: ── 1:1 rate ─┬─ 1:1001 the client ── AQM 1001:
#                                        └─ 1:1002 and on     ── AQM 1002: and on
#
# Plain POSIX sh, as BusyBox's ash runs it too. Few processes: each costs the lab 5 ms.
set -u

# Over ssh, PATH often lacks the folders of tc and ethtool.
PATH=${PATH}:/usr/sbin:/sbin
newline='
'

die() {
    printf 'router hook: %s\n' "$1" >&2
    exit "${2:-2}"
}

# ---- main --------------------------------------------------------------------

aqm=
rate_down_mbps=
rate_up_mbps=
overrides=
shaper=htb
tiers=1
ingress=lan
txqueuelen=
only=both
subscribers=
plan_down_mbps=
plan_up_mbps=
tc_json=
foreign=${foreign:-no}
command=${1:-}
[ "$#" -eq 0 ] || shift
take_settings "$@"
check_device dev_down "${dev_down}"
check_device dev_up "${dev_up}"
[ "${dev_down}" != "${dev_up}" ] || die "dev_down and dev_up are both '${dev_up}'; name two devices"
case ${command} in
    apply) apply ;;
    read-back) read_back ;;
    undo) undo ;;
    *) die "unknown command '${command}'; known: apply, read-back, undo" ;;
esac

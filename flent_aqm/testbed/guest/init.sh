#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# First process of the lab's guest: mounts, then what inside.sh has, then power-off.
#
# The folder from the host is the working folder of the guest's process there. The file
# `uptime` in it is written, too. The root file system is the host's, read-only.

set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# An init that merely ends would panic the kernel. Debian's `poweroff` belongs to
# systemd, which a small machine may lack; perl-base is on each Debian and Ubuntu.
power_off() {
    sync
    exec perl -e 'syscall(169, 0xfee1dead, 672274793, 0x4321fedc, 0)'
}

fail() {
    echo "flent-aqm-guest: $*"
    power_off
}

mount_file_systems() {
    mount -t proc proc /proc
    mount -t sysfs sys /sys
    mount -t devtmpfs dev /dev 2>/dev/null
    mkdir -p /dev/shm /dev/pts
    mount -t devpts -o newinstance,ptmxmode=0666 pts /dev/pts && ln -sf pts/ptmx /dev/ptmx
    mount -t tmpfs shm /dev/shm
    mount -t tmpfs run /run
    mkdir -p /run/lab /run/home /run/netns /run/results /run/work
    # sync: the host shows the command's output while it runs.
    mount -t hostfs -o sync,/proc/self/cwd lab /run/lab || fail "can't mount the lab's folder"
}

# Folders that the mounts on /tmp, /run and /dev/shm hide, but that are needed inside.
show_again() {
    for folder in $KEEP_VISIBLE; do
        mkdir -p "$folder"
        mount -t hostfs -o "ro,$folder" keep "$folder" || fail "can't mount $folder"
    done
}

mount_file_systems
# shellcheck source=/dev/null
. /run/lab/settings.sh || fail "can't read settings.sh"
. "$GUEST_DIR/inside.sh" || fail "can't read inside.sh"
mount -t tmpfs tmp /tmp
show_again
set_up_names
set_up_network

# Until the first tick of virtual time has passed, /proc/net/psched says 100 Hz and
# tc computes wrong default bursts from it. The kernel takes notice of links once a
# second, and only then are IPv6 addresses in use. And by the end of this time every
# server has started: computing takes no virtual time, so whatever isn't waiting is done.
sleep 3
grep -q 3b9aca00 /proc/net/psched || fail "the packet scheduler's clock is not ready"

# In the current folder of whoever calls, the command may write: into an overlay, whose
# upper layer is the results folder.
if [ "$WRITABLE_DIR" = yes ]; then
    mount -t overlay -o "lowerdir=$COMMAND_DIR,upperdir=/run/results,workdir=/run/work" \
        overlay "$COMMAND_DIR" || fail "can't make $COMMAND_DIR writable"
fi
run_command
cut -d ' ' -f 1 /proc/uptime >/run/lab/uptime
hand_over_results
umount /run/lab 2>/dev/null
power_off

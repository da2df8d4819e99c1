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

# The Python environment and the package, in places that are the same on each machine. By
# way of links in the working folder of this process on the host: the host follows them, and
# no path of the host's is walked in here.
show_at_fixed_places() {
    for name in python package; do
        mkdir "/run/$name"
        [ ! -L "/run/lab/links/$name" ] ||
            mount -t hostfs -o "ro,/proc/self/cwd/links/$name" "$name" "/run/$name" ||
            fail "can't mount $name"
    done
    # The lab's folder is for root alone, its programs are for all users.
    mkdir /run/bin
    mount --bind /run/lab/bin /run/bin || fail "can't mount the programs"
    [ -z "$EDITABLE" ] || mount --bind /run/lab/flent_aqm.pth "$EDITABLE" ||
        fail "can't replace $EDITABLE"
}

# In the current folder of whoever calls, the command may write: into an overlay, whose
# upper layer is the results folder.
make_writable() {
    mount -t overlay -o "lowerdir=$COMMAND_DIR,upperdir=/run/results,workdir=/run/work" \
        overlay "$COMMAND_DIR" || fail "can't make $COMMAND_DIR writable"
}

# Where things lie on the host has shaped the boot so far: the kernel looks at the clock, and
# draws random numbers, for each folder on the way; each mount is a process. All that is left
# behind here. The clock goes on from the same moment in each run: 20 ms after the start,
# which nothing before it comes near to (clock_nanosleep, absolute). Random numbers begin
# anew (RNDRESEEDCRNG of linux/random.h, and patch 0001). Processes are counted from 1000.
begin_the_same_everywhere() {
    perl -e '
        my $start_ns = shift;
        my $when = pack("qq", int($start_ns / 1e9), 20e6);
        syscall(230, 0, 1, $when, 0) == 0 or die "clock_nanosleep: $!";
        open(my $random, "<", "/dev/urandom") or die "/dev/urandom: $!";
        ioctl($random, 0x5207, 0) or die "reseed: $!"
    ' "$CLOCK_START_NS" || fail "can't begin the same way as everywhere"
    echo 999 >/proc/sys/kernel/ns_last_pid || fail "can't number processes"
}

mount_file_systems
# shellcheck source=/dev/null
. /run/lab/settings.sh || fail "can't read settings.sh"
. "$GUEST_DIR/inside.sh" || fail "can't read inside.sh"
mount -t tmpfs tmp /tmp
show_again
show_at_fixed_places
[ "$WRITABLE_DIR" = no ] || make_writable
set_up_names
begin_the_same_everywhere
set_up_network

# Until the first tick of virtual time has passed, /proc/net/psched says 100 Hz and
# tc computes wrong default bursts from it. The kernel takes notice of links once a
# second, and only then are IPv6 addresses in use. And by the end of this time every
# server has started: computing takes no virtual time, so whatever isn't waiting is done.
sleep 3
read -r psched </proc/net/psched
[ "${psched##* }" = 3b9aca00 ] || fail "the packet scheduler's clock is not ready"

run_command
read -r uptime _ </proc/uptime
echo "$uptime" >/run/lab/uptime
hand_over_results
umount /run/lab 2>/dev/null
power_off

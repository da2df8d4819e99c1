#!/usr/bin/perl -w
# SPDX-License-Identifier: GPL-3.0-or-later
# First process of the lab's guest: mounts, then lab.sh, then power-off, however lab.sh ends.
#
# One process for all that, as each further one costs as much as a hundred system calls of
# this one. Perl makes system calls by their number, and perl-base is on each Debian and
# Ubuntu. (Debian's `poweroff` belongs to systemd, which a small machine may lack.)
#
# The folder from the host is the working folder of the guest's process there. What is in
# its file `mounts` is written and explained by guest_mounts.py.

use strict;

# Of Linux on x86-64.
my %CALL = (sync => 162, mount => 165, reboot => 169, clock_nanosleep => 230);
my $RNDRESEEDCRNG = 0x5207;    # linux/random.h
my $POWER_OFF = 0x4321fedc;    # linux/reboot.h, as the two numbers before it below

# Whether it is there now. On the root, which is read-only, none can be made.
sub make_folder {
    my ($path) = @_;
    return -e $path || make_folder($path =~ s{/[^/]+$}{}r) && mkdir $path;
}

sub make_file {
    my ($path) = @_;
    make_folder($path =~ s{/[^/]+$}{}r) && open my $file, '>', $path
        or die "can't make $path: $!\n";
}

sub mount_all {
    local $/ = "\0";    # ends each word
    open my $file, '<', '/proc/self/cwd/mounts' or die "can't read mounts: $!\n";
    chomp(my @words = <$file>);
    while (my ($type, $source, $place, $flags, $options) = splice @words, 0, 5) {
        make_file($place) if $type eq 'file';
        # A file of /etc that this machine lacks needs nothing in its place.
        next if !make_folder($place) || $type =~ /^(?:file|folder)$/;
        syscall($CALL{mount}, $source, $place, $type, $flags + 0, $options) == 0
            or die "can't mount $place: $!\n";
    }
}

# From here on no more of the host can be mounted, whoever asks (see patch 0009).
sub seal {
    open my $file, '>', '/proc/sys/fs/hostfs/sealed' or die "this kernel lacks a patch: hostfs "
        . "can't be sealed: $!\n";
    syswrite $file, '1' or die "can't seal hostfs: $!\n";
}

# Where things lie on the host has shaped the boot so far: the kernel looks at the clock, and
# draws random numbers, for each folder on the way. All that is left behind here. The clock
# goes on from the same moment in each run: 20 ms after the start, which nothing before it
# comes near to (absolute, of CLOCK_REALTIME). Random numbers begin anew (see patch 0001).
# Processes are counted from 1000.
sub begin_the_same_everywhere {
    my $when = pack 'qq', time, 20e6;
    syscall($CALL{clock_nanosleep}, 0, 1, $when, 0) == 0 or die "clock_nanosleep: $!\n";
    open my $random, '<', '/dev/urandom' or die "/dev/urandom: $!\n";
    ioctl $random, $RNDRESEEDCRNG, 0 or die "reseed: $!\n";
    open my $last_process, '>', '/proc/sys/kernel/ns_last_pid' or die "ns_last_pid: $!\n";
    syswrite $last_process, '999' or die "ns_last_pid: $!\n";
}

# Runs a shell script, and takes up every other process that has lost its parent.
sub run_script {
    my $child = fork // die "can't start lab.sh: $!\n";
    exec '/bin/sh', @_ or die "can't start lab.sh: $!\n" if $child == 0;
    1 while wait != $child;
}

$ENV{PATH} = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
my $first = $$;
eval {
    mount_all();
    seal();
    begin_the_same_everywhere();
    run_script('/run/lab/guest/lab.sh');
};
print STDERR "flent-aqm-guest: $@" if $@;
exit 1 if $$ != $first;
# A first process that merely ends would panic the kernel.
syscall $CALL{sync};
syscall $CALL{reboot}, 0xfee1dead, 672274793, $POWER_OFF, 0;

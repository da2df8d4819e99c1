#!/usr/bin/perl -w
# SPDX-License-Identifier: GPL-3.0-or-later
# First process of the lab's guest: mounts, then lab.sh, then power-off, however lab.sh ends.
#
# One process for all that, as each further one costs as much as a hundred system calls of
# this one. Perl makes system calls by their number, and perl-base is on each Debian and
# Ubuntu. (Debian's `poweroff` belongs to systemd, which a small machine may lack.)
#
# The folder from the host is the working folder of the guest's process there. What is in
# its file `mounts` is written and explained by guest_files.py.

use strict;

# Of Linux on x86-64.
my %CALL = (sync => 162, mount => 165, reboot => 169);
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
    # All so far took no time. Programs in Go end where the time since boot is 0.
    select undef, undef, undef, 0.02;
    run_script('/run/lab/guest/lab.sh');
};
print STDERR "flent-aqm-guest: $@" if $@;
exit 1 if $$ != $first;
# A shell's user has nothing from the kernel's "reboot: Power down" below the last prompt. (A panic
# raises the level by itself.)
if (open my $level, '>', '/proc/sys/kernel/printk') {
    syswrite $level, '0';
}
# A first process that merely ends would panic the kernel.
syscall $CALL{sync};
syscall $CALL{reboot}, 0xfee1dead, 672274793, $POWER_OFF, 0;

#!/usr/bin/perl -w
# SPDX-License-Identifier: GPL-3.0-or-later
# Waits for the next full second of the guest's virtual time. So what comes then begins at the
# same moment, however many programs have put the queue onto the router: each takes 100 us to
# start.

use strict;

# Of Linux on x86-64.
my %CALL = (prctl => 157, clock_gettime => 228, clock_nanosleep => 230);
my $SET_TIMER_SLACK = 29;
my $MONOTONIC = 1;
my $UNTIL = 1;    # TIMER_ABSTIME

# Else it would end up to 50 us later, or earlier where another's timer ends in between.
syscall $CALL{prctl}, $SET_TIMER_SLACK, 1;
my $now = pack 'qq', 0, 0;
syscall $CALL{clock_gettime}, $MONOTONIC, $now;
my ($full_s) = unpack 'qq', $now;
my $end = pack 'qq', $full_s + 1, 0;
syscall($CALL{clock_nanosleep}, $MONOTONIC, $UNTIL, $end, 0) == 0 or die "can't wait: $!\n";

#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs the command on this machine as it is, for testbeds whose router is another machine.
# Starts in the folder that inside.sh describes. If root runs it, it has its own process
# namespace, so that no process outlives it. The command writes directly to out/results/.

# shellcheck source=/dev/null
. ./settings.sh || exit
sh ./command.sh </dev/null >out/stdout 2>out/stderr
echo $? >out/status

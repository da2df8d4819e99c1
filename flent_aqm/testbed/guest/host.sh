#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs the command on this machine as it is, for testbeds whose router is another one. It
# begins in the folder that inside.sh describes; root's comes with a process namespace of
# its own, so that nothing outlives it. Results are written into out/results/ directly.

# shellcheck source=/dev/null
. ./settings.sh || exit
sh ./command.sh </dev/null >out/stdout 2>out/stderr
echo $? >out/status

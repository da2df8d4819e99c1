# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Ends the captures that why_start.sh began: see lab/path_model.py for $STEP.

case $STEP in
    end)
        # Not there if the test was refused before the queue was set up.
        [ ! -e /run/lab/out/why_pids ] || while read -r why_pid; do
            kill -TERM "$why_pid" || continue
            while kill -0 "$why_pid" 2>/dev/null; do sleep 0.1; done
        done </run/lab/out/why_pids
        ;;
    *) ;;
esac

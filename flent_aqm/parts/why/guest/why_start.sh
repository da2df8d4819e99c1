# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Starts a capture in each namespace of the words, once the router's queue is in place:
# why_start.sh BLOCKS NAMESPACE…

blocks=$1
shift
cd /run/lab/out || exit
for namespace in "$@"; do
    # shellcheck disable=SC2016  # the words are the inner shell's
    ip netns exec "$namespace" sh -c 'echo $$ >>why_pids
        exec "$PYTHON" -I -S "$GUEST_DIR/ring.py" "why-$2.ring" "$1" "why_devices-$2.part"' \
        - "$blocks" "$namespace" </dev/null >/dev/null 2>"why_errors-$namespace" &
done

# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Sets up network and servers and runs the command, in the lab's guest (lab.sh) and in
# namespaces of the host (namespaces.sh), once their file systems are mounted.
#
#   client (this namespace)      netns router          netns server
#     eth0 ------------------- down      up ------------------- eth0
#
# With a modem, its namespace is between router and server (modem.sh); a second server is
# behind the first (dest2.sh). topology.sh sets up other topologies.
#
# The host passes one folder, which is /run/lab here. Only out/ in it is writable:
#   settings.sh   the variables in capitals, written by guest_files.py
#   command.sh    what to run on the client
#   etc/          files that replace those of the host's /etc
#   guest/        the scripts of this folder
#   topology/     for another topology: files that topology.sh reads
#   out/          stdout, stderr, status, results/
# When the command has ended, /run/results is copied to out/results/. The output of this script
# goes to the console, which the host shows after an error.
#
# The caller defines a function fail, which prints its arguments and exits.

set_up_network() {
    echo client >/proc/sys/kernel/hostname
    if [ -n "${TOPOLOGY:-}" ]; then
        sh "$GUEST_DIR/topology.sh" || fail "can't set up the topology"
        return
    fi
    sh "$GUEST_DIR/client.sh" || fail "can't set up the client's network"
    ip netns exec router sh "$GUEST_DIR/router.sh" || fail "can't set up the router's network"
    [ -z "${MODEM:-}" ] || ip netns exec modem sh "$GUEST_DIR/modem.sh" ||
        fail "can't set up the modem's network"
    ip netns exec server sh "$GUEST_DIR/server.sh" || fail "can't set up the server's network"
    [ -z "${DEST2_IPV4:-}" ] || ip netns exec dest2 sh "$GUEST_DIR/dest2.sh" ||
        fail "can't set up the second server's network"
}

# A step of each model of the path, NAME:SCRIPT. In this shell, as a process would take its time.
path_models() { # step
    # shellcheck disable=SC2034  # for the scripts
    STEP=$1
    for model in ${PATH_MODELS:-}; do
        # shellcheck source=/dev/null
        . "$GUEST_DIR/${model#*:}" >>"/run/lab/out/${model%%:*}" || fail "$model: $STEP failed"
    done
}

# Sets status to the command's.
run_command() {
    cd "$COMMAND_DIR" || fail "can't enter $COMMAND_DIR"
    if [ "$INTERACTIVE" = yes ]; then
        setsid -c sh /run/lab/command.sh </dev/tty0 >/dev/tty0 2>&1
    else
        # shellcheck source=/dev/null  # in a subshell, which it may replace
        (. /run/lab/command.sh) </dev/null >/run/lab/out/stdout 2>/run/lab/out/stderr
    fi
    status=$?
    cd /
}

# Copy only files and folders: a file that the command has removed is shown as a device,
# which the host refuses. More folders in folders than a hundred, or a path near the kernel's
# limit of 4096 bytes, would stop the copy: they are named and left.
hand_over_results() {
    if [ -n "${WRITABLE:-}" ]; then
        find /run/results -regextype posix-extended \
            \( -regex '(/[^/]*){102,}' -o -regex '.{2000,}' \) -prune \
            -fprint /run/lab/out/left -exec rm -rf {} +
        find /run/results ! -type f ! -type d -delete
        # What ends with the lab, for a word to the user about files that the command named. Files
        # of the host that are shown there are of another file system.
        find /tmp /dev/shm /run -xdev -path /run/results -prune -o -type f -size +0 -fstype tmpfs \
            -fprint0 /run/lab/out/ends_here
    fi
    cp -r /run/results/. /run/lab/out/results/ || fail "can't hand over the results"
    echo "$status" >/run/lab/out/status
}

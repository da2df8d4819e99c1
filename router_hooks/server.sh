# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Prepares a server behind ssh for a run. Read by its shell after defaults.sh, guard.sh
# (which takes the first argument, the sweep's token), state.sh and files.sh:
#
#   start NAME PORTS COMMAND…   starts a server, by these commands, until the sweep ends
#   delay DEVICE MICROSECONDS   delays packets by this much in each direction; 0 for none
#
# ${state_folder}/processes lists the servers that session.sh ends.

# launch COMMAND…: runs it until the sweep ends.
launch() {
    (
        exec < /dev/null > "${state_folder}/output" 2>&1
        trap '' HUP
        exec "$@"
    ) &
    identify "$!"
    printf '%s\n' "${identity}" >> "${state_folder}/processes"
    launched="${launched} ${identity%% *}"
}

start() {
    kind=$1
    ports=$2
    shift 2
    launched=
    for command in "$@"; do
        launch sh -c "exec ${command}"
    done
    sleep 2
    for process in ${launched}; do
        kill -0 "${process}" 2> /dev/null || {
            said=$(tail -n 1 "${state_folder}/output")
            die "${kind} ended within 2 s of its start on port ${ports}: ${said:-it printed nothing}"
        }
    done
}

# Delays packets in each direction. netem can delay only packets that leave a device, so
# arriving ones go through an IFB device. The limit is enough for one second at 10 Gbit/s.
delay() {
    devices=$1
    found=$(cat "${state_folder}/found")
    put_back "${state_folder}/plan" "${found}"
    [ "$2" -gt 0 ] || return 0
    ip link add flent-ifb type ifb ||
        die "delay needs an IFB device, which could not be added; does the server's kernel have CONFIG_IFB?"
    ip link set dev flent-ifb up
    lines="qdisc replace dev $1 root netem delay $2us limit 1000000
qdisc add dev $1 clsact
filter add dev $1 ingress matchall action mirred egress redirect dev flent-ifb
qdisc add dev flent-ifb root netem delay $2us limit 1000000"
    said=$(printf '%s\n' "${lines}" | tc -batch - 2>&1) || die "tc could not add the delay: ${said}"
}

case $1 in
    start | delay) "$@" ;;
    *) die "unknown command '$1'; known: start, delay" ;;
esac

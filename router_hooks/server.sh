# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Makes a server behind ssh ready for a run. Read by its shell after defaults.sh, guard.sh
# (which takes the first argument, the sweep's token), state.sh and files.sh:
#
#   start KIND PORT…            a server of the kind; it ends with the sweep
#   delay DEVICE MICROSECONDS   on what leaves the device and on what arrives; 0 for none
#
# ${state_folder}/processes has the servers, for session.sh to end them.

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
    shift
    launched=
    case ${kind} in
        iperf3 | iperf3-flows)
            # A server in JSON mode hands its side of each interval to the client, too.
            for port in "$@"; do
                launch iperf3 --server --json --interval 0.2 --port "${port}"
            done
            ;;
        irtt | irtt-call) launch irtt server -b ":$1" -d 0 -i 0 ;;
        netserver) launch netserver -D -p "$1" ;;
        ndt7) launch flent-aqm ndt7-server --port "$1" --tls-port "$2" ;;
        speedtest) launch flent-aqm speedtest-server --port "$1" --tls-port "$2" ;;
        nuttcp) launch nuttcp -S --nofork -P "$1" ;;
        iperf2) launch iperf -s -e -p "$1" ;;
        *) die "unknown server '${kind}'; known: iperf2, iperf3, iperf3-flows, irtt, irtt-call, netserver, ndt7, nuttcp, speedtest" ;;
    esac
    sleep 2
    for process in ${launched}; do
        kill -0 "${process}" 2> /dev/null || {
            said=$(tail -n 1 "${state_folder}/output")
            die "${kind} does not run on port $*: ${said:-its process ended at once}"
        }
    done
}

# Half of the delay on what leaves, half on what arrives; netem can hold only what leaves
# a device, so arriving packets go through an IFB device. The limit holds 10 Gbit/s for a
# second.
delay() {
    found=$(cat "${state_folder}/found")
    put_back "${state_folder}/plan" "${found}"
    [ "$2" -gt 0 ] || return 0
    ip link add flent-ifb type ifb ||
        die "delay needs an IFB device, but the server can't make one (CONFIG_IFB)"
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

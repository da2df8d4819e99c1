#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A router behind ssh without a lab: namespaces of this machine's kernel, real time. To be run in
# new mount, network and process namespaces; sets up the network and runs its arguments there.
#
#   client (this namespace) ── down [router: sshd] up ── server
#          └───────────────── mgmt ──┘

set -eu
mount -t tmpfs run /run
mkdir -p /run/netns
ip link set lo up
ip netns add router
ip netns add server
ip link add eth0 type veth peer name down netns router
ip -n router link add name up type veth peer name eth0 netns server
ip addr add 192.0.2.2/24 dev eth0
ip link set eth0 up
ip -n router -batch - <<END
link set lo up
addr add 192.0.2.1/24 dev down
addr add 198.51.100.1/24 dev up
link set dev down up
link set dev up up
END
ip -n server -batch - <<END
link set lo up
addr add 198.51.100.2/24 dev eth0
link set eth0 up
route add default via 198.51.100.1
END
ip route add default via 192.0.2.1
ip netns exec router sysctl -qw net.ipv4.ip_forward=1
for device in down up; do
    ip netns exec router ethtool -K $device tso off gso off gro off >/dev/null
done
ethtool -K eth0 tso off gso off gro off >/dev/null
ip netns exec server ethtool -K eth0 tso off gso off gro off >/dev/null
for server in "iperf3 --server --json --interval 0.2" "$IRTT server -d 0 -i 0"; do
    # shellcheck disable=SC2086 # words
    ip netns exec server $server >/dev/null 2>&1 &
done
# shellcheck source=tests/parts/ssh/guest.sh
. "$(dirname "$0")/guest.sh"
export HOME=/run/home
openssh_router :
set +e # what finds nothing to show has failed
found
"$@"
echo "status $?"
as_found

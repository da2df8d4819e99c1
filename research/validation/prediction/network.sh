#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Client and server around a router in qemu; runs its arguments on the client. To be run in new
# mount, network and process namespaces: nothing of the machine's own network changes.
#
#   client (this namespace) ── tap [down router up] tap ── server
#          └──────────────── mgmt ──┘
#
# $MACHINE: the folder that machine.sh has made. $IRTT: the program. $ROUTER_CORE, $HOST_CORE: the
# cores that qemu and the hosts run on. They go before other work of the machine, which then disturbs
# them less.

set -eu
mount -t tmpfs run /run
mkdir -p /run/netns /run/home/.ssh
ip link set lo up
ip netns add server
# A tap holds what qemu has not yet taken: with the card's own 256, 512 packets.
for tap in mgmt eth0 far; do
    ip tuntap add "$tap" mode tap vnet_hdr
    ip link set "$tap" txqueuelen 256
done
# The cards hold 256 packets each way, and merge nothing.
card() { printf '%s' "-netdev tap,id=$1,ifname=$1,script=no,downscript=no,vhost=off
    -device virtio-net-pci,netdev=$1,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off "; }
# shellcheck disable=SC2046 # words
nice -n -20 taskset -c "$ROUTER_CORE" qemu-system-x86_64 -name router \
    -accel tcg,thread=single -cpu qemu64 -smp 1 -m 256 \
    -nodefaults -no-user-config -display none -no-reboot \
    -kernel "$MACHINE/vmlinuz" -initrd "$MACHINE/initrd" \
    -append 'console=ttyS0 quiet mitigations=off no_timer_check net.ifnames=0 panic=-1' \
    -serial "file:$MACHINE/console" $(card mgmt) $(card eth0) $(card far) \
    </dev/null >"$MACHINE/qemu.log" 2>&1 &
sleep 1
ip link set far netns server
ip -n server link set far name eth0
ip addr add 203.0.113.2/24 dev mgmt
ip addr add 192.0.2.2/24 dev eth0
ip -n server addr add 198.51.100.2/24 dev eth0
for device in mgmt eth0; do
    ethtool -K $device tso off gso off gro off >/dev/null
    ip link set $device up
done
ip netns exec server ethtool -K eth0 tso off gso off gro off >/dev/null
ip -n server link set lo up
ip -n server link set eth0 up
ip -n server route add default via 198.51.100.1
ip route add default via 192.0.2.1

chmod 700 /run/home /run/home/.ssh
cp "$MACHINE/id" /run/home/.ssh/id_ed25519
chmod 600 /run/home/.ssh/id_ed25519
sed 's,^root:.*,root:x:0:0:root:/run/home:/bin/sh,' /etc/passwd >/run/passwd
mount --bind /run/passwd /etc/passwd
echo "203.0.113.1 $(cat "$MACHINE/host.pub")" >/run/home/.ssh/known_hosts
export HOME=/run/home

waited=0
until ssh -o ConnectTimeout=5 root@203.0.113.1 true 2>/dev/null; do
    waited=$((waited + 1))
    if [ $waited -gt 60 ]; then
        echo "network.sh: the router in qemu doesn't answer to ssh after 60 tries; its output:" >&2
        cat "$MACHINE/qemu.log" "$MACHINE/console" >&2
        exit 1
    fi
    sleep 1
done
for server in "iperf3 --server --json --interval 0.2" \
    "iperf3 --server --json --interval 0.2 --port 5202" "$IRTT server -d 0 -i 0"; do
    # shellcheck disable=SC2086 # words
    ip netns exec server nice -n -20 taskset -c "$HOST_CORE" $server >/dev/null 2>&1 &
done
exec nice -n -20 taskset -c "$HOST_CORE" "$@"

#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# First process of the router in qemu: three network cards, forwarding, an ssh server.

export PATH=/usr/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts
mount -t devpts pts /dev/pts
mount -t tmpfs run /run
modprobe virtio_pci
modprobe virtio_net
hostname router

# In the order of qemu's command line.
ip link set dev eth0 name mgmt
ip link set dev eth1 name down
ip link set dev eth2 name up
ip link set dev lo up
ip addr add 203.0.113.1/24 dev mgmt
ip addr add 192.0.2.1/24 dev down
ip addr add 198.51.100.1/24 dev up
for device in mgmt down up; do
    ip link set dev $device up
    ethtool -K $device tso off gso off gro off >/dev/null 2>&1
done
echo 1 >/proc/sys/net/ipv4/ip_forward
echo "router: $(uname -r) is up"
while :; do dropbear -F -E -r /etc/dropbear/host; done

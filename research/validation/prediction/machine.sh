#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes a small router for qemu in a folder: vmlinuz and initrd, from Debian's own kernel package
# and this machine's BusyBox, tc, ethtool and dropbear.
#
#   machine.sh FOLDER
#
# What is there already stays, so that a later measurement meets the same machine. The router's
# host key and the client's key are made once, in the same folder, and are of no use elsewhere.

set -eu
folder=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"
cd "$folder"

if ! [ -e vmlinuz ]; then
    package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: //p')
    [ -n "$package" ] || {
        echo "machine.sh: apt knows no package linux-image-cloud-amd64; it takes Debian on amd64, and apt-get update" >&2
        exit 1
    }
    rm -rf package kernel.deb
    apt-get -qq -o APT::Sandbox::User=root download "$package"
    mv "$package"_*.deb kernel.deb
    dpkg-deb -x kernel.deb package
    echo "$package" >name
    cp package/boot/vmlinuz-* vmlinuz
fi

release=$(ls package/lib/modules)
rm -rf root
mkdir -p root/bin root/dev root/etc/dropbear root/proc root/root/.ssh root/run root/sys root/tmp \
    root/usr/sbin root/var
ln -s ../run root/var/run
ln -s bin root/sbin # where the kernel looks for modprobe
for name in $(busybox --list); do
    # Those of iproute2 and ethtool are full ones.
    [ "$name" = ip ] || ln -s busybox "root/bin/$name"
done

# with_libraries PROGRAM FOLDER
with_libraries() {
    cp "$1" "root/$2"
    ldd "$1" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "root/$(dirname "$library")"
        cp -n "$library" "root/$library"
    done
}
with_libraries "$(command -v busybox)" bin
for program in tc ip ethtool dropbear; do
    with_libraries "/usr/sbin/$program" usr/sbin
done

# Modules: network cards and queues.
modules=root/lib/modules/$release/kernel
mkdir -p "$modules"
(cd package/lib/modules/"$release"/kernel && tar -cf - net/sched net/core drivers/virtio \
    drivers/net/virtio_net.ko drivers/net/net_failover.ko drivers/net/ifb.ko) | tar -C "$modules" -xf -
cp package/lib/modules/"$release"/modules.builtin* package/lib/modules/"$release"/modules.order \
    root/lib/modules/"$release"
busybox depmod -b "$PWD/root" "$release"

[ -e id ] || ssh-keygen -q -t ed25519 -N '' -f id
[ -e host ] || dropbearkey -t ecdsa -f host >/dev/null 2>&1
dropbearkey -y -f host | grep '^ecdsa' | cut -d ' ' -f 1,2 >host.pub
cp id.pub root/root/.ssh/authorized_keys
chmod 700 root/root root/root/.ssh
chmod 600 root/root/.ssh/authorized_keys
cp host root/etc/dropbear/host
echo 'root:x:0:0:root:/root:/bin/sh' >root/etc/passwd
echo 'root::0:0:99999:7:::' >root/etc/shadow
echo /bin/sh >root/etc/shells
echo "PRETTY_NAME=\"BusyBox with Debian's kernel\"" >root/etc/os-release
cp "$here/init.sh" root/init
chmod 755 root/init
(cd root && find . | busybox cpio -o -H newc 2>/dev/null) | gzip -1 >initrd.new
mv initrd.new initrd
rm -rf root

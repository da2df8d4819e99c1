# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Functions that let namespaces of a lab's guest be reached by ssh. Read by pretend_router.sh.
# Keys and accounts are the guest's own: nothing of the host is used or changed.

# make_account: gives root a home in the guest, with a key that every ssh server here accepts.
make_account() {
    mkdir -p /run/sshd /run/ssh /run/home/.ssh
    chmod 700 /run/home /run/home/.ssh
    # ssh takes root's home from the list of users, not from HOME.
    sed 's,^root:.*,root:x:0:0:root:/run/home:/bin/sh,' /etc/passwd >/run/ssh/passwd
    mount --bind /run/ssh/passwd /etc/passwd
    ssh-keygen -q -t ed25519 -N '' -f /run/home/.ssh/id_ed25519
    ssh-keygen -q -t ecdsa -N '' -f /run/ssh/host
    cp /run/home/.ssh/id_ed25519.pub /run/home/.ssh/authorized_keys
    chmod 600 /run/home/.ssh/authorized_keys
}

# trust ADDRESS PUBLIC_KEY: the client knows the host by this key.
trust() { echo "$1 $2" >>/run/home/.ssh/known_hosts; }

# serve_ssh NAMESPACE PRELUDE COMMAND…: runs PRELUDE and then an ssh server, with mounts and a host
# name of its own, and waits until the server listens. Its process is named in
# /run/ssh/NAMESPACE.pid.
serve_ssh() {
    name=$1
    shift
    # shellcheck disable=SC2016 # for that shell
    ip netns exec "$name" unshare --uts sh -c '
        echo "$0" >/proc/sys/kernel/hostname
        echo $$ >"/run/ssh/$0.pid"
        eval "$1"
        shift
        exec "$@"' "$name" "$@" </dev/null >"/run/ssh/$name.log" 2>&1 &
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        ip netns exec "$name" ss -Hltn 'sport = 22' | grep -q . && return
        sleep 1
    done
    echo "the ssh server of $name does not listen after 10 s; its log:"
    cat "/run/ssh/$name.log"
    exit 1
}

# serve_openssh NAMESPACE ADDRESS PRELUDE [OPTION…]: as serve_ssh, with OpenSSH's server.
serve_openssh() {
    trust "$2" "$(cut -d ' ' -f 1,2 /run/ssh/host.pub)"
    name=$1
    prelude=$3
    shift 3
    serve_ssh "$name" "$prelude" /usr/sbin/sshd -D -e -h /run/ssh/host -f /dev/null \
        -o UsePAM=no -o StrictModes=no "$@"
}

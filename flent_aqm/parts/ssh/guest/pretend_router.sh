# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Makes the lab's router and server those of docs/routers.md: the same devices and addresses, both
# reached by ssh. Runs on the client of a lab whose network is set up. The argument is the folder
# with ssh_host.sh.
#
#   client ── eth0 192.168.7.2 ── lan1 [router: sshd] eth2 ── 10.0.0.2 [server: sshd]
#      └───── mgmt 192.168.1.2 ── lan4 192.168.1.1

set -eu
# shellcheck source=flent_aqm/parts/ssh/guest/ssh_host.sh
. "$1/ssh_host.sh"

ip -batch - <<END
link add mgmt type veth peer name lan4 netns router
addr add 192.168.1.2/24 dev mgmt
link set mgmt up
addr add 192.168.7.2/24 dev eth0
END
ip -n router -batch - <<END
addr add 192.168.1.1/24 dev lan4
link set lan4 up
link set dev down name lan1
addr add 192.168.7.1/24 dev lan1
link set dev up name eth2
addr add 10.0.0.1/24 dev eth2
END
ip -n server addr add 10.0.0.2/24 dev eth0
ip route add 10.0.0.0/24 via 192.168.7.1
ip -n server route add 192.168.7.0/24 via 10.0.0.1
make_account
serve_openssh router 192.168.1.1 :
# A sweep locks and stores the state of a host in its /run, so the server has another one. It needs
# the PATH of the lab to find the programs of the tests' servers.
# shellcheck disable=SC2016 # for the server's shell
serve_openssh server 10.0.0.2 '
    mkdir /dev/shm/run
    for folder in /run/*/; do
        mkdir "/dev/shm$folder"
        mount --rbind "$folder" "/dev/shm$folder"
    done
    mount --rbind /dev/shm/run /run' -o "SetEnv=PATH=$PATH"

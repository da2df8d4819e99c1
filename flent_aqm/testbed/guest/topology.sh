# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Another network than client, router and server in a row: namespaces, links, addresses and routes
# as topology_files.py has worked them out. Run in the client's namespace.

set -eu
cd /run/lab/topology

ip -batch links
while read -r node kind devices; do
    in_node="ip netns exec $node"
    [ "$node" != client ] || in_node=
    # shellcheck disable=SC2086  # several words each
    $in_node sh "$GUEST_DIR/node.sh" "$node" "$kind" $devices </dev/null || {
        echo "can't set up the network of $node"
        exit 1
    }
done <nodes

# Stations of one Wi-Fi channel, and its access point: patch 0013 of the lab's kernel. Each line is
# for a node and a file.
if [ -n "${WIFI:-}" ]; then
    wifi=/sys/module/lab_wifi/parameters
    [ -e $wifi/channel ] || {
        echo "wifi_rates_mbps: a Wi-Fi channel needs patch 0013 in the kernel"
        exit 1
    }
    while read -r node file line; do
        in_node="ip netns exec $node"
        [ "$node" != client ] || in_node=
        # shellcheck disable=SC2016  # the words are the inner shell's
        $in_node sh -c 'echo "$1" >"$2"' - "$line" "$wifi/$file" </dev/null || {
            echo "can't make $node a part of the Wi-Fi channel"
            exit 1
        }
    done <../wifi
fi

# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Sets up a topology other than client, router and server in a row, with namespaces, links, addresses
# and routes from topology_files.py. Runs in the client's namespace.

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

# Set up the access point and the stations of a Wi-Fi channel: patch 0013 of the lab's kernel. Each
# line has a node, a file and what to write to it.
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
            echo "can't add $node to the Wi-Fi channel"
            exit 1
        }
    done <../wifi
fi

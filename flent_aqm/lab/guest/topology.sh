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

# shellcheck disable=SC2034  # for the scripts
STEP=topology
for model in ${PATH_MODELS:-}; do
    # shellcheck source=/dev/null
    . "$GUEST_DIR/${model#*:}"
done

# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# The access point and the stations of a Wi-Fi channel, patch 0013 of the lab's kernel: see
# lab/path_model.py for $STEP.

wifi=/sys/module/lab_wifi/parameters
case $STEP in
    # Each line has a node, a file and what to write to it.
    topology)
        [ -e $wifi/channel ] || {
            echo "wifi_rates_mbps: this kernel lacks the Wi-Fi channel of patch 0013; leave kernel out, or build it from a source that takes the patch"
            exit 1
        }
        while read -r node file line; do
            in_node="ip netns exec $node"
            [ "$node" != client ] || in_node=
            # shellcheck disable=SC2016  # the words are the inner shell's
            $in_node sh -c 'echo "$1" >"$2"' - "$line" "$wifi/$file" </dev/null || {
                echo "can't add $node to the Wi-Fi channel: the kernel refuses '$line' in $file"
                exit 1
            }
        done </run/lab/wifi_lines
        ;;
    end) cat $wifi/channel ;;
esac

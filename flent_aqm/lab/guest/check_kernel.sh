# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# After a run on a user's kernel: finds packets that stay in the router's queues, removes all queues,
# and saves the kernel's log and use of memory. Writes held, memory_after and kernel_log into out/.

# Prints a line for each queue that holds packets. CAKE's tins also show a backlog, but no requeues.
held() {
    ip netns exec router tc -s qdisc show | awk '
        /^qdisc/ { queue = $2 " on " $5 }
        /^ *backlog .* requeues/ && ($2 != "0b" || $3 != "0p") { print queue " " $2 " " $3 }'
}

# Wait, as a link may be slow. A backlog that hasn't changed for 5 s, in which any link would send
# a packet, is stuck.
before=
now=$(held)
tries=0
while [ -n "$now" ] && [ "$now" != "$before" ] && [ "$tries" -lt 60 ]; do
    sleep 5
    before=$now
    now=$(held)
    tries=$((tries + 1))
done
echo "$now" >/run/lab/out/held

# Without their queues, routers use no memory for them, however many they had (CAKE takes 1 MiB
# each), and packets that a queue forgets to free when it ends count, too.
ip netns list | while read -r place _; do
    # shellcheck disable=SC2016 # the inner shell's variable
    ip netns exec "$place" sh -c 'tc qdisc show | awk "/ root /{ print \$5 }" |
        while read -r device; do tc qdisc del dev "$device" root 2>/dev/null; done'
done
sleep 1 # the kernel frees queues later
cat /proc/meminfo >/run/lab/out/memory_after
dmesg >/run/lab/out/kernel_log

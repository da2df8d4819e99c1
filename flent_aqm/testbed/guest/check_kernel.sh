# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# After a run on a kernel of the user's own: does the router let go of all packets, and has the
# kernel complained? Writes held and kernel_log into out/.

# Queues that hold something, a line each. CAKE's tins have a backlog, too, without requeues.
held() {
    ip netns exec router tc -s qdisc show | awk '
        /^qdisc/ { queue = $2 " on " $5 }
        /^ *backlog .* requeues/ && ($2 != "0b" || $3 != "0p") { print queue " " $2 " " $3 }'
}

# A slow link takes its time. What holds the same for so long that any link would have sent a
# packet, holds it for ever.
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
dmesg >/run/lab/out/kernel_log

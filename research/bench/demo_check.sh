#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# From `make demo` to its picture, by the clock: the last commit's sources in a Debian of their own
# that has make and nothing else of what is needed. With its downloads.
#   --suite NAME   Debian's release (bookworm)   --keep   leave the folder, and say where it is
# Writes research/bench/results/demo-DATE.json. Needs root and mmdebstrap; keep the machine idle.
set -eu

cd "$(dirname "$0")/../.."
name=demo-check
# shellcheck source=research/bench/debian.sh
. research/bench/debian.sh
read_options "$@"
need_root_and mmdebstrap
make_work
root=$work/root

say "making a $suite with make"
mirror=$(mirror debian)
security=$(mirror debian-security)
mmdebstrap --quiet --variant=minbase --include=make,ca-certificates "$suite" "$root" \
    "deb $mirror $suite main" "deb $security $suite-security main"
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || :
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
# A mirror may be older than Debian's releases say they are valid, where this machine's apt agrees.
apt-config dump | grep '^Acquire::Check-' > "$root/etc/apt/apt.conf.d/90-this-machine" || :
install -d "$root/root/flent-aqm"
git archive HEAD | tar -x -C "$root/root/flent-aqm"
cat > "$root/root/try.sh" <<'END'
cd /root/flent-aqm
begun=$(date +%s)
make demo || exit
echo "$begun $(date +%s)" > /root/times
times > /root/cpu
END
say 'setting up, eight runs, picture'
# Everything that is mounted goes with this namespace.
# shellcheck disable=SC2016 # $1 is that shell's
unshare --mount --pid --fork sh -c '
    mount -t proc proc "$1/proc" && mount -t tmpfs -o mode=1777 tmp "$1/dev/shm" &&
    exec chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive sh /root/try.sh' sh "$root" >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; exit 1; }

cpu=$(processor_s "$root/root/cpu")
read -r begun drawn < "$root/root/times"
mkdir -p research/bench/results
stamp=$(date -u +%Y-%m-%dT%H%M%SZ)
# What set-up says of each part: `lab kernel: version 7.3.4 built (173 s)`.
parts=$(sed -n 's/^\([a-z0-9 -]*\): .*(\([0-9]*\) s)$/"\1_s": \2/p' "$work/log" |
    tr ' ' '_' | sed 's/:_/: /' | paste -s -d , | sed 's/,/, /g')
cat <<END | tee "research/bench/results/demo-$stamp.json"
{
 "suite": "$suite", "cores": $(nproc), "load_average_at_end": $(cut -d ' ' -f 1 /proc/loadavg),
 "parts": {$parts},
 "processor_s": $cpu, "from_make_demo_to_picture_s": $((drawn - begun))
}
END

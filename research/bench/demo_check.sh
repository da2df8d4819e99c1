#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# From `make demo` to its picture, by the clock: the last commit's sources in a Debian of their own
# that has make and nothing else of what is needed. With its downloads.
#   --suite NAME   Debian's release (bookworm)   --keep   leave the folder, and say where it is
# Writes research/bench/results/demo-DATE.json. Needs root and mmdebstrap; keep the machine idle.
set -eu

cd "$(dirname "$0")/../.."
name=demo-check
suite=bookworm
keep=
while [ $# -gt 0 ]; do
    case $1 in
    --suite) suite=$2; shift 2 ;;
    --keep) keep=yes; shift ;;
    *) echo "$0: unknown option $1; known: --suite NAME, --keep" >&2; exit 2 ;;
    esac
done
# shellcheck source=research/bench/debian.sh
. research/bench/debian.sh
need_root_and mmdebstrap
make_work
root=$work/root

say "making a $suite with make"
mmdebstrap --quiet --variant=minbase --include=make,ca-certificates "$suite" "$root" \
    "deb $(mirror debian) $suite main" "deb $(mirror debian-security) $suite-security main"
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || :
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
install -d "$root/root/flent-aqm"
git archive HEAD | tar -x -C "$root/root/flent-aqm"
cat > "$root/root/try.sh" <<'END'
cd /root/flent-aqm
begun=$(date +%s)
make demo || exit
echo "$begun $(date +%s)" > /root/times
times > /root/cpu  # of all that ran here: minutes and seconds of user and system, the second line
END
say 'setting up, eight runs, picture'
# Everything that is mounted goes with this namespace.
# shellcheck disable=SC2016 # $1 is that shell's
unshare --mount --pid --fork sh -c '
    mount -t proc proc "$1/proc" && mount -t tmpfs -o mode=1777 tmp "$1/dev/shm" &&
    exec chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive sh /root/try.sh' sh "$root" >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; exit 1; }

cpu=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); s += 60 * t[1] + t[2] }
    printf "%.0f", s }' "$root/root/cpu")
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

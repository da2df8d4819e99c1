#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# From `pip install` to the demo's picture, by the clock: both wheels of dist/ in a Debian of
# their own that has no compiler, as a user without rights. What pip would download lies there
# before, and system packages are installed before: the figure is what our part takes.
#   --suite NAME   Debian's release (bookworm)   --keep   leave the folder, and say where it is
# Writes research/bench/results/dist-DATE.json and the picture beside it. Needs root and mmdebstrap.
set -eu

cd "$(dirname "$0")/../.."
name=dist-check
# shellcheck source=research/bench/debian.sh
. research/bench/debian.sh
read_options "$@"
need_root_and mmdebstrap

# What measuring needs by flent_aqm/setup/packages.txt, but for netperf, which Debian keeps
# among what isn't free and the demo does without.
packages=$(awk '$2 == "run" && $1 != "netperf" { printf "%s,", $1 }' flent_aqm/setup/packages.txt)
make_work
root=$work/root
say "making a $suite with python3-venv and the tools that measure"
mirror=$(mirror debian)
mmdebstrap --quiet --variant=minbase --include="${packages}python3-venv" "$suite" "$root" \
    "deb $mirror $suite main"
for program in gcc cc make cargo; do
    if chroot "$root" sh -c "command -v $program" >/dev/null; then
        say "$program is in there: no test of ready-made parts"; exit 1
    fi
done
chroot "$root" useradd --create-home tester

# With the Python that is in there, so that the wheels fit it.
say 'downloading what the package needs'
home=$root/home/tester
install -d "$home/wheels"
cp dist/*.whl release/constraints.txt "$home/wheels"
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || :
install -d "$root/etc/ssl/certs"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
cat > "$root/root/download.sh" <<'EOF'
set -e
python3 -m venv /root/venv
cd /home/tester/wheels
/root/venv/bin/pip -q --disable-pip-version-check --cert /etc/ssl/certs/ca-certificates.crt \
    wheel -w . -c constraints.txt --find-links . flent-aqm flent-aqm-lab setuptools
rm -rf /root/venv /root/.cache
EOF
chroot "$root" sh /root/download.sh
chroot "$root" chown -R tester: /home/tester

cat > "$home/try.sh" <<'EOF'
set -e
cd
now() { date +%s.%N; }
begun=$(now)
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install --no-index --find-links wheels \
    -c wheels/constraints.txt flent-aqm flent-aqm-lab
installed=$(now)
venv/bin/flent-aqm setup
venv/bin/flent-aqm > next
batch=$(echo venv/lib/python3*/site-packages/flent_aqm/batches/aqm_sweep.batch)
grep -qF "flent -B $batch -b quick" next || { cat next; exit 1; }
venv/bin/flent -B "$batch" -b quick
measured=$(now)
venv/bin/flent -q -p latency_and_throughput -o demo.png results/quick-*/*.flent.gz
drawn=$(now)
echo "$begun $installed $measured $drawn" > times
times > cpu
EOF
say 'installing and measuring as a user without rights, without a network'
user=$(chroot "$root" id -u tester)
# Everything that is mounted goes with this namespace.
# shellcheck disable=SC2016 # $1 and $2 are that shell's
unshare --mount --pid --net --fork sh -c '
    mount -t proc proc "$1/proc" && mount -t tmpfs -o mode=1777 tmp "$1/dev/shm" &&
    exec chroot --userspec="$2:$2" "$1" env -i HOME=/home/tester PATH=/usr/bin:/bin LANG=C.UTF-8 \
        sh /home/tester/try.sh' sh "$root" "$user"

mkdir -p research/bench/results
stamp=$(date -u +%Y-%m-%dT%H%M%SZ)
cp "$home/demo.png" "research/bench/results/dist-$stamp.png"
cpu=$(processor_s "$home/cpu")
read -r begun installed measured drawn < "$home/times"
awk -v b="$begun" -v i="$installed" -v m="$measured" -v d="$drawn" -v suite="$suite" \
    -v cpu="$cpu" -v cores="$(nproc)" -v load="$(cut -d ' ' -f 1 /proc/loadavg)" 'BEGIN {
    printf "{\n \"suite\": \"%s\", \"cores\": %d, \"load_average_at_end\": %s,\n", suite, cores, load
    printf " \"install_s\": %.1f, \"setup_and_eight_runs_s\": %.1f, \"picture_s\": %.1f,\n", \
        i - b, m - i, d - m
    printf " \"processor_s\": %s, \"from_install_to_picture_s\": %.1f\n}\n", cpu, d - b }' |
    tee "research/bench/results/dist-$stamp.json"

#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The time of one CI job as docs/ci.md describes it: from the two wheels in dist/ to report and
# conditions, with four queues on one line. pip downloads what the package needs, or takes it from
# its cache; the programs that measure are installed before. At most 60 s are wanted on two cores.
# Writes research/bench/results/ci-job-DATE.json.
set -eu

cd "$(dirname "$0")/../.."
dist=$PWD/dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
now() { date +%s.%N; }
since() { echo "$(now) $1" | awk '{ printf "%.1f", $1 - $2 }'; }

begin=$(now)
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet "$dist"/flent_aqm-*.whl "$dist"/flent_aqm_lab-*.whl
install_s=$(since "$begin")
PATH=$work/env/bin:$PATH
cd "$work"
mkdir results
begin_runs=$(now)
for aqm in no_aqm codel fq_codel cake; do
    flent-aqm lab --aqm $aqm --rate 20 --delay 40 --server 'iperf3 -s -1 -p 4433' \
        --record results/$aqm.flent.gz -- iperf3 -c server -p 4433 -t 10 -R >>out
done
runs_s=$(since "$begin_runs")
begin_report=$(now)
flent-aqm report results -o results/report.html >>out
flent-aqm assert 'throughput_download_mbps > 1Mbit/s' results --junit results/junit.xml >>out
report_s=$(since "$begin_report")
whole_s=$(since "$begin")
cd - >/dev/null
result=research/bench/results/ci-job-$(date -u +%FT%H%M%SZ).json
cat >"$result" <<END
{"install_s": $install_s, "four_runs_s": $runs_s, "report_and_conditions_s": $report_s,
 "whole_s": $whole_s, "cores": $(nproc), "load": $(cut -d ' ' -f 1 /proc/loadavg)}
END
cat "$result"

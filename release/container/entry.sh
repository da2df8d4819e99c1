#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The image's entry point: "demo" makes eight runs and a picture; other arguments go to flent-aqm.
set -eu
if [ "${1-}" != demo ]; then
    exec flent-aqm "$@"
fi
batch=$(python -c 'from flent_aqm.base.paths import resource_dir
print(resource_dir("batches") / "aqm_sweep.batch")')
flent -B "$batch" -b quick
exec flent -q -p latency_and_throughput -o results/demo.png results/quick-*/*.flent.gz

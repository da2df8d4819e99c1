# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Stochastic fairness queueing with the kernel's defaults: 127 packets, no perturbation.

scheme_help() {
    printf '%s\n' 'sfq: aqm_limit=PACKETS aqm_depth=PACKETS aqm_flows=N aqm_divisor=N aqm_quantum=BYTES aqm_perturb=SECONDS'
}

scheme_requires() {
    printf '%s\n' 'sch_sfq (CONFIG_NET_SCH_SFQ)'
}

scheme_qdisc() {
    leaf sfq 'limit depth flows divisor quantum perturb' "$@"
}

# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2034
# Configuration of cake-autorate for the lab: docs/links.md. Copy it into cake-autorate's folder.
dl_if=down
ul_if=up
reflectors=("198.51.100.2")
no_pingers=1
reflector_ping_interval_s=0.1
log_file_path_override="/tmp"
enable_sleep_function=0
randomize_reflectors=0
min_dl_shaper_rate_kbps=4000
base_dl_shaper_rate_kbps=40000
max_dl_shaper_rate_kbps=120000
min_ul_shaper_rate_kbps=4000
base_ul_shaper_rate_kbps=40000
max_ul_shaper_rate_kbps=120000

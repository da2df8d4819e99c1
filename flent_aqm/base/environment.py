# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines the names of the environment variables of this package.

Flent runs twice: on the host, where it distributes runs, and beside the tools, where it measures.
By most variables the first Flent instructs the second. Shell scripts, batches and bridge/hook.py,
which may import next to nothing, write the names out. A test compares them with this file.
"""

from __future__ import annotations

# This Flent measures one run, whose batch the Flent on the host has written.
CELL = "FLENT_AQM_CELL"
# The command runs inside the lab, on the virtual clock.
IN_LAB = "FLENT_AQM_IN_LAB"
# The run's scenario as JSON, with which the router's settings are compared.
SCENARIO = "FLENT_AQM_SCENARIO"
# Path of the folder router_hooks, as the run's commands see it.
HOOKS = "FLENT_AQM_HOOKS"
# The file that a shell reads to put the run's queue onto the router.
APPLY = "FLENT_AQM_APPLY"
# This Flent draws nothing, so matplotlib and this package's plots are not imported.
WITHOUT_PLOTS = "FLENT_AQM_WITHOUT_PLOTS"
# A router behind ssh: socket of the open connection, the sweep's token, the router's devices.
SSH_CONTROL = "FLENT_AQM_SSH_CONTROL"
SSH_TOKEN = "FLENT_AQM_SSH_TOKEN"
DEV_DOWN = "FLENT_AQM_DEV_DOWN"
DEV_UP = "FLENT_AQM_DEV_UP"
# Set by the user: leave Flent as it is; another kernel for the lab; another Debian archive.
DISABLE = "FLENT_AQM_DISABLE"
KERNEL = "FLENT_AQM_KERNEL"
DEBIAN_URI = "FLENT_AQM_DEBIAN_URI"
# Path of a folder with a copy of librespeed/speedtest.
LIBRESPEED = "FLENT_AQM_LIBRESPEED"
# Path of a Python file with the user's own speed test.
OWN_TOOL = "FLENT_AQM_OWN_TOOL"
# Path of the folder for the output of a recorded command of the user, as the run sees it.
PROGRAM_OUTPUT = "FLENT_AQM_PROGRAM_OUTPUT"
# What instructs the Flent that measures alone, and no program of the user that it starts.
OF_ONE_FLENT = (CELL, WITHOUT_PLOTS, PROGRAM_OUTPUT)
# Data files are trusted: the limits for files of strangers don't apply.
LARGE_FILES = "FLENT_AQM_LARGE_FILES"
# Passphrase of a netperf server, from `flent-aqm speedtest` to the Flent that it starts.
NETPERF_PASSPHRASE = "FLENT_AQM_NETPERF_PASSPHRASE"

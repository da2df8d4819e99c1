# SPDX-License-Identifier: GPL-3.0-or-later
"""Names the testbeds without an address: values of the batch key `testbed`."""

# The virtual lab, in virtual time.
VIRTUAL = "virtual"
# Network namespaces of this machine's kernel.
NETNS = "netns"

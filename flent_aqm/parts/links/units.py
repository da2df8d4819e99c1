# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of links."""

NS = 10**9  # ns per second
OPPORTUNITY_BYTES = 1500  # size of one delivery opportunity in mahimahi's traces

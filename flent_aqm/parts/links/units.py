# SPDX-License-Identifier: GPL-3.0-or-later
"""What links are counted in."""

NS = 10**9  # in a second
OPPORTUNITY_BYTES = 1500  # mahimahi's

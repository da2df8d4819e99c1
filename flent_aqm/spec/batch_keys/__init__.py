# SPDX-License-Identifier: GPL-3.0-or-later
"""The records of a scenario. Each of their fields is a key of a batch."""

# SPDX-License-Identifier: GPL-3.0-or-later
"""SQM at home, done again: runs, table and chart."""

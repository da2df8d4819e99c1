# SPDX-License-Identifier: GPL-3.0-or-later
"""The records of a scenario: each key of a batch is a field of one."""

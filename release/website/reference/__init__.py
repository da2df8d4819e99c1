# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of docs/reference/ that follow from the records in the code."""

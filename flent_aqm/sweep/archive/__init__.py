# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder with data and what makes them again, to be published."""

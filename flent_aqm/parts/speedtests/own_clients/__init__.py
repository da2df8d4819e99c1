# SPDX-License-Identifier: GPL-3.0-or-later
"""This package's own clients of others' methods."""

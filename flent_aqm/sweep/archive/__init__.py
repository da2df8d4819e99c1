# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a folder for publication: data files, and everything needed to repeat their runs."""

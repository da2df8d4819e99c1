# SPDX-License-Identifier: GPL-3.0-or-later
"""One check per file; all_checks.py lists them."""

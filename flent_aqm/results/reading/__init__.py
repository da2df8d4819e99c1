# SPDX-License-Identifier: GPL-3.0-or-later
"""Read files that may come from anyone: limits of size, and text that is safe to show."""

# SPDX-License-Identifier: GPL-3.0-or-later
"""AQM experiments for Flent, in a lab with virtual time."""

__version__ = "0.2.0"

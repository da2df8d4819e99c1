# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the router model that behaves as a router of the user's does."""

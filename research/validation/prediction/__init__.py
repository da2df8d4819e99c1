# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure a slow router, fit a model to a few cells, and predict the others."""

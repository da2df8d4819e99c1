# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures a slow router, fits a model to a few cells, and predicts the others."""

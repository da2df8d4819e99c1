# SPDX-License-Identifier: GPL-3.0-or-later
"""A slow router is measured, fitted in few cells, and predicted in others."""

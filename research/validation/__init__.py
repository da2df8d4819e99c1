# SPDX-License-Identifier: GPL-3.0-or-later
"""Measurements in the lab whose expected results follow from arithmetic or from a standard.

`make validate` runs them all and writes docs/results/validation.md.
"""

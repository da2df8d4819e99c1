# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares published results with the lab's, for batches/papers.batch and docs/papers.md."""

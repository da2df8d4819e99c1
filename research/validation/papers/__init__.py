# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares published results with the lab's: batches/papers.batch, docs/results/papers.md."""

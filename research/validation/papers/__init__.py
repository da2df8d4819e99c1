# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare published results with the lab's: batches/papers.batch, docs/results/papers.md."""

# SPDX-License-Identifier: GPL-3.0-or-later
"""Published results beside the lab's, for batches/papers.batch and docs/papers.md."""

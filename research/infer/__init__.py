# SPDX-License-Identifier: GPL-3.0-or-later
"""Which queue is behind an NDT7 test: labelled runs, the model made of them, its page."""

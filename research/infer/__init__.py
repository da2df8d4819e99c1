# SPDX-License-Identifier: GPL-3.0-or-later
"""Labelled NDT7 runs, the model of `flent-aqm infer` that is trained on them, and its page."""

# SPDX-License-Identifier: GPL-3.0-or-later
"""Each folder can be taken out, and all else works as before: see base/part.py."""

# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of anybody's: how much of them is read, and how their words are shown."""

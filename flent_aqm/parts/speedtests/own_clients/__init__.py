# SPDX-License-Identifier: GPL-3.0-or-later
"""Code that this package's own clients share: connections, metering of a load, statistics."""

# SPDX-License-Identifier: GPL-3.0-or-later
"""This package's own clients, which follow the methods of other projects' speed tests."""

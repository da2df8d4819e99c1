# SPDX-License-Identifier: GPL-3.0-or-later
"""This package's own clients of speed tests, and pages of makers' in a browser: programs that
flent_aqm/tools has records of.
"""

# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools that tests run, one module each; table.py lists them, and tool.py says what each tells.
"""

# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools that tests run, a module each: table.py lists them, tool.py defines their record."""

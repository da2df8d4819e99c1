# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of a sweep on other machines, by Dask's distributed. Imported only when asked for."""

# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed tests over HTTP by their published methods: one server, and a client for each method.

table.py has every client: its method, the server's paths that it uses, the numbers it tells.
"""

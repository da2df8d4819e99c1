# SPDX-License-Identifier: GPL-3.0-or-later
"""The server of this package: NDT7, speed tests over HTTP, and downloads for cross traffic.

    python -m flent_aqm.servers    starts the server with few imports
    flent-aqm serve             starts it from the command-line program

The main thread accepts all clients, under one set of limits (limits.py). NDT7 has a thread with a
blocking socket for each client. HTTP has one thread with an event loop for all clients.
"""

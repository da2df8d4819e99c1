# SPDX-License-Identifier: GPL-3.0-or-later
"""The server of this package: NDT7, the speed tests over HTTP, and what cross traffic fetches.

    python -m flent_aqm.measure.serve       starts it alone, with few imports
    flent-aqm serve                         the same, from the command-line program

The main thread accepts all clients, under one set of limits (limits.py). NDT7 gives each client
a thread that drives a blocking socket; HTTP has one thread for all, which waits in one place.
"""

# SPDX-License-Identifier: GPL-3.0-or-later
"""People's traffic over TCP, as programs of their own: a server that sends as many bytes as it
is asked for, a player of adaptive video (video.py), a reader of web pages (web.py).

Each prints lines of JSON, which measure/parsers/cross.py reads, and ends by SIGINT.
"""

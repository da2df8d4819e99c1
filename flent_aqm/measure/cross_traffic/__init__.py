# SPDX-License-Identifier: GPL-3.0-or-later
"""People's traffic over TCP, as programs of their own: a player of adaptive video (video.py), a
reader of web pages (web.py), both from the HTTP server of this package (measure/serve).

Each prints lines of JSON, which measure/parsers/cross.py reads, and ends by SIGINT.
"""

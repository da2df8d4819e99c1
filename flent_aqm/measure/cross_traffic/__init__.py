# SPDX-License-Identifier: GPL-3.0-or-later
"""Generates cross traffic over TCP: a player of adaptive video (video.py), and a web reader
(web.py).

Both download from the HTTP server of this package (servers/). Each prints lines of JSON, which
measure/parsers/cross.py parses, and runs until SIGINT. quic.py has client and server of a download
over QUIC.
"""

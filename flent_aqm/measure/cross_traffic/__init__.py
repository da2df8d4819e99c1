# SPDX-License-Identifier: GPL-3.0-or-later
"""Generates cross traffic: adaptive video (video.py), web pages (web.py), bulk over QUIC (quic.py).

The clients of video and web download from the HTTP server of this package (servers/). quic.py has a
server of its own. Each client prints lines of JSON, which measure/parsers/cross.py parses, and runs
until SIGINT.
"""

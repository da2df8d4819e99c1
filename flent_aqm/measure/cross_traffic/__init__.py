# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that generate cross traffic over TCP: a player of adaptive video, and a web reader.

They are video.py and web.py. Both download from the HTTP server of this package (servers/).

Each prints lines of JSON, which measure/parsers/cross.py parses, and runs until SIGINT.
"""

# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that generate cross traffic over TCP as people do: a player of adaptive video (video.py)
and a reader of web pages (web.py). Both download from the HTTP server of this package
(measure/serve).

Each prints lines of JSON, which measure/parsers/cross.py parses, and runs until SIGINT.
"""

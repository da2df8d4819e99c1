# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP, TLS, QUIC and WebRTC, for the server and for the clients of speed tests."""

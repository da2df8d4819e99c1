# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP, TLS, QUIC and WebRTC of the server and of clients of speed tests."""

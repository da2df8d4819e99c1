# SPDX-License-Identifier: GPL-3.0-or-later
"""TLS over a blocking socket, with as few system calls as cleartext.

An SSLSocket makes two reads and one write for each record of 16 KiB. Here OpenSSL reads and writes
memory, and the socket transfers whole messages.
"""

from __future__ import annotations

import socket
import ssl

from flent_aqm.servers.ndt7.tcp import receive_buffer


class TlsTransport:
    """The server's end of a Transport (see transport.py) with TLS. Call handshake() first.

    Args:
        sock: the connected, blocking socket.
        context: TLS context of the server.
    """

    is_tls = True

    def __init__(self, sock: socket.socket, context: ssl.SSLContext) -> None:
        self.sock = sock
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._ciphertext = receive_buffer()

    def handshake(self) -> None:
        """Do the TLS handshake. Raises OSError if it fails, the client leaves, or nothing arrives
        within SO_RCVTIMEO."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._send_ciphertext()
                if not (count := self._receive_ciphertext(0)):
                    raise ConnectionError(
                        f"the client {'was silent' if count is None else 'left'} during the TLS "
                        "handshake") from None
            except ssl.SSLError:
                self._send_ciphertext()  # the alert with the reason
                raise
            else:
                self._send_ciphertext()
                return

    def send(self, data: bytes) -> None:
        """Encrypt and send all of `data`. Block until the kernel has it. Raises OSError if the
        connection is broken."""
        self._tls.write(data)
        self._send_ciphertext()

    def recv_into(self, buffer: memoryview, flags: int = 0) -> int | None:
        """Receive plaintext into `buffer`, as far as complete TLS records allow. Return the number
        of bytes, 0 at the end of the connection. None if no record is complete when nothing has
        arrived for SO_RCVTIMEO, or, with socket.MSG_DONTWAIT in `flags`, when no more bytes are
        there. Raises OSError if the connection is broken or a record isn't valid."""
        filled = 0
        while filled < len(buffer):
            try:
                count = self._tls.read(len(buffer) - filled, buffer[filled:])
            except ssl.SSLWantReadError:
                if self._outgoing.pending:
                    self._send_ciphertext()  # the answer to a key update
                if filled:
                    break
                came = self._receive_ciphertext(flags)
                if came is None:
                    return None
                if came == 0:
                    return 0
                continue
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                break
            if not count:
                break
            filled += int(count)
        return filled

    def close(self) -> None:
        """Send a close_notify if the handshake is complete, and close the socket without waiting
        for the client's close_notify. Raises nothing if the client is gone."""
        try:
            self._tls.unwrap()
        except (OSError, ValueError):
            pass  # unwrap() was only needed to put our close_notify into _outgoing
        try:
            self._send_ciphertext()
        except OSError:
            pass  # the peer is gone already
        self.sock.close()

    def _receive_ciphertext(self, flags: int) -> int | None:
        """Receive ciphertext from the socket and give it to OpenSSL. Return the number of bytes, 0
        at the end of the connection. None if no bytes arrived within SO_RCVTIMEO, or at all with
        socket.MSG_DONTWAIT in `flags`. Raises OSError if the connection is broken."""
        try:
            count = self.sock.recv_into(self._ciphertext, 0, flags)
        except BlockingIOError:
            return None
        self._incoming.write(self._ciphertext[:count])
        return count

    def _send_ciphertext(self) -> None:
        """Send the ciphertext that OpenSSL has produced, if any. Raises OSError if the connection
        is broken."""
        if self._outgoing.pending:
            self.sock.sendall(self._outgoing.read())

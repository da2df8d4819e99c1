# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs one end of a WebRTC call by aiortc, which transfers a picture and records statistics.

The picture is VP8. Its rate follows the receiver's estimate of the bandwidth (REMB), by the delay
gradient of Google's congestion control. aiortc keeps the rate between 0.25 and 1.5 Mbit/s. Lost
packets are requested again (NACK). A picture that can't be decoded is replaced by a complete one
(PLI). All of that is aiortc's, and so are round trip, jitter and loss.

Calls use a fixed RSA key, so that all handshakes have the same length. By default, aiortc makes a
P-256 key for each call. Signatures by such keys have 70 to 72 bytes, at random. Signatures by RSA
keys always have the length of the key. OpenSSL's DTLS supports neither Ed25519 nor Ed448. The key
protects nothing: both ends exchange their fingerprints in cleartext (servers/webrtc.py), and the
call carries a test picture.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from random import Random
from typing import Any, Self

import aioice.ice
import aiortc.rtcpeerconnection
from aiortc import (
    MediaStreamTrack,
    RTCConfiguration,
    RTCPeerConnection,
    RTCSessionDescription,
)
from aiortc.mediastreams import MediaStreamError
from aiortc.rtcdtlstransport import RTCCertificate, SRTPProtectionProfile
from av import VideoFrame
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from OpenSSL import SSL

from flent_aqm.base.errors import BadResult, cause_of
from flent_aqm.base.json_text import json_text

BITS = 2048
EXPONENT = 65537
# For each prime of the key: seed of the random number, and how far above that number the prime is.
PRIMES = ((1, 286), (2, 396))
# aiortc's first choice, with RSA in place of ECDSA.
CIPHERS = b"ECDHE-RSA-AES128-GCM-SHA256"
_VALID_DAYS = 30


class RsaCertificate(RTCCertificate):
    """Certificate with the fixed RSA key. After use_fixed_certificate(), aiortc uses it in place of
    its own."""

    @classmethod
    def generateCertificate(cls) -> Self:  # noqa: N802
        """Return a certificate for the fixed key, valid from yesterday until 30 days from now.
        Called by aiortc for each connection."""
        key = fixed_key()
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "flent-aqm call")])
        now = datetime.now(UTC)
        return cls(key, (
            x509.CertificateBuilder().subject_name(name).issuer_name(name)
            .public_key(key.public_key()).serial_number(1)
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=_VALID_DAYS))
            .sign(key, hashes.SHA256())))

    def _create_ssl_context(self, srtp_profiles: list[SRTPProtectionProfile]) -> SSL.Context:
        """Return aiortc's DTLS context, with CIPHERS as its only cipher. Called by aiortc."""
        context: SSL.Context = super()._create_ssl_context(srtp_profiles)
        context.set_cipher_list(CIPHERS)
        return context


def fixed_key() -> rsa.RSAPrivateKey:
    """Return the fixed RSA key, always the same. It isn't searched for, because the duration of a
    search varies."""
    p, q = ((Random(seed).getrandbits(BITS // 2) | 3 << BITS // 2 - 2 | 1) + further
            for seed, further in PRIMES)
    d = pow(EXPONENT, -1, (p - 1) * (q - 1))
    return rsa.RSAPrivateNumbers(
        p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p),
        rsa.RSAPublicNumbers(EXPONENT, p * q)).private_key(unsafe_skip_rsa_key_validation=True)


def use_fixed_certificate() -> None:
    """Make all connections of aiortc use a certificate with the fixed key from now on. aiortc has
    no setting for it."""
    aiortc.rtcpeerconnection.RTCCertificate = RsaCertificate


WIDTH, HEIGHT, FRAMES_PER_S = 320, 240, 15
# Frequency of the RTP time stamps of video.
CLOCK_HZ = 90_000
# Seconds between two reads of the statistics.
STEP_S = 0.2
# Seconds after the last sent frame for which received frames still count.
DRAIN_S = 2.0
# Seconds without an answer after which an end is considered hung.
PATIENCE_S = 30.0
PIXELS = WIDTH * HEIGHT
# Pixels by which the texture moves per frame, and bytes by which the noise does.
PIXELS_PER_FRAME, NOISE_STEP = 3, 7919


@dataclass
class EndRecord:
    """The records of one end of a call. Times are seconds since this end's own picture began.

    Attributes:
        sent: number of frames that this end sent.
        packets: number of RTP packets that this end sent.
        frames: for each decoded frame of the other end: time at which aiortc delivered it, negative
            before this end's picture began, and its RTP time stamp in units of 1 / CLOCK_HZ.
        received: pairs of time and number of bytes of DTLS, SRTP and SRTCP received until then.
        reports: for receiver reports of the other end: time at which the report was read from
            aiortc, which call() does every STEP_S, number of packets lost until then, jitter in ms,
            and round trip in ms. The round trip is None until aiortc has computed one.
    """

    sent: int = 0
    packets: int = 0
    frames: list[tuple[float, int]] = field(default_factory=list)
    received: list[tuple[float, int]] = field(default_factory=list)
    reports: list[tuple[float, int, float, float | None]] = field(default_factory=list)


class Picture(MediaStreamTrack):
    """A moving test picture: a texture that moves to the left, with as much unpredictable noise as
    1.5 Mbit/s can carry. Each call has the same pictures.

    Args:
        length_s: duration for which frames are sent.

    Attributes:
        sent: number of frames sent.
        began_s: time of the first frame on the monotonic clock, None before it.
    """

    kind = "video"

    def __init__(self, length_s: float) -> None:
        super().__init__()
        self.sent = 0
        self.began_s: float | None = None  # time of the first frame on the monotonic clock
        self._most = round(length_s * FRAMES_PER_S)
        self._texture = bytes(
            48 + (3 * (place % WIDTH) + 2 * (place // WIDTH)) % 128
            for place in range(PIXELS + WIDTH))
        self._noise = Random(1).randbytes(2 * PIXELS)
        self._mask = int.from_bytes(b"\x1f" * PIXELS, "little")

    async def recv(self) -> VideoFrame:
        """Return the next frame when it is due. After the last frame it never returns. Called by
        aiortc, for one frame after the other."""
        if self.began_s is None:
            self.began_s = time.monotonic()
        if self.sent >= self._most:
            await asyncio.Event().wait()  # until the call is closed
        await asyncio.sleep(self.began_s + self.sent / FRAMES_PER_S - time.monotonic())
        frame = VideoFrame(WIDTH, HEIGHT, "yuv420p")
        frame.planes[0].update(self.luma(self.sent))
        for plane in frame.planes[1:]:
            plane.update(b"\x80" * (PIXELS // 4))
        frame.pts = self.sent * CLOCK_HZ // FRAMES_PER_S
        frame.time_base = Fraction(1, CLOCK_HZ)
        self.sent += 1
        return frame

    def luma(self, number: int) -> bytes:
        """Return the brightness of the pixels of a frame, one byte per pixel.

        Texture and noise are added as two long numbers. Both are small enough that no byte of the
        sum carries into its neighbour.

        Args:
            number: number of the frame, from 0.
        """
        at = number * PIXELS_PER_FRAME % WIDTH
        noise_at = number * NOISE_STEP % PIXELS
        texture = int.from_bytes(self._texture[at:at + PIXELS], "little")
        noise = int.from_bytes(self._noise[noise_at:noise_at + PIXELS], "little") & self._mask
        return (texture + noise).to_bytes(PIXELS, "little")


class End:
    """One end of a call, at an address of this machine. The address is its only ICE candidate, and
    no STUN server is used. The address holds for all connections of aiortc that this process opens,
    until another End is made. The fixed certificate holds for them, too (use_fixed_certificate()).

    Args:
        address: IPv4 or IPv6 address.
        length_s: duration for which the picture is sent.
    """

    def __init__(self, address: str, length_s: float) -> None:
        # aioice has no setting to leave out the machine's other addresses.
        aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: [address]
        use_fixed_certificate()
        self._address, self._length_s = address, length_s
        self._picture = Picture(length_s)
        self._record = EndRecord()
        self._report_at: Any = None
        self._settled = asyncio.Event()
        self._receiving: asyncio.Task[None] | None = None
        self._connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self._connection.addTrack(self._picture)
        self._connection.on("track", self._receive_track)
        self._connection.on("connectionstatechange", self._note_state)

    async def offer(self) -> str:
        """Return this end's session description (SDP), with its address, to begin a call. Hand it
        to the other end's answer(), and what that returns to accept(). Raises BadResult if no UDP
        socket can be opened at the address."""
        await self._connection.setLocalDescription(await self._connection.createOffer())
        return self._description()

    async def accept(self, answer: str) -> None:
        """Process the other end's session description, its answer to that of offer(). Raises
        BadResult if it isn't valid."""
        try:
            await self._connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        # For an invalid description aiortc raises all kinds of exceptions.
        except Exception as fault:
            raise BadResult("the other end's session description can't be read "
                            f"({cause_of(fault)}); it starts with {answer[:60]!r}") from None

    async def answer(self, offer: str) -> str:
        """Process the other end's session description, which its offer() returned. Return this
        end's session description. Raises BadResult if the other end's description isn't valid, or
        if no UDP socket can be opened at this end's address."""
        try:
            await self._connection.setRemoteDescription(RTCSessionDescription(offer, "offer"))
            await self._connection.setLocalDescription(await self._connection.createAnswer())
        # For an invalid description aiortc raises all kinds of exceptions.
        except Exception as fault:
            raise BadResult("the other end's session description can't be answered "
                            f"({cause_of(fault)}); it starts with {offer[:60]!r}") from None
        return self._description()

    def _description(self) -> str:
        """Return this end's session description. Raises BadResult if it has no address, because
        aiortc could not open a UDP socket there, and tells only its log."""
        description = str(self._connection.localDescription.sdp)
        if "\na=candidate:" not in description:
            raise BadResult(f"no UDP socket for the call could be opened at {self._address}: is "
                            "its port taken, or the address link-local?")
        return description

    async def call(self) -> tuple[float, EndRecord]:
        """Wait until the call is connected, then run it until 2 s after length_s since this end's
        picture began. Call it once, after accept() or answer(). close() has to follow.

        Return the time at which this end's picture began, on the monotonic clock, and the records
        of this end. Raises BadResult if the call isn't connected within 30 s, or breaks before its
        end.
        """
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._settled.wait()
        except TimeoutError:
            raise BadResult(f"the call wasn't connected within {PATIENCE_S:g} s; expected that "
                            "UDP packets of any port reach the other end: does a firewall drop "
                            "them?") from None
        while self._picture.began_s is None:
            self._refuse_broken()
            await asyncio.sleep(0.01)
        began_s = self._picture.began_s
        step = 0
        while step * STEP_S < self._length_s + DRAIN_S:
            self._refuse_broken()
            await self._record_statistics(began_s)
            step += 1
            await asyncio.sleep(began_s + step * STEP_S - time.monotonic())
        self._record.sent = self._picture.sent
        self._record.frames = [(at_s - began_s, pts) for at_s, pts in self._record.frames]
        return began_s, self._record

    async def close(self) -> None:
        """Close the call, and stop recording. It may be called at any time."""
        if self._receiving is not None:
            self._receiving.cancel()
        await self._connection.close()

    def _note_state(self) -> None:
        """Called by aiortc when the state of the connection changes: let call() go on once the
        connection is established, has failed or is closed."""
        if self._connection.connectionState in ("connected", "failed", "closed"):
            self._settled.set()

    def _refuse_broken(self) -> None:
        """Raise BadResult if the other end's picture can't be received, or if the call could not be
        connected or isn't connected any more."""
        fault: BaseException | None = None
        if (self._receiving is not None and self._receiving.done()
                and not self._receiving.cancelled()):
            fault = self._receiving.exception()
        # aiortc's MediaStreamError is the end of the picture, because the connection has ended.
        if isinstance(fault, Exception) and not isinstance(fault, MediaStreamError):
            raise BadResult("the other end's picture can't be received any more: "
                            f"{cause_of(fault)}")
        if fault is not None or self._connection.connectionState != "connected":
            raise BadResult("the call could not be connected, or was broken off (state of its "
                            f"connection: {self._connection.connectionState}): was the other end "
                            "stopped, or do UDP packets of some port not reach it?")

    def _receive_track(self, track: MediaStreamTrack) -> None:
        """Called by aiortc when the other end's picture begins: start to receive it."""
        self._receiving = asyncio.ensure_future(self._record_frames(track))

    async def _record_frames(self, track: MediaStreamTrack) -> None:
        """Append each frame of the other end's picture to the records when it arrives, as time on
        the monotonic clock and RTP time stamp, until close() cancels it. Raises aiortc's exception
        if the picture ends."""
        while True:
            frame = await track.recv()
            self._record.frames.append((time.monotonic(), int(frame.pts)))

    async def _record_statistics(self, began_s: float) -> None:
        """Record aiortc's current statistics in self._record. A receiver report of the other end is
        recorded only once.

        Args:
            began_s: time at which this end's picture began, on the monotonic clock.
        """
        for statistics in (await self._connection.getStats()).values():
            at_s = time.monotonic() - began_s
            if statistics.type == "transport":
                self._record.received.append((at_s, statistics.bytesReceived))
            elif statistics.type == "outbound-rtp":
                self._record.packets = statistics.packetsSent
            elif (statistics.type == "remote-inbound-rtp"
                  and statistics.timestamp != self._report_at):
                self._report_at = statistics.timestamp
                self._record.reports.append((
                    at_s, statistics.packetsLost, statistics.jitter * 1000 / CLOCK_HZ,
                    None if statistics.roundTripTime is None else statistics.roundTripTime * 1000))


def as_json(record: EndRecord) -> dict[str, Any]:
    """Return the records as values for JSON, to send them to the other end."""
    return asdict(record)


def from_json(value: Any) -> EndRecord:
    """Return the records that the other end sent as as_json() made them. Raises BadResult if they
    are not valid."""
    try:
        return EndRecord(
            int(value["sent"]), int(value["packets"]),
            [(float(at_s), int(pts)) for at_s, pts in value["frames"]],
            [(float(at_s), int(size)) for at_s, size in value["received"]],
            [(float(at_s), int(lost), float(jitter_ms), None if rtt_ms is None else float(rtt_ms))
             for at_s, lost, jitter_ms, rtt_ms in value["reports"]])
    except (LookupError, TypeError, ValueError, OverflowError) as fault:
        raise BadResult(f"the other end's report can't be read ({cause_of(fault)}); it starts with "
                        f"{json_text(value)[:60]!r}") from None

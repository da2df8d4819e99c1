# SPDX-License-Identifier: GPL-3.0-or-later
"""One end of a WebRTC call by aiortc: a picture each way, and what aiortc says of it.

The picture is VP8, whose rate follows the receiver's estimate (REMB) of what the line carries, by
the delay gradient of Google's congestion control; aiortc keeps it between 0.25 and 1.5 Mbit/s.
Lost packets are asked for again (NACK), a picture that can't be decoded brings a whole one (PLI).
All of that is aiortc's, and so is the round trip, jitter and loss that it tells.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from random import Random
from typing import Any

import aioice.ice
from aiortc import (
    MediaStreamTrack,
    RTCConfiguration,
    RTCPeerConnection,
    RTCSessionDescription,
)
from av import VideoFrame

from flent_aqm.base.errors import BadResult
from flent_aqm.measure.http import webrtc_certificate

WIDTH, HEIGHT, FRAMES_PER_S = 320, 240, 15
# Of RTP's timestamps of video.
CLOCK_HZ = 90_000
STEP_S = 0.2
# Frames that come later than this after the last one was sent come too late to be counted.
DRAIN_S = 2.0
# No answer for so long is an end that hangs.
PATIENCE_S = 30.0
PIXELS = WIDTH * HEIGHT
PIXELS_PER_FRAME, NOISE_STEP = 3, 7919


@dataclass
class EndRecord:
    """What one end knows after a call; times in s since its own picture began.

    sent: frames; frames: when each decoded one came, and its RTP timestamp since the first;
    received: bytes of SRTP until then; reports: of the other end's receiver reports, when each
    came, packets lost until then, jitter in ms, and the round trip in ms that aiortc made of it,
    None before it had one; packets: sent.
    """

    sent: int = 0
    packets: int = 0
    frames: list[tuple[float, int]] = field(default_factory=list)
    received: list[tuple[float, int]] = field(default_factory=list)
    reports: list[tuple[float, int, float, float | None]] = field(default_factory=list)


class Picture(MediaStreamTrack):
    """A texture that moves to the left, with noise on it that a coder can't foresee: as much as
    1.5 Mbit/s can carry. The same pictures in each call; no more of them after length_s."""

    kind = "video"

    def __init__(self, length_s: float) -> None:
        super().__init__()
        self.sent = 0
        self.began_s: float | None = None  # monotonic
        self._most = round(length_s * FRAMES_PER_S)
        self._texture = bytes(
            48 + (3 * (place % WIDTH) + 2 * (place // WIDTH)) % 128
            for place in range(PIXELS + WIDTH))
        self._noise = Random(1).randbytes(2 * PIXELS)
        self._mask = int.from_bytes(b"\x1f" * PIXELS, "little")

    async def recv(self) -> VideoFrame:
        """The next frame, when it is due."""
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
        """Brightness of that frame's pixels. As neither part is large, no byte of the sum of two
        long numbers carries over into its neighbour."""
        at = number * PIXELS_PER_FRAME % WIDTH
        noise_at = number * NOISE_STEP % PIXELS
        texture = int.from_bytes(self._texture[at:at + PIXELS], "little")
        noise = int.from_bytes(self._noise[noise_at:noise_at + PIXELS], "little") & self._mask
        return (texture + noise).to_bytes(PIXELS, "little")


class End:
    """One end of a call, at an address of this machine, which is its only ICE candidate: no STUN
    server is asked."""

    def __init__(self, address: str, length_s: float) -> None:
        # aioice has no other way to leave out the machine's other addresses.
        aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: [address]
        webrtc_certificate.use()
        self._length_s = length_s
        self._picture = Picture(length_s)
        self._record = EndRecord()
        self._report_at: Any = None
        self._settled = asyncio.Event()
        self._taking: asyncio.Task[None] | None = None
        self._connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self._connection.addTrack(self._picture)
        self._connection.on("track", self._take)
        self._connection.on("connectionstatechange", self._changed)

    async def offer(self) -> str:
        """Open the call; gives the session description, with this end's address."""
        await self._connection.setLocalDescription(await self._connection.createOffer())
        return str(self._connection.localDescription.sdp)

    async def accept(self, answer: str) -> None:
        """Take the other end's description. Raises BadResult."""
        try:
            await self._connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        # Of an odd one aiortc raises whatever comes to it.
        except Exception as fault:
            raise BadResult(f"the other end's session description can't be read ({fault!r}); it "
                            f"starts with {answer[:60]!r}") from None

    async def answer(self, offer: str) -> str:
        """Take the other end's description; gives this one's."""
        await self._connection.setRemoteDescription(RTCSessionDescription(offer, "offer"))
        await self._connection.setLocalDescription(await self._connection.createAnswer())
        return str(self._connection.localDescription.sdp)

    async def call(self) -> tuple[float, EndRecord]:
        """Wait for the other end, then call for length_s; gives the monotonic time at which this
        end's picture began, and what is known then. Raises BadResult."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._settled.wait()
        except TimeoutError:
            raise BadResult(f"the call wasn't connected in {PATIENCE_S:g} s: do UDP packets of "
                            "any port reach the other end?") from None
        while self._picture.began_s is None:
            self._refuse_broken()
            await asyncio.sleep(0.01)
        began_s = self._picture.began_s
        step = 0
        while step * STEP_S < self._length_s + DRAIN_S:
            self._refuse_broken()
            await self._look(began_s)
            step += 1
            await asyncio.sleep(began_s + step * STEP_S - time.monotonic())
        self._record.sent = self._picture.sent
        self._record.frames = [(at_s - began_s, pts) for at_s, pts in self._record.frames]
        return began_s, self._record

    async def close(self) -> None:
        """Hang up."""
        if self._taking is not None:
            self._taking.cancel()
        await self._connection.close()

    def _changed(self) -> None:
        if self._connection.connectionState in ("connected", "failed", "closed"):
            self._settled.set()

    def _refuse_broken(self) -> None:
        if self._connection.connectionState != "connected":
            raise BadResult(f"the call's connection is {self._connection.connectionState}; "
                            "expected it to stay connected")

    def _take(self, track: MediaStreamTrack) -> None:
        self._taking = asyncio.ensure_future(self._frames(track))

    async def _frames(self, track: MediaStreamTrack) -> None:
        while True:
            frame = await track.recv()
            self._record.frames.append((time.monotonic(), int(frame.pts)))

    async def _look(self, began_s: float) -> None:
        """Note what aiortc says now."""
        for one in (await self._connection.getStats()).values():
            at_s = time.monotonic() - began_s
            if one.type == "transport":
                self._record.received.append((at_s, one.bytesReceived))
            elif one.type == "outbound-rtp":
                self._record.packets = one.packetsSent
            elif one.type == "remote-inbound-rtp" and one.timestamp != self._report_at:
                self._report_at = one.timestamp
                self._record.reports.append((
                    at_s, one.packetsLost, one.jitter * 1000 / CLOCK_HZ,
                    None if one.roundTripTime is None else one.roundTripTime * 1000))


def as_json(record: EndRecord) -> dict[str, Any]:
    """For the other end."""
    return asdict(record)


def from_json(value: Any) -> EndRecord:
    """What the other end told. Raises BadResult."""
    try:
        return EndRecord(
            int(value["sent"]), int(value["packets"]),
            [(float(at_s), int(pts)) for at_s, pts in value["frames"]],
            [(float(at_s), int(size)) for at_s, size in value["received"]],
            [(float(at_s), int(lost), float(jitter_ms), None if rtt_ms is None else float(rtt_ms))
             for at_s, lost, jitter_ms, rtt_ms in value["reports"]])
    except (LookupError, TypeError, ValueError) as fault:
        raise BadResult(f"the other end's report can't be read ({fault!r}); it starts with "
                        f"{str(value)[:60]!r}") from None

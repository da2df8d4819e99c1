# SPDX-License-Identifier: GPL-3.0-or-later
"""Client for a WebRTC call: the calling end, and the evaluation of both ends' records.

The other end is servers/protocols/webrtc.py. Each end records the frames that it received, and the
round trip, jitter and loss of the stream that it sent. The times of each end are counted from the
beginning of its own stream. The two beginnings are at most a round trip apart, so the clocks
needn't agree.
"""

from __future__ import annotations

import asyncio
import json
import sys
from itertools import pairwise
from statistics import fmean

from flent_aqm.base.errors import BadResult, cause_of
from flent_aqm.base.json_text import json_text
from flent_aqm.base.words import counted
from flent_aqm.parts.speedtests.own_clients.connection import (
    ServerAddress,
    serves_hint,
    why_not_open,
)
from flent_aqm.parts.speedtests.own_clients.own_client import run
from flent_aqm.parts.speedtests.own_clients.statistics import percentile
from flent_aqm.servers.protocols.webrtc import (
    CLOCK_HZ,
    FRAMES_PER_S,
    PATIENCE_S,
    End,
    EndRecord,
    from_json,
)
from flent_aqm.tools.client import Call
from flent_aqm.tools.report import ClientReport, DirectionLoad

# A frame that took so many ms longer than the fastest frame is late: with 50 ms for camera, encoder
# and screen, its delay reaches the 150 ms of ITU-T G.114.
LATE_MS = 100.0
FRAME_PERCENTILE = 0.95
_LONGEST_LINE = 1 << 22
_IS_IT = ": is it `flent-aqm serve webrtc`?"
LENGTH_S = 30.0


async def measure(server: ServerAddress, report: ClientReport, call: Call) -> None:
    """Make the whole call and fill the report. Raises BadResult if the connection or the call
    fails, the server refuses or sends something invalid, or a direction has too few frames or
    counts of received bytes for a result. Option of the call: `call_length_s` (default: 30)."""
    length_s = float(call.options.get("call_length_s", LENGTH_S))
    try:
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection(
                str(server.address[0]), int(str(server.address[1])), family=server.family,
                limit=_LONGEST_LINE)
    except OSError as fault:
        raise BadResult(f"no connection to {server.host_and_port}: {why_not_open(fault)}"
                        f"{serves_hint(fault, 'flent-aqm serve webrtc')}") from None
    end = End(writer.get_extra_info("sockname")[0], length_s)
    try:
        output = await _exchange(reader, writer, {"length_s": length_s, "sdp": await end.offer()})
        await end.accept(str(output.get("sdp")))
        began_s, mine = await end.call()
        theirs = from_json((await _exchange(reader, writer, {"over": True}, "")).get("told"))
    except OSError as fault:
        raise BadResult(f"the connection to {server.host_and_port} broke: "
                        f"{cause_of(fault)}") from None
    finally:
        await end.close()
        writer.close()
    fill(report, "download", theirs, mine, began_s, length_s)
    fill(report, "upload", mine, theirs, began_s, length_s)


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
                    message: dict[str, object], is_it: str = _IS_IT) -> dict[str, object]:
    """Send an object to the server as a line of JSON, and return the object of its response.

    Args:
        reader: reads from the connection.
        writer: writes to the connection.
        message: the object to send.
        is_it: question for messages whether it is such a server, "" if it has answered before.

    Raises BadResult if there is no response within 30 s, the server closes the connection, or the
    response is too long, not a JSON object, or a refusal. Raises OSError if the connection breaks.
    """
    writer.write(json_text(message).encode() + b"\n")
    try:
        async with asyncio.timeout(PATIENCE_S):
            line = await reader.readline()
    except TimeoutError:
        raise BadResult(f"the server did not respond within {PATIENCE_S:g} s"
                        f"{is_it or ' of the end of the call; its output may say why'}") from None
    except ValueError:  # of asyncio, beyond the limit
        raise BadResult(f"the server responded with a line of more than {_LONGEST_LINE >> 20} MiB; "
                        f"expected a JSON object{is_it}") from None
    if not line:
        raise BadResult("the server closed the connection instead of responding"
                        + (f"{is_it} Its output may say why" if is_it else
                           " at the end of the call; its output may say why"))
    if not line.endswith(b"\n"):
        raise BadResult("the server closed the connection in the middle of its response; its "
                        "output may say why")
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):  # no JSON, or nested too deeply
        answer = None
    if not isinstance(answer, dict):
        raise BadResult(f"the server responded {line[:60].decode(errors='replace').strip()!r}; "
                        f"expected a JSON object{is_it}")
    if "error" in answer:
        raise BadResult(f"the server refused the call: {str(answer['error'])[:200]}")
    return answer


def fill(report: ClientReport, direction: str, sender: EndRecord, receiver: EndRecord,
         began_s: float, length_s: float) -> None:
    """Record the results of one direction in the report: rates, losses of frames, and how much
    longer frames took than the fastest one. Round trips, jitter and losses of packets are recorded
    if the sender got reports of them.

    Args:
        report: the report to fill.
        direction: "download" or "upload".
        sender: record of the end that sent.
        receiver: record of the end that received.
        began_s: begin of the call, in monotonic s.
        length_s: length of the call.

    Raises BadResult if no frame arrived, fewer than two were sent, or the receiver has too few
    counts of received bytes from the first `length_s` seconds.
    """
    ends = ("the server", "the client")
    who, other = ends if direction == "download" else ends[::-1]
    # aiortc knows that a frame is complete when the next one begins, so it never shows the last.
    expected = sender.sent - 1
    if expected < 1:
        raise BadResult(f"{who} made {counted(sender.sent, 'video frame')} in {length_s:g} s of "
                        f"the call's {direction}; expected {FRAMES_PER_S * length_s:g}: was it too "
                        "busy? repeat the call, and watch its load")
    if not receiver.frames:
        raise BadResult(f"{other} could decode no video frame of the call's {direction}, and {who} "
                        f"sent {sender.sent}: were most packets lost, or was {other} too busy? "
                        "repeat the call, and watch both")
    load, numbers = report.load(direction), report.numbers
    load.start_s, load.end_s = began_s, began_s + length_s
    received = [(at_s, size) for at_s, size in receiver.received if at_s <= length_s]
    for (before_s, before), (at_s, size) in pairwise(received):
        load.rates.append((began_s + at_s, at_s - before_s, size - before))
    load.mbps = numbers[f"{direction}_mbps"] = _mean_mbps(received, other)
    late_ms = _extra_delays_ms(load, receiver, began_s)
    for at_s, _lost, jitter_ms, rtt_ms in sender.reports:
        load.probe("jitter_ms", began_s + at_s, jitter_ms)
        if rtt_ms is not None:
            load.probe("rtt_ms", began_s + at_s, rtt_ms)
    rtts_ms = [one for *_, one in sender.reports if one is not None]
    if rtts_ms:
        numbers[f"rtt_{direction}_ms"] = fmean(rtts_ms)
    if sender.reports and sender.packets:
        numbers[f"jitter_{direction}_ms"] = fmean(one[2] for one in sender.reports)
        numbers[f"lost_{direction}_pct"] = 100 * max(
            sender.reports[-1][1], 0) / sender.packets
    numbers[f"frame_{direction}_ms"] = percentile(late_ms, FRAME_PERCENTILE)
    numbers[f"late_frames_{direction}_pct"] = 100 * fmean(
        one > LATE_MS for one in late_ms)
    numbers[f"lost_frames_{direction}_pct"] = max(
        100 * (1 - len(late_ms) / expected), 0.0)


def _mean_mbps(received: list[tuple[float, int]], receiver: str) -> float:
    """Return the mean rate in Mbit/s from counts of received bytes.

    Args:
        received: (time in s, bytes since the beginning), sorted by time.
        receiver: "the client" or "the server", for the message.

    Raises BadResult if there are fewer than two counts, or no time between the first and the last.
    """
    if len(received) < 2 or received[-1][0] <= received[0][0]:
        raise BadResult(f"{receiver} took {counted(len(received), 'count')} of its received bytes "
                        "during the call; expected 2 or more at different times: was it too busy? "
                        "repeat the call, and watch its load")
    return 8e-6 * (received[-1][1] - received[0][1]) / (received[-1][0] - received[0][0])


def _extra_delays_ms(load: DirectionLoad, receiver: EndRecord, began_s: float) -> list[float]:
    """Return for each frame how many ms longer it took than the fastest frame. Also record these
    times as probes in `load`.

    Args:
        load: the load of the direction.
        receiver: record of the end that received the frames, at least one.
        began_s: begin of the call, in monotonic s.
    """
    took_s = [at_s - pts / CLOCK_HZ for at_s, pts in receiver.frames]
    late_ms = [1000 * (one - min(took_s)) for one in took_s]
    for (at_s, _pts), one in zip(receiver.frames, late_ms, strict=True):
        load.probe("frame_ms", began_s + at_s, one)
    return late_ms


if __name__ == "__main__":
    sys.exit(run("webrtc_call", measure))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure interrupt moderation of the hosts' cards: the throttle's arithmetic, and a flow's view.

    .venv/bin/python -m research.validation.moderation    renews the table in docs/lab.md
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy

from flent_aqm.base.errors import AqmError, BadResult
from flent_aqm.base.words import counted
from research.validation import marked
from research.validation.captures import read_packets, times_ns
from research.validation.experiment import experiment, iperf3_goodput_mbps
from research.validation.stamp import made_now

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lab.md"
PART = "moderation"
FRAME_BITS = 1514 * 8
MSS_BYTES = 1448
GAPS_US = (0, 20, 50, 125, 250)
RATES_MBPS = (100, 300, 500, 1000, 2500, 10000)
DELAY_MS = 10
# Share of the packets of the bandwidth-delay product that the shallow buffer holds.
SHALLOW_SHARE = 0.1
# Before it, slow start and TCP's quick acknowledgements.
SKIP_S = 1.0
# TCP's flags
_RST, _ACK = 0x04, 0x10


def segments_per_interrupt(rate_mbps: float, gap_us: float) -> float:
    """Return the mean number of full frames that an interrupt brings, of frames that come evenly.

    A frame that comes when the last interrupt is longer ago than the gap interrupts at once, else
    the interrupt waits for the rest of the gap. So frames farther apart than the gap come alone; of
    closer ones a new gap begins as soon as the last is over.

    Args:
        rate_mbps: rate of the frames.
        gap_us: least time between two interrupts.
    """
    return max(1.0, gap_us * rate_mbps / FRAME_BITS)


def segments_per_acknowledgement(rate_mbps: float, gap_us: float, frames: int = 10_000) -> float:
    """Return the mean number of full segments that a TCP receiver acknowledges at once, from a
    simulation of frames that come evenly.

    Linux acknowledges when more than one full segment has come since its last acknowledgement
    (net/ipv4/tcp_input.c, __tcp_ack_snd_check), and looks when an interrupt's segments are handed
    over together.

    Args:
        rate_mbps: rate of the frames.
        gap_us: least time between two interrupts.
        frames: number of frames to simulate. They must take several times the gap.
    """
    frame_us = FRAME_BITS / rate_mbps
    batches: list[int] = []
    free_us, waiting, due_us = -1.0, 0, 0.0
    for number in range(frames):
        now_us = number * frame_us
        if waiting and due_us <= now_us:  # the gap was over before this frame came
            batches.append(waiting)
            waiting, free_us = 0, due_us + gap_us
        waiting += 1
        if waiting == 1:
            due_us = max(now_us, free_us)
        if due_us <= now_us:
            batches.append(waiting)
            waiting, free_us = 0, now_us + gap_us
    acknowledgements = pending = 0
    for batch in batches:
        pending += batch
        if pending > 1:
            acknowledgements += 1
            pending = 0
    return sum(batches) / acknowledgements


@dataclass(frozen=True)
class Flow:
    """Measurements of one Cubic flow, without its first second.

    Attributes:
        goodput_mbps: goodput at the receiver.
        segments: mean number of segments per acknowledgement.
        gap_us: median time between acknowledgements.
        rtt_ms: median round-trip time of probes beside it, without the first quarter of them.
    """

    goodput_mbps: float
    segments: float
    gap_us: float
    rtt_ms: float


def measure(rate_mbps: float, gap_us: int, *, aqm: str, limit: int = 0, length_s: float = 6,
            delay_ms: float = DELAY_MS) -> Flow:
    """Run one Cubic flow from the client in a lab, with probes beside it, and return the
    measurements.

    Args:
        rate_mbps: rate of the shaper.
        gap_us: least time between two receive interrupts of a host's card.
        aqm: the queue.
        limit: limit of the queue in packets, 0 for its default.
        length_s: length of the flow.
        delay_ms: round-trip delay that the server adds.

    Raises BadResult if the programs fail, or if the capture has too few acknowledgements. Raises
    ConfigError if a setting is wrong, and another AqmError if the lab can't be started or fails.
    """
    script = f"""
        capture_client acks.pcap eth0 in 'tcp and src host server'
        irtt client -i 10ms -d {length_s}s -q -o - server >irtt.json 2>/dev/null &
        probe=$!
        iperf3 -c server -t {length_s} -J --get-server-output >iperf3.json
        wait $probe
        capture_end"""
    settings = {"aqm_limit": limit} if limit else {}
    with experiment(script, aqm=aqm, rate_mbps=rate_mbps, base_delay_ms=delay_ms,
                    host_moderation_us=gap_us, **settings) as folder:
        goodput_mbps = iperf3_goodput_mbps(folder / "iperf3.json", SKIP_S)
        segments, between_us = acknowledgement_statistics(folder / "acks.pcap")
        rtt_ms = _median_rtt_ms(folder / "irtt.json")
    return Flow(goodput_mbps, segments, between_us, rtt_ms)


def acknowledgement_statistics(capture: Path) -> tuple[float, float]:
    """Return (mean number of segments of MSS_BYTES per acknowledgement, median time between
    acknowledgements in us) of the flow with most acknowledgements, from 1 s after its first one.

    Acknowledgements that acknowledge nothing new (duplicates, window updates) are left out. Raises
    BadResult if fewer than 100 are left, ParseError if guest.sh didn't make the capture or it ends
    within a packet, OSError if it can't be read.
    """
    packets = read_packets(capture)
    packets = packets[packets["flags"] & (_ACK | _RST) == _ACK]
    if not packets.size:
        raise BadResult(f"{capture}: the capture has no acknowledgements; expected those of "
                        "an upload: measure again")
    ports, counts = numpy.unique(packets["destination_port"], return_counts=True)
    packets = packets[packets["destination_port"] == ports[counts.argmax()]]
    seen_ns = times_ns(packets)
    late = seen_ns >= seen_ns[0] + int(SKIP_S * 1e9)
    numbers = packets["acknowledged"][late].astype(numpy.int64)
    times = seen_ns[late]
    # Sequence numbers wrap at 2^32.
    steps = (numpy.diff(numbers) + 2**31) % 2**32 - 2**31
    new = numpy.flatnonzero(steps > 0)
    if new.size < 100:
        raise BadResult(f"{capture}: {counted(new.size, 'acknowledgement')} of new data after "
                        f"{SKIP_S:g} s; expected 100 or more: measure again")
    return (float(steps[new].mean() / MSS_BYTES),
            float(numpy.median(numpy.diff(times[new + 1]))) / 1e3)


def _median_rtt_ms(path: Path) -> float:
    trips = [trip["delay"]["rtt"] / 1e6 for trip in json.loads(path.read_text())["round_trips"]
             if "rtt" in trip.get("delay", {})]
    return float(statistics.median(trips[len(trips) // 4:]))


def shallow_packets(rate_mbps: float) -> int:
    """Return the size in packets of the table's shallow buffer: a tenth of the line's
    bandwidth-delay product with a round trip of DELAY_MS, at least 2."""
    return max(2, round(SHALLOW_SHARE * rate_mbps * 1e3 * DELAY_MS / FRAME_BITS))


def table(jobs: int) -> list[str]:
    """Measure a deep and a shallow buffer for each of RATES_MBPS and GAPS_US, and return the
    table's lines in Markdown, with the header. Prints each row when it and the rows above it are
    measured. Raises as measure() does.

    Args:
        jobs: number of labs side by side.
    """
    cells = [(rate_mbps, gap_us) for rate_mbps in RATES_MBPS for gap_us in GAPS_US]

    def one(cell: tuple[float, int]) -> tuple[Flow, Flow]:
        rate_mbps, gap_us = cell
        length_s = 6 if rate_mbps <= 1000 else 4
        deep = measure(rate_mbps, gap_us, aqm="fq_codel", length_s=length_s)
        # long enough for a few losses
        shallow = measure(rate_mbps, gap_us, aqm="no_aqm", limit=shallow_packets(rate_mbps),
                          length_s=20 if rate_mbps <= 1000 else length_s)
        return deep, shallow

    columns = ("rate, Mbit/s", "moderation, µs", "frames per interrupt, by arithmetic",
               "segments per ACK", "time between ACKs, median µs", "goodput, Mbit/s",
               "goodput in a shallow buffer", "RTT under load, median ms")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    with ThreadPoolExecutor(jobs) as threads:
        for (rate_mbps, gap_us), (deep, shallow) in zip(cells, threads.map(one, cells),
                                                       strict=True):
            lines.append(
                f"| {rate_mbps:,} | {gap_us} | {segments_per_interrupt(rate_mbps, gap_us):.2f} | "
                f"{deep.segments:.2f} | {deep.gap_us:.0f} | {deep.goodput_mbps:.1f} | "
                f"{shallow.goodput_mbps:.1f} ({shallow_packets(rate_mbps)} packets) | "
                f"{deep.rtt_ms:.2f} |")
            print(lines[-1], flush=True)
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the table and write it into the page of --output, docs/lab.md by default. Return the
    exit status, 1, with a line on standard error, if that fails. Raises SystemExit for wrong usage.
    arguments: words of the command line, None for those of this process."""
    parser = argparse.ArgumentParser(prog="python -m research.validation.moderation",
                                     description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, metavar="N", default=len(os.sched_getaffinity(0)),
                        help="labs side by side (default: one per core)")
    parser.add_argument("--output", type=Path, metavar="PAGE", default=PAGE)
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs {options.jobs}: expected 1 or more")
    try:
        lines = table(options.jobs)
        marked.replace(options.output, PART, "\n".join(lines), made_now())
    except (AqmError, ValueError) as error:
        print(f"moderation: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-3.0-or-later
"""Downloads that can't carry a judgement are refused with the reason; their neighbours are not."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from flent_aqm.parts.infer.classes import CANT_TELL
from flent_aqm.parts.infer.model import judge, load_model
from flent_aqm.parts.infer.reading import Download
from flent_aqm.parts.infer.refusal import reason_against


def _download(samples: int = 25, length_s: float = 10.0, rate_mbps: float = 50.0,
              base_ms: float = 20.0) -> Download:
    """A download whose queue rises to 30 ms and falls, without a loss."""
    at_s = numpy.linspace(length_s / samples, length_s, samples)
    acked = at_s * rate_mbps * 125_000
    rise_ms = 30 * numpy.abs(numpy.sin(at_s))
    return Download(name="", bbr=False, at_s=at_s, rtt_ms=base_ms + rise_ms,
                    min_rtt_ms=numpy.full(samples, base_ms), acked_bytes=acked,
                    sent_bytes=acked + 1e5, retransmitted_bytes=0 * at_s)


@pytest.mark.parametrize(("good", "bad", "reason"), [
    (_download(12), _download(11), "it has only 11 measurements; 12 or more are needed"),
    (_download(length_s=7.0), _download(length_s=6.9),
     "its measurements end after 6.9 s; 7 s or more are needed"),
    (_download(length_s=7.0), _download(length_s=6.96),
     "its measurements end after 6.9 s; 7 s or more are needed"),
    (_download(rate_mbps=349), _download(rate_mbps=350.1),
     "its rate of 350.1 Mbit/s is outside of the 1.4 to 350 Mbit/s that the model knows"),
    (replace(_download(), window_share=0.25), replace(_download(), window_share=0.63),
     "the receiver's window limited it for 63 % of the time, more than 25 %"),
    (replace(_download(), window_share=0.25), replace(_download(), window_share=0.2501),
     "the receiver's window limited it for 26 % of the time, more than 25 %"),
    (replace(_download(), buffer_share=0.2), replace(_download(), buffer_share=0.4),
     "the sender's buffer limited it for 40 % of the time, more than 25 %"),
    (replace(_download(), idle_share=0.0), replace(_download(), idle_share=0.5),
     "the sender had nothing in flight for 50 % of the time, more than 25 %"),
    (_download(base_ms=390), _download(base_ms=410),
     "its least round trip of 410 ms is outside of the 3 to 400 ms that the model knows"),
    (_download(base_ms=3.1), _download(base_ms=2.5), "its least round trip of 2.5 ms is outside"),
    (_download(rate_mbps=100), _download(rate_mbps=900), "its rate of 900 Mbit/s is outside of"),
    (_download(rate_mbps=20), _download(rate_mbps=0.1), "its rate of 0.1 Mbit/s is outside of"),
])
def test_reason_is_given_where_it_holds_and_only_there(
        good: Download, bad: Download, reason: str) -> None:
    accepted, refused = judge(good), judge(bad)
    assert accepted.reason == ""
    assert sum(accepted.probabilities.values()) == pytest.approx(1)
    assert refused.reason.startswith(reason)
    assert (refused.answer, refused.probability) == (CANT_TELL, None)
    assert (refused.probabilities, refused.depth_ms, refused.deciding) == ({}, None, "")


def test_shares_that_a_data_file_lacks_are_no_reason() -> None:
    one = _download()
    assert (one.window_share, one.buffer_share, one.idle_share) == (None, None, None)
    values = {"base_rtt_ms": 20.0, "rate_mbps": 50.0}
    assert reason_against(one, values, load_model().ranges) == ""

# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses the loss of a link, in the syntax of tc-netem(8)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flent_aqm.base.errors import ConfigError

_PERCENT = r"(\d{1,3}(?:\.\d{1,9})?)%"
_FORM = re.compile(rf"{_PERCENT}|gemodel((?: {_PERCENT}){{1,4}})")
EXPECTED = "expected a share such as 1%, or gemodel P [R [1-H [1-K]]] such as gemodel 1% 10%"


@dataclass(frozen=True)
class Loss:
    """A model of loss: the Markov chain of E. N. Gilbert (1960) and E. O. Elliott (1963), with one
    step per packet. All values are from 0 to 1. Loss without states has `p` 0, and its share is
    `good`."""

    # Probability to change from the good to the bad state.
    p: float = 0.0
    # Probability to change from the bad to the good state.
    r: float = 1.0
    # Share of packets that is lost in the bad state.
    bad: float = 1.0
    # Share of packets that is lost in the good state.
    good: float = 0.0

    @property
    def mean(self) -> float:
        """Share of packets that is lost in the long run, from 0 to 1."""
        if not self.p:
            return self.good
        return (self.r * self.good + self.p * self.bad) / (self.p + self.r)


def parse_loss(key: str, text: str) -> Loss | None:
    """Parse a share such as `1%`, or `gemodel P [R [1-H [1-K]]]`. Return None for an empty text.

    Omitted values of gemodel are those of netem: r = 1 - p, 1-h = 100%, 1-k = 0%. `key` names the
    key in messages. Raises ConfigError if the text has another form or all packets would be lost.
    """
    words = " ".join(text.split())
    if not words:
        return None
    match = _FORM.fullmatch(words)
    shares = [float(one) / 100 for one in re.findall(_PERCENT, words)] if match else []
    if not shares or max(shares) > 1:
        raise ConfigError(f"{key}: {text[:60]!r} is not a loss; {EXPECTED}")
    if match and match[1] is not None:
        loss = Loss(good=shares[0])
    else:
        p, r, bad, good = (*shares, *((1 - shares[0], 1.0, 0.0)[len(shares) - 1:]))
        loss = Loss(p, r, bad, good)
    if loss.mean >= 1:
        raise ConfigError(f"{key}: {text[:60]!r} loses every packet; {EXPECTED}")
    return loss

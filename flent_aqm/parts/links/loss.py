# SPDX-License-Identifier: GPL-3.0-or-later
"""Loss on a link, in the words of tc-netem(8)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flent_aqm.base.errors import ConfigError

_PERCENT = r"(\d{1,3}(?:\.\d{1,9})?)%"
_FORM = re.compile(rf"{_PERCENT}|gemodel((?: {_PERCENT}){{1,4}})")
EXPECTED = "expected a share such as 1%, or gemodel P [R [1-H [1-K]]] such as gemodel 1% 10%"


@dataclass(frozen=True)
class Loss:
    """The chain of E. N. Gilbert (1960) and E. O. Elliott (1963), a step for each packet.

    p, r: chances to go from the good state to the bad, and back; bad, good: shares lost in these
    states. All from 0 to 1. Loss that knows no states has p 0, and is `good`.
    """

    p: float = 0.0
    r: float = 1.0
    bad: float = 1.0
    good: float = 0.0

    @property
    def mean(self) -> float:
        """The share of packets that is lost in the long run."""
        if not self.p:
            return self.good
        return (self.r * self.good + self.p * self.bad) / (self.p + self.r)


def parse_loss(key: str, text: str) -> Loss | None:
    """Return the loss that the words say, None for none. Like netem, what isn't given of the four
    is: r = 1 - p, 1-h = 100%, 1-k = 0%. Raises ConfigError."""
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

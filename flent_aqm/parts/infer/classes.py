# SPDX-License-Identifier: GPL-3.0-or-later
"""The classes of queues that the model distinguishes, which are the answers given to the user."""

from __future__ import annotations

from collections.abc import Mapping

# A queue of 20 ms or more that drops packets only when it is full. Also one that has such a queue
# for each flow, as SFQ: a single download can't tell them apart.
DROP_TAIL = "drop-tail"
# CoDel, PIE, RED and the like, alone or in the queue of each flow, as in FQ-CoDel and CAKE.
AQM = "AQM"
# A policer, or a drop-tail queue below 20 ms.
SHORT = "policer or short buffer"
# The download shows no effect of a queue.
CANT_TELL = "can't tell"
CLASSES = (DROP_TAIL, AQM, SHORT, CANT_TELL)
# Least probability of an answer other than CANT_TELL. docs/infer.md shows the effect of this limit.
LEAST_PROBABILITY = 0.7


def answer_of(probabilities: Mapping[str, float]) -> str:
    """Return the class whose probability is at least 0.7 (LEAST_PROBABILITY), CANT_TELL if none
    has.

    Args:
        probabilities: class -> probability, for all CLASSES.
    """
    return next((name for name, share in probabilities.items() if share >= LEAST_PROBABILITY),
                CANT_TELL)

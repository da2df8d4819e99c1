# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be behind a test, as the model tells it apart."""

DROP_TAIL, AQM, FLOW_QUEUEING, POLICER = "drop-tail", "AQM", "flow queueing", "policer"
# No kind of queue did anything that could be seen, or several things did.
CANT_TELL = "can't tell"
CLASSES = (DROP_TAIL, AQM, FLOW_QUEUEING, POLICER, CANT_TELL)
# One flow alone seldom shows whether others have queues of their own.
EITHER = "AQM, perhaps with flow queueing"
# What is answered, and of which classes it is the union.
ANSWERS = {DROP_TAIL: (DROP_TAIL,), AQM: (AQM,), FLOW_QUEUEING: (FLOW_QUEUEING,),
           POLICER: (POLICER,), EITHER: (AQM, FLOW_QUEUEING), CANT_TELL: (CANT_TELL,)}
# An answer is given from this probability on: docs/infer.md has what that costs.
LEAST_PROBABILITY = 0.7


def answer_of(probabilities: dict[str, float]) -> str:
    """Return the narrowest answer that is likely enough."""
    for answer, classes in ANSWERS.items():
        if sum(probabilities[name] for name in classes) >= LEAST_PROBABILITY:
            return answer
    return CANT_TELL

# SPDX-License-Identifier: GPL-3.0-or-later
"""The classes of queues that the model distinguishes, and the answers given to the user."""

DROP_TAIL, AQM, FLOW_QUEUEING, POLICER = "drop-tail", "AQM", "flow queueing", "policer"
# The download shows no effect of a queue, or effects of several kinds of queue.
CANT_TELL = "can't tell"
CLASSES = (DROP_TAIL, AQM, FLOW_QUEUEING, POLICER, CANT_TELL)
# A single flow seldom shows whether other flows have queues of their own.
EITHER = "AQM, perhaps with flow queueing"
# Answer to the user -> the classes that it covers.
ANSWERS = {DROP_TAIL: (DROP_TAIL,), AQM: (AQM,), FLOW_QUEUEING: (FLOW_QUEUEING,),
           POLICER: (POLICER,), EITHER: (AQM, FLOW_QUEUEING), CANT_TELL: (CANT_TELL,)}
# Least probability of an answer other than CANT_TELL. docs/infer.md shows the effect of this limit.
LEAST_PROBABILITY = 0.7


def answer_of(probabilities: dict[str, float]) -> str:
    """Return the first answer of ANSWERS, which begin with the narrowest, whose classes together
    have at least LEAST_PROBABILITY, otherwise CANT_TELL.

    Args:
        probabilities: class -> probability, for all CLASSES.
    """
    for answer, classes in ANSWERS.items():
        if sum(probabilities[name] for name in classes) >= LEAST_PROBABILITY:
            return answer
    return CANT_TELL

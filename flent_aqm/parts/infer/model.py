# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge downloads with a random forest whose shares of votes are calibrated to probabilities.

research/infer/train.py wrote the model. The file contains only numbers, nothing is unpickled.
Source: L. Breiman, "Random Forests", Machine Learning 45, 2001. The calibration is a logistic
regression on the logarithms of the forest's shares, fitted on runs that the trees had not seen.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import orjson

from flent_aqm.parts.infer.cadence import as_archived
from flent_aqm.parts.infer.classes import AQM, CANT_TELL, CLASSES, DROP_TAIL, answer_of
from flent_aqm.parts.infer.features import features
from flent_aqm.parts.infer.reading import Download
from flent_aqm.parts.infer.refusal import reason_against
from flent_aqm.results.data_file import Numbers

FILE = Path(__file__).with_name("model.json.gz")
# Least share of a class, so that its logarithm is finite.
_LEAST_SHARE = 1e-3
# A drop-tail queue is said to be as deep as this share of the highest rise, at least: the rise has
# some delay besides the queue's, such as that of a frame on the line.
DEPTH_SHARE = 0.9
# Share of lines with an AQM, unless the user knows better. Nobody knows that of the world.
PRIOR = 0.5


@dataclass(frozen=True, eq=False)
class Tree:
    """A decision tree. Each array has an element (or row) per node, the root's first.

    Attributes:
        feature: index of the feature that the node compares, -1 for a leaf.
        threshold: value that the feature is compared with, without meaning for a leaf.
        left: index of the next node if the feature's value is not above the threshold, -1 for a
            leaf.
        right: index of the next node if the value is above the threshold, -1 for a leaf.
        shares: shares of the classes (0 to 1) among the training runs that reached the node, a
            column per class in the order of CLASSES.
    """

    feature: numpy.typing.NDArray[numpy.int64]
    threshold: Numbers
    left: numpy.typing.NDArray[numpy.int64]
    right: numpy.typing.NDArray[numpy.int64]
    shares: Numbers


@dataclass(frozen=True, eq=False)
class Model:
    """The forest and its calibration. Classes are in the order of CLASSES.

    Attributes:
        names: names of the features, in the order of the trees' indices.
        trees: the trees.
        weights: coefficients of the logistic regression, a row per class, a column for the
            logarithm of each class's share.
        bias: constant terms of the logistic regression, one per class.
        aqm_share: share of the training runs whose bottleneck has an AQM.
        aqm_share_untold: the same among the runs of class CANT_TELL.
        ranges: feature -> least and largest value that a judged download may have.
    """

    names: tuple[str, ...]
    trees: tuple[Tree, ...]
    weights: Numbers
    bias: Numbers
    aqm_share: float
    aqm_share_untold: float
    ranges: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class QueueVerdict:
    """The judgement about one download.

    Attributes:
        answer: one of classes.CLASSES. CANT_TELL if the download can't be judged, if no class is
            probable enough, or if CANT_TELL itself is the likeliest class.
        probabilities: class -> probability. Empty if the download can't be judged.
        features: feature -> value.
        deciding: the feature that contributed most to the likeliest class, "" if the download
            can't be judged.
        depth_ms: least depth of a drop-tail queue, None for other answers.
        reason: why the download can't be judged, "" if it can.
    """

    answer: str
    probabilities: Mapping[str, float]
    features: Mapping[str, float]
    deciding: str
    depth_ms: float | None
    reason: str = ""

    @property
    def probability(self) -> float | None:
        """Probability of the class that is the answer, None if the download can't be judged. If the
        answer is CANT_TELL because no class is probable enough, it is that of the class CANT_TELL.
        """
        return self.probabilities.get(self.answer)


@cache
def load_model() -> Model:
    """Return the model that is part of this package. The file is read once."""
    return from_json(orjson.loads(gzip.decompress(FILE.read_bytes())))


def from_json(whole: Mapping[str, Any]) -> Model:
    """Return the model from its parsed JSON document, which is Fitted.whole in
    research/infer/train.py."""
    trees = tuple(Tree(
        numpy.array(one["feature"]), numpy.array(one["threshold"], dtype=float),
        numpy.array(one["left"]), numpy.array(one["right"]),
        numpy.array(one["shares"], dtype=float) / 1000) for one in whole["trees"])
    return Model(tuple(whole["features"]), trees, numpy.array(whole["weights"]),
                 numpy.array(whole["bias"]), whole["aqm_share"], whole["aqm_share_untold"],
                 {name: (low, high) for name, (low, high) in whole["ranges"].items()})


def judge(download: Download, prior: float = PRIOR) -> QueueVerdict:
    """Return the verdict on one download. If it can't be judged, the answer is CANT_TELL and the
    verdict has the reason.

    Args:
        download: the download as it was read.
        prior: share of lines with an AQM, between 0 and 1, before anything of the download is
            known.
    """
    return judge_all([download], prior)[0]


def judge_all(downloads: Sequence[Download], prior: float = PRIOR) -> list[QueueVerdict]:
    """Return the verdict on each download, in the order of the downloads.

    The results are those of judge(). All downloads go through the trees together, which takes a
    tenth of the time.

    Args:
        downloads: the downloads as they were read.
        prior: share of lines with an AQM, between 0 and 1, before anything of a download is known.
    """
    if not downloads:
        return []
    model = load_model()
    values = [features(as_archived(one)) for one in downloads]
    shares, spoke = votes(model, numpy.array(
        [[one[name] for name in model.names] for one in values]))
    weights = prior_weights(model, prior)
    # Calibrate row by row, because numpy rounds the product of a matrix and that of a row
    # differently.
    return [_make_verdict(model, one, seen,
                          reweighted(calibrated(model, row[numpy.newaxis]), weights)[0], said)
            for one, seen, row, said in zip(downloads, values, shares, spoke, strict=True)]


def prior_weights(model: Model, prior: float) -> Numbers:
    """Return the factor for the probability of each class, in the order of CLASSES, that turns the
    model's share of lines with an AQM into `prior`.

    Lines with an AQM, and those without, are taken to be like the training runs of their kind. The
    factor of AQM is the prior share of lines with an AQM divided by that of the training runs. That
    of drop-tail and short queues is the same ratio for lines without an AQM, that of CANT_TELL a
    mean of both, weighted by its lines of either kind.
    """
    with_aqm, without = prior / model.aqm_share, (1 - prior) / (1 - model.aqm_share)
    untold = model.aqm_share_untold * with_aqm + (1 - model.aqm_share_untold) * without
    return numpy.array([with_aqm if name == AQM else untold if name == CANT_TELL else without
                        for name in CLASSES])


def reweighted(probabilities: Numbers, weights: Numbers) -> Numbers:
    """Return the probabilities of the classes, in rows, times the factors of prior_weights(), so
    that each row adds up to 1."""
    weighted = probabilities * weights
    result: Numbers = weighted / weighted.sum(axis=1, keepdims=True)
    return result


def _make_verdict(model: Model, download: Download, values: Mapping[str, float],
                  probabilities: Numbers, contributions: Numbers) -> QueueVerdict:
    """Return the verdict on a download. If it can't be judged, the answer is CANT_TELL and the
    verdict has the reason, no probabilities and no deciding feature.

    Args:
        model: the model.
        download: the download as it was read.
        values: feature -> value.
        probabilities: probability of each class, in the order of CLASSES.
        contributions: contribution of each feature (row) to each class (column).
    """
    if reason := reason_against(download, values, model.ranges):
        return QueueVerdict(CANT_TELL, {}, values, "", None, reason)
    by_class = dict(zip(CLASSES, map(float, probabilities), strict=True))
    deciding = model.names[int(contributions[:, probabilities.argmax()].argmax())]
    answer = answer_of(by_class)
    return QueueVerdict(answer, by_class, values, deciding,
                        DEPTH_SHARE * values["rise_max_ms"] if answer == DROP_TAIL else None)


def votes(model: Model, rows: Numbers) -> tuple[Numbers, Numbers]:
    """Return the shares of the classes for each row of features, and the contribution of each
    feature to them. Both are means over all trees.

    The contribution in a tree is the change of the shares at the nodes that compare the feature, on
    the path from root to leaf (A. Saabas, "Interpreting random forests", 2014).

    Args:
        model: the model.
        rows: a row of feature values per download, in the order of the model's names.

    Returns:
        Arrays [download, class] and [download, feature, class], with the classes in the order of
            CLASSES.
    """
    numbers = numpy.arange(len(rows))
    spoke = numpy.zeros((*rows.shape, len(CLASSES)))
    shares = numpy.zeros((len(rows), len(CLASSES)))
    for tree in model.trees:
        at = numpy.zeros(len(rows), dtype=int)
        while (inner := numbers[tree.feature[at] >= 0]).size:
            node = at[inner]
            feature = tree.feature[node]
            left = rows[inner, feature] <= tree.threshold[node]
            at[inner] = numpy.where(left, tree.left[node], tree.right[node])
            spoke[inner, feature] += tree.shares[at[inner]] - tree.shares[node]
        shares += tree.shares[at]
    return shares / len(model.trees), spoke / len(model.trees)


def log_shares(shares: Numbers) -> Numbers:
    """Return the natural logarithms of the shares, the calibration's input. Shares below 0.001
    count as 0.001."""
    logarithms: Numbers = numpy.log(numpy.maximum(shares, _LEAST_SHARE))
    return logarithms


def calibrated(model: Model, shares: Numbers) -> Numbers:
    """Return the classes' probabilities for each row of shares, in rows that add up to 1. They hold
    for the model's share of lines with an AQM; reweighted() changes that.

    Args:
        model: the model.
        shares: the classes' shares of votes(), not their logarithms.
    """
    logits = log_shares(shares) @ model.weights.T + model.bias
    grown = numpy.exp(logits - logits.max(axis=1, keepdims=True))
    result: Numbers = grown / grown.sum(axis=1, keepdims=True)
    return result

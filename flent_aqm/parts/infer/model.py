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

from flent_aqm.parts.infer.classes import ANSWERS, CLASSES, DROP_TAIL, answer_of
from flent_aqm.parts.infer.features import features
from flent_aqm.parts.infer.reading import Download
from flent_aqm.results.data_file import Numbers

FILE = Path(__file__).with_name("model.json.gz")
# Least share of a class, so that its logarithm is finite.
_LEAST_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class Tree:
    """A decision tree. Each array has an element (or row) per node.

    Attributes:
        feature: index of the feature that the node compares, -1 for a leaf.
        threshold: value that the feature is compared with.
        left: next node if the feature's value is not above the threshold.
        right: next node if the value is above the threshold.
        shares: shares of the classes among the training runs that reached the node, a column per
            class.
    """

    feature: numpy.typing.NDArray[numpy.int64]
    threshold: Numbers
    left: numpy.typing.NDArray[numpy.int64]
    right: numpy.typing.NDArray[numpy.int64]
    shares: Numbers


@dataclass(frozen=True, eq=False)
class Model:
    """The forest and its calibration.

    Attributes:
        names: names of the features, in the order of the trees' indices.
        trees: the trees.
        weights: coefficients of the logistic regression, a row per class.
        bias: constant terms of the logistic regression, one per class.
    """

    names: tuple[str, ...]
    trees: tuple[Tree, ...]
    weights: Numbers
    bias: Numbers


@dataclass(frozen=True)
class Verdict:
    """The judgement about one download.

    Attributes:
        answer: one of classes.ANSWERS.
        probabilities: class -> probability.
        features: feature -> value.
        deciding: the feature that contributed most to the likeliest class.
        depth_ms: depth of a drop-tail queue, None for other answers.
        at_least: True if nothing was lost, so that the drop-tail queue may be deeper.
    """

    answer: str
    probabilities: Mapping[str, float]
    features: Mapping[str, float]
    deciding: str
    depth_ms: float | None
    at_least: bool

    @property
    def probability(self) -> float:
        """Probability that the answer is right: the sum over the classes that it covers."""
        return sum(self.probabilities[name] for name in ANSWERS[self.answer])

    @property
    def likeliest(self) -> str:
        """The class with the highest probability."""
        return max(self.probabilities, key=lambda name: self.probabilities[name])


@cache
def load_model() -> Model:
    """Return the model that is part of this package. The file is read once."""
    return from_json(orjson.loads(gzip.decompress(FILE.read_bytes())))


def from_json(whole: Mapping[str, Any]) -> Model:
    """Return the model from the JSON document of as_json() in research/infer/train.py."""
    trees = tuple(Tree(
        numpy.array(one["feature"]), numpy.array(one["threshold"], dtype=float),
        numpy.array(one["left"]), numpy.array(one["right"]),
        numpy.array(one["shares"], dtype=float) / 1000) for one in whole["trees"])
    return Model(tuple(whole["features"]), trees, numpy.array(whole["weights"]),
                 numpy.array(whole["bias"]))


def judge(download: Download) -> Verdict:
    """Return the verdict on one download."""
    return judge_all([download])[0]


def judge_all(downloads: Sequence[Download]) -> list[Verdict]:
    """Return the verdict on each download.

    The results are those of judge(). All downloads go through the trees together, which takes a
    tenth of the time.
    """
    if not downloads:
        return []
    model = load_model()
    values = [features(one) for one in downloads]
    shares, spoke = votes(model, numpy.array(
        [[one[name] for name in model.names] for one in values]))
    # Calibrate row by row, because numpy rounds the product of a matrix and that of a row
    # differently.
    return [_make_verdict(model, one, seen, calibrated(model, row[numpy.newaxis])[0], said)
            for one, seen, row, said in zip(downloads, values, shares, spoke, strict=True)]


def _make_verdict(model: Model, download: Download, values: Mapping[str, float],
                  probabilities: Numbers,
                  contributions: Numbers) -> Verdict:
    """Return the verdict on a download.

    Args:
        model: the model.
        download: the download.
        values: feature -> value.
        probabilities: probability of each class, in the order of CLASSES.
        contributions: contribution of each feature (row) to each class (column).
    """
    by_class = dict(zip(CLASSES, map(float, probabilities), strict=True))
    deciding = model.names[int(contributions[:, probabilities.argmax()].argmax())]
    answer = answer_of(by_class)
    deep = answer == DROP_TAIL
    return Verdict(answer, by_class, values, deciding, values["rise_max_ms"] if deep else None,
                   deep and not download.loses)


def votes(model: Model, rows: Numbers) -> tuple[Numbers, Numbers]:
    """Return the shares of the classes for each row of features, and the contribution of each
    feature to them.

    Shares are the mean over all trees. A contribution is the change of the shares at the nodes that
    compare the feature, on the path from root to leaf (A. Saabas, "Interpreting random forests",
    2014).

    Args:
        model: the model.
        rows: a row of feature values per download, in the order of the model's names.

    Returns:
        Arrays [download, class] and [download, feature, class].
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
    """Return the logarithms of the shares, the calibration's input. Shares below 0.001 count as
    0.001."""
    logarithms: Numbers = numpy.log(numpy.maximum(shares, _LEAST_SHARE))
    return logarithms


def calibrated(model: Model, shares: Numbers) -> Numbers:
    """Return the classes' probabilities for each row of shares, in rows as well."""
    logits = log_shares(shares) @ model.weights.T + model.bias
    grown = numpy.exp(logits - logits.max(axis=1, keepdims=True))
    result: Numbers = grown / grown.sum(axis=1, keepdims=True)
    return result

# SPDX-License-Identifier: GPL-3.0-or-later
"""What the model thinks of a download: a forest of decision trees whose shares of votes are
calibrated, as research/infer/train.py wrote it. Numbers in a file, no code: nothing is unpickled.

Source: L. Breiman, "Random Forests", Machine Learning 45, 2001. Calibration: logistic regression
on the logarithms of the forest's shares, fitted on runs that the trees had not seen.
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
# A tree's share of a class is never quite 0.
_LEAST_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class Tree:
    """A node each: feature, -1 for a leaf; threshold; left where the value is not above it, right
    where it is; shares of the classes among the runs that came here."""

    feature: numpy.typing.NDArray[numpy.int64]
    threshold: Numbers
    left: numpy.typing.NDArray[numpy.int64]
    right: numpy.typing.NDArray[numpy.int64]
    shares: Numbers


@dataclass(frozen=True, eq=False)
class Model:
    """names: of the features, in the trees' order. weights, bias: of the calibration."""

    names: tuple[str, ...]
    trees: tuple[Tree, ...]
    weights: Numbers
    bias: Numbers


@dataclass(frozen=True)
class Verdict:
    """answer: of classes.ANSWERS. probabilities: of each class. features: of the download, by name.
    deciding: that which spoke most for the likeliest class. depth_ms: of a drop-tail queue, else
    None; at_least: nothing was lost, so it may be deeper."""

    answer: str
    probabilities: Mapping[str, float]
    features: Mapping[str, float]
    deciding: str
    depth_ms: float | None
    at_least: bool

    @property
    def probability(self) -> float:
        """That the answer is right."""
        return sum(self.probabilities[name] for name in ANSWERS[self.answer])

    @property
    def likeliest(self) -> str:
        """The class with the highest probability."""
        return max(self.probabilities, key=lambda name: self.probabilities[name])


@cache
def the_model() -> Model:
    """Return the one of this package."""
    return from_json(orjson.loads(gzip.decompress(FILE.read_bytes())))


def from_json(whole: Mapping[str, Any]) -> Model:
    """Return what as_json() of research/infer/train.py wrote."""
    trees = tuple(Tree(
        numpy.array(one["feature"]), numpy.array(one["threshold"], dtype=float),
        numpy.array(one["left"]), numpy.array(one["right"]),
        numpy.array(one["shares"], dtype=float) / 1000) for one in whole["trees"])
    return Model(tuple(whole["features"]), trees, numpy.array(whole["weights"]),
                 numpy.array(whole["bias"]))


def judge(one: Download) -> Verdict:
    """Return what is behind a download."""
    return judge_all([one])[0]


def judge_all(downloads: Sequence[Download]) -> list[Verdict]:
    """Return what is behind each download: the same as judge(), but all go through the trees
    together, which takes a tenth of the time."""
    if not downloads:
        return []
    model = the_model()
    values = [features(one) for one in downloads]
    shares, spoke = votes(model, numpy.array(
        [[one[name] for name in model.names] for one in values]))
    # Row by row: numpy rounds a product of matrices otherwise than one of a row.
    return [_verdict(model, one, seen, calibrated(model, row[numpy.newaxis])[0], said)
            for one, seen, row, said in zip(downloads, values, shares, spoke, strict=True)]


def _verdict(model: Model, one: Download, values: Mapping[str, float], probabilities: Numbers,
             spoke: Numbers) -> Verdict:
    by_class = dict(zip(CLASSES, map(float, probabilities), strict=True))
    deciding = model.names[int(spoke[:, probabilities.argmax()].argmax())]
    answer = answer_of(by_class)
    deep = answer == DROP_TAIL
    return Verdict(answer, by_class, values, deciding, values["rise_max_ms"] if deep else None,
                   deep and not one.loses)


def votes(model: Model, rows: Numbers) -> tuple[Numbers, Numbers]:
    """Return for each row of features the mean share of each class, and what each feature added to
    it on the way from the root to the leaves (A. Saabas, "Interpreting random forests", 2014)."""
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
    """Return what the calibration takes."""
    logarithms: Numbers = numpy.log(numpy.maximum(shares, _LEAST_SHARE))
    return logarithms


def calibrated(model: Model, shares: Numbers) -> Numbers:
    """Return probabilities for rows of shares."""
    logits = log_shares(shares) @ model.weights.T + model.bias
    grown = numpy.exp(logits - logits.max(axis=1, keepdims=True))
    result: Numbers = grown / grown.sum(axis=1, keepdims=True)
    return result

# SPDX-License-Identifier: GPL-3.0-or-later
"""Train the model of `flent-aqm infer` on a table of runs.

    .venv/bin/python -m research.infer.train TABLE.parquet

writes it into the package. research/infer/page.py says how good it is.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy
import pandas

from flent_aqm.parts.infer.classes import CANT_TELL, CLASSES
from flent_aqm.parts.infer.features import FEATURES
from flent_aqm.parts.infer.model import (
    FILE,
    calibrated,
    from_json,
    log_shares,
    prior_weights,
    reweighted,
    votes,
)
from flent_aqm.results.data_file import Numbers
from research.infer.recipe import PLAIN, RTTS_MS, WORLDS
from research.infer.table import ARCHIVED, AT_RANDOM

# It takes two seconds, which whoever only reads a table would spend.
if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier

# A table of pandas.
Rows: TypeAlias = Any
_BANDS = 5
_SEED = 1
# Enough that more change nothing; small enough for the package. A run has three rows.
_TREES, _LEAST_IN_LEAF = 100, 6
# Share of the rows that each tree is made of.
_SEEN_BY_A_TREE = 0.5
# The calibration is fitted with forests that have this part of the trees.
_TREES_BY_FOLD = 5
# Columns that name a run.
OF_RUN = ("number", "kernel", "testbed")
# Quantiles of the runs' rates outside of which the model knows too few.
_KNOWN_RATES = (0.01, 0.99)


@dataclass(frozen=True)
class Fitted:
    """A forest with its calibration, as the package has it.

    Attributes:
        whole: the content of the model's file, as parsed JSON.
    """

    whole: dict[str, Any]

    def probabilities(self, rows: Rows) -> Numbers:
        """Return the calibrated probabilities of the classes for each row of a table, in rows,
        columns in the order of CLASSES. They hold for the share of lines with an AQM among the runs
        that the model is made of. The table must have a column for each feature of the model."""
        model = from_json(self.whole)
        return calibrated(model, votes(model, rows[list(model.names)].to_numpy())[0])

    def reweighted(self, rows: Rows, prior: float) -> Numbers:
        """Return the probabilities as probabilities() does, but as `flent-aqm infer --prior` gives
        them. prior: share of lines that have an AQM, from 0 to 1."""
        return reweighted(self.probabilities(rows), prior_weights(from_json(self.whole), prior))


def fit(rows: Rows, names: list[str], trees: int = 0) -> Fitted:
    """Return the model of these rows. Its forest is trained on all of them. The calibration is
    fitted with further forests, each on rows that its trees haven't seen: of the plain world those
    of a band of rates, of another world all of that world. So a download unlike all others gets no
    bolder probabilities than it deserves.

    Args:
        rows: rows of the table that table.py makes, as for_training() returns them.
        names: names of the features to use.
        trees: number of trees, _TREES for 0. Each forest of the calibration has a fifth of them, so
            five are the fewest.

    Raises ValueError if the rows don't suffice for a calibration, as those of a single class.
    """
    from sklearn.linear_model import LogisticRegression

    shares, truths = [], []
    trees = trees or _TREES
    plain = (rows["world"] == PLAIN).to_numpy()
    folds = [(band, band & plain) for band in quantile_masks(rows["line_mbps"])]
    for apart, judged in (*folds, *((world, world) for world in world_masks(rows))):
        if judged.any():
            unseen = forest(rows[~apart], names, trees // _TREES_BY_FOLD)
            shares.append(voted(unseen, rows[judged][names]))
            truths.append(rows[judged]["truth"])
    classes = numpy.array([CLASSES.index(name) for name in pandas.concat(truths)])
    logistic = LogisticRegression(C=1.0, max_iter=2000).fit(
        log_shares(numpy.concatenate(shares)), classes)
    # Of two classes, scikit-learn gives the second one less the first.
    sides = numpy.array([-0.5, 0.5] if len(logistic.classes_) == 2 else [1.0])
    weights, bias = numpy.zeros((len(CLASSES),) * 2), numpy.full(len(CLASSES), -30.0)
    weights[logistic.classes_] = sides[:, None] * logistic.coef_
    bias[logistic.classes_] = sides * logistic.intercept_
    runs = rows.drop_duplicates(list(OF_RUN))
    untold = runs[runs["truth"] == CANT_TELL]
    return Fitted({
        "features": names, "weights": weights.round(4).tolist(), "bias": bias.round(4).tolist(),
        "aqm_share": round(float(runs["has_aqm"].mean()), 4),
        "aqm_share_untold": round(float(untold["has_aqm"].mean()) if len(untold) else 0.5, 4),
        "ranges": {"base_rtt_ms": list(RTTS_MS), "rate_mbps": known_rates_mbps(rows)},
        "made_of": f"{len(runs)} runs", "trees": list(_trees_as_json(forest(rows, names, trees)))})


def known_rates_mbps(rows: Rows) -> list[float]:
    """Return the least and the largest rate, in Mbit/s, of a download that can be judged by a model
    of these rows: the 1st and the 99th percentile of their downloads' rates, rounded to two
    significant digits."""
    return [float(f"{rows['rate_mbps'].quantile(share):.2g}") for share in _KNOWN_RATES]


def forest(rows: Rows, names: list[str], trees: int) -> RandomForestClassifier:
    """Return the random forest that is trained on these rows to tell their class, `truth`. Equal
    rows give an equal forest.

    Args:
        rows: rows of runs.
        names: names of the features to use.
        trees: number of trees.
    """
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(
        trees, min_samples_leaf=_LEAST_IN_LEAF, max_samples=_SEEN_BY_A_TREE,
        random_state=_SEED, n_jobs=1,
    ).fit(rows[names].to_numpy(), rows["truth"])


def voted(trained: RandomForestClassifier, rows: Rows) -> Numbers:
    """Return the forest's shares (0 to 1) of each class for each row, in rows, columns in the order
    of CLASSES. The share of a class that it wasn't trained on is 0.

    Args:
        trained: the forest.
        rows: table with the columns of its features alone, in the order in which it was trained.
    """
    shares = numpy.zeros((len(rows), len(CLASSES)))
    shares[:, [CLASSES.index(name) for name in trained.classes_]] = trained.predict_proba(
        rows.to_numpy())
    return shares


def _trees_as_json(trained: RandomForestClassifier) -> Iterator[dict[str, Any]]:
    order = [list(trained.classes_).index(name) if name in trained.classes_ else None
             for name in CLASSES]
    for one in trained.estimators_:
        tree = one.tree_
        counts = tree.value[:, 0, :]
        shares = counts / counts.sum(axis=1, keepdims=True)
        yield {
            "feature": numpy.where(tree.feature < 0, -1, tree.feature).tolist(),
            "threshold": [float(f"{value:.6g}") for value in tree.threshold],
            "left": tree.children_left.tolist(), "right": tree.children_right.tolist(),
            # in thousandths
            "shares": [[0 if at is None else round(float(each[at]) * 1000) for at in order]
                       for each in shares]}


def quantile_masks(values: Any) -> Iterator[numpy.typing.NDArray[numpy.bool_]]:
    """Yield, for each of five quantile bands of a pandas Series, a boolean mask of its rows, the
    band of the lowest values first. The bands have about equally many rows, but equal values stay
    in one band, so a band may be empty. Used as folds that are held out."""
    ranks = values.rank(method="min", pct=True)
    for high in range(1, _BANDS + 1):
        yield ((ranks > (high - 1) / _BANDS) & (ranks <= high / _BANDS)).to_numpy()


def world_masks(rows: Rows) -> Iterator[numpy.typing.NDArray[numpy.bool_]]:
    """Yield a boolean mask of the rows of each world but the plain one, in the recipe's order. Used
    as folds that are held out, so a world that has no row, or all, is left out."""
    for world in WORLDS:
        mask = (rows["world"] == world).to_numpy()
        if world != PLAIN and mask.any() and not mask.all():
            yield mask


def as_bytes(fitted: Fitted) -> bytes:
    """Return the content of the model's file, which is gzipped JSON. Equal models give equal files.
    """
    return gzip.compress(json.dumps(fitted.whole, separators=(",", ":")).encode(), 9, mtime=0)


def read(path: Path) -> Rows:
    """Return the table in a Parquet file as a pandas DataFrame. Raises OSError or ValueError if it
    can't be read."""
    return pandas.read_parquet(path)


def usual_runs(rows: Rows) -> Rows:
    """Return the rows that were made with the lab's own kernel in virtual time, of which the model
    is made, numbered from 0 again."""
    own = rows[(rows["kernel"] == "stock") & (rows["testbed"] == "virtual")]
    return own.reset_index(drop=True)


def for_training(rows: Rows) -> Rows:
    """Return the rows of the cadences that the model is made of, M-Lab's and the two random ones,
    numbered from 0 again."""
    return rows[rows["cadence"].isin((ARCHIVED, *AT_RANDOM))].reset_index(drop=True)


def main() -> int:
    """Train the model on the table that the command line names, write it, by default into the
    package, and print its size and the number of runs. Return the exit status 0. Raises OSError or
    ValueError if the table can't be read, OSError if the model can't be written."""
    parser = argparse.ArgumentParser(prog="python -m research.infer.train",
                                     description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=FILE)
    args = parser.parse_args()
    rows = for_training(usual_runs(read(args.table)))
    fitted = fit(rows, list(FEATURES))
    args.output.write_bytes(as_bytes(fitted))
    print(f"{args.output}: {args.output.stat().st_size:,} bytes, of {fitted.whole['made_of']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

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

from flent_aqm.parts.infer.classes import CLASSES
from flent_aqm.parts.infer.features import FEATURES
from flent_aqm.parts.infer.model import FILE, calibrated, from_json, log_shares, votes
from flent_aqm.results.data_file import Numbers

# It takes two seconds, which whoever only reads a table would spend.
if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier

# A table of pandas.
Rows: TypeAlias = Any
_BANDS = 5
_SEED = 1
# Enough that more change nothing; small enough for the package.
_TREES, _LEAST_IN_LEAF = 120, 3


@dataclass(frozen=True)
class Fitted:
    """A forest with its calibration, as the package has it.

    Attributes:
        whole: the model as a JSON document.
    """

    whole: dict[str, Any]

    def probabilities(self, rows: Rows) -> Numbers:
        """Return the probabilities of the classes for each row of a table, in rows."""
        model = from_json(self.whole)
        return calibrated(model, votes(model, rows[list(model.names)].to_numpy())[0])


def fit(rows: Rows, names: list[str]) -> Fitted:
    """Return the model of these rows. The calibration is fitted on bands of rate, each of which is
    judged by trees that haven't seen it.

    Args:
        rows: the runs.
        names: names of the features to use.
    """
    from sklearn.linear_model import LogisticRegression

    held_out = numpy.zeros((len(rows), len(CLASSES)))
    for apart in quantile_masks(rows["line_mbps"]):
        held_out[apart] = voted(forest(rows[~apart], names), rows[apart][names])
    classes = numpy.array([CLASSES.index(name) for name in rows["truth"]])
    logistic = LogisticRegression(C=1.0, max_iter=2000).fit(
        log_shares(held_out), classes)
    weights, bias = numpy.zeros((len(CLASSES),) * 2), numpy.full(len(CLASSES), -30.0)
    weights[logistic.classes_], bias[logistic.classes_] = logistic.coef_, logistic.intercept_
    return Fitted({
        "features": names, "weights": weights.round(4).tolist(), "bias": bias.round(4).tolist(),
        "made_of": f"{len(rows)} runs", "trees": list(_trees_as_json(forest(rows, names)))})


def forest(rows: Rows, names: list[str]) -> RandomForestClassifier:
    """Return the random forest of these rows. Equal rows give an equal forest."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(_TREES, min_samples_leaf=_LEAST_IN_LEAF, random_state=_SEED,
                                  n_jobs=1).fit(rows[names].to_numpy(), rows["truth"])


def voted(trained: RandomForestClassifier, rows: Rows) -> Numbers:
    """Return the forest's shares of each class for each row, in the order of CLASSES."""
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
    """Yield, for each of _BANDS quantile bands of a pandas Series, a boolean mask of its rows. The
    bands have about equally many rows. Equal values stay in one band. Used as folds that are held
    out."""
    ranks = values.rank(method="min", pct=True)
    for high in range(1, _BANDS + 1):
        yield ((ranks > (high - 1) / _BANDS) & (ranks <= high / _BANDS)).to_numpy()


def as_bytes(fitted: Fitted) -> bytes:
    """Return the content of the model's file. Equal models give equal files."""
    return gzip.compress(json.dumps(fitted.whole, separators=(",", ":")).encode(), 9, mtime=0)


def read(path: Path) -> Rows:
    """Return the table in a Parquet file."""
    return pandas.read_parquet(path)


def usual_runs(rows: Rows) -> Rows:
    """Return the rows that were made with the lab's own kernel in virtual time, of which the model
    is made."""
    own = rows[(rows["kernel"] == "stock") & (rows["testbed"] == "virtual")]
    return own.reset_index(drop=True)


def main() -> int:
    """Train and write the model. Return the exit status 0."""
    parser = argparse.ArgumentParser(prog="python -m research.infer.train",
                                     description=(__doc__ or "").splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=FILE)
    args = parser.parse_args()
    rows = usual_runs(read(args.table))
    args.output.write_bytes(as_bytes(fit(rows, list(FEATURES))))
    print(f"{args.output}: {args.output.stat().st_size:,} bytes, of {len(rows):,} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())

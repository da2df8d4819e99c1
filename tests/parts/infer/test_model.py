# SPDX-License-Identifier: GPL-3.0-or-later
"""A forest of two small trees: its votes, what decided, and the probabilities, as worked out."""

from __future__ import annotations

import numpy
import pytest

from flent_aqm.parts.infer.classes import AQM, CANT_TELL, CLASSES, DROP_TAIL, SHORT, answer_of
from flent_aqm.parts.infer.model import (
    Model,
    _make_verdict,
    calibrated,
    from_json,
    log_shares,
    prior_weights,
    reweighted,
    votes,
)
from flent_aqm.parts.infer.refusal import reason_against

from .test_refusal import _download

# The first tree compares b with 5, and where it is above, a with 1. The second is a leaf.
WHOLE = {
    "features": ["a", "b"], "weights": numpy.eye(4).tolist(), "bias": [0, 0, 0, 0],
    "aqm_share": 0.6, "aqm_share_untold": 0.5, "ranges": {"rate_mbps": [1, 2]},
    "trees": [
        {"feature": [1, -1, 0, -1, -1], "threshold": [5, 0, 1, 0, 0],
         "left": [1, 0, 3, 0, 0], "right": [2, 0, 4, 0, 0],
         "shares": [[250, 250, 250, 250], [1000, 0, 0, 0], [0, 500, 500, 0], [0, 1000, 0, 0],
                    [0, 0, 1000, 0]]},
        {"feature": [-1], "threshold": [0], "left": [0], "right": [0],
         "shares": [[400, 400, 200, 0]]}]}
MODEL: Model = from_json(WHOLE)


@pytest.mark.parametrize(("a", "b", "shares", "of_a", "of_b"), [
    # A value that is the threshold goes to the left.
    (9.0, 5.0, (0.7, 0.2, 0.1, 0.0), (0, 0, 0, 0), (0.375, -0.125, -0.125, -0.125)),
    (1.0, 5.1, (0.2, 0.7, 0.1, 0.0), (0, 0.25, -0.25, 0), (-0.125, 0.125, 0.125, -0.125)),
    (1.1, 5.1, (0.2, 0.2, 0.6, 0.0), (0, -0.25, 0.25, 0), (-0.125, 0.125, 0.125, -0.125))])
def test_votes_are_the_mean_of_the_trees_and_each_feature_has_its_part(
        a: float, b: float, shares: tuple[float, ...], of_a: tuple[float, ...],
        of_b: tuple[float, ...]) -> None:
    """Also of a download among others."""
    for rows, place in (([[a, b]], 0), ([[0.0, 9.0], [a, b], [9.0, 0.0]], 1)):
        found, spoke = votes(MODEL, numpy.array(rows))
        assert found[place] == pytest.approx(shares)
        assert spoke[place][0] == pytest.approx(of_a)
        assert spoke[place][1] == pytest.approx(of_b)


def test_share_of_nothing_counts_as_a_thousandth() -> None:
    assert log_shares(numpy.array([0.0, 0.0005, 0.001, 0.002, 1.0])) == pytest.approx(
        numpy.log([0.001, 0.001, 0.001, 0.002, 1.0]))


def test_probabilities_are_those_of_the_regression() -> None:
    """With coefficients of 1 they are the shares; a term of ln 2 doubles what a class has."""
    shares = numpy.array([[0.5, 0.25, 0.125, 0.125], [0.25, 0.25, 0.25, 0.25]])
    assert calibrated(MODEL, shares) == pytest.approx(shares)
    biased = from_json({**WHOLE, "bias": [numpy.log(2), 0, 0, 0]})
    assert calibrated(biased, shares[1:]) == pytest.approx(numpy.array([[0.4, 0.2, 0.2, 0.2]]))
    sharper = from_json({**WHOLE, "weights": (2 * numpy.eye(4)).tolist()})
    assert calibrated(sharper, shares[:1])[0] == pytest.approx(
        [16 / 22, 4 / 22, 1 / 22, 1 / 22])


@pytest.mark.parametrize(("prior", "weights"), [
    (0.6, {DROP_TAIL: 1.0, AQM: 1.0, SHORT: 1.0, CANT_TELL: 1.0}),
    (0.3, {DROP_TAIL: 1.75, AQM: 0.5, SHORT: 1.75, CANT_TELL: 1.125}),
    (0.9, {DROP_TAIL: 0.25, AQM: 1.5, SHORT: 0.25, CANT_TELL: 0.875})])
def test_prior_changes_the_numbers_of_lines_with_an_aqm(
        prior: float, weights: dict[str, float]) -> None:
    """Of the training's runs 60 % had one, and half of those that show nothing."""
    found = prior_weights(MODEL, prior)
    assert dict(zip(CLASSES, found, strict=True)) == pytest.approx(weights)
    even = reweighted(numpy.full((2, 4), 0.25), found)
    assert even.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert even[0] / even[0][0] == pytest.approx(found / found[0])


@pytest.mark.parametrize(("probabilities", "answer", "depth_ms", "deciding"), [
    ((0.7, 0.2, 0.1, 0.0), DROP_TAIL, 45.0, "a"), ((0.69, 0.21, 0.1, 0.0), CANT_TELL, None, "a"),
    ((0.1, 0.8, 0.1, 0.0), AQM, None, "b"), ((0.0, 0.1, 0.9, 0.0), SHORT, None, "b"),
    ((0.1, 0.1, 0.1, 0.7), CANT_TELL, None, "a")])
def test_verdict_has_what_spoke_most_for_the_likeliest_class(
        probabilities: tuple[float, ...], answer: str, depth_ms: float | None,
        deciding: str) -> None:
    """A drop-tail queue is nine tenths as deep as the highest rise, of 50 ms."""
    contributions = numpy.array([[0.3, 0.1, -0.2, 0.0], [0.1, 0.2, 0.1, -0.1]])
    verdict = _make_verdict(
        from_json({**WHOLE, "ranges": {}}), _download(), {"rise_max_ms": 50.0},
        numpy.array(probabilities), contributions)
    assert (verdict.answer, verdict.depth_ms, verdict.deciding) == (answer, depth_ms, deciding)
    assert verdict.probability == verdict.probabilities[answer]


@pytest.mark.parametrize(("rate_mbps", "refused"), [
    (1.0, False), (2.0, False), (0.99, True), (2.01, True)])
def test_values_at_the_ends_of_what_the_model_knows_are_judged(
        rate_mbps: float, refused: bool) -> None:
    found = reason_against(_download(), {"rate_mbps": rate_mbps}, MODEL.ranges)
    assert bool(found) is refused


@pytest.mark.parametrize(("share", "answer"), [(0.7, AQM), (0.699, CANT_TELL), (1.0, AQM)])
def test_class_answers_from_seven_tenths_on(share: float, answer: str) -> None:
    assert answer_of({DROP_TAIL: 1 - share, AQM: share, SHORT: 0.0, CANT_TELL: 0.0}) == answer

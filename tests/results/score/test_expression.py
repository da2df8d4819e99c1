# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions: what they mean, what is refused, what is not known."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flent_aqm.base.errors import ConfigError, LostProbe, NotAvailable
from flent_aqm.results.metrics.run import Run, load_run
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.score.evaluate import medians, truth
from flent_aqm.results.score.expression import conjuncts, leaves, parse
from flent_aqm.results.score.leaves import Leaf, _percent_of
from tests.files import RUNS

P99, LOSS = "latency_loaded_p99_ms", "loss_loaded_pct"


def holds(text: str, **numbers: float | Unavailable) -> bool:
    """The truth of a condition with these numbers for its names."""
    node = parse(text)
    return truth(node, {leaf: numbers[leaf.text] for leaf in leaves(node)})


@pytest.mark.parametrize(("text", "expected"), [
    ("1 < 2", True), ("2 < 1", False), ("2 <= 2", True), ("2 > 2", False),
    ("2 >= 2", True), ("1 != 1", False), ("1 == 1.0", True),
    ("1 + 2 * 3 == 7", True), ("(1 + 2) * 3 == 9", True), ("-2 + 3 == 1", True),
    ("7 - 2 - 1 == 4", True), ("8 / 2 / 2 == 2", True), ("--1 == 1", True),
    ("1 < 2 < 3", True), ("1 < 3 < 2", False),
    ("1s == 1000ms", True), ("1ms == 1000us", True), ("20 ms < 0.1 s", True),
    ("1Gbit/s == 1000Mbit/s", True), ("1000kbit/s == 1Mbit/s", True),
    ("90% * 50Mbit/s == 45Mbit/s", True), ("50Mbit/s * 10% == 5Mbit/s", True),
    ("10ms / 4ms == 2.5", True), ("2 * 10ms == 20ms", True), ("1e3 == 1000", True),
    ("1 > 2 or 2 > 1 and 3 > 4", False), ("(1 > 2 or 2 > 1) and 4 > 3", True),
    ("not 1 > 2", True), ("not 1 > 2 and not 2 > 1", False),
])
def test_condition_of_numbers_alone(text: str, expected: bool) -> None:
    """Precedence, units and logic are those of arithmetic."""
    assert holds(text) is expected


def test_names_take_their_numbers() -> None:
    """A metric's number is in the metric's unit."""
    assert holds(f"{P99} < 20ms and {LOSS} < 1%", **{P99: 19.0, LOSS: 0.5})
    assert not holds(f"{P99} < 0.02s", **{P99: 20.0})


@pytest.mark.parametrize("text", [
    "", " ", "1", "20ms", P99, "1 <", "< 1", "(1 < 2", "1 < 2)", "1 < 2 3", "1 <> 2",
    f"{P99} < 20", f"{P99} < 20%", f"{P99} + 1 < 2ms", "1ms * 1ms == 1", "1 / 1ms == 1",
    "nothing < 1", "p99(nothing) < 1ms", "p99(20ms) < 1ms", "p100(latency_loaded) < 1ms",
    "latency_loaded < 1ms", "glitches_per_minute < 1", "glitches_per_minute(100) < 1",
    "1ms * 1ms == 1ms", "10Mbit/s / 10% == 1Mbit/s",
    "glitches_per_minute(latency_loaded) < 1", "loss(tcp_rtt) < 1%", "p99() < 1ms",
    "1 < 2 and 3", "not 3", "not not 1 < 2", "(1 < 2) < 3", "(1 < 2) + 1 == 2",
    "__import__('os').system('true') == 0", "(lambda: 1)() == 1", "[1][0] == 1", "1 if 1 else 2",
    "exec(latency_loaded) < 1", "p99.latency_loaded < 1", "$x < 1", "1;1 < 2", "2 ** 3 == 8",
    "(" * 500 + "1" + ")" * 500 + " == 1", "-" * 500 + "1 == 1", "1 < 2 " * 500,
])
def test_what_is_no_condition_is_refused(text: str) -> None:
    """Wrong grammar, unknown names, mixed kinds, and anything like code."""
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "output"), [
    (f"{P99} < 60msec", (r"unknown unit 'msec' \(character 27\); did you mean 'ms'\? "
                         r"Known: us, ms, s, kbit/s, Mbit/s, Gbit/s, %$")),
    (f"{P99} < 60 seconds", r"unknown unit 'seconds' \(character 28\); known: us, ms"),
    ("throughput_upload_mbps > 5Mbps", "unknown unit 'Mbps' .*; did you mean 'Mbit/s'"),
    ("throughput_upload_mbps > 5 kbits/s and 1 < 2", "'kbits/s' .*; did you mean 'kbit/s'"),
    ("glitches_per_minute(20msec) < 1", "unknown unit 'msec'"),
    ("1 < 2 3", r"expected an operator or the end, but found '3' \(character 7\)"),
    ("1 $ 2", r"unexpected '\$ 2' \(character 3\)"),
    ("  $", r"unexpected '\$' \(character 3\); expected a number, a name or one of \( \) \+"),
    (f"{P99}   = 20ms", r"unexpected '= 20ms' \(character 25\); write '=='$"),
    ("1 < 2 && 2 < 3", r"unexpected '&& 2 < 3' \(character 7\); write 'and'$"),
    ("1 < 2 || 2 < 3", "write 'or'$"), ("!1 < 2", "write 'not'$"), ("1 ≤ 2", "write '<='$"),
    ("1 => 2", "write '>='$"), ("1 === 2", r"unexpected '= 2' \(character 5\); expected a number"),
    ("1ms < 20µs", "write 'us'$"), ("1 < 0,5", "write a decimal point, as in 0[.]5$"),
    ("1 < 1,000", r"unexpected ',000' \(character 6\); write thousands without a comma, as in 100"),
    ("throughput_upload_mbps > 5MB/s", (r"'MB/s' \(character 27\) counts bytes; write the number "
                                        "of bits, 8 times as many, with one of kbit/s, Mbit/s, ")),
    ("throughput_upload_mbps > 5 kBps", r"'kBps' \(character 28\) counts bytes"),
    ("queue_standing_download_max_bytes < 15KB", "take the number of bytes without a unit, as in"),
    ("not not p99(latency_loaded) < 5ms", r"have no effect, but found 'not' \(character 5\)"),
    ("throughput_upload_mbps > 5Mb/s", "unknown unit 'Mb/s' .*; did you mean 'Mbit/s'"),
    # The nearest unit is 1000 times as large.
    ("throughput_upload_mbps > 5000bit/s", r"unit 'bit/s' \(character 30\); known: us, ms"),
    ("1 < 5.", r"sides of the point, as in 0\.5$"),
    ("p99.latency_loaded < 1ms", r"unexpected '\.latency_loa' \(character 4\); expected a numb"),
    (f"{LOSS} < .5%", r"sides of the point, as in 0\.5$"),
    ("1 <", "expected a number or a name, but it ends"),
    ("(1 < 2", r"expected '\)', but it ends"),
    ("p99(<) < 1ms", r"expected the argument of p99, but found '<' \(character 5\)"),
    ("not not 1 < 2", "expected one 'not', as two have no effect, but found 'not'"),
    ("1 < 2 and 3", "'and' needs conditions, but beside it is a number"),
    ("1ms < 20", "give the number a unit, as in 20ms"),
    ("1ms < 4 * 5", "give the number a unit, as in 20ms"),
    (f"{P99} / 2ms < 1%", "a share can't be compared; write the other number without a unit$"),
    ("rpm_foreign_estimate < jitter(latency_loaded)", "a time can't be compared; both have to be"),
    ("1 < (1 < 2)", "a condition can't be compared; a condition has no number: join "),
    ("-(1 < 2)", "'-' stands before a condition; expected a number behind it, or 'not'"),
    ("1 < 1e309ms", r"the number at character 5 is too large; expected less than 1\.8e308$"),
    ("longest_glitch(1e999s) < 1ms", "the number at character 16 is too large"),
    ("1ms < 1%", "a time < a share can't be compared; both have to be of one kind$"),
    ("1 / 1ms == 1", "unit / a time can't be computed; the divisor has to be without a unit"),
    ("1ms * 1ms == 1", "a time can't be computed; one factor has to be without a unit or in %$"),
    ("20ms", "'20ms' is a time, not a condition"),
    ("(1 < 2) * 2 < 3", r" \* a number without unit can't be computed; a condition has no"),
    ("< 1", r"expected a number or a name, but found '<' \(character 1\)"),
])
def test_mistake_is_told_with_its_place(text: str, output: str) -> None:
    """What was seen, and what was expected there."""
    with pytest.raises(ConfigError, match=output):
        parse(text)


def test_expression_may_be_as_long_and_as_deep_as_stated() -> None:
    """1000 characters and 40 levels, and no more; levels that were left don't count."""
    assert parse("1 < 2".ljust(1000))
    with pytest.raises(ConfigError, match="has 1001 characters; expected 1000 at most"):
        parse("1 < 2".ljust(1001))
    for opened, closed in (("(", ")"), ("-", "")):
        assert parse(opened * 40 + "1" + closed * 40 + " < 2")
        with pytest.raises(ConfigError, match="brackets and signs are nested more than 40 deep"):
            parse(opened * 41 + "1" + closed * 41 + " < 2")
    assert parse(" + ".join(["(1)"] * 50) + " < 2")
    assert parse(" + ".join(["-1"] * 50) + " < 2")
    for left, deep in (("(1)", "(" * 41 + "1" + ")" * 41), ("-1", "-" * 41 + "1")):
        with pytest.raises(ConfigError, match="brackets and signs are nested more than 40 deep"):
            parse(" + ".join([left] * 50) + f" + {deep} < 2")


def test_leaves_are_known_once_and_in_order() -> None:
    """Wherever they stand."""
    node = parse(f"{P99} < 1ms and ({LOSS} < 1% or {P99} + 2ms > 1ms) and not {LOSS} > 2%")
    assert [leaf.text for leaf in leaves(node)] == [P99, LOSS]


def test_threshold_is_in_milliseconds_whatever_its_unit() -> None:
    """A tenth of a second is 100 ms."""
    leaf, = leaves(parse("glitches_per_minute(0.1s) < 1"))
    assert leaf.threshold_ms == 100


def test_and_or_are_content_with_what_decides() -> None:
    """Each with a side that isn't known, before and behind."""
    gone: dict[str, float | Unavailable] = {P99: Unavailable("why"), LOSS: 0.5}
    assert holds(f"{LOSS} < 1% or {P99} < 1ms", **gone)
    assert not holds(f"{LOSS} > 1% and {P99} < 1ms", **gone)
    assert holds("1 < 2 and 2 < 3 and 3 < 4")
    assert not holds("1 < 2 and 3 < 2 and 3 < 4")
    assert holds("2 < 1 or 3 < 2 or 3 < 4")
    assert not holds("2 < 1 or 3 < 2 or 4 < 3")


def test_names_that_need_more_say_what() -> None:
    """A trace needs a function, glitches a threshold with a unit, loss a latency."""
    for text, output in (
        ("latency_loaded < 1ms", r"has many samples; name a statistic of them, as in"),
        ("longest_glitch < 1ms", r"needs a threshold, as in longest_glitch\(100ms\)"),
        ("longest_glitch(100) < 1ms", r"longest_glitch\(100\): expected a time with its unit"),
        ("longest_glitch(1%) < 1ms", r"longest_glitch\(1%\): expected a time with its unit as "),
        ("loss(tcp_rtt) < 1%", "loss needs a trace of latency; expected latency_loaded or "),
        ("p99(latency) < 1ms", "unknown trace 'latency'"),
        ("p99(latency_loded) < 1ms", r"; did you mean 'latency_loaded'\? Known: latency_loaded,"),
        ("latency_loaded_p99 < 1ms", r"did you mean 'latency_loaded_p99_ms'\? 'flent-aqm score"),
        (f"{P99}(100ms) < 1ms", rf"^{P99} is a metric, not a function; leave \(100ms\) out$"),
        ("latency_loaded(p99) < 1ms", (r"^latency_loaded is a trace, not a function; write .*, as "
                                       r"in p99\(latency_loaded\)$")),
        ("p99(100 ms) < 1ms", "unknown trace '100ms'; known: .* tcp_rtt$"),
        ("loss(latency) < 1%", "unknown trace 'latency'.*latency_upload$"),
        ("loss < 1%", "traces are latency_loaded, .*latency_upload$"),
        ("p100(latency_loaded) < 1ms", "'p100'; known: pN .N above 0 and below 100., median"),
        ("p0(latency_loaded) < 1ms", "unknown function 'p0'; known: pN .*, median, .*, min, max"),
        ("p0_0(latency_loaded) < 1ms", "unknown function 'p0_0'"),
        (f"p99.{'9' * 20}(latency_loaded) < 1ms", "unknown function 'p99.9+'; known"),
        ("median(throughput_upload) < 1ms", "a rate < a time can't be compared"),
        ("count(latency_loaded) < 1ms", "a number without unit < a time can't be compared"),
        ("jitter(latency_loaded) < 1%", "a time < a share can't be compared"),
    ):
        with pytest.raises(ConfigError, match=output):
            parse(text)


@settings(max_examples=300, deadline=None)
@given(text=st.text(alphabet="p9latencyods_()<>=!+-*/%. 0123msMbit/$'\"[]", max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    """Nothing but a condition or a ConfigError comes out."""
    try:
        assert leaves(parse(text)) is not None
    except ConfigError:
        pass


def test_misspelt_name_gets_a_suggestion() -> None:
    """The nearest name is offered."""
    with pytest.raises(ConfigError, match="did you mean 'latency_loaded_p99_ms'"):
        parse("latency_loadd_p99_ms < 1ms")


def test_unknown_number_fails_unless_the_rest_decides() -> None:
    """An unavailable number has a reason; "or" and "and" need it only where it matters."""
    gone: dict[str, float | Unavailable] = {
        P99: Unavailable("only 3 of 299 samples lie above p99"), LOSS: 0.5}
    assert holds(f"{P99} < 1ms or {LOSS} < 1%", **gone)
    assert not holds(f"{P99} < 1ms and {LOSS} > 1%", **gone)
    for text in (f"{P99} < 1ms", f"not {P99} < 1ms", f"{P99} < 1ms and {LOSS} < 1%",
                 f"{P99} < 1ms or {LOSS} > 1%"):
        with pytest.raises(NotAvailable, match="because only 3 of 299 samples"):
            holds(text, **gone)


def test_division_by_zero_is_no_crash() -> None:
    """It has no result, so the condition isn't known. Nor has what is too large."""
    with pytest.raises(NotAvailable, match="divides by 0"):
        holds("1 / 0 > 1")
    for text in ("1e200 * 1e200 > 1", "1e200 * 1e200 == 1e200 * 1e200", "1e308 / 1e-9 > 1"):
        with pytest.raises(NotAvailable, match="the expression's value is too large"):
            holds(text)


def test_functions_of_traces_agree_with_metrics(make_run: Callable[..., Run]) -> None:
    """The same numbers by both ways of asking."""
    run = make_run([20.0 + step % 50 for step in range(2000)], tcp_rtt_ms=[30.0] * 2000)
    for text, name in (
        ("p99(latency_loaded)", P99), ("median(latency_idle)", "latency_idle_median_ms"),
        ("mean(latency_loaded)", "latency_loaded_mean_ms"), ("loss(latency_loaded)", LOSS),
        ("jitter(latency_loaded)", "jitter_loaded_ms"),
        ("glitches_per_minute(30ms)", "glitches_per_minute_30ms"),
        ("longest_glitch(30ms)", "longest_glitch_30ms_ms"),
    ):
        leaf, = leaves(parse(f"{text} == {text}"))
        assert leaf.of(run) == METRICS[name].of(run), text
    values = {leaf: leaf.of(run) for leaf in leaves(parse(
        "mean(tcp_rtt) == 30ms and max(throughput_upload) == 90Mbit/s and count(tcp_rtt) > 1"))}
    assert [value for value in values.values() if isinstance(value, Unavailable)] == []


def test_rtt_of_tcp_of_a_run_without_flows_is_missing_with_the_flows_reason() -> None:
    run: Any = SimpleNamespace(speed_test=[], why_no_flow=lambda: "the client failed")
    leaf, = leaves(parse("p50(tcp_rtt) < 1ms"))
    assert leaf.of(run) == Unavailable("the client failed")


def test_medians_of_a_group_need_every_run() -> None:
    """The median in any order; with one run that doesn't tell, its reason."""
    leaf: Leaf = leaves(parse(f"{P99} < 1ms"))[0]
    assert medians([{leaf: 1.0}, {leaf: 30.0}, {leaf: 2.0}]) == {leaf: 2.0}
    value = medians([{leaf: 1.0}, {leaf: Unavailable("why")}])[leaf]
    assert value == Unavailable("why (no value in 1 of 2 runs)")


@pytest.mark.parametrize(("values", "because"), [
    ((Unavailable("why"),), "why"),
    ((1.0, Unavailable("one"), Unavailable("other")), "one (no value in 2 of 3 runs)"),
    ((Unavailable("lost", lost=True), Unavailable("why")), "why (no value in 1 of 2 runs)")])
def test_first_reason_is_told_with_the_number_of_runs_unless_it_is_the_only_one(
        values: tuple[float | Unavailable, ...], because: str) -> None:
    """A lost probe is no reason: it is slower than any other."""
    leaf: Leaf = leaves(parse(f"{P99} < 1ms"))[0]
    assert medians([{leaf: value} for value in values]) == {leaf: Unavailable(because)}


@pytest.mark.parametrize(("text", "expected"), [
    (f"{P99} < 50ms", False), (f"{P99} > 50ms", True), (f"not {P99} < 50ms", True),
    (f"{P99} - median(latency_loaded) < 50ms", False), (f"2 * {P99} >= 1000s", True)])
def test_lost_percentile_is_slower_than_any_number(text: str, expected: bool) -> None:
    """As in every table. It was called undecidable."""
    others = {"median(latency_loaded)": 20.0}
    assert holds(text, **others, **{P99: Unavailable("it was lost", lost=True)}) is expected
    with pytest.raises(NotAvailable, match="is not available, because it was lost"):
        holds(text, **others, **{P99: Unavailable("it was lost")})


@pytest.mark.parametrize(("text", "because"), [
    (f"{P99} - {P99} < 50ms", "no value for lost probes"),
    (f"0 * {P99} < 50ms", "no value for lost probes"),
    (f"{P99} < {P99}", "lost probes are on both sides")])
def test_nothing_is_told_of_two_lost_probes(text: str, because: str) -> None:
    with pytest.raises(NotAvailable, match=because):
        holds(text, **{P99: Unavailable("it was lost", lost=True)})


@pytest.mark.parametrize("word", ["and", "or"])
def test_first_of_two_unknown_numbers_is_told(word: str) -> None:
    with pytest.raises(NotAvailable, match=f"{P99} is not available, because one"):
        holds(f"{P99} < 1ms {word} {LOSS} < 1%",
              **{P99: Unavailable("one"), LOSS: Unavailable("other")})


@pytest.mark.parametrize(("text", "conditions"), [
    ("1 < 2", ["1 < 2"]), (" 1 < 2 and 3 < 4 ", ["1 < 2", "3 < 4"]),
    ("1 < 2 and 3 < 4 and not 5 < 6", ["1 < 2", "3 < 4", "not 5 < 6"]),
    ("1 < 2 and 3 < 4 or 5 < 6", ["1 < 2 and 3 < 4 or 5 < 6"]),
    ("(1 < 2 and 3 < 4) and 5 < 6", ["(1 < 2 and 3 < 4)", "5 < 6"]),
    ("(1 < 2 or 3 < 4) and 5 < 6", ["(1 < 2 or 3 < 4)", "5 < 6"]),
    ("((1 < 2) and 3 < 4)", ["((1 < 2) and 3 < 4)"]),
    ("1 < (2) and (3) < 4", ["1 < (2)", "(3) < 4"]), (" 1 < 2 or 2 < 1 ", ["1 < 2 or 2 < 1"])])
def test_conditions_that_must_all_hold_are_told_apart(text: str, conditions: list[str]) -> None:
    """Not within brackets, where "or" stays, too."""
    found = conjuncts(text)
    assert [one for one, _ in found] == conditions
    assert [node for _, node in found] == [parse(one) for one in conditions]


@pytest.mark.parametrize(("statistic", "value", "of_one"), [
    ("median", 51.0, None), ("p50", 51.0, None), ("p90", 91.0, None), ("mean", 52.0, 20.0),
    ("min", 1.0, 20.0), ("max", 202.0, 20.0), ("count", 101.0, 2.0)])
def test_statistic_is_of_all_samples_and_a_mean_of_those_that_came(
        statistic: str, value: float, of_one: float | None) -> None:
    """Of 1 to 100 and 202 ms; then of 20 ms and a lost probe; then of a lost probe alone."""
    samples = numpy.arange(1.0, 102.0)
    samples[-1] = 202.0
    leaf, = leaves(parse(f"{statistic}(latency_loaded) == {statistic}(latency_loaded)"))

    def of(rtt_ms: Any) -> Any:
        run: Any = SimpleNamespace(loaded=lambda: SimpleNamespace(rtt_ms=rtt_ms))
        return leaf.of(run)

    assert of(samples) == pytest.approx(value, abs=0.01)
    if of_one is not None:
        assert of(numpy.array([math.inf, 20.0])) == of_one
        if statistic != "count":
            assert of(numpy.array([math.inf])) == Unavailable(
                "all of the trace's probes were lost")
            assert of(numpy.array([])) == Unavailable("the trace has no samples")


@pytest.mark.parametrize(("function", "percent"), [
    ("p0.1", 0.1), ("p99.9", 99.9), ("p99_9", 99.9), ("p5", 5.0), ("p99", 99.0), ("p0", None),
    ("p100", None), ("p00.0", None), ("median", None), (f"p99.{'9' * 30}", None)])
def test_percentile_lies_between_none_and_all(function: str, percent: float | None) -> None:
    assert _percent_of(function) == percent


@pytest.mark.parametrize(("text", "of"), [
    ("glitch_time(100ms) < 1%", "share"), ("longest_glitch(100ms) < 1ms", "time"),
    ("glitches_per_minute(100ms) < 1", "number"), ("loss(latency_idle) < 1%", "share"),
    ("jitter(latency_upload) < 1ms", "time"), ("median(tcp_rtt) < 1ms", "time"),
    ("max(throughput_download) < 1Mbit/s", "rate"), ("count(throughput_upload) < 1", "number")])
def test_function_has_the_kind_of_what_it_tells(text: str, of: str) -> None:
    assert of in leaves(parse(text))[0].kind.value


def test_lost_percentile_of_a_run_is_the_slowest_of_its_group(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a run without a value."""
    leaf: Leaf = leaves(parse("p99(latency_loaded) < 1ms"))[0]

    def lost(*_: object) -> float:
        raise LostProbe("it is a lost probe")

    monkeypatch.setattr("flent_aqm.results.score.leaves._trace_value", lost)
    value = leaf.of(load_run(RUNS / "ndt7.flent.gz"))
    assert value == Unavailable("it is a lost probe", lost=True)
    assert medians([{leaf: 1.0}, {leaf: 2.0}, {leaf: value}]) == {leaf: 2.0}


def test_rates_of_two_flows_are_not_available() -> None:
    """Their intervals end at different times. This run has two."""
    run = load_run(Path(__file__).parents[2] / "golden" / "runs" / "aqm_flows.flent.gz")
    leaf, = leaves(parse("median(throughput_upload) > 1Mbit/s"))
    assert leaf.of(run) == Unavailable("the run has 2 upload flows, and samples of throughput are "
                                       "compared for a single flow only")

"""The rules by which a report's sentences are judged: each comes out as agree, does not agree, and cannot be told."""

from __future__ import annotations

import math

import pytest

from hakobi_lab.reports.claims import CLAIMS, RULES
from hakobi_lab.reports.judging import Claim, Rule, Value, judge, over_rounds, ratio
from hakobi_lab.reports.published import REPORTS

ALL = [pytest.param(claim, id=f"{name}: {claim.name}") for name, claims in CLAIMS.items() for claim in claims]


def within(rule: Rule, share: float = 0.5) -> Value:
    """A value that a rule agrees with: at `share` of the way between its bounds, or beyond its one bound."""
    low = rule.low if math.isfinite(rule.low) else rule.high - 0.2
    high = rule.high if math.isfinite(rule.high) else rule.low + 0.2
    at = low + share * (high - low)
    return Value(at, at, at, 7)


def beyond(rule: Rule) -> Value:
    """One that contradicts it."""
    at = rule.high + 0.3 if math.isfinite(rule.high) else rule.low - 0.3
    return Value(at, at - 0.1, at + 0.1, 7)


def across(rule: Rule) -> Value:
    """One whose interval holds a bound."""
    at = rule.high if math.isfinite(rule.high) else rule.low
    return Value(at, at - 0.5, at + 0.5, 7)


@pytest.mark.parametrize("claim", ALL)
def test_every_sentence_can_come_out_in_all_three_ways(claim: Claim) -> None:
    rule = claim.rule
    assert judge(claim, {"a": within(rule), "b": within(rule, 0.7)}).agrees is True
    assert judge(claim, {"a": beyond(rule), "b": beyond(rule)}).agrees is False
    assert judge(claim, {"a": across(rule), "b": across(rule)}).agrees is None


@pytest.mark.parametrize("claim", ALL)
def test_no_sentence_is_judged_by_a_part_of_its_cases_or_by_two_samples(claim: Claim) -> None:
    rule = claim.rule
    for good in (within(rule), beyond(rule)):
        assert judge(claim, {"a": good, "b": good, "c": None}).agrees is None
        twice = Value(good.estimate, good.low, good.high, 2)
        assert judge(claim, {"a": good, "b": twice}).agrees is None
    lacking = judge(claim, {"a": within(rule), "b": None})
    assert "1 of 2 cases not measured 3 times" in lacking.because
    assert judge(claim, {}).agrees is None
    assert judge(claim, "needs root").because == "Needs root."


@pytest.mark.parametrize("name", CLAIMS)
def test_every_sentence_has_a_place_words_and_the_reports_value(name: str) -> None:
    claims = CLAIMS[name]
    assert len({claim.name for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.place in REPORTS[name].items
        assert all((claim.sentence, claim.value, claim.theirs)), claim


def test_every_rule_is_in_use() -> None:
    used = [claim.rule for claims in CLAIMS.values() for claim in claims]
    assert [name for name, rule in RULES.items() if rule not in used] == []


def test_one_case_that_contradicts_is_enough_against_all_and_not_against_most() -> None:
    every, most = (Claim("c", "p", "s", "v", Rule(high=1, quantity=quantity), "t") for quantity in ("all", "most"))
    below, above, near = Value(0.5, 0.4, 0.6, 5), Value(2.0, 1.9, 2.1, 5), Value(1.0, 0.9, 1.1, 5)
    assert judge(every, {"a": below, "b": above, "c": near}).agrees is False
    assert judge(every, {"a": below, "b": near}).agrees is None
    assert judge(most, {"a": below, "b": below, "c": above}).agrees is True
    assert judge(most, {"a": above, "b": above, "c": below}).agrees is False
    assert judge(most, {"a": below, "b": above}).agrees is None
    assert judge(most, {"a": below, "b": near, "c": near}).agrees is None


def test_what_was_found_is_said_with_its_figures() -> None:
    claim = Claim("c", "p", "s", "time of one over another", Rule(high=1), "t")
    few = judge(claim, {"1 rank": Value(0.5, 0.4, 0.6, 5), "2 ranks": Value(0.9, 0.8, 1.2, 5)})
    assert few.because == (
        "Time of one over another (below 1.00): 1 rank 0.50 [0.40, 0.60], 2 ranks 0.90 [0.80, 1.20]; "
        "as the report in 1 of 2, against it in 0."
    )
    many = judge(claim, {f"{i} ranks": Value(i / 10, i / 11, i / 9, 5) for i in range(1, 6)})
    assert "5 cases from 1 ranks 0.10 [0.09, 0.11] to 5 ranks 0.50 [0.45, 0.56]" in many.because


def test_a_ratio_of_what_was_not_measured_together_holds_every_ratio_of_both() -> None:
    one, other = Value(2.0, 1.8, 2.2, 5), Value(1.0, 0.5, 1.1, 4)
    assert one.over(other) == Value(2.0, 1.8 / 1.1, 4.4, 4)
    assert one.over(Value(1.0, -0.1, 1.1, 4)).high == math.inf


def test_a_distance_has_no_sign() -> None:
    found = Value(0.8, 0.5, 0.9, 5).distance()
    assert (found.estimate, found.low, found.high) == pytest.approx((1.25, 1 / 0.9, 2.0))
    assert Value(1.1, 0.9, 1.2, 5).distance().low == 1.0


def test_rounds_that_only_one_has_are_left_out() -> None:
    found = over_rounds(ratio, {1: 2.0, 2: 4.0, 3: 6.0, 4: 1.0}, {1: 1.0, 2: 2.0, 3: 3.0})
    assert found is not None
    assert (found.estimate, found.count) == (2.0, 3)
    assert over_rounds(ratio, {1: 2.0}, {2: 2.0}) is None

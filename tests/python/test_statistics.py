from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakobi import statistics

SAMPLES = st.lists(st.floats(0.001, 1e6), min_size=1, max_size=40)


@given(SAMPLES)
def test_summary_is_ordered(sample: list[float]) -> None:
    summary = statistics.summarise(sample)
    values = [
        summary.minimum,
        summary.quartile_low,
        summary.median,
        summary.quartile_high,
        summary.maximum,
    ]
    assert values == sorted(values)
    assert summary.interval.contains(summary.median)
    assert summary.spread >= 0


@given(SAMPLES, st.randoms())
def test_summary_does_not_depend_on_order(sample: list[float], chance: object) -> None:
    shuffled = list(sample)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert statistics.summarise(shuffled) == statistics.summarise(sample)


@pytest.mark.parametrize("sample", [[], [math.nan], [1.0, math.inf]])
def test_summary_refuses_what_is_no_sample(sample: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        statistics.summarise(sample)


def test_interval_of_twenty_values_is_between_the_6th_and_15th() -> None:
    # David and Nagaraja, table of intervals for the median: n = 20, 95 %: ranks 6 and 15, coverage 0.9586.
    interval = statistics.interval_of_median(range(1, 21))
    assert (interval.low, interval.high) == (6, 15)
    assert interval.confidence == pytest.approx(0.9586, abs=1e-4)


def test_six_values_are_the_fewest_for_order_statistics() -> None:
    assert statistics.interval_of_median([1, 2, 3, 4, 5, 6]).confidence == pytest.approx(1 - 2 / 64)
    assert statistics.interval_of_median([1, 2, 3, 4, 5]).confidence == 0.95


def test_one_value_has_no_bounds() -> None:
    interval = statistics.interval_of_median([3.0])
    assert (interval.low, interval.high) == (-math.inf, math.inf)
    assert not statistics.compare_interleaved([3.0], [1.0]).differs


@pytest.mark.parametrize("count", [5, 7, 12, 30])
def test_interval_holds_the_median_as_often_as_it_says(count: int) -> None:
    chance = np.random.default_rng(7)
    held = 0
    for _ in range(1000):
        sample = chance.normal(0, 1, count)
        held += statistics.interval_of_median(sample).contains(0.0)
    assert held / 1000 > 0.93


@pytest.mark.parametrize("count", [2, 3, 5, 6, 10, 25])
def test_the_same_thing_twice_rarely_differs(count: int) -> None:
    # Interleaved runs of one program: noise with a heavy tail, and drift that both meet.
    chance = np.random.default_rng(count)
    named = 0
    for _ in range(1000):
        drift = np.cumsum(chance.normal(0, 0.05, count))
        a = drift + chance.lognormal(0, 0.1, count)
        b = drift + chance.lognormal(0, 0.1, count)
        named += statistics.compare_interleaved(a.tolist(), b.tolist()).differs
    assert named / 1000 < 0.04


def test_a_real_difference_is_seen_through_drift_larger_than_it() -> None:
    chance = np.random.default_rng(1)
    drift = np.linspace(0, 1, 10)
    a = (1.1 + drift + chance.normal(0, 0.01, 10)).tolist()
    b = (1.0 + drift + chance.normal(0, 0.01, 10)).tolist()
    comparison = statistics.compare_interleaved(a, b)
    assert comparison.differs
    assert comparison.estimate == pytest.approx(0.1, abs=0.02)
    assert not statistics.compare_separate(a, b).differs


def test_interleaved_samples_have_one_value_a_round() -> None:
    with pytest.raises(ValueError, match="3 and 2"):
        statistics.compare_interleaved([1, 2, 3], [1, 2])


@given(st.lists(st.floats(0.5, 2), min_size=2, max_size=20), st.floats(0.1, 10))
def test_separate_comparison_is_a_ratio(sample: list[float], factor: float) -> None:
    comparison = statistics.compare_separate([factor * value for value in sample], sample)
    assert comparison.estimate == pytest.approx(factor)
    assert comparison.interval.low <= factor * 1.000001
    assert comparison.interval.high >= factor * 0.999999


def test_separate_comparison_needs_positive_values_and_two_of_each() -> None:
    with pytest.raises(ValueError, match="positive"):
        statistics.compare_separate([1.0, 0.0], [1.0])
    assert not statistics.compare_separate([9.0], [1.0, 1.01]).differs


def test_equal_constants_do_not_differ_and_unequal_ones_do() -> None:
    assert not statistics.compare_separate([2.0, 2.0], [2.0, 2.0]).differs
    assert statistics.compare_separate([3.0, 3.0], [2.0, 2.0]).differs


def test_fastest_names_a_winner_or_the_group_it_is_lost_in() -> None:
    apart = {"slow": [2.0, 2.1, 2.05], "quick": [1.0, 1.02, 1.01]}
    assert statistics.fastest(apart) == ["quick"]
    close = {"a": [1.0, 1.1, 1.05], "b": [1.04, 1.0, 1.2], "slow": [2.0, 2.1, 2.05]}
    assert statistics.fastest(close) == ["b", "a"]
    assert statistics.fastest({}) == []

"""Medians with their uncertainty, and the only comparison that may name a winner.

 1. A sample's centre is its median; beside it stand the quartiles (how single runs scatter: *the spread*) and an
    interval for the median (how well the centre is known).
 2. Six values or more: the interval is between two order statistics, free of assumptions (David and Nagaraja, *Order
    Statistics*, 3rd ed., section 7.1). Fewer cannot reach 95 % that way; there it is Student's t interval about the
    mean, widened to hold the median, which takes the noise for roughly normal. One value: unbounded.
 3. Two configurations are compared from interleaved samples: the differences within each round, which cancels what
    drifts between rounds. They differ *outside the spread* when the differences' interval leaves out zero.
 4. Samples that were not taken together (two machines, two days) are compared by the interval of the difference of
    means after Welch, of logarithms, so that it reads as a ratio.

Local, pure. Times are seconds here, but nothing depends on that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from hakobi.words import seconds_digits

#: The confidence of intervals that are shown.
CONFIDENCE = 0.95
#: The confidence of comparisons: the same thing twice is called different in about 2 of 100 studies, and in
#: fewer than 5 for certain.
COMPARISON_CONFIDENCE = 0.98


@dataclass(frozen=True)
class Interval:
    """A confidence interval; `confidence` is what it has, not what was asked: at least the asked where possible."""

    low: float
    high: float
    confidence: float

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Summary:
    """A sample in six numbers and the interval of its median."""

    count: int
    median: float
    quartile_low: float
    quartile_high: float
    minimum: float
    maximum: float
    interval: Interval

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles: what is written behind ±."""
        return (self.quartile_high - self.quartile_low) / 2

    def scaled(self, factor: float) -> Summary:
        """The same in a unit of which `factor` are one; `factor` is positive."""
        low, high = factor * self.interval.low, factor * self.interval.high
        return Summary(
            self.count,
            factor * self.median,
            factor * self.quartile_low,
            factor * self.quartile_high,
            factor * self.minimum,
            factor * self.maximum,
            Interval(low, high, self.interval.confidence),
        )

    def inverse(self, numerator: float) -> Summary:
        """The summary of `numerator` over the values, which are positive: a speed-up of times."""
        low, high = (
            numerator / self.interval.high,
            math.inf if self.interval.low <= 0 else numerator / self.interval.low,
        )
        return Summary(
            self.count,
            numerator / self.median,
            numerator / self.quartile_high,
            numerator / self.quartile_low,
            numerator / self.maximum,
            numerator / self.minimum,
            Interval(low, high, self.interval.confidence),
        )

    def seconds(self) -> str:
        """ "1.23 ±0.04": a time's median and spread; of one sample the time alone."""
        if self.count < 2:
            return seconds_digits(self.median)
        return f"{seconds_digits(self.median)} ±{seconds_digits(self.spread)}"


@dataclass(frozen=True)
class Comparison:
    """How much larger `a` is than `b`: a difference (interleaved) or a ratio (separate), its interval, the verdict."""

    estimate: float
    interval: Interval
    differs: bool


def _values(sample: ArrayLike) -> NDArray[np.float64]:
    values = np.sort(np.asarray(sample, dtype=np.float64).ravel())
    if values.size == 0 or not np.isfinite(values).all():
        raise ValueError("a sample is one finite number or more")
    return values


def summarise(sample: ArrayLike, confidence: float = CONFIDENCE) -> Summary:
    """The summary of a sample. Raises ValueError for an empty one or one with NaN or infinity."""
    values = _values(sample)
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return Summary(
        count=int(values.size),
        median=float(median),
        quartile_low=float(low),
        quartile_high=float(high),
        minimum=float(values[0]),
        maximum=float(values[-1]),
        interval=interval_of_median(values, confidence),
    )


def interval_of_median(sample: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """The interval of rule 2."""
    values = _values(sample)
    n = values.size
    if 1 - 2 * 0.5**n < confidence:
        return _student_interval(values, confidence)
    # The k-th smallest and k-th largest hold the median with probability 1 - 2 P(B < k), B binomial (n, 1/2).
    k = 1
    while k + 1 <= n // 2 and 1 - 2 * special.bdtr(k, n, 0.5) >= confidence:
        k += 1
    held = 1 - 2 * float(special.bdtr(k - 1, n, 0.5))
    return Interval(float(values[k - 1]), float(values[n - k]), held)


def _student_interval(values: NDArray[np.float64], confidence: float) -> Interval:
    n = values.size
    if n < 2:
        return Interval(-math.inf, math.inf, 1.0)
    mean, median = float(values.mean()), float(np.median(values))
    scale = float(np.abs(values).max()) or 1.0  # squares of large values overflow
    deviation = scale * float((values / scale).std(ddof=1))
    half = float(special.stdtrit(n - 1, (1 + confidence) / 2)) * deviation / math.sqrt(n)
    return Interval(min(mean - half, median), max(mean + half, median), confidence)


def compare_interleaved(
    a: Sequence[float], b: Sequence[float], confidence: float = COMPARISON_CONFIDENCE
) -> Comparison:
    """a - b from samples of the same rounds: a[i] and b[i] were measured in round i. `estimate` is the median of the
    differences. Raises ValueError when the lengths differ."""
    if len(a) != len(b):
        raise ValueError(f"interleaved samples have one value a round each: {len(a)} and {len(b)}")
    differences = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    interval = interval_of_median(differences, confidence)
    return Comparison(float(np.median(differences)), interval, not interval.contains(0.0))


#: The verdict on two that were never measured together.
UNKNOWN_RATIO = Comparison(math.nan, Interval(0.0, math.inf, 1.0), False)


def compare_ratios(a: Sequence[float], b: Sequence[float], confidence: float = COMPARISON_CONFIDENCE) -> Comparison:
    """a / b from samples of the same rounds, all values positive: `compare_interleaved` of their logarithms."""
    logs = compare_interleaved(list(np.log(a)), list(np.log(b)), confidence)
    interval = Interval(math.exp(logs.interval.low), _exp(logs.interval.high), logs.interval.confidence)
    return Comparison(math.exp(logs.estimate), interval, logs.differs)


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


def compare_separate(a: ArrayLike, b: ArrayLike, confidence: float = COMPARISON_CONFIDENCE) -> Comparison:
    """a / b from samples that were not interleaved, all values positive (rule 4). `estimate` is the ratio of medians.
    With fewer than two values on a side nothing differs."""
    first, second = _values(a), _values(b)
    if first[0] <= 0 or second[0] <= 0:
        raise ValueError("a ratio needs positive values")
    ratio = float(np.median(first) / np.median(second))
    if min(first.size, second.size) < 2:
        return Comparison(ratio, Interval(0.0, math.inf, 1.0), False)
    x, y = np.log(first), np.log(second)
    parts = np.array([x.var(ddof=1) / x.size, y.var(ddof=1) / y.size])
    error = math.sqrt(float(parts.sum()))
    centre = float(x.mean() - y.mean())
    if error == 0:
        interval = Interval(math.exp(centre), math.exp(centre), confidence)
        return Comparison(ratio, interval, centre != 0)
    freedom = float(parts.sum() ** 2 / (parts[0] ** 2 / (x.size - 1) + parts[1] ** 2 / (y.size - 1)))
    half = float(special.stdtrit(freedom, (1 + confidence) / 2)) * error
    interval = Interval(math.exp(centre - half), math.exp(centre + half), confidence)
    return Comparison(ratio, interval, not interval.contains(1.0))


def fastest(samples: Mapping[str, Sequence[float]], confidence: float = COMPARISON_CONFIDENCE) -> list[str]:
    """The names whose times cannot be told from the smallest median's, that one first: one name is a winner, several
    are a group in which no difference lies outside the spread. All samples come from the same rounds."""
    if not samples:
        return []
    medians = {name: float(np.median(sample)) for name, sample in samples.items()}
    best = min(medians, key=medians.__getitem__)
    ties = [
        name
        for name in samples
        if name != best and not compare_interleaved(samples[name], samples[best], confidence).differs
    ]
    return [best, *sorted(ties, key=medians.__getitem__)]

"""Judges a published sentence by what was measured here. Pure.

A sentence (Claim) has a rule, and cases: a rank count, a size, a direction. A case's value is a quantity that two
machines share: the ratio of two times, a share, the growth of one, the place of a peak in units of a cache.

1. A case agrees where the whole interval of its value lies within the rule's bounds, contradicts where it lies outside,
   and cannot be told else.
2. A sentence is judged only where every one of its cases was measured, each at least MIN_SAMPLES times.
3. One about all cases agrees where all agree, and does not where one contradicts; one about most of them needs more
   than half either way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hakobi import statistics
from hakobi.statistics import Comparison, Summary
from hakobi.words import binary_text, count_text, percent_text

#: A median of fewer says nothing of its spread.
MIN_SAMPLES = 3
#: More cases than this are counted, with the least and the most of them.
_LISTED = 3


@dataclass(frozen=True)
class Value:
    """A quantity of one case with its interval, from `count` samples."""

    estimate: float
    low: float
    high: float
    count: int

    @staticmethod
    def of(found: Summary | Comparison, count: int = 0) -> Value:
        if isinstance(found, Summary):
            return Value(found.median, found.interval.low, found.interval.high, found.count)
        return Value(found.estimate, found.interval.low, found.interval.high, count)

    def over(self, other: Value) -> Value:
        """The ratio of two positive values that were not measured together; its interval holds every ratio of both."""
        low = max(self.low, 0.0) / other.high
        high = self.high / other.low if other.low > 0 else math.inf
        return Value(self.estimate / other.estimate, low, high, min(self.count, other.count))

    def distance(self) -> Value:
        """How far a ratio is from 1, as a ratio of at least 1: 0.8 and 1.25 are as far."""
        estimate, *ends = (max(x, 1 / x) if x > 0 else math.inf for x in (self.estimate, self.low, self.high))
        low = 1.0 if self.low <= 1 <= self.high else min(ends)
        return Value(estimate, low, max(ends), self.count)


Series = Mapping[int, float]  #: round -> what was measured in it
#: Case -> its value; None: it was not measured. Words instead: why there is no case here.
Cases = Mapping[str, Value | None] | str


def over_rounds(function: Callable[..., float], *series: Series) -> Value | None:
    """`function` of what the series have, round by round; None without a round that all have."""
    rounds = sorted(set.intersection(*(set(one) for one in series)))
    values = [function(*(one[number] for one in series)) for number in rounds]
    return Value.of(statistics.summarise(values, statistics.COMPARISON_CONFIDENCE)) if values else None


def ratio(one: float, other: float) -> float:
    return one / other


@dataclass(frozen=True)
class Rule:
    """The bounds of a case's value, and of how many cases. `unit`: "times", "%" or "bytes"."""

    low: float = -math.inf
    high: float = math.inf
    unit: str = "times"
    quantity: str = "all"  #: or "most"

    def tells(self, value: Value | None) -> bool | None:
        if value is None or value.count < MIN_SAMPLES:
            return None
        if self.low <= value.low and value.high <= self.high:
            return True
        return False if value.high < self.low or value.low > self.high else None

    def verdict(self, told: Sequence[bool | None]) -> bool | None:
        """The sentence's, from what each case tells; all of them were measured."""
        if self.quantity == "most":
            yes, no = told.count(True), told.count(False)
            return True if 2 * yes > len(told) else False if 2 * no > len(told) else None
        return False if False in told else True if told and all(told) else None

    def text(self, value: float) -> str:
        if not math.isfinite(value):
            return "∞" if value > 0 else "-∞"
        if self.unit == "bytes":
            return binary_text(round(value))
        return percent_text(value) if self.unit == "%" else f"{value:.2f}"

    def bounds(self) -> str:
        """
        >>> Rule(high=1.0).bounds(), Rule(0.93, unit="%").bounds(), Rule(1 / 8, 1 / 2).bounds()
        ('below 1.00', 'at least 93 %', '0.12 to 0.50')
        """
        if not math.isfinite(self.low):
            return f"below {self.text(self.high)}"
        return (
            f"at least {self.text(self.low)}"
            if math.isinf(self.high)
            else f"{self.text(self.low)} to {self.text(self.high)}"
        )


@dataclass(frozen=True)
class Claim:
    """A sentence that a report concludes at a `place` of it. `value`: what a case's value is; `theirs`: theirs."""

    name: str
    place: str
    sentence: str
    value: str
    rule: Rule
    theirs: str


@dataclass(frozen=True)
class Finding:
    """A sentence of the report, and what came of it here. `agrees`: None where the figures cannot tell."""

    published: str
    agrees: bool | None
    because: str  #: what was found here, with its figures
    claim: Claim | None = None

    @property
    def verdict(self) -> str:
        return {True: "agrees", False: "does not agree", None: "cannot be told"}[self.agrees]


def judge(claim: Claim, cases: Cases) -> Finding:
    """Rules 1 to 3."""
    if isinstance(cases, str):
        return Finding(claim.sentence, None, f"{cases[:1].upper()}{cases[1:]}.", claim)
    missing = [name for name, value in cases.items() if value is None or value.count < MIN_SAMPLES]
    told = [claim.rule.tells(value) for value in cases.values()]
    agrees = None if missing or not cases else claim.rule.verdict(told)
    return Finding(claim.sentence, agrees, _because(claim, cases, missing, told), claim)


def _because(claim: Claim, cases: Mapping[str, Value | None], missing: list[str], told: list[bool | None]) -> str:
    known = {name: value for name, value in cases.items() if value is not None}
    if not cases:
        return "No case of it is on this machine."
    value = f"{claim.value[:1].upper()}{claim.value[1:]}"
    lacking = f"{len(missing)} of {count_text(len(cases), 'case')} not measured {MIN_SAMPLES} times"
    if not known:
        return f"{value}: {lacking}."
    shown = known
    if len(known) > _LISTED:
        by_value = sorted(known, key=lambda name: known[name].estimate)
        shown = {name: known[name] for name in (by_value[0], by_value[-1])}
    parts = [f"{name} {_text(claim.rule, value)}" for name, value in shown.items()]
    between = f"{len(known)} cases from " if shown != known else ""
    counts = f"as the report in {told.count(True)} of {len(told)}, against it in {told.count(False)}"
    words = f"{value} ({claim.rule.bounds()}): {between}{(' to ' if between else ', ').join(parts)}; {counts}"
    return f"{words}; {lacking}." if missing else f"{words}."


def _text(rule: Rule, value: Value) -> str:
    if not math.isfinite(value.high - value.low):
        return rule.text(value.estimate)
    return f"{rule.text(value.estimate)} [{rule.text(value.low)}, {rule.text(value.high)}]"


def judge_all(claims: Sequence[Claim], evidence: Mapping[str, Cases]) -> list[Finding]:
    """In the order of the claims. Each has its evidence, and no evidence is without a claim."""
    names = [claim.name for claim in claims]
    assert sorted(names) == sorted(evidence), f"claims and evidence differ: {set(names) ^ set(evidence)}"
    return [judge(claim, evidence[claim.name]) for claim in claims]

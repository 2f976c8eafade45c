"""Who is still in the race, who goes to the confirmation, and what is chosen. Pure.

1. Candidates are compared by the ratios of their times in the rounds that they share (hakobi.statistics), so that drift
   between rounds falls on none.
2. After LEAST_ROUNDS a candidate is dropped whose time is longer than the best's outside the spread; so is one at once
   whose run was given up. The defaults stay.
3. To the confirmation go the best of the search and, where several hints are each faster than the defaults outside the
   spread, their best values together. Who is best of many was lucky, too: nothing of the search counts there.
4. Chosen is what is faster than the defaults outside the spread of the confirmation's rounds alone; else the defaults.
   Between two that cannot be told apart, the one with fewer hints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hakobi import statistics
from hakobi.statistics import COMPARISON_CONFIDENCE, Comparison
from hakobi.tuning.candidates import DEFAULTS, Candidate, together

#: Rounds before anything is judged: two of them have an interval that is next to boundless.
LEAST_ROUNDS = 3


@dataclass
class Race:
    """Seconds of each candidate, by round."""

    times: dict[Candidate, dict[int, float]] = field(default_factory=dict)
    given_up_s: dict[Candidate, float] = field(default_factory=dict)  #: after how long a run was ended

    def add(self, candidate: Candidate, number: int, time_s: float) -> None:
        self.times.setdefault(candidate, {})[number] = time_s

    def median_s(self, candidate: Candidate) -> float:
        return float(np.median(list(self.times[candidate].values())))

    def ranking(self) -> list[Candidate]:
        """Those with times, the shortest median first."""
        return sorted(self.times, key=self.median_s)

    def speed(self, candidate: Candidate, other: Candidate, confidence: float = COMPARISON_CONFIDENCE) -> Comparison:
        """How many times as fast as `other`, over the rounds that both have."""
        mine, theirs = self.times.get(candidate, {}), self.times.get(other, {})
        shared = sorted(mine.keys() & theirs.keys())
        if not shared:
            return statistics.UNKNOWN_RATIO
        return statistics.compare_ratios([theirs[i] for i in shared], [mine[i] for i in shared], confidence)

    def is_out(self, candidate: Candidate) -> bool:
        """Rule 2."""
        if candidate in self.given_up_s:
            return True
        if candidate == DEFAULTS or len(self.times.get(candidate, {})) < LEAST_ROUNDS:
            return False
        speed = self.speed(candidate, self.ranking()[0])
        return speed.differs and speed.estimate < 1

    def finalists(self) -> list[Candidate]:
        """Rule 3: at most two, without the defaults; none where the defaults were fastest."""
        running = [one for one in self.ranking() if one not in self.given_up_s]
        tried = [one for one in running if len(self.times[one]) >= LEAST_ROUNDS]
        if not tried or tried[0] == DEFAULTS:
            return []
        best: dict[str, Candidate] = {}
        for one in tried:
            speed = self.speed(one, DEFAULTS)
            if one != DEFAULTS and speed.differs and speed.estimate > 1:
                best.setdefault(one.hints[0][0], one)
        return [tried[0], *([together(list(best.values()))] if len(best) > 1 else [])]


@dataclass(frozen=True)
class Choice:
    """`speed`: how many times as fast as the defaults, in the confirmation; None where there was none."""

    candidate: Candidate
    speed: Comparison | None
    num_rounds: int


def choose(confirmation: Race, finalists: Sequence[Candidate]) -> Choice:
    """Rule 4. That the better of two is asked for is paid for: each is held to half the error."""
    finalists = [one for one in finalists if one not in confirmation.given_up_s]
    rounds = {one: len(confirmation.times.get(one, {})) for one in (DEFAULTS, *finalists)}
    if not finalists or min(rounds.values()) < LEAST_ROUNDS:
        return Choice(DEFAULTS, None, 0)
    confidence = 1 - (1 - COMPARISON_CONFIDENCE) / len(finalists)
    order = sorted(finalists, key=confirmation.median_s)
    if len(order) == 2 and not confirmation.speed(order[0], order[1]).differs:
        order.sort(key=lambda one: len(one.hints))
    speeds = [(one, confirmation.speed(one, DEFAULTS, confidence)) for one in order]
    for one, speed in speeds:
        if speed.differs and speed.estimate > 1:
            return Choice(one, speed, rounds[one])
    return Choice(DEFAULTS, speeds[0][1], rounds[order[0]])

"""The time that a report may take, shared between its parts.

A part gets its share of what is left, so what one does not use goes to those after it. A part that needs more than is
left does not begin (page.Content.has_room). One that has begun may go on behind the budget's end by a tenth of it or
20 s, as a session's run may.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from hakobi.measuring import session


class Budget:
    """Seconds for all of a report's parts, counted from now."""

    def __init__(self, seconds: float) -> None:
        self._end_s = time.monotonic() + seconds
        self._more_s = session.more_s(seconds)

    def left_s(self) -> float:
        return max(0.0, self._end_s - time.monotonic())

    def limit_s(self, most_s: float) -> float:
        """The time limit of a run that begins now: `most_s`, or what is left and the little more."""
        return min(most_s, self.left_s() + self._more_s)

    def share_s(self, weight: float, of: float) -> float:
        """Seconds for a part of `weight` where it and the parts after it weigh `of` together.

        >>> round(Budget(100).share_s(1, of=4))
        25
        """
        return self.left_s() * weight / of


@dataclass(frozen=True)
class Order:
    """The user's order. `smallest`: the least cases that fill every table; they conclude nothing."""

    budget: Budget
    folder: Path  #: where runs write
    json: Path | None = None  #: records, taken up by the next run of the same command
    smallest: bool = False
    ranks: tuple[int, ...] = field(default=())  #: instead of the report's, where given

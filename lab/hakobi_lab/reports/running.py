"""The time that a report may take, shared between its parts."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path


class Budget:
    """Seconds for all of a report's parts, counted from now. A part gets its share of what is left, so what one part
    does not use goes to those after it."""

    def __init__(self, seconds: float) -> None:
        self._end_s = time.monotonic() + seconds

    def left_s(self) -> float:
        return max(0.0, self._end_s - time.monotonic())

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

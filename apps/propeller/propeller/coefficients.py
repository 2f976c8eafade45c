"""Thrust and torque coefficients of runs, from their histories (hakobi-propeller --history), beside the series'."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from propeller import openwater


@dataclass(frozen=True)
class Found:
    """Means over a run's last steps. `scatter`: standard deviation of K_T over them."""

    advance: float
    k_t: float
    k_q: float
    scatter: float
    num_steps: int

    @property
    def error(self) -> float:
        """How far K_T is from the polynomial's, as a part of it."""
        return self.k_t / openwater.thrust(self.advance) - 1

    @property
    def torque_error(self) -> float:
        return self.k_q / openwater.torque(self.advance) - 1


def of_history(path: Path, num_steps: int = 30) -> Found:
    """Raises ValueError where the file has no step."""
    steps = [json.loads(line) for line in path.read_text().splitlines() if line.strip()][-num_steps:]
    if not steps:
        raise ValueError(f"{path.name} has no step: did the run begin?")
    k_t = sum(step["k_t"] for step in steps) / len(steps)
    scatter = (sum((step["k_t"] - k_t) ** 2 for step in steps) / len(steps)) ** 0.5
    return Found(steps[-1]["advance"], k_t, sum(step["k_q"] for step in steps) / len(steps), scatter, steps[-1]["step"])


def table(results: Sequence[Found]) -> str:
    """A line a run: J, steps, K_T with its scatter and the series', K_Q likewise."""
    lines = ["   J  steps    K_T  +-      series          10 K_Q  series"]
    for found in sorted(results, key=lambda found: found.advance):
        lines.append(
            f"{found.advance:5.2f} {found.num_steps:5d}  {found.k_t:.4f} {found.scatter:.4f}  "
            f"{openwater.thrust(found.advance):.4f} ({100 * found.error:+5.1f} %)  {10 * found.k_q:.4f}  "
            f"{10 * openwater.torque(found.advance):.4f} ({100 * found.torque_error:+5.1f} %)"
        )
    return "\n".join(lines)

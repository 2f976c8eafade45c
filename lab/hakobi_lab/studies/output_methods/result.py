"""A study that has run: what the table, the report and the exit status are made from."""

from __future__ import annotations

from dataclasses import dataclass

from hakobi.conditions import Conditions
from hakobi_lab.studies.output_methods.plan import Plan
from hakobi_lab.studies.output_methods.runner import Mismatch, Outcome
from hakobi_lab.studies.output_methods.summary import StudySummary


@dataclass(frozen=True)
class Study:
    """`summary` is None when no pair of runs was finished."""

    plan: Plan
    outcome: Outcome
    summary: StudySummary | None
    conditions: Conditions
    mismatches: list[Mismatch]

    def warnings(self) -> list[str]:
        """Warnings that a reader must know before the figures, worst first."""
        result = [f"FILES DIFFER: {mismatch.text()}" for mismatch in self.mismatches]
        return result + self.outcome.end.warnings()

    def exit_status(self) -> int:
        """0: complete and all files agree. 1: files differ. 2: ended early, or with gaps."""
        return 1 if self.mismatches else self.outcome.end.exit_status()

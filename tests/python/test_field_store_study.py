"""`hakobi study field-store` with pretended runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi import programs
from hakobi.studies.field_store import session
from running import Result

NUMBERS = [
    "grid_bytes",
    "spectral_bytes",
    "grid_fields",
    "spectral_fields",
    "wall_s",
    "mean_days_per_day",
    "peak_days_per_day",
]


@pytest.mark.parametrize(
    ("finished", "shown"), [(0, ""), (2, "Finished runs of a study"), (6, "Forecast days per day")]
)
def test_ctrl_c_prints_the_finished_runs(
    hakobi: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: int, shown: str
) -> None:
    done = 0

    def run_case(_plan: object, _case: object, _program: object, outcome: session.Outcome, _file: object) -> None:
        nonlocal done
        if done == finished:
            raise KeyboardInterrupt
        done += 1
        outcome.summaries.append(dict.fromkeys(NUMBERS, 1.0))

    monkeypatch.setattr(session, "_run_case", run_case)
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    result = hakobi(
        *("study", "field-store", "--ranks", "1", "--strides", "1", "--buffers", "4x64"),
        *("--storage", f"here={tmp_path}", "--repetitions", "2"),
    )
    assert result.status == 2
    assert "interrupted" in result.stderr.splitlines()[-1]
    assert shown in result.stdout
    assert bool(result.stdout) == (finished > 0)

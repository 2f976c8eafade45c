"""apps/propeller: what becomes of a run's history, and how the solver is compiled. No solver is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from propeller import case, coefficients, openwater


def test_a_history_gives_the_mean_of_its_end(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    lines = [
        f'{{"step": {i}, "time_s": {i}, "advance": 0.6, "k_t": {0.2 + 0.1 * (i % 2)}, "k_q": 0.04}}' for i in range(40)
    ]
    history.write_text("\n".join(lines) + "\n")
    found = coefficients.of_history(history, num_steps=20)
    assert (found.advance, found.k_t, found.k_q) == pytest.approx((0.6, 0.25, 0.04))
    assert found.scatter == pytest.approx(0.05)
    assert found.error == pytest.approx(0.25 / openwater.thrust(0.6) - 1)
    assert "0.6" in coefficients.table([found])


def test_an_empty_history_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(ValueError, match=r"empty\.jsonl has no step"):
        coefficients.of_history(tmp_path / "empty.jsonl")


def test_the_solver_is_compiled_with_hakobi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command = case.compile_command(Path("/opt/include"), Path("/opt/lib"), tmp_path)
    assert command[:2] == ["code_saturne", "compile"]
    assert "-L/opt/lib -lhakobi" in " ".join(command)
    assert (case.SOURCES / "propeller_output.c").is_file()
    monkeypatch.setenv("PATH", "/nowhere")
    assert "apt-get install" in case.missing()

from __future__ import annotations

import io
import re

import pytest

from hakobi import table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [50, 80, 120])
def test_a_narrow_terminal_folds_words_and_keeps_every_digit(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    label = "benchmark mpi, pattern sendrecv, 65536 bytes, 2 ranks, contender cold, transport no-shared-memory"
    view = table.Table("b beside a", ["<measurement", "<verdict", "b/a", "a", "±", "b", "±"])
    view.add(label, "differs", "28.175", "1.118e-05 s", "3.2e-07", "0.000315 s", "1.1e-06")
    terminal = Terminal()
    table.show(view, terminal)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    for cell in view.rows[0][1:]:
        assert cell in shown
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= width
    assert shown.count("measurement") == {50: 3, 80: 2, 120: 1}[width], shown

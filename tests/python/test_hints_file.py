"""Hints files: what is wrong with one is said before anything is started; programs get their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi import hints_file, programs
from hakobi.errors import InputError
from running import Result


def test_what_is_written_is_read(tmp_path: Path) -> None:
    hints = {"cb_buffer_size": "8M", "hakobi_depth": "4"}
    hints_file.write(tmp_path / "tuned", hints, ["of\n2026"])
    assert (tmp_path / "tuned").read_text() == "# of 2026\ncb_buffer_size=8M\nhakobi_depth=4\n"
    assert hints_file.read(tmp_path / "tuned") == hints


@pytest.mark.parametrize("line", ["cb_buffer_size 8M", "=8M"])
def test_a_line_that_is_no_hint_is_named_with_its_number(line: str) -> None:
    with pytest.raises(InputError, match=f"^tuned, line 2: '{line}' is not name=value$"):
        hints_file.parse(f"hakobi_depth=4\n{line}", "tuned")


def test_a_bad_line_of_a_hints_file_is_named(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "bad"
    file.write_text("# of 2026\ncb_buffer_size 8M\n")
    result = hakobi("run", "--hints", file, "--", "true")
    assert result.status == 2
    assert result.line() == f"hakobi run: {file}, line 2: 'cb_buffer_size 8M' is not name=value"
    assert hakobi("run", "--hints", tmp_path / "none", "--", "true").line().startswith("hakobi run: cannot read ")


@pytest.mark.programs
@pytest.mark.once
def test_run_names_the_file_to_the_program(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    programs.find("hakobi-bench-collective")
    (tmp_path / "tuned").write_text("hakobi_depth=4\n")
    printed = hakobi("run", "--hints", "tuned", "--print", "--", "true")
    assert f"export HAKOBI_HINTS_FILE={tmp_path / 'tuned'}\n" in printed.stdout

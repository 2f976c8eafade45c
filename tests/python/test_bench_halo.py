"""`hakobi bench halo`: records and exit statuses, with the real program."""

from __future__ import annotations

from pathlib import Path

import pytest

from hakobi import cli, programs, records
from hakobi.errors import InputError


def has_benchmark() -> bool:
    try:
        return bool(programs.find("hakobi-bench-halo"))
    except InputError:
        return False


pytestmark = [
    pytest.mark.programs,
    pytest.mark.skipif(not has_benchmark(), reason="hakobi-bench-halo is not built"),
]


def bench(*arguments: str) -> int:
    return cli.run(["bench", "halo", "--ranks", "2", "--timeout", "100", "--", "--hot", "--budget", "0", *arguments])


def test_every_case_and_contender_has_a_summary(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    arguments = ["--extent", "6,8", "--components", "2", "--layout", "last,first", "--json", str(path)]
    assert bench(*arguments) == 0
    found = [record for record in records.read(path) if record["kind"] == "summary"]
    assert len(found) == 2 * 2 * 7
    for record in found:
        assert record["extent"] in (6, 8)
        assert record["median_s"] > 0
        # Some MPI libraries are wrong where two ranks are neighbours on both sides.
        assert record["is_correct"] or not record["contender"].startswith("hakobi")


@pytest.mark.parametrize("path", ["direct", "deposit", "cma", "staged", "packed", "parts", "datatype"])
def test_every_path_is_right_in_four_dimensions(tmp_path: Path, path: str) -> None:
    file = tmp_path / "records.jsonl"
    arguments = ["--dims", "4", "--extent", "4", "--directions", "1,4", "--ways", "one,both", "--json", str(file)]
    assert bench(*arguments, "--contenders", f"hakobi-{path},packed,phases-packed") == 0
    found = [record for record in records.read(file) if record["kind"] == "summary"]
    assert len(found) == 2 * 2 * 3
    assert all(record["is_correct"] for record in found)


def test_the_histogram_counts_every_exchange(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    assert bench("--extent", "4", "--contenders", "hakobi", "--histogram", "50", "--json", str(path)) == 0
    found = [record for record in records.read(path) if record["kind"] == "histogram"]
    assert [record["alternating"] for record in found] == [False, True]
    assert all(sum(record["counts_by_log2_us"]) == 50 for record in found)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--extent", "2", "--ghost", "3"],
        ["--grid", "3x1x1"],
        ["--contenders", "hakobbi"],
        ["--directions", "4"],
    ],
)
def test_bad_input_ends_with_a_line(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert bench(*arguments) == 2
    lines = [line for line in capfd.readouterr().err.splitlines() if "hakobi-bench-halo:" in line]
    assert len(lines) == 1

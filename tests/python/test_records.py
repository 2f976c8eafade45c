from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hakobi import records
from hakobi.errors import FormatError, StorageError

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
RECORDS = st.dictionaries(st.text(), VALUES, max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RECORDS, max_size=5))
def test_what_is_appended_is_read_back(tmp_path: Path, written: list[records.Record]) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text("")
    for record in written:
        records.append(path, record)
    assert records.read(path) == written


def test_append_makes_file_and_folder(tmp_path: Path) -> None:
    records.append(tmp_path / "a" / "b" / "runs.jsonl", {"x": 1})
    assert records.read(tmp_path / "a" / "b" / "runs.jsonl") == [{"x": 1}]


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_line_cut_short_is_passed_over_and_then_removed(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "runs.jsonl"
    whole = records.to_line({"x": 1})
    path.write_text(whole + records.to_line({"yy": 222})[:cut])
    before = records.read(path)
    records.append(path, {"z": 3})
    after = records.read(path)
    assert before[0] == after[0] == {"x": 1}
    assert after[-1] == {"z": 3}
    assert all(json.loads(line) for line in path.read_text().splitlines())
    # Only the newline was missing: then the record is whole and stays.
    assert len(after) == (3 if cut == len(records.to_line({"yy": 222})) - 1 else 2)


def test_somebody_elses_file_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes\nwithout a newline at the end")
    with pytest.raises(FormatError, match=r"notes\.txt is not a file of JSON lines"):
        records.append(path, {"x": 1})
    assert path.read_text() == "my notes\nwithout a newline at the end"


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text('{"x": 1}\nnonsense\n{"x": 2}\n')
    with pytest.raises(FormatError, match=r"runs\.jsonl:2: not JSON"):
        records.read(path)
    path.write_text('{"x": 1}\n[1]\n')
    with pytest.raises(FormatError, match=r"runs\.jsonl:2: a record is an object, not list"):
        records.read(path)


def test_missing_file_and_folder_in_the_way_are_storage_errors(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot read .*nothing\.jsonl: No such file"):
        records.read(tmp_path / "nothing.jsonl")
    with pytest.raises(StorageError, match="Is a directory"):
        records.append(tmp_path, {"x": 1})


def test_a_full_disk_leaves_no_part_of_a_record() -> None:
    with pytest.raises(StorageError, match="No space left on device"):
        records.append("/dev/full", {"x": 1})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_what_json_has_no_word_for_is_refused(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        records.to_line({"x": value})


def _append_many(path: Path, writer: int) -> None:
    for number in range(50):
        records.append(path, {"writer": writer, "number": number, "text": "x" * 500})


def test_several_writers_never_mix_lines(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_append_many, args=(path, writer)) for writer in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    result = records.read(path)
    assert sorted((record["writer"], record["number"]) for record in result) == [
        (writer, number) for writer in range(3) for number in range(50)
    ]


@pytest.mark.parametrize("value", [None, True, "1", float("nan"), [1]])
def test_number_says_which_value_is_none(value: object) -> None:
    with pytest.raises(FormatError, match="the record of waves: 'time_s' is"):
        records.number({"time_s": value}, "time_s", "the record of waves")
    assert records.number({"time_s": 2}, "time_s", "") == 2.0


def test_what_has_no_end_is_refused_with_the_memory_of_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST_LINE_BYTES", 1 << 20)
    monkeypatch.setattr(records, "MOST_FILE_BYTES", 4 << 20)
    with pytest.raises(FormatError, match=r"/dev/zero:1: no record: a line of more than 1 MiB"):
        records.read("/dev/zero")
    (tmp_path / "many").write_text('{"x": 1}\n' * 600_000)
    with pytest.raises(FormatError, match="many: no file of records"):
        records.read(tmp_path / "many")
    assert records.read("/dev/null") == []

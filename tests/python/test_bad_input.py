"""Files that somebody made up, and words that make no sense: every command ends with a status of its own and, where it
refuses, one line. Nothing here may end in a traceback or in a warning of Python's."""

from __future__ import annotations

import copy
import io
import json
import os
import struct
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hakobi import cli, layout, records
from hakobi.errors import FormatError, StorageError
from running import Result
from traces import halo, write_trace

DEEP: list[Any] = [[], {}, [0], [[]], ["a"], {"a": 1}, float("nan"), float("inf")]
WEIRD = st.sampled_from(
    [None, True, -1, 0, 1, 3, 2**31, 2**63, 10**300, -0.5, 1e-300, 1.7e308, "", "0", "1e3", "é", "\ud800", *DEEP]
)
#: Magic numbers of Lustre's layouts: plain, of two versions, and composite.
LAYOUTS = (0x0BD10BD0, 0x0BD30BD0, 0x0BD60BD0)
#: Slow examples and folders that examples share are meant.
LENIENT = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=80)


def run(*arguments: object) -> Result:
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        status = cli.run([str(argument) for argument in arguments])
    result = Result(status, out.getvalue(), error.getvalue())
    assert status in (0, 1, 2), result
    if status == 2:
        assert result.line().startswith("hakobi")
    return result


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to every value inside `value`."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from places(one, (*path, key))


@st.composite
def damaged(draw: st.DrawFn, good: list[records.Record]) -> list[records.Record]:
    """`good` with a few values replaced, removed or doubled anywhere."""
    lines: Any = copy.deepcopy(good)
    for _ in range(draw(st.integers(1, 3))):
        ways = list(places(lines))
        if not ways:
            break
        *way, last = draw(st.sampled_from(ways))
        holder = lines
        for key in way:
            holder = holder[key]
        what = draw(st.sampled_from(["replace", "replace", "remove", "double"]))
        if what == "replace":
            holder[last] = copy.deepcopy(draw(WEIRD))  # it may be damaged in turn
        elif what == "remove":
            del holder[last]
        elif isinstance(holder, list):
            holder.insert(last, copy.deepcopy(holder[last]))
    return [line for line in lines if isinstance(line, dict)]


def write(path: Path, lines: list[records.Record]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="ascii")
    return path


def measurement(**other: object) -> records.Record:
    common = {"kind": "measurement", "benchmark": "mpi", "bytes": 8, "ranks": 2, "unit": "s", "median": 1e-6}
    return {**common, "samples": [1.0, 1.1, 1.2, 1.0, 1.1, 1.3], "arguments": ["a", "b"], **other}


MEASURED = [
    {"kind": "conditions", "benchmark": "mpi", "mpi_library": "Open MPI 4.1.4", "conditions": {"host": "here"}},
    measurement(pattern="bidirectional", contender="hot"),
    measurement(pattern="bidirectional", contender="cold"),
    measurement(pattern="allreduce", contender="hot"),
    measurement(pattern="allreduce", contender="cold"),
    {"kind": "run", "app": "tsunami", "method": "root", "time_s": 1.5},
]


def recorded(folder: Path) -> list[records.Record]:
    events = [
        [*halo(1 - rank, 8, 10), ["allreduce", -2, -1, 0, 8, 4096, 30, 35], *halo(1 - rank, 8, 40)] for rank in range(2)
    ]
    for one in events:
        one[6][8] = [4, 5]
        one.append(["sendrecv", -2, -1, 0, 8, 4096, 60, 61, -2, 8, 4096, 3])
    return [json.loads(line) for line in write_trace(folder / "good.jsonl", events).read_text().splitlines()]


def test_what_the_traces_are_made_from_is_good(tmp_path: Path) -> None:
    trace, figures = write(tmp_path / "trace.jsonl", recorded(tmp_path)), write(tmp_path / "figures.jsonl", MEASURED)
    for options in ([], ["--whole"]):
        result = run("bench", "replay", trace, "--figures", figures, "--repetitions", "0", *options)
        assert result.status == 0, result.stderr


@LENIENT
@given(st.data(), st.booleans())
def test_a_damaged_trace_is_refused_or_predicted(tmp_path: Path, data: st.DataObject, is_whole: bool) -> None:
    trace = write(tmp_path / "trace.jsonl", data.draw(damaged(recorded(tmp_path))))
    figures = write(tmp_path / "figures.jsonl", MEASURED)
    options = ["--whole"] if is_whole else []
    run("bench", "replay", trace, "--figures", figures, "--repetitions", "0", *options)


@LENIENT
@given(damaged(MEASURED))
def test_damaged_figures_are_refused_or_predicted_from(tmp_path: Path, lines: list[records.Record]) -> None:
    trace, figures = write(tmp_path / "trace.jsonl", recorded(tmp_path)), write(tmp_path / "figures.jsonl", lines)
    run("bench", "replay", trace, "--figures", figures, "--repetitions", "0", "--json", tmp_path / "out.jsonl")
    (tmp_path / "out.jsonl").unlink(missing_ok=True)


def test_a_figure_beyond_all_time_is_refused(tmp_path: Path) -> None:
    lines = [line | {"median": 1.7e308} if "median" in line else line for line in MEASURED]
    trace, figures = write(tmp_path / "trace.jsonl", recorded(tmp_path)), write(tmp_path / "figures.jsonl", lines)
    result = run("bench", "replay", trace, "--figures", figures, "--repetitions", "0")
    assert result.status == 2
    assert "is no figure" in result.stderr


@LENIENT
@given(damaged(MEASURED), damaged(MEASURED))
def test_damaged_records_are_refused_or_compared(
    tmp_path: Path, a: list[records.Record], b: list[records.Record]
) -> None:
    run("compare", write(tmp_path / "a.jsonl", a), write(tmp_path / "b.jsonl", b), "--all")


@LENIENT
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode(errors="surrogatepass")))
@example(b"[" * 100_000)
@example(b'{"a":' * 100_000)
@example(b'{"a": "\\ud800"}')
@example(b'{"a": ' + b"9" * 5000 + b"}")
def test_any_bytes_are_records_or_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any.jsonl"
    path.write_bytes(content)
    try:
        for record in records.read(path):
            assert json.loads(records.to_line(record).encode()) == record
    except FormatError:
        pass
    try:
        records.append(path, {"x": 1})
    except (FormatError, StorageError):
        return
    assert path.read_bytes().endswith(b'{"x": 1}\n')
    for arguments in (["compare", path, path], ["bench", "replay", path, "--repetitions", "0"]):
        run(*arguments)


@LENIENT
@given(st.lists(st.sampled_from(["", " ", "-", "--", "-n", "2", "/", ".", "mpirun", "true", "é", "\udc80", "-x"])))
@example([""])
@example(["--", ""])
@example(["mpirun", ""])
def test_any_words_are_a_program_or_an_error(words: list[str]) -> None:
    run("run", "--off", "--print", *words)


def test_an_empty_program_is_named(tmp_path: Path) -> None:
    assert "the program's name is empty" in run("run", "").line()
    assert "the program's name is empty" in run("run", "--", "").line()


def test_a_trace_that_is_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "trace")
    result = run("bench", "replay", tmp_path / "trace")
    assert result.status == 2
    assert "no regular file" in result.line()


@given(st.binary(max_size=300), st.sampled_from([b"", b"stripe_unit=", *(struct.pack("<I", m) for m in LAYOUTS)]))
def test_a_layout_of_any_bytes_is_words_or_none(value: bytes, begin: bytes) -> None:
    assert "\n" not in layout.text_of(begin + value)

"""`hakobi assess`: what its page says of what was seen and measured, that each call is counted once, and a real run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from building import BUILD, FLAVOUR
from hakobi import conditions, launch, records
from hakobi.assessing import figures, page, session
from hakobi.assessing.figures import Calls, Figures
from hakobi.assessing.session import WITH, WITHOUT, Outcome, Run, judge
from hakobi.errors import InputError, RunError
from hakobi.launch import Finished
from hakobi.programs import Program
from hakobi.tuning.work import Application
from running import Result

WRITES = Calls("File_write_at_all", 2, 20, 40_000_000, 3.0)
READS = Calls("File_read_at", 1, 5, 5000, 0.5)
OPENS = Calls("File_open", 2, 2, 0, 0.001)
BY_MPI_IO = Figures(2, (WRITES, READS, OPENS), ("/scratch/out",), 0, 3.5, 3.0, 6000, 40_100_000, 131_072)
BY_POSIX = Figures(4, (), (), 0, 0.0, 0.0, 0, 80_000_000, 0)
SCATTER = (0.0, 0.02, -0.01, 0.01, -0.02)


def outcome(with_s: float, num_rounds: int = 5, found: Figures = BY_MPI_IO) -> Outcome:
    """The outcome for a program that takes 10 s without the drop-in, in rounds that drift together."""
    made = Outcome(Application(("mpirun", "-n", "2", "./my solver"), Path("/")), {}, Run(10.0, found))
    for number in range(num_rounds):
        drift = 1 + 0.1 * number
        made.runs[WITHOUT][number] = Run(drift * (10.0 + SCATTER[number % 5]), found)
        made.runs[WITH][number] = Run(drift * (with_s + SCATTER[(number + 2) % 5]), replace(found, waited_s=1.0))
    return made


def said(of: Outcome, topic: str) -> str:
    (line,) = [line for line in page.sentences(of) if line.startswith(topic)]
    return line


@pytest.mark.parametrize(
    ("with_s", "word", "script"),
    [
        (8.0, "saves 2.", "hakobi run -- mpirun -n 2 './my solver'\n"),
        (11.0, "costs 1.", "no line: nothing was saved"),
        (10.0, "whether it saves time cannot be told: ", "no line: nothing was saved"),
    ],
)
def test_what_was_measured_decides_on_the_line(with_s: float, word: str, script: str) -> None:
    of = outcome(with_s)
    assert said(of, "drop-in").startswith(f"drop-in: {word}")
    assert "5 rounds)" in said(of, "drop-in")
    assert said(of, "job script").startswith(f"job script: {script}")


def test_two_rounds_measure_nothing_and_where_time_ended_the_page_names_a_budget() -> None:
    of = outcome(5.0, num_rounds=2)
    assert said(of, "drop-in") == "drop-in: not measured: 2 rounds ended of the 3 that are needed"
    assert said(of, "job script") == "job script: no line: nothing was measured"
    of.end.is_out_of_time = True
    assert said(of, "drop-in").endswith("that are needed: --budget 91")
    assert judge({0: 9.0, 1: 9.0, 2: 9.0}, {3: 1.0, 4: 1.0, 5: 1.0}).word == "not measured"


def test_of_hidden_output_only_a_bound_is_said() -> None:
    line = said(outcome(8.0), "hidden output")
    assert line.endswith("waited 3.00 s of 12.0 s (25 %) in output: it can save at most that")
    only_reads = replace(BY_MPI_IO, calls=(READS,), written_bytes=0)
    assert said(outcome(8.0, found=only_reads), "hidden output").endswith("the program only reads")


def test_a_program_without_mpi_io_is_told_what_it_wrote_and_what_would_help() -> None:
    of = outcome(10.0, num_rounds=0, found=BY_POSIX)
    assert page.sentences(of) == [
        "no call of MPI-IO; written otherwise: 80.0 MB, 20.0 MB a rank",
        "hidden output (hakobi::Output): how long the program waits in its own writes is not seen; it can save at most "
        "that",
        "job script: no line: the drop-in serves MPI-IO alone; Output would be the way (docs/migrating)",
    ]


def test_what_the_drop_in_would_meet_is_shown_where_pnetcdfs_own_driver_hides_it() -> None:
    of = outcome(8.0)
    for number, run in of.runs[WITHOUT].items():
        of.runs[WITHOUT][number] = Run(run.time_s, replace(BY_POSIX, num_ranks=2))
    assert "without the drop-in PnetCDF writes by its own driver, past MPI-IO" in page.sentences(of)
    assert said(of, "drop-in").startswith("drop-in: saves")


def test_the_table_has_who_moves_data_and_names_the_others() -> None:
    table = page.table_of("", Run(10.0, BY_MPI_IO))
    assert table.rows == [
        ["MPI_File_write_at_all", "collective", "2", "20", "40.0 MB", "2.00 MB", "3.00 s", "30 %"],
        ["MPI_File_read_at", "independent", "1", "5", "5.00 kB", "1.00 kB", "0.500 s", "5.0 %"],
    ]
    assert table.notes == ["less than 1 % of the run, and no data: open"]
    assert page.moved_words(BY_MPI_IO) == "by MPI-IO: 40.0 MB written, 5.00 kB read, 1 file"


def test_ranks_are_put_together_and_those_cut_off_left_out() -> None:
    texts = [
        "io 10 700000 0\ncall File_write_at_all 2 600 3000000000\ncall File_read 1 8 500000000\nfile /a b\nend\n",
        "io 10 900000 1\ncall File_write_at_all 1 300 1000000000\nfile /a b\nfile /c\nmore 3\nend\n",
        "io 1 1 0\ncall File_wr",
    ]
    found = figures.merged(texts)
    assert (found.num_ranks, found.files, found.num_more_files) == (2, ("/a b", "/c"), 3)
    assert found.calls[0] == Calls("File_write_at_all", 2, 3, 900, 3.0)
    assert (found.waited_s, found.output_s, found.written_bytes) == (3.5, 3.0, 700000)
    assert figures.of_record(found.record()) == found


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., session.Plan]:
    """A plan for a program whose ranks leave what `text` says, and which is twice as fast with the drop-in."""
    monkeypatch.setattr(
        conditions, "collect", lambda *_: dict.fromkeys(("commit", "hakobi", "machine", "mpi"), "known")
    )
    monkeypatch.setattr(Application, "check", lambda _self: Program(Path("solver"), FLAVOUR))
    ways: list[str] = []

    def make(text: str, status: int = 0) -> session.Plan:
        def started(_self: Application, program: Program, variables: Mapping[str, str], _timeout_s: float) -> Finished:
            ways.append(variables["HAKOBI_MPIIO"])
            if text:
                (Path(variables["HAKOBI_WATCH"]) / "host-1").write_text(text)
            done = Finished(["solver"], status, "", "no input file", 4.0 if ways[-1] == "off" else 2.0)
            return launch.check(done, program.name)

        monkeypatch.setattr(Application, "started", started)
        return session.Plan(Application(("solver",), tmp_path), 3, 60.0, 10.0)

    make.ways = ways  # type: ignore[attr-defined]
    return make


def test_runs_take_turns_and_are_taken_up_from_the_records(fake: Callable[..., session.Plan], tmp_path: Path) -> None:
    plan = fake("io 0 100 0\ncall File_write 1 100 1000000000\nend\n")
    first = session.run(plan, tmp_path / "a.jsonl")
    assert fake.ways == ["off", "off", "", "", "off", "off", ""]  # type: ignore[attr-defined]
    assert first.verdict().word == "saves"
    again = session.run(plan, tmp_path / "a.jsonl")
    assert fake.ways[7:] == ["off"]  # type: ignore[attr-defined]
    assert again.runs == first.runs
    summary = records.read(tmp_path / "a.jsonl")[-1]
    assert {name: summary[name] for name in ("kind", "drop_in", "saved_s", "rounds", "uses_mpi_io")} == {
        "kind": "summary", "drop_in": "saves", "saved_s": 2.0, "rounds": 3, "uses_mpi_io": True,
    }  # fmt: skip


def test_a_program_without_mpi_io_runs_once(fake: Callable[..., session.Plan]) -> None:
    of = session.run(fake("io 0 10000000 0\nend\n"), None)
    assert (fake.ways, of.verdict().num_rounds) == (["off"], 0)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "status", "error", "line"),
    [
        ("", 0, InputError, "no process of solver has used MPI and ended by itself: there is nothing to assess"),
        (
            "io 0 900 0\nend\n",
            0,
            InputError,
            "no rank of solver made a call of MPI-IO or wrote more than 65.5 kB: there is nothing to assess",
        ),
        ("", 3, RunError, "solver: no input file"),
    ],
)
def test_what_cannot_be_assessed_is_one_sentence(
    fake: Callable[..., session.Plan], text: str, status: int, error: type[Exception], line: str
) -> None:
    with pytest.raises(error) as raised:
        session.run(fake(text, status), None)
    assert str(raised.value) == line


def test_the_command_without_a_program_says_so(hakobi: Callable[..., Result]) -> None:
    assert hakobi("assess").line().startswith("hakobi assess: name the program to run")


#: By each of two ranks, through the drop-in or past it, whoever else is between: calls and bytes.
COUNTED = {
    "fork": {
        "File_open": (2, 0),
        "File_close": (2, 0),
        "File_write_at_all": (8, 160000),
        "File_read_at_all": (8, 160000),
    },
    "fortran_f08": {
        "File_open": (2, 0),
        "File_close": (2, 0),
        "File_sync": (2, 0),
        "File_set_view": (2, 0),
        "File_get_position": (2, 0),
        "File_write_all": (4, 400),
        "File_read_at_all": (2, 200),
    },
}


@pytest.mark.programs
@pytest.mark.parametrize("tool", ["", "libmpiio_tool_next.so"])
@pytest.mark.parametrize("name", COUNTED)
def test_each_call_of_a_rank_is_counted_once(tmp_path: Path, name: str, tool: str) -> None:
    suffix = "_program" if name == "fork" else ""
    program = Program(BUILD / "tests" / f"mpiio_{name}{suffix}", FLAVOUR)
    if not program.path.exists():
        pytest.skip(f"{program.name} is not built")
    preloaded = [BUILD / "lib" / "libhakobi_mpiio.so", *([BUILD / "tests" / tool] if tool else [])]
    for way in ("off", ""):
        (left := tmp_path / f"left{way}").mkdir()
        variables = {"HAKOBI_WATCH": str(left), "HAKOBI_MPIIO": way, "LD_PRELOAD": ":".join(map(str, preloaded))}
        launch.check(launch.run(program, ["out.dat"], 2, timeout_s=60, extra_environment=variables), name)
        found = figures.read(left)
        assert found.num_ranks == 2  # none of the launcher, none of forked children
        assert {one.name: (one.num_calls, one.bytes) for one in found.calls} == COUNTED[name]
        assert found.files == (str(tmp_path / "out.dat"),)


@pytest.mark.programs
def test_a_real_run_of_two_ranks(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    program = Program(BUILD / "tests" / "mpiio_blocks_program", FLAVOUR)
    if not program.path.exists():
        pytest.skip(f"{program.name} is not built")
    words = launch.command_line(program, ["out.dat"], 2)
    (tmp_path / "there").mkdir()
    result = hakobi("assess", "--rounds", 3, "--dir", "there", "--json", "a.jsonl", "--", *words)
    assert result.status == 0, result.stderr
    rows = [line.split() for line in result.stdout.splitlines() if line.startswith("MPI_File_write")]
    assert sorted(row[:7] for row in rows) == [
        ["MPI_File_write_all", "collective", "2", "2", "1.92", "kB", "960"],
        ["MPI_File_write_at", "independent", "2", "2", "8", "B", "4"],
    ]
    assert "\nby MPI-IO: 1.93 kB written, 1.92 kB read, 1 file\nstorage: " in result.stdout
    assert "\njob script: " in result.stdout
    lines = records.read(tmp_path / "a.jsonl")
    assert [line["drop_in"] for line in lines if line["kind"] == "run"] == [False, True, True, False, False, True]
    assert lines[-1]["ranks"] == 2
    assert (tmp_path / "there" / "out.dat").is_file()

"""`hakobi study scale`: machine files and what is wrong with them, simulations by the program that was built, and what
the model is held against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hakobi import records
from hakobi.errors import FormatError, InputError
from hakobi.measuring.session import End
from hakobi.measuring.storage_model import StorageModel
from hakobi_lab.studies.scale import checking, figures, hints, machine, pages, published, simulation
from hakobi_lab.studies.scale.checking import Checked, Measured
from hakobi_lab.studies.scale.simulation import Case, Outcome, Plan, Row
from running import Result

Command = Callable[..., Result]

FRONTIER = (Path(machine.__file__).with_name("machines") / "frontier.toml").read_text()


@pytest.mark.parametrize("name", machine.shipped())
def test_every_number_of_a_shipped_machine_has_a_source(name: str) -> None:
    of = machine.load(name)
    assert of.path is not None
    fields = [line for line in of.path.read_text().splitlines() if "=" in line and not line.startswith("name")]
    assert len(fields) == sum(map(len, machine.FIELDS.values()))
    assert all(line.partition("#")[2].strip() for line in fields)


def test_a_file_of_before_has_no_limits_by_aggregators(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    left = [line for line in FRONTIER.splitlines() if not line.startswith(("cores ", "rank_gb_s ", "cpu_s_gb "))]
    path.write_text("\n".join(left))
    mine = machine.load(path)
    assert [mine["nodes.cores"], mine["network.rank_gb_s"], mine["storage.cpu_s_gb"]] == [0, 0, 0]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("gb_s = 10.2", "gb_s = -3", "line 23: storage.gb_s: -3 is not a number from 0.0001 to 10000: GB/s of each"),
        ("gb_s = 10.2", 'gb_s = "fast"', "line 23: storage.gb_s: 'fast' is not a number"),
        ("gb_s = 10.2", "gb_s = nan", "line 23: storage.gb_s: nan is not a number"),
        ("gb_s = 10.2", "gb_s = true", "line 23: storage.gb_s: True is not a number"),
        ("gb_s = 10.2", "# none", "line 21: storage.gb_s: missing (GB/s of each)"),
        ("[storage]", "[storag]", "line 21: storag: unknown section 'storag': did you mean 'storage'?"),
        (
            "lock_ms",
            "lock_us",
            "line 29: storage.lock_us: unknown field of [storage] 'lock_us': did you mean",
        ),
        ("servers = 450", "servers = 4.5", "line 22: storage.servers: 4.5 is not a whole number"),
        ("stripes = 8", "stripes = 500", "line 32: file.stripes: more stripes than the 450 servers"),
        ("node_gb_s = 80", "node_gb_s = 1", "line 10: memory.core_gb_s: one process copies faster than its node"),
        ('"stripe"', '"rank"', """line 36: mpi_io.aggregators: 'rank' is not "node" or "stripe\""""),
        ('name = "Frontier, Orion"', "", "name: the machine's name is missing"),
        ("count = 9408", "count = ", "line 5"),
    ],
)
def test_says_line_and_field_of_what_is_wrong(tmp_path: Path, old: str, new: str, told: str) -> None:
    path = tmp_path / "mine.toml"
    assert FRONTIER.count(old) == 1
    path.write_text(FRONTIER.replace(old, new))
    with pytest.raises(InputError) as error:
        machine.load(path)
    assert str(path) in str(error.value)
    assert told in str(error.value)


def test_refuses_what_is_no_machine_file(tmp_path: Path, hakobi: Command) -> None:
    with pytest.raises(InputError, match="did you mean 'frontier'"):
        machine.load("fronteir")
    with pytest.raises(InputError, match="cannot read the machine file"):
        machine.load(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not text"):
        machine.load(tmp_path / "bytes.toml")
    result = hakobi("study", "scale", "--machine", tmp_path / "none.toml")
    assert (result.status, result.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("text", ["x", "0", "1", "-4", "64,", "64,2000000", ","])
def test_refuses_what_is_no_rank_count(text: str) -> None:
    if text == "64,":
        assert simulation.parse_ranks(text) == (64,)
        return
    with pytest.raises(InputError):
        simulation.parse_ranks(text)


def test_what_a_machine_can_do_is_the_least_of_servers_and_nodes() -> None:
    of = machine.load("frontier")
    assert of.possible(1024) == pytest.approx(128 * 3e9)
    assert of.possible(100_000) == pytest.approx(450 * 10.2e9)
    slow = machine.of_storage_model(StorageModel(servers=1, bandwidth_mb_s=118), of)
    assert slow.possible(1024) == pytest.approx(118e6)
    assert slow["file.stripes"] == 1


def row(method: str, ranks: int, time_s: float, limit: str = "servers") -> Row:
    busy = dict.fromkeys(simulation.LIMITS, 0.0)
    return Row(method, ranks, -(-ranks // 8), ranks << 26, time_s, limit, busy, 8, 8, 3, 21.0, 168.0, 9e6)


def outcome_of(*rows: Row) -> Outcome:
    plan = Plan(machine.load("frontier"), (64, 100_000), ("parallel", "pipelined+layout"), "block3d", 1 << 26, 4096)
    return Outcome(plan, {"cores": 2}, list(rows), "8 x 8 doubles", End(2, 2))


def test_the_table_says_share_limit_and_what_no_machine_has() -> None:
    view = pages.time_table(outcome_of(row("parallel", 64, 1.0, "client"), row("parallel", 100_000, 20.0, "locks")))
    assert view.rows[0][:7] == ["64", "8", "4.29 GB", "24", "1", "18 %", "client"]
    assert view.rows[1][0] == "100,000*"
    assert view.rows[1][6:] == ["locks", "", "", ""]
    memory = pages.plan_table(outcome_of(row("parallel", 64, 1.0)))
    assert memory.rows[0] == ["64", "parallel", "4.3", "8", "8", "3", "21", "168", "9.00 MB"]


def test_the_figure_is_logarithmic_and_marks_what_limits() -> None:
    figure = figures.scale_figure(
        outcome_of(row("parallel", 64, 1.0, "client"), row("parallel", 100_000, 20.0, "locks"))
    )
    times, shares = figure.axes
    assert {axes.get_xscale() for axes in figure.axes} == {axes.get_yscale() for axes in figure.axes} == {"log"}
    lines = {str(line.get_label()): list(line.get_ydata()) for line in times.lines}
    assert lines["parallel"] == [1.0, 20.0]
    assert shares.lines[0].get_ydata()[0] == pytest.approx(100 * 64 * (1 << 26) / 24e9)
    markers = [line.get_marker() for line in times.lines if len(line.get_xdata()) == 1]
    assert markers == ["o", "X"]


def test_a_miss_fails_the_check_but_a_loaded_machine_tells_nothing() -> None:
    def checked(gb_s: float, is_loaded: bool = False) -> int:
        simulated = row("parallel", 64, 1.0)  # 4.29 GB/s
        return Checked(machine.load("two-cores"), [Measured("parallel", 2, gb_s, simulated, is_loaded)]).exit_status()

    assert [checked(gb_s) for gb_s in (4.0, 3.0, 6.0)] == [0, 1, 1]
    assert [checked(gb_s, is_loaded=True) for gb_s in (4.0, 3.0, 6.0)] == [0, 0, 1]
    one = published.load()[0]
    missed = row("parallel", 512, (512 << 26) / (1e9 * one.gb_s * 1.6))
    for figure, status in ((one, 1), (replace(one, explained="known"), 0)):
        assert Checked(machine.load("two-cores"), published=[(figure, missed)]).exit_status() == status


def test_refuses_a_record_that_lacks_something() -> None:
    with pytest.raises(FormatError):
        simulation.row_of({"kind": "simulated", "method": "root"})


@pytest.mark.programs
@pytest.mark.once
def test_the_model_meets_published_figures_or_says_why_not() -> None:
    found = checking.simulate_published()
    assert Checked(machine.load("two-cores"), published=found).exit_status() == 0
    assert sum(1 for one, _ in found if one.explained) <= 2
    view = checking.published_table(Checked(machine.load("two-cores"), published=found))
    assert any("assumed" in note for note in view.notes)


@pytest.mark.programs
@pytest.mark.once
def test_with_its_layout_pipelined_uses_seventy_per_cent_and_does_not_fall() -> None:
    of = machine.load("frontier")
    cases = [Case(of, ranks, ("pipelined+layout",), bytes=ranks << 26) for ranks in (512, 1024, 8192)]
    rows = simulation.rows_of(cases)
    assert 1e9 * rows[1].gb_s >= 0.7 * of.possible(1024)
    assert rows[0].gb_s < rows[1].gb_s < rows[2].gb_s
    assert all(one.words_sent > 0 and one.memory_bytes > 0 for one in rows)


@pytest.mark.programs
@pytest.mark.once
def test_hints_fill_fat_nodes() -> None:
    of = machine.load("fat-50")
    ranks = 16 * int(of["nodes.ranks"])
    methods = ("pipelined+layout", "pipelined+hints")
    rows = {row.method: row for row in simulation.rows_of([Case(of, ranks, methods, bytes=ranks << 26)])}
    assert rows["pipelined+layout"].limit == "aggregator"
    assert 1e9 * rows["pipelined+layout"].gb_s < 0.2 * of.possible(ranks)
    assert 1e9 * rows["pipelined+hints"].gb_s >= 0.8 * of.possible(ranks)


def test_hints_are_none_for_thin_nodes_and_bounded_for_fat_ones() -> None:
    of = machine.load("fat-50")
    assert hints.advised(machine.load("perlmutter"), 16384, 4096) == {}
    assert hints.advised(of.with_values({"nodes.cores": 4}), 16384, 4096)["cb_nodes"] <= 128
    assert hints.aggregators_of_node(of.with_values({"storage.node_gb_s": 400, "storage.gb_s": 400}), 2048, 4096) == 8
    assert hints.aggregators_of_node(of.with_values({"network.rank_gb_s": 7}), 2048, 4096) == 8
    asked = hints.advised(of, 128 * 128, 4096)
    assert asked["cb_nodes"] % asked["striping_factor"] == 0
    assert hints.advised(of, 4096 * 128, 4096)["cb_nodes"] >= asked["cb_nodes"], "servers are as fast on more nodes"


@pytest.mark.programs
@pytest.mark.once
def test_a_study_is_taken_up_and_has_a_page_and_values(hakobi: Command, tmp_path: Path) -> None:
    command = ("study", "scale", "--machine", "small-cluster", "--ranks", "64,1024", "--json", "s.jsonl")
    result = hakobi(*command, "--report", "s.html", "--figures", "drawn")
    assert result.status == 0, result.stderr
    assert "simulated, not measured" in result.stdout
    lines = [line for line in records.read(Path("s.jsonl")) if line.get("kind") == "simulated"]
    assert len(lines) == 2 * len(simulation.DEFAULT_METHODS)
    assert "Collective writes on small cluster" in Path("s.html").read_text()
    assert {path.name for path in Path("drawn").iterdir()} == {"scale.svg", "scale.pdf", "scale.csv"}
    again = hakobi(*command)
    assert again.stdout == result.stdout.partition("report: ")[0]
    assert len([line for line in records.read(Path("s.jsonl")) if line.get("kind") == "simulated"]) == len(lines)

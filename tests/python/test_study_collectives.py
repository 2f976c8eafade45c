"""`hakobi study collectives`: its bounds, its input, and 512 simulated nodes with the programs that were built."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi import programs, records
from hakobi.errors import InputError
from hakobi_lab.studies.collectives import network, simulation
from running import Result

Command = Callable[..., Result]

PACS_CS = network.parse("hypercrossbar:16,16,10", 250e6, 10e-6, 1e-6)


def test_bounds_are_those_of_the_busiest_links() -> None:
    eight_mib = 8 << 20
    assert PACS_CS.bound_s("allreduce", eight_mib) == pytest.approx(2 * eight_mib * 2559 / 2560 / 750e6)
    assert PACS_CS.bound_s("alltoall", 4096) == pytest.approx(2560 * 4096 * 15 / 16 / 250e6)
    assert PACS_CS.bound_s("broadcast", eight_mib) == pytest.approx(eight_mib / 750e6)
    assert PACS_CS.bound_s("allgather", 1024) == pytest.approx(2559 * 1024 / 750e6)


def test_bounds_of_small_messages_are_the_ways_latency() -> None:
    assert PACS_CS.bound_s("allreduce", 16) == pytest.approx(3 * 12e-6)
    assert network.parse("torus:8,1,4", 1e9, 1e-6, 0).bound_s("broadcast", 8) == pytest.approx(6e-6)
    assert network.parse("torus:1", 1e9, 1e-6, 0).bound_s("alltoall", 8) == 0.0


@pytest.mark.parametrize("text", ["ring:4", "torus", "torus:", "torus:0", "torus:4,-1", "torus:4,x", "torus:999,999"])
def test_refuses_what_is_no_topology(text: str) -> None:
    with pytest.raises(InputError):
        network.parse(text, 1e9, 1e-6, 0)


@pytest.mark.parametrize(
    "text", ["", "allreduce", "allreduce:0", "allreduce:12", "scan:8", "allreduce:-8", "alltoall:x"]
)
def test_refuses_what_is_no_work(text: str) -> None:
    with pytest.raises(InputError):
        simulation.parse_works(text)


@pytest.mark.programs
@pytest.mark.once
@pytest.mark.timeout(240)
def test_is_near_the_bound_and_faster_than_stock_algorithms_on_512_simulated_nodes(hakobi: Command) -> None:
    if shutil.which("smpirun") is None:
        pytest.skip("no smpirun: SimGrid is not installed")
    try:
        programs.find("hakobi-simulated-collectives")
    except InputError as reason:
        pytest.skip(str(reason))
    options = ("--topology", "hypercrossbar:8,8,8", "--contenders", "hakobi,rdb", "--json", "found.jsonl")
    result = hakobi("study", "collectives", "--work", "allreduce:16,allreduce:98304", *options)
    assert result.status == 0, result.stderr
    found = {(r["contender"], r["bytes"]): r for r in records.read("found.jsonl") if r.get("kind") == "summary"}
    assert len(found) == 4, result.stdout
    assert all(record["is_correct"] for record in found.values())
    assert found["hakobi", 16]["time_s"] * 1.4 < found["rdb", 16]["time_s"]
    assert found["hakobi", 98304]["time_s"] < 3 * found["hakobi", 98304]["bound_s"]
    assert found["hakobi", 98304]["time_s"] * 3 < found["rdb", 98304]["time_s"]


def test_an_interrupted_study_says_so_below_its_table(hakobi: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a pretended simulator: the third simulation meets a Ctrl-C, a later study goes on with it."""
    simulated: list[str] = []
    stops = True

    def run(
        _network: object, works: list[simulation.Work], contender: str, _timeout_s: float
    ) -> tuple[list[simulation.Timing], list[simulation.Failure]]:
        if stops and len(simulated) == 2:
            raise KeyboardInterrupt
        simulated.append(contender)
        return [simulation.Timing(work, contender, 1e-3, is_correct=True, form="") for work in works], []

    monkeypatch.setattr(simulation, "run", run)
    monkeypatch.setattr(simulation, "find_simulator", lambda: None)
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    study = ("study", "collectives", "--work", "allreduce:16", "--contenders", "hakobi,rdb,lr", "--json", "r.jsonl")
    result = hakobi(*study)
    assert result.status == 130
    text = "interrupted after 2 of 3 runs: the figures are those of the finished ones"
    assert text in result.stdout
    assert f"hakobi study collectives: {text}" in result.stderr
    stops = False
    again = hakobi(*study)
    assert again.status == 0
    assert "2 runs taken up" in again.stderr
    assert "interrupted" not in again.stdout
    assert simulated == ["hakobi", "rdb", "lr"]
    assert {line["contender"] for line in records.read("r.jsonl")[-3:]} == {"hakobi", "rdb", "lr"}

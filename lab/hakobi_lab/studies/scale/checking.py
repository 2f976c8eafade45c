"""The model held against what was measured: runs here, on a storage model, and published figures of machines.

1. Runs: hakobi-bench-collective writes a block3d file on RANKS ranks of this machine, with `pipelined` and with the MPI
   library's ROMIO, below a storage model. The machine file of this machine is made of the model's own words, and of two
   rates that are measured first: of copying, and of writing to the folder. A run's figure is its fastest sample:
   the model has no other programs. WITHIN is how far apart they may be; where other programs load the machine, ranks
   that poll lose their turns, and a run that is slower than simulated says nothing.
2. Published figures (published.toml), and runs of this project when the machine was idle.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hakobi import conditions, files, programs
from hakobi.errors import storage_error
from hakobi.measuring import collective
from hakobi.measuring.job_log import Log, key_of
from hakobi.measuring.session import End, Job, Session
from hakobi.measuring.storage_model import StorageModel
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.table import Table
from hakobi.table import show as show_table
from hakobi.words import count_text, percent_text
from hakobi_lab.studies.scale import machine, published, simulation
from hakobi_lab.studies.scale.machine import Machine
from hakobi_lab.studies.scale.published import Published
from hakobi_lab.studies.scale.simulation import Case, Row

WITHIN = 0.15
RANKS = (2, 4, 8, 16, 32, 64)
#: Slow enough that two cores are not the limit, and with a latency that tells overlap from none.
MODEL = StorageModel(servers=4, bandwidth_mb_s=60, latency_s=10e-3)
_FILE_BYTES = 64 << 20
_SAMPLE_S = 4.0


@dataclass(frozen=True)
class Measured:
    """A run here beside its simulation."""

    method: str
    ranks: int
    gb_s: float
    simulated: Row
    is_loaded: bool  #: by other programs

    @property
    def deviation(self) -> float:
        return self.simulated.gb_s / self.gb_s - 1

    @property
    def is_within(self) -> bool | None:
        """None: cannot be told."""
        if abs(self.deviation) <= WITHIN:
            return True
        return None if self.is_loaded and self.deviation > 0 else False


@dataclass
class Checked:
    here: Machine
    measured: list[Measured] = field(default_factory=list)
    published: list[tuple[Published, Row]] = field(default_factory=list)
    end: End = field(default_factory=lambda: End(0))

    def tables(self) -> list[Table]:
        return [*([measured_table(self)] if self.measured else []), published_table(self)]

    def exit_status(self) -> int:
        """1 where a run is missed, or a published figure without a reason."""
        missed = any(one.is_within is False for one in self.measured)
        unexplained = any(_factor(one, row) > one.factor and not one.explained for one, row in self.published)
        return 1 if missed or unexplained else self.end.exit_status()


def run(folder: Path, json_file: Path | None, timeout_s: float) -> Checked:
    """Measures, and simulates what was measured and what was published. Raises HakobiError before the first run."""
    program = programs.find(collective.PROGRAM)
    collective.check_room(folder, _FILE_BYTES)
    facts = conditions.collect(program.flavour, {"file": folder})
    components = [one for one in collective.components(program.flavour) if "ROMIO" in one.contender]
    checked = Checked(this_machine(folder, os.cpu_count() or 1))
    key = key_of("scale-check", program, facts, MODEL.value(), _FILE_BYTES, str(folder.absolute()))
    log = Log(json_file, {"benchmark": "scale-check", **facts}, key)
    found: dict[int, dict[str, list[float]]] = {}

    def take(job: Job[int], lines: list[Record]) -> None:
        for sample in collective.samples_of(lines, 0):
            method = _METHOD_OF.get(sample.contender.split(" ")[0])
            if method:
                rate = 1e-9 * sample.bytes / (sample.call_s or sample.time_s)
                found.setdefault(job.case, {}).setdefault(method, []).append(rate)

    romio = components[0].environment if components else None
    jobs = Session([Job(ranks, 0) for ranks in RANKS], lambda ranks: f"{count_text(ranks, 'rank')} here", log=log)
    checked.end = jobs.run(lambda job: _measure(program, job.case, folder, romio, timeout_s), take)
    checked.end.check()
    for ranks, rates in found.items():
        case = Case(_with_ranks(checked.here, ranks), ranks, tuple(rates), bytes=_FILE_BYTES)
        rows = {row.method: row for row in simulation.rows_of([case])}
        for method, values in rates.items():
            checked.measured.append(Measured(method, ranks, max(values), rows[method], bool(checked.end.load)))
    checked.published = simulate_published()
    return checked


#: First word of hakobi-bench-collective's contenders -> method.
_METHOD_OF = {"hakobi": "pipelined", "mpi-io": "parallel"}


def _measure(
    program: Program, ranks: int, folder: Path, romio: Mapping[str, str] | None, timeout_s: float
) -> list[Record]:
    arguments = ["--pattern", "block3d", "--size", str(_FILE_BYTES), "--operation", "write", "--access", "threads"]
    arguments += ["--file", "kept", "--hint", "hakobi_shuffle=always", "--no-verify"]
    arguments += ["--budget", f"{_SAMPLE_S:g}", "--min-samples", "3", "--max-samples", "5"]
    arguments += ["--compare", "mpi-io"] if romio is not None else []
    lines, _ = collective.run_job(
        program, arguments, ranks, folder, model=MODEL, environment=romio, timeout_s=timeout_s
    )
    return [line for line in lines if line.get("kind") == "sample"]


def this_machine(folder: Path, cores: int) -> Machine:
    """One node with MODEL as its storage: what its cores copy, and the folder takes, is measured."""
    base = machine.load("small-cluster")
    copied = _rate(_copy())
    stored = _rate(_write_file(folder))
    return machine.of_storage_model(MODEL, base).with_values(
        {
            "memory.core_gb_s": copied,
            "memory.node_gb_s": copied * cores,
            "storage.stream_gb_s": stored,
        }
    )


def _with_ranks(here: Machine, ranks: int) -> Machine:
    return here.with_values({"nodes.ranks": ranks})


def _rate(move: Callable[[], int], least_s: float = 0.2) -> float:
    """GB/s of the fastest of several calls: others use the machine too."""
    best, end_s = 0.0, time.monotonic() + least_s
    move()
    while time.monotonic() < end_s or best == 0.0:
        begin_s = time.perf_counter()
        moved = move()
        best = max(best, 1e-9 * moved / (time.perf_counter() - begin_s))
    return best


def _copy() -> Callable[[], int]:
    """4 MiB at a time, as many as do not fit a cache."""
    import numpy as np

    source = np.ones((8, 4 << 20), np.uint8)
    target = np.empty_like(source)

    def move() -> int:
        for row in range(len(source)):
            np.copyto(target[row], source[row])
        return int(target.nbytes)

    return move


def _write_file(folder: Path) -> Callable[[], int]:
    block = bytes(4 << 20)

    def move() -> int:
        try:
            with files.own_folder(folder) as own, (Path(own) / "rate").open("wb", buffering=0) as file:
                for _ in range(4):
                    file.write(block)
        except OSError as error:
            raise storage_error("write", error) from error
        return 4 * len(block)

    return move


def simulate_published() -> list[tuple[Published, Row]]:
    """Every published figure beside its simulation."""
    figures = published.load()
    return list(zip(figures, simulation.rows_of([one.case() for one in figures]), strict=True))


def _factor(one: Published, row: Row) -> float:
    return max(row.gb_s / one.gb_s, one.gb_s / row.gb_s)


def measured_table(checked: Checked) -> Table:
    view = Table(
        "Simulated beside runs on this machine: GB/s",
        ["ranks", "<method", "measured", "simulated", "deviation", "<limit", f"<within {percent_text(WITHIN)}"],
    )
    for one in sorted(checked.measured, key=lambda one: (one.method, one.ranks)):
        view.add(
            str(one.ranks),
            one.method,
            f"{one.gb_s:.3f}",
            f"{one.simulated.gb_s:.3f}",
            f"{100 * one.deviation:+.0f} %",
            one.simulated.limit,
            {True: "yes", False: "NO", None: "cannot be told: the machine is loaded"}[one.is_within],
        )
    view.notes.append(
        f"fastest of 3 to 5 samples each; block3d of {_FILE_BYTES >> 20} MiB on {MODEL.words()}; one core copies "
        f"{checked.here['memory.core_gb_s']:.1f} GB/s here. parallel is the MPI library's ROMIO"
    )
    return view


def published_table(checked: Checked) -> Table:
    view = Table(
        "Simulated beside published figures: GB/s",
        ["<what", "<source", "published", "simulated", "factor", "<limit", "<within"],
    )
    for one, row in checked.published:
        factor = row.gb_s / one.gb_s
        is_within = _factor(one, row) <= one.factor
        verdict = (
            f"{one.factor:g}: yes" if is_within else f"{one.factor:g}: {'no, see below' if one.explained else 'NO'}"
        )
        view.add(one.what, one.source, f"{one.gb_s:,.4g}", f"{row.gb_s:,.4g}", f"{factor:.2f}", row.limit, verdict)
        if one.assumed:
            view.notes.append(f"{one.what}: assumed: {one.assumed}")
        if one.explained and not is_within:
            view.notes.append(f"{one.what}: {one.explained}")
    return view


def show(checked: Checked) -> None:
    for view in checked.tables():
        show_table(view)
        print()

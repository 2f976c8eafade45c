"""The cost of output on more ranks than a machine carries: simulated, beside what was measured on fewer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hakobi.measuring.storage_model import StorageModel
from hakobi.table import Table
from hakobi.words import bytes_text, count_text, seconds_text
from hakobi_lab.studies.scale import machine, simulation
from hakobi_lab.studies.scale.simulation import Case, Row

#: Methods that have a model; hidden output costs what the computation leaves, which is not simulated.
METHODS = ("root", "parallel", "pipelined")


@dataclass(frozen=True)
class Load:
    """The output of a run: fields of two dimensions in blocks."""

    bytes: int  #: in all
    num_steps: int


def output_rows(model: StorageModel, load: Load, ranks: Sequence[int], methods: Sequence[str] = METHODS) -> list[Row]:
    """Every method on every number of ranks, with the time of all steps: nodes of the small cluster, whose storage is
    the model. Raises InputError without hakobi-scale, RunError, FormatError."""
    of = machine.of_storage_model(model, machine.load("small-cluster"))
    step_bytes = max(1, load.bytes // load.num_steps)
    cases = [Case(of, count, tuple(methods), "tile2d", step_bytes) for count in ranks]
    return [replace(row, time_s=load.num_steps * row.time_s) for row in simulation.rows_of(cases)]


def output_table(name: str, model: StorageModel, load: Load, rows: Sequence[Row]) -> Table:
    """Marked as simulated, in its title and in every row."""
    methods = list(dict.fromkeys(row.method for row in rows))
    view = Table(f"SIMULATED output TIME on the {name} network: seconds", ["<ranks", "nodes", *methods, "<limit"])
    for ranks in sorted({row.ranks for row in rows}):
        found = {row.method: row for row in rows if row.ranks == ranks}
        limits = ", ".join(f"{method}: {found[method].limit}" for method in methods if method in found)
        times = [seconds_text(found[method].time_s) if method in found else "" for method in methods]
        view.add(f"{ranks:,} simulated", str(next(iter(found.values())).nodes), *times, limits)
    view.notes.append(
        f"Simulated by hakobi study scale, not measured: {bytes_text(load.bytes)} in "
        f"{count_text(load.num_steps, 'step')} to {model.words()}; nodes as of its machine file small-cluster."
    )
    return view

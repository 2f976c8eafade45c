"""The work that is tuned for: a pattern of hakobi-bench-collective, or a program of the user's."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from hakobi import drop_in, hints_file, launch, layout, programs
from hakobi.errors import InputError, RunError
from hakobi.measuring import collective
from hakobi.measuring.collective import FLOOR
from hakobi.measuring.storage_model import StorageModel
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.tuning import candidates
from hakobi.tuning.candidates import Candidate
from hakobi.words import bytes_text, count_text

#: A job of hakobi-bench-collective: seconds for its samples, and how many there are of each contender.
SAMPLING_S, LEAST_SAMPLES, MOST_SAMPLES = 1.0, 2, 4


class Work(Protocol):
    """Work that runs with each candidate's hints, and with none of the user's environment."""

    @property
    def folder(self) -> Path:
        """Where its files go."""

    def words(self) -> str:
        """Its name, for tables."""

    def usual(self) -> dict[str, tuple[str, ...]]:
        """Hints and the values to try where the user names none."""

    def same(self) -> list[object]:
        """The settings that its runs must share to be compared (job_log.key_of)."""

    def check(self) -> Program:
        """The program that is started. Raises InputError, StorageError where it could not be."""

    def run(self, program: Program, candidate: Candidate, timeout_s: float) -> tuple[float, list[Record]]:
        """Seconds of one run, and its records. Raises RunError, InputError, StorageError, FormatError."""


@dataclass(frozen=True)
class Pattern:
    """A pattern for hakobi-bench-collective."""

    pattern: str
    piece_bytes: int
    file_bytes: int
    ranks: int
    operation: str  #: write, read, both
    folder: Path
    model: StorageModel | None

    def words(self) -> str:
        at = self.model.words() if self.model else str(self.folder)
        return f"{self.pattern} of {bytes_text(self.file_bytes)} on {count_text(self.ranks, 'rank')}, {at}"

    def usual(self) -> dict[str, tuple[str, ...]]:
        has_stripes = bool(self.model.stripes if self.model else layout.of_folder(self.folder))
        servers = self.model.servers if self.model else layout.num_servers(self.folder)
        return candidates.usual(has_stripes, self.ranks, servers)

    def same(self) -> list[object]:
        return [
            self.pattern,
            self.piece_bytes,
            self.file_bytes,
            self.ranks,
            self.operation,
            str(self.folder.absolute()),
            self.model.value() if self.model else None,
        ]

    def check(self) -> Program:
        collective.check_room(self.folder, self.file_bytes)
        return programs.find(collective.PROGRAM)

    def run(self, program: Program, candidate: Candidate, timeout_s: float) -> tuple[float, list[Record]]:
        hints = dict(candidate.hints)
        arguments = ["--pattern", self.pattern, "--piece", str(self.piece_bytes), "--size", str(self.file_bytes)]
        arguments += ["--operation", self.operation, "--access", hints.pop("hakobi_access", "threads")]
        arguments += ["--budget", f"{SAMPLING_S:g}", "--min-samples", str(LEAST_SAMPLES)]
        arguments += ["--max-samples", str(MOST_SAMPLES)]
        lines, _stderr = collective.run_job(
            program,
            arguments,
            self.ranks,
            self.folder,
            model=self.model,
            environment=_without_hints() | {"HAKOBI_HINTS": Candidate(tuple(hints.items())).text()},
            timeout_s=timeout_s,
        )
        times: dict[str, list[float]] = {}
        for sample in collective.samples_of(lines, 0):
            if sample.contender != FLOOR:
                times.setdefault(sample.operation, []).append(sample.time_s)
        if not times:
            raise RunError(f"{candidate.words()}: no samples")
        return sum(float(np.median(those)) for those in times.values()), lines


@dataclass(frozen=True)
class Application:
    """A command of the user's, with its launcher."""

    command: tuple[str, ...]
    folder: Path  #: where it runs

    def words(self) -> str:
        return " ".join(self.command)

    def usual(self) -> dict[str, tuple[str, ...]]:
        return candidates.usual(bool(layout.of_folder(self.folder)), num_servers=layout.num_servers(self.folder))

    def same(self) -> list[object]:
        return [list(self.command), str(self.folder.absolute())]

    def check(self) -> Program:
        target = drop_in.look_at(self.command)
        if target.program is None:
            raise InputError(f"no program is found in '{self.words()}'")
        library, why = drop_in.find_library(target)
        if target.is_static or library is None:
            raise InputError(
                why or f"{target.name} is linked statically: nothing can be preloaded, so the drop-in cannot reach it"
            )
        return Program(target.program, target.flavour)

    def run(self, program: Program, candidate: Candidate, timeout_s: float) -> tuple[float, list[Record]]:
        done = self.started(program, _without_hints() | {"HAKOBI_HINTS": candidate.text()}, timeout_s)
        return done.wall_s, []

    def started(self, program: Program, variables: Mapping[str, str], timeout_s: float) -> launch.Finished:
        """One run under `hakobi run`, with these variables over this process's. Raises RunError, InputError."""
        done = launch.run(
            program,
            (),
            0,
            timeout_s=timeout_s,
            extra_environment=variables,
            folder=self.folder,
            command=[sys.executable, "-m", "hakobi", "run", "--", *self.command],
        )
        return launch.check(done, program.name)


def _without_hints() -> dict[str, str]:
    return {"HAKOBI_HINTS": "", hints_file.VARIABLE: ""}

"""A session's file of records: jobs are written to it as a whole, and taken up from it by a later session."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from hakobi import files, launch, records
from hakobi.conditions import Conditions
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.words import count_text

#: Variables that change what a program or the MPI library does.
_SETTINGS = ("HAKOBI_", "OMPI_MCA_", "MPICH_", "MPIR_CVAR_", "ROMIO_", "UCX_")


def key_of(study: str, program: Program, facts: Conditions, *same: object) -> str:
    """The key that runs must share to stand in one figure (rule 6 of hakobi.measuring.session): the study, its program,
    the build, the machine, settings in the environment, and `same`, the plan but for its extent."""
    settings = sorted((name, value) for name, value in os.environ.items() if name.startswith(_SETTINGS))
    parts = [files.sha256([program.path]) if program.path.is_file() else str(program.path), settings, same]
    parts += [facts[name] for name in ("commit", "hakobi", "machine", "mpi")]
    return f"{study}:{hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:16]}"


class Log:
    """A session's file of records, or none (rules 5 and 6 of hakobi.measuring.session). `conditions`: those of the jobs
    that were taken up."""

    def __init__(self, path: Path | None, conditions_line: Record | None = None, key: str = "") -> None:
        """With `conditions_line` it is begun. Raises StorageError, and FormatError for a file of something else."""
        self.path = path
        self._key = key
        self._waiting: list[Record] = []
        self._is_begun = False
        self._num_runs = 0
        self._found = records.read(path) if path and path.is_file() else []
        self.conditions: Record = {}
        for line in self._found:
            if key and line.get("kind") == "conditions" and line.get("key") == key:
                self.conditions = line
        if conditions_line is not None:
            self.begin(conditions_line)

    def begin(self, conditions_line: Record) -> None:
        """Writes the conditions if they are not there yet, then what waited for them. Raises StorageError."""
        if not self._is_begun:
            self._is_begun = True
            key = {"key": self._key} if self._key else {}
            self.add({"kind": "conditions", **conditions_line, **key}, *self._waiting)

    def begin_without_conditions(self) -> None:
        """Where each record has its own."""
        self._is_begun = True

    def add(self, *lines: Record) -> None:
        """Writes all of them, whatever signal comes meanwhile. Raises StorageError."""
        if not self._is_begun:
            self._waiting += lines
        elif self.path is not None:
            with launch.uninterrupted():
                for line in lines:
                    records.append(self.path, line)

    def add_job(self, name: str, number: int, lines: Sequence[Record]) -> None:
        """Writes a finished job's lines, marked so that they are taken up."""
        if self._key:
            mark = self._mark(name, number) | {"num_lines": len(lines)}
            lines = [{**line, "session": mark} for line in lines]
        self.add(*lines)

    def add_failure(self, name: str, number: int, reason: str) -> None:
        """Writes why a job failed."""
        if self._key:
            self.add({"kind": "failed", "reason": reason, "session": self._mark(name, number)})

    def _mark(self, name: str, number: int) -> Record:
        self._num_runs += 1
        run = f"{os.getpid()}-{time.time_ns():x}-{self._num_runs}"
        return {"key": self._key, "run": run, "case": name, "round": number}

    def finished(self) -> dict[tuple[str, int], list[Record]]:
        """The lines of each (case, round) that the file has whole; a line on stderr about those of other keys."""
        runs: dict[str, list[Record]] = {}
        others = set()
        study = self._key.partition(":")[0]
        for line in self._found if self._key else []:
            mark = line.get("session")
            if not isinstance(mark, dict) or line.get("kind") == "failed":
                continue
            if mark.get("key") == self._key:
                runs.setdefault(str(mark.get("run")), []).append(line)
            elif str(mark.get("key")).partition(":")[0] == study:
                others.add(str(mark.get("run")))
        whole: dict[tuple[str, int], list[Record]] = {}
        for lines in runs.values():
            mark = lines[0]["session"]
            if len(lines) == mark.get("num_lines") and isinstance(mark.get("round"), int):
                whole.setdefault((str(mark.get("case")), mark["round"]), lines)
        if others:
            why = "of another plan, build or machine"
            sys.stderr.write(f"{count_text(len(others), 'run')} in {self.path} left alone: {why}\n")
        return whole

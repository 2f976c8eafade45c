"""Runs the plan: one launch a run, checked, hashed, recorded, cleaned up.

For each run:
 1. A fresh folder on its storage; free space is checked against the largest output so far.
 2. The application runs under mpiexec with `--method M --output FOLDER/APP --json FILE [--sync]` and the user's own
    arguments, and HAKOBI_ASYNCHRONOUS=1 or 0 as the method is hidden or not; for `own+drop-in`, `own+hidden` and
    `own+hidden-close` the drop-in is preloaded and M is `own`. It appends one JSON line with its `time_s`: from its
    first step to the end of its last output, start-up of MPI and reading of inputs left out. What MPI_Finalize then
    waits for hidden output is added.
 3. At once, before anything reads the files: how much of them the page cache holds. Then their SHA-256.
 4. The files are removed, which also drops their unwritten pages before the next run; kept ones are synced instead.
 5. The record is appended to the JSON file, so that what is finished survives whatever follows, and is taken up.

hakobi.measuring.session handles a run that fails and a study that is ended; `Outcome.end` says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hakobi import drop_in, files, launch, reasons, records
from hakobi.conditions import Conditions
from hakobi.errors import FormatError, RunError, StorageError
from hakobi.measuring.job_log import Log
from hakobi.measuring.session import WARM_UP, End, Job, Session
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.testbeds import Testbed
from hakobi.words import bytes_text, count_text
from hakobi_lab.studies.output_methods.plan import BASELINE, HIDDEN, OWN_WAYS, UNDER_DROP_IN, Case, Plan

#: The reason of a gap where a program of the user's own ends well and says nothing.
NO_RECORD = (
    'ended without its record: rank 0 has to append one line {"time_s": SECONDS} to the file that --json names '
    "(docs/own-study.md)"
)

#: Called after each run with its record and its files, before these are removed.
Observer = Callable[[Job[Case], Record, list[Path]], None]


@dataclass
class Outcome:
    """The results of a study: `records` of the finished runs in order; how it ended."""

    records: list[Record] = field(default_factory=list)
    end: End = field(default_factory=lambda: End(0))
    kept: list[Path] = field(default_factory=list)


class Runner:
    """Runs a plan with a program. `json`: file that records are appended to, or None. Folders are made by `run`.
    `beds`: the storages that are testbeds, up; the plan's storages name their folders. `key`: of the runs in `json`
    that may be taken up."""

    def __init__(
        self,
        plan: Plan,
        program: Program,
        conditions: Conditions,
        json: Path | None = None,
        beds: Mapping[str, Testbed] | None = None,
        key: str = "",
    ) -> None:
        self._plan = plan
        self._program = program
        self._conditions = conditions
        self._json = json
        self._key = key
        self._beds = beds or {}
        self._largest_bytes = 0
        self._limit_s: Callable[[float], float] = lambda most_s: most_s
        self._label = f"hakobi-{plan.app}-{os.getpid()}" if plan.keep else f"{files.own_name()}{plan.app}"

    def check(self) -> None:
        """Tells what can be told before the first run. Raises StorageError, InputError."""
        for name, folder in self._plan.storages.items():
            if name not in self._beds:
                launch.check_folder(self._program.flavour, folder)
            files.prepare_folder(folder)
            files.remove_abandoned(folder)
        for model in self._plan.models.values():
            model.environment(self._program, Path())
        if self._json is not None:
            files.prepare_file(self._json)
        launch.check_ranks(self._program.flavour, max(self._plan.ranks))

    def run(self, on_run: Observer = lambda _job, _record, _files: None) -> Outcome:
        """Runs everything. One unrecorded run of the baseline goes first, which warms the machine up."""
        outcome = Outcome()
        warm_up = Job(Case(BASELINE, self._plan.warm_up_ranks, next(iter(self._plan.storages))), WARM_UP)
        log = Log(self._json, key=self._key)
        log.begin_without_conditions()
        session = Session([warm_up, *self._plan.runs()], Case.words, budget_s=self._plan.budget_s, log=log)
        self._limit_s = session.limit_s
        outcome.end = session.run(
            lambda job: self._execute(job, on_run, outcome), lambda _job, lines: outcome.records.extend(lines)
        )
        self._remove_empty_folders()
        return outcome

    def _folder(self, job: Job[Case]) -> Path:
        case = job.case
        return self._plan.storages[case.storage] / self._label / f"{case.method}-{case.ranks}-{job.round + 1}"

    def _remove_empty_folders(self) -> None:
        for folder in self._plan.storages.values():
            try:
                (folder / self._label).rmdir()
            except OSError:
                continue  # not there, or it holds what is kept

    def _execute(self, job: Job[Case], on_run: Observer, outcome: Outcome) -> list[Record]:
        folder = self._folder(job)
        is_kept = False
        self._check_space(job.case)
        try:
            files.prepare_folder(folder)
            finished, told = self._launch(job.case, folder)
            written = files.files_below(folder)
            self._check_written(job.case, written)
            record = self._record(job, finished, told, written)
            if job.round == WARM_UP:
                return []
            on_run(job, record, written)
            if self._plan.keep and job.case.method != BASELINE:
                _sync(written)
                outcome.kept.append(folder)
                is_kept = True
            return [record]
        finally:
            if not is_kept:
                with launch.uninterrupted():  # nor leave half of a run's files
                    files.remove_folder(folder)

    def _check_space(self, case: Case) -> None:
        folder = self._plan.storages[case.storage]
        space = os.statvfs(folder)
        free_bytes = space.f_bavail * space.f_frsize
        if case.method != BASELINE and free_bytes < self._largest_bytes:
            raise StorageError(
                f"no space in {folder}: a run writes {bytes_text(self._largest_bytes)}, {bytes_text(free_bytes)} free"
            )

    def _launch(self, case: Case, folder: Path) -> tuple[launch.Finished, Record]:
        bed = self._beds.get(case.storage)
        with files.own_folder(bed.told) if bed else launch.own_folder(self._program.flavour) as temporary:
            json = Path(temporary) / "run.jsonl"
            output, told_in = folder / self._plan.app, json
            if bed:
                output, told_in = bed.on_nodes(output), bed.on_nodes(json)
            method, _, _ = case.method.partition("+")
            arguments = ["--method", method, "--output", str(output), "--json", str(told_in)]
            if self._plan.sync:
                arguments.append("--sync")
            arguments += self._plan.arguments
            variables = self._environment(case, folder, Path(temporary))
            left = json.with_name("left")
            if case.method in UNDER_DROP_IN:
                variables["HAKOBI_HIDDEN_LEFT"] = str(bed.on_nodes(left) if bed else left)
            finished = launch.run(
                self._program,
                arguments,
                case.ranks,
                timeout_s=self._limit_s(self._plan.timeout_s),
                extra_environment=variables,
                command=bed.command_line(self._program, arguments, case.ranks, variables) if bed else (),
            )
            what = self._words(case)
            launch.check(finished, what)
            if not json.exists():
                raise RunError(f"{what}: {NO_RECORD}")
            told = records.read(json)
            left_s = float(left.read_text()) if left.exists() else 0.0
        if len(told) != 1:
            raise FormatError(f"{what}: wrote {len(told)} records where one is due")
        return finished, told[0] | {"left_s": left_s}

    def _environment(self, case: Case, folder: Path, own: Path) -> dict[str, str]:
        variables = _hiding(case)
        if model := self._plan.models.get(case.storage):
            variables |= model.environment(self._program, folder.resolve(), own)
        if case.method in UNDER_DROP_IN:
            library = drop_in.library_of(self._program.path)
            before = variables.get("LD_PRELOAD", os.environ.get("LD_PRELOAD", ""))
            variables["LD_PRELOAD"] = drop_in.preload_text([library], before)
            if how := UNDER_DROP_IN[case.method]:
                variables["HAKOBI_HINTS"] = drop_in.hints_text(
                    (f"hakobi_hidden={how}",), os.environ.get("HAKOBI_HINTS", "")
                )
        return variables

    def _words(self, case: Case) -> str:
        return f"{self._plan.app} with method {case.method} on {count_text(case.ranks, 'rank')}"

    def _check_written(self, case: Case, written: list[Path]) -> None:
        what = self._words(case)
        unfinished = [
            path.name for path in written if path.name.endswith((".part", ".whole")) or ".pieces" in str(path)
        ]
        if unfinished:
            raise RunError(f"{what}: ended well but left {unfinished[0]} behind")
        if case.method == BASELINE and written:
            raise RunError(f"{what}: wrote {written[0].name} where nothing is due")
        if case.method != BASELINE and not written:
            raise RunError(f"{what}: wrote no file: its arguments ask for no output")

    def _record(self, job: Job[Case], finished: launch.Finished, told: Record, written: list[Path]) -> Record:
        case = job.case
        output_bytes = sum(path.stat().st_size for path in written)
        self._largest_bytes = max(self._largest_bytes, output_bytes)
        bed = self._beds.get(case.storage)
        # Where nodes hold what the server has, only they know.
        cached_bytes = None if bed else files.cached_bytes(written)
        return {
            **{key: value for key, value in told.items() if key not in ("prefix", "output")},
            "study": "output-methods",
            "app": self._plan.app,
            "method": case.method,
            "ranks": case.ranks,
            "storage": case.storage,
            "repetition": job.round + 1,
            # Output costs the wait of MPI_Finalize for what is hidden, too, which no program counts.
            "time_s": records.number(told, "time_s", f"the record of {self._plan.app}") + told["left_s"],
            "wall_s": round(finished.wall_s, 6),
            "output_bytes": output_bytes,
            "num_files": len(written),
            "cached_bytes": cached_bytes,
            "sync": self._plan.sync,
            "storage_model": model.value() if (model := self._plan.models.get(case.storage)) else None,
            "testbed": bed.wanted.value() if bed else None,
            "sha256": files.sha256(written) if written else None,
            "arguments": list(self._plan.arguments),
            "conditions": self._conditions,
            "warnings": self._warnings(case, finished),
        }

    def _warnings(self, case: Case, finished: launch.Finished) -> list[str]:
        """The run's warnings, each once: the names of its files, which no other run has, are left out."""
        name = re.compile(rf"\S*/{re.escape(self._label)}/\S*")
        told = [name.sub(f"a file on storage {case.storage}", text) for text in reasons.warnings_of(finished.stderr)]
        return list(dict.fromkeys(told))


def _hiding(case: Case) -> dict[str, str]:
    """The variables that set OutputOptions::asynchronous where the program does not; `auto` and the baseline do what
    they do."""
    if case.method in ("auto", *OWN_WAYS, BASELINE):
        return {}
    return {"HAKOBI_ASYNCHRONOUS": str(int(case.method.endswith(HIDDEN)))}


def _sync(written: list[Path]) -> None:
    """Brings kept files to storage now, so that the next run does not share the storage with them."""
    for path in written:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


@dataclass(frozen=True)
class Mismatch:
    """Runs whose bytes are not those of the most runs."""

    sha256: str
    expected: str
    runs: list[str]

    def text(self) -> str:
        more = f"; and {len(self.runs) - 3} more" if len(self.runs) > 3 else ""
        return f"{'; '.join(self.runs[:3])}{more}: sha256 {self.sha256[:12]}…, the others {self.expected[:12]}…"


def mismatches(results: list[Record]) -> list[Mismatch]:
    """The runs whose files differ from what most comparable runs wrote, by checksum; empty when all agree. What the
    program wrote by itself is compared with such runs only; where the record says `bytes_depend_on_ranks` (a file has a
    piece a rank), runs are compared with those on as many ranks. Pure."""
    kinds: dict[tuple[bool, int], dict[str, list[str]]] = {}
    for record in results:
        if record["sha256"] is not None:
            name = f"{record['method']} on {record['ranks']} ranks, {record['storage']}, round {record['repetition']}"
            is_own = record["method"] in OWN_WAYS
            kind = (is_own, record["ranks"] if record.get("bytes_depend_on_ranks") else 0)
            kinds.setdefault(kind, {}).setdefault(record["sha256"], []).append(name)
    found = []
    for by_digest in kinds.values():
        expected = max(by_digest, key=lambda digest: len(by_digest[digest]))
        found += [Mismatch(digest, expected, runs) for digest, runs in by_digest.items() if digest != expected]
    return found

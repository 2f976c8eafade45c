"""Runs the cases of the study, round by round, and makes its tables.

1. A case is a run of hakobi-weather: where its output goes and with what settings. Every case once a round, the run
   without output among them, each in an empty folder that is removed afterwards.
2. A case's figure is the median over the rounds; what the program counted for each file is of the last round.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hakobi import files, launch, programs, records
from hakobi.errors import InputError, RunError
from hakobi.table import Table

MEBI = 1 << 20


@dataclass(frozen=True)
class Case:
    """One setting. `storage` is "" for the run without output."""

    kind: str  #: none, files, store
    storage: str = ""
    stride: int = 1
    num_buffers: int = 4
    buffer_mib: int = 64
    is_asynchronous: bool = True
    huge_pages: bool = False

    def arguments(self, folder: Path) -> list[str]:
        """What hakobi-weather is told.

        >>> Case("store", "disk", stride=2).arguments(Path("x"))[:4]
        ['--output', 'store:x/fields', '--writer-stride', '2']
        """
        if self.kind == "none":
            return ["--output", "none"]
        if self.kind == "files":
            return ["--output", f"files:{folder / 'fields' / 'forecast'}"]
        words = ["--output", f"store:{folder / 'fields'}", "--writer-stride", str(self.stride)]
        words += ["--buffers", str(self.num_buffers), "--buffer-mib", str(self.buffer_mib)]
        if not self.is_asynchronous:
            words.append("--synchronous")
        if self.huge_pages:
            words.append("--huge-pages")
        return words


@dataclass
class Outcome:
    """What the runs of one case gave."""

    summaries: list[records.Record] = field(default_factory=list)
    profiles: list[records.Record] = field(default_factory=list)  #: of files, in the last round
    num_files: int = 0  #: in the output's folder, of every kind

    def median(self, name: str) -> float:
        return statistics.median(float(one[name]) for one in self.summaries)


@dataclass(frozen=True)
class Plan:
    storages: dict[str, Path]
    strides: tuple[int, ...]
    buffers: tuple[tuple[int, int], ...]  #: number and MiB of each
    ranks: int
    rounds: int
    timeout_s: float
    arguments: tuple[str, ...]  #: for hakobi-weather: resolution, levels, hours

    def cases(self) -> list[Case]:
        """Every case once, the run without output first."""
        cases = [Case("none")]
        for storage in self.storages:
            cases.append(Case("files", storage))
            cases += [Case("store", storage, stride) for stride in self.strides]
        first = next(iter(self.storages))
        cases += [Case("store", first, 1, count, mib) for count, mib in self.buffers]
        cases += [Case("store", first, is_asynchronous=False), Case("store", first, huge_pages=True)]
        return list(dict.fromkeys(cases))


def parse_buffers(text: str) -> tuple[tuple[int, int], ...]:
    """ "2x16,4x64": number and MiB of each. Raises InputError.

    >>> parse_buffers("2x16,4x64")
    ((2, 16), (4, 64))
    """
    pairs = []
    for word in text.split(","):
        count, times, mib = word.strip().partition("x")
        if not (times and count.isdigit() and mib.isdigit() and int(count) >= 2 and int(mib) >= 1):
            raise InputError(f"--buffers {word}: NUMBERxMIB is needed, such as 4x64, with 2 or more")
        pairs.append((int(count), int(mib)))
    return tuple(pairs)


def parse_strides(text: str, ranks: int) -> tuple[int, ...]:
    """ "1,2,4": each from 1 to the number of ranks; larger ones name the same single writer and are left out.

    >>> parse_strides("1,2,4,8", 2)
    (1, 2)
    """
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdigit() and int(word) > 0 for word in words):
        raise InputError(f"--strides {text}: numbers from 1 are needed, separated by commas")
    return tuple(stride for stride in dict.fromkeys(map(int, words)) if stride <= ranks)


def run(plan: Plan, json_file: Path | None, progress: Any = None) -> dict[Case, Outcome]:
    """Runs every case in every round; Ctrl-C ends it with what was finished until then (`is_finished`). Raises
    RunError with the program's own reason when a run fails."""
    program = programs.find("hakobi-weather")
    outcomes = {case: Outcome() for case in plan.cases()}
    for round_number in range(plan.rounds):
        for case, outcome in outcomes.items():
            if progress:
                progress(round_number, case)
            try:
                _run_case(plan, case, program, outcome, json_file)
            except KeyboardInterrupt:
                return outcomes
    return outcomes


def is_finished(plan: Plan, outcomes: dict[Case, Outcome]) -> bool:
    """Whether every case ran in every round."""
    return all(len(outcome.summaries) == plan.rounds for outcome in outcomes.values())


def _run_case(plan: Plan, case: Case, program: Any, outcome: Outcome, json_file: Path | None) -> None:
    base = plan.storages.get(case.storage, Path(tempfile.gettempdir()))
    files.prepare_folder(base)
    with tempfile.TemporaryDirectory(prefix="hakobi-field-store-", dir=base) as name:
        folder = Path(name)
        found = folder / "records.jsonl"
        arguments = [*case.arguments(folder), *plan.arguments, "--json", str(found)]
        finished = launch.run(program, arguments, plan.ranks, timeout_s=plan.timeout_s)
        if finished.status != 0:
            raise RunError(f"hakobi-weather {' '.join(arguments)}: {finished.reason()}")
        read = records.read(found)
        outcome.summaries += [one for one in read if one["kind"] == "summary"]
        outcome.profiles = [one for one in read if one["kind"] == "file"]
        outcome.num_files = len(files.files_below(folder)) - 1
        for one in outcome.profiles:
            one["name"] = Path(str(one["name"])).name
    if json_file:
        settings = {"storage": case.storage, "stride": case.stride, "num_buffers": case.num_buffers}
        settings |= {"buffer_mib": case.buffer_mib, "is_asynchronous": case.is_asynchronous}
        settings |= {"huge_pages": case.huge_pages, "num_files": outcome.num_files}
        for one in [*outcome.profiles, outcome.summaries[-1]]:
            records.append(json_file, {**one, "kind": f"field-store-{one['kind']}", "output": case.kind, **settings})


def _speeds(outcome: Outcome) -> tuple[str, str, str]:
    return (
        f"{outcome.median('mean_days_per_day'):.1f}",
        f"{outcome.median('peak_days_per_day'):.1f}",
        f"{outcome.median('wall_s'):.1f}",
    )


def _megabytes(value: float) -> str:
    return f"{value / 1e6:.1f}"


def tables(plan: Plan, outcomes: dict[Case, Outcome]) -> list[Table]:
    """The study's tables: sizes, what output costs, stride, buffers, pages, and what each file took."""
    if not all(outcome.summaries for outcome in outcomes.values()):
        return [_finished_table(outcomes)]
    base = outcomes[Case("none")]
    return [
        _size_table(plan, outcomes),
        _cost_table(plan, outcomes, base),
        *(_stride_table(plan, outcomes, storage) for storage in plan.storages),
        _buffer_table(plan, outcomes),
        *(_profile_table(case, outcome) for case, outcome in _profiled(plan, outcomes)),
    ]


def _finished_table(outcomes: dict[Case, Outcome]) -> Table:
    """What a study that was ended in its first round has."""
    columns = ["<output", "<storage", "stride", "<buffers", "mean days/day", "peak", "wall s"]
    table = Table("Finished runs of a study that was interrupted", columns)
    for case, one in outcomes.items():
        if one.summaries:
            buffers = f"{case.num_buffers} x {case.buffer_mib} MiB" if case.kind == "store" else ""
            table.add(case.kind, case.storage, str(case.stride), buffers, *_speeds(one))
    return table


def _size_table(plan: Plan, outcomes: dict[Case, Outcome]) -> Table:
    first = next(iter(plan.storages))
    table = Table("Size of a step, MB, and files in the folder", ["<output", "grid", "spectral", "fields", "files"])
    for case in (Case("files", first), Case("store", first, plan.strides[0])):
        one = outcomes[case]
        table.add(
            case.kind,
            _megabytes(one.median("grid_bytes")),
            _megabytes(one.median("spectral_bytes")),
            str(int(one.median("grid_fields") + one.median("spectral_fields"))),
            str(one.num_files),
        )
    return table


def _cost_table(plan: Plan, outcomes: dict[Case, Outcome], base: Outcome) -> Table:
    columns = ["<output", "<storage", "mean days/day", "peak", "wall s", "cost s"]
    table = Table("Forecast days per day, and what output costs", columns)
    table.add("none", "", *_speeds(base), "")
    for storage in plan.storages:
        for case in (Case("files", storage), Case("store", storage, plan.strides[0])):
            one = outcomes[case]
            cost = one.median("wall_s") - base.median("wall_s")
            table.add(case.kind, storage, *_speeds(one), f"{cost:.1f}")
    table.notes.append("cost: wall time less that of the run without output; medians over the rounds")
    return table


def _stride_table(plan: Plan, outcomes: dict[Case, Outcome], storage: str) -> Table:
    columns = ["stride", "data files", "MB a file", "wall s", "peak days/day", "mean"]
    table = Table(f"Stride of the writers, {plan.ranks} ranks, {storage}", columns)
    for stride in plan.strides:
        one = outcomes[Case("store", storage, stride)]
        mean, peak, wall = _speeds(one)
        sizes = [float(profile["bytes"]) for profile in one.profiles]
        size = _megabytes(sum(sizes) / len(sizes)) if sizes else ""
        table.add(str(stride), str(len(sizes)), size, wall, peak, mean)
    table.notes.append(striping_note(plan.storages[storage]))
    return table


def _buffer_table(plan: Plan, outcomes: dict[Case, Outcome]) -> Table:
    first = next(iter(plan.storages))
    columns = ["<buffers", "MiB each", "<huge pages", "mean days/day", "peak", "wall s"]
    table = Table(f"Asynchronous buffers and huge pages, stride 1, {first}", columns)
    table.add("none (synchronous)", "", "no", *_speeds(outcomes[Case("store", first, is_asynchronous=False)]))
    for count, mib in plan.buffers:
        table.add(str(count), str(mib), "no", *_speeds(outcomes[Case("store", first, 1, count, mib)]))
    table.add("4", "64", "yes", *_speeds(outcomes[Case("store", first, huge_pages=True)]))
    return table


def _profiled(plan: Plan, outcomes: dict[Case, Outcome]) -> list[tuple[Case, Outcome]]:
    first = next(iter(plan.storages))
    cases = [Case("files", first), *(Case("store", first, stride) for stride in plan.strides[:1])]
    return [(case, outcomes[case]) for case in cases]


def _profile_table(case: Case, outcome: Outcome) -> Table:
    columns = ["seconds", "MB", "MB/s", "calls", "bytes/call", "<file"]
    table = Table(f"Writing of each file, {case.kind} on {case.storage}, last round", columns)
    for one in outcome.profiles:
        seconds, size, calls = float(one["seconds"]), float(one["bytes"]), int(one["calls"])
        rate = f"{size / 1e6 / seconds:.1f}" if seconds > 0 else ""
        each = str(int(size / calls)) if calls else ""
        table.add(f"{seconds:.3f}", _megabytes(size), rate, str(calls), each, str(one["name"]))
    return table


def striping_note(folder: Path, mounts: Sequence[str] | None = None) -> str:
    """Whether the folder's file system has striping that could be chosen: Lustre alone has.

    >>> striping_note(Path("/scratch/me"), ["ost:/fs /scratch lustre rw 0 0", "/dev/sda / ext4 rw 0 0"])
    'Lustre: stripes are those that its folder has (lfs getstripe)'
    >>> striping_note(Path("/tmp"), ["/dev/sda / ext4 rw 0 0"])
    'no striping: ext4, not Lustre'
    """
    if mounts is None:
        mounts = Path("/proc/mounts").read_text().splitlines()
    best, kind = "", "unknown"
    for line in mounts:
        words = line.split()
        if len(words) < 3:
            continue
        where = words[1]
        inside = where == "/" or folder.resolve() == Path(where) or Path(where) in folder.resolve().parents
        if inside and len(where) >= len(best):
            best, kind = where, words[2]
    if kind == "lustre":
        return "Lustre: stripes are those that its folder has (lfs getstripe)"
    return f"no striping: {kind}, not Lustre"

"""Runs the cases of the study, round by round.

1. A case is a run of hakobi-weather: where its output goes and with what settings. Every case once a round, the run
   without output among them, each in an empty folder that is removed afterwards. Striping is set on that folder before
   (Lustre's lfs), so that every file in it has it.
2. A case's figure is the median over the rounds; what the program counted for each file is of the last round.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from hakobi import conditions, files, programs, records, statistics
from hakobi.conditions import Conditions
from hakobi.errors import FormatError, InputError, RunError
from hakobi.measuring.job_log import Log, key_of
from hakobi.measuring.session import End, Job, Session, run_recorded
from hakobi.programs import Program


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
    striping_factor: int = 0  #: 0: as the folder has it
    striping_unit_mib: int = 0

    def words(self) -> str:
        """What tells it from the other cases.

        >>> Case("store", "disk", stride=2, huge_pages=True).words()
        'store, disk, stride 2, huge pages'
        """
        words = [self.kind, self.storage]
        words += [f"stride {self.stride}"] if self.kind == "store" else []
        if (self.num_buffers, self.buffer_mib) != (Case.num_buffers, Case.buffer_mib):
            words.append(f"{self.num_buffers} x {self.buffer_mib} MiB")
        words += [] if self.is_asynchronous else ["synchronous"]
        words += ["huge pages"] if self.huge_pages else []
        words += [f"{self.striping_factor} x {self.striping_unit_mib} MiB stripes"] if self.striping_factor else []
        return ", ".join(filter(None, words))

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

    def values(self, name: str) -> list[float]:
        """One a round."""
        return [float(one[name]) for one in self.summaries]

    def median(self, name: str) -> float:
        return statistics.summarise(self.values(name)).median


@dataclass(frozen=True)
class Plan:
    storages: dict[str, Path]
    strides: tuple[int, ...]
    buffers: tuple[tuple[int, int], ...]  #: number and MiB of each
    stripings: tuple[tuple[int, int], ...]  #: striping_factor, and striping_unit in MiB
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
        for storage, folder in self.storages.items():
            if has_striping(folder):
                cases += [Case("store", storage, striping_factor=n, striping_unit_mib=mib) for n, mib in self.stripings]
        return list(dict.fromkeys(cases))


def parse_pairs(option: str, text: str, least: int) -> tuple[tuple[int, int], ...]:
    """ "2x16,4x64": number, at least `least`, and MiB of each. Raises InputError.

    >>> parse_pairs("--buffers", "2x16,4x64", 2)
    ((2, 16), (4, 64))
    """
    pairs = []
    for word in text.split(","):
        count, times, mib = word.strip().partition("x")
        if not (times and count.isdigit() and mib.isdigit() and int(count) >= least and int(mib) >= 1):
            raise InputError(f"{option} {word}: NUMBERxMIB is needed, such as 4x64, with {least} or more")
        pairs.append((int(count), int(mib)))
    return tuple(dict.fromkeys(pairs))


def has_striping(folder: Path) -> bool:
    """Whether the folder's file system has stripes that can be chosen here: Lustre, with its program lfs."""
    return conditions.file_system(folder).get("type") == "lustre" and shutil.which("lfs") is not None


def stripe(folder: Path, case: Case) -> None:
    """Gives a folder the stripes that its files shall have. Raises RunError."""
    if not case.striping_factor:
        return
    command = ["lfs", "setstripe", "-c", str(case.striping_factor), "-S", f"{case.striping_unit_mib}M", str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)}: {done.stderr.strip()}")


def parse_strides(text: str, ranks: int) -> tuple[int, ...]:
    """ "1,2,4": each from 1 to the number of ranks; larger ones name the same single writer and are left out.

    >>> parse_strides("1,2,4,8", 2)
    (1, 2)
    """
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdigit() and int(word) > 0 for word in words):
        raise InputError(f"--strides {text}: numbers from 1 are needed, separated by commas")
    return tuple(stride for stride in dict.fromkeys(map(int, words)) if stride <= ranks)


def run(plan: Plan, facts: Conditions, json_file: Path | None) -> tuple[dict[Case, Outcome], End]:
    """Runs every case in every round; the records begin with the conditions `facts`. Returns what the runs gave and how
    the study ended. Raises RunError with the program's own reason when nothing was finished."""
    program = programs.find("hakobi-weather")
    outcomes = {case: Outcome() for case in plan.cases()}
    places = {name: str(folder.absolute()) for name, folder in plan.storages.items()}
    key = key_of("field-store", program, facts, places, plan.ranks, plan.arguments)
    log = Log(json_file, {"benchmark": "field-store", **facts}, key)
    jobs = [Job(case, number) for number in range(plan.rounds) for case in outcomes]
    end = Session(jobs, Case.words, log=log).run(
        lambda job: _run_case(plan, job.case, program), lambda job, lines: _take(outcomes[job.case], lines)
    )
    return outcomes, end.check()


def has_every_case(outcomes: dict[Case, Outcome]) -> bool:
    """Whether every case ran at least once."""
    return all(outcome.summaries for outcome in outcomes.values())


def _run_case(plan: Plan, case: Case, program: Program) -> list[records.Record]:
    base = plan.storages.get(case.storage, Path(tempfile.gettempdir()))
    files.prepare_folder(base)
    with files.own_folder(base) as name:
        folder = Path(name)
        stripe(folder, case)
        arguments = [*case.arguments(folder), *plan.arguments]
        what = f"hakobi-weather {' '.join(arguments)}"
        read, _done = run_recorded(program, arguments, plan.ranks, what=what, timeout_s=plan.timeout_s)
        num_files = len(files.files_below(folder))
    settings = {name: value for name, value in asdict(case).items() if name != "kind"}
    settings |= {"output": case.kind, "num_files": num_files}
    profiles = [{**one, "name": Path(str(one["name"])).name} for one in read if one["kind"] == "file"]
    summaries = [one for one in read if one["kind"] == "summary"]
    if not summaries:
        raise FormatError(f"{what}: no summary")
    return [{**one, "kind": f"field-store-{one['kind']}", **settings} for one in [*profiles, summaries[-1]]]


def _take(outcome: Outcome, lines: list[records.Record]) -> None:
    *outcome.profiles, summary = lines
    outcome.summaries.append(summary)
    outcome.num_files = int(summary["num_files"])

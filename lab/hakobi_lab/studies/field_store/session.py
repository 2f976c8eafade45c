"""Runs the cases of the study, round by round.

1. A case is a run of hakobi-weather: how the model computes, where its output goes and with what settings. Every case
   once a round, in an empty folder that is removed afterwards. Striping is set on that folder before (Lustre's lfs), so
   that every file in it has it. A storage may have a model laid over its files, which then has the stripes.
2. A case's figure is the median over the rounds; what the program counted for each file is of the last round.
3. In its first round a case's fields are read back. Runs of one resolution must have written the same fields, bit for
   bit: with any output, stride, settings, ranks and threads.
"""

from __future__ import annotations

import math
import subprocess
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from hakobi import files, launch, programs, records, statistics
from hakobi.conditions import Conditions
from hakobi.errors import FormatError, RunError
from hakobi.measuring.job_log import Log, key_of
from hakobi.measuring.session import End, Job, Session, in_rounds, run_recorded
from hakobi.programs import Program
from hakobi_lab.studies.field_store import identity
from hakobi_lab.studies.field_store.plan import Case, Plan

#: How a record of the program and one of the study are called.
_KIND = "field-store-"


@dataclass
class Outcome:
    """The results of one case's runs."""

    summaries: list[records.Record] = field(default_factory=list)  #: one a round that it has
    rounds: list[int] = field(default_factory=list)  #: their numbers
    steps: list[list[records.Record]] = field(default_factory=list)  #: of each round, one an output
    profiles: list[records.Record] = field(default_factory=list)  #: of files, in the last round
    num_files: int = 0  #: in the output's folder, of every kind
    is_gap: bool = False  #: it failed; else, without runs, its turn has not come

    def values(self, name: str) -> list[float]:
        """One a round."""
        return [float(one[name]) for one in self.summaries]

    def summary(self, name: str) -> statistics.Summary:
        """Raises ValueError where nothing ran."""
        return statistics.summarise(self.values(name))

    def median(self, name: str) -> float:
        return self.summary(name).median

    def over_forecast(self, name: str) -> list[tuple[float, statistics.Summary]]:
        """Hours of forecast, and over the rounds what the program said there of `name`."""
        hours = sorted({float(step["hour"]) for steps in self.steps for step in steps})
        found = {hour: [float(s[name]) for steps in self.steps for s in steps if s["hour"] == hour] for hour in hours}
        return [(hour, statistics.summarise(values)) for hour, values in found.items()]

    def by_round(self, name: str) -> dict[int, float]:
        return dict(zip(self.rounds, self.values(name), strict=True))

    def take(self, lines: list[records.Record], number: int) -> None:
        """The records of one more run, that of round `number`."""
        self.rounds.append(number)
        by_kind = {kind: [one for one in lines if one["kind"] == _KIND + kind] for kind in ("step", "file", "summary")}
        self.steps.append(by_kind["step"])
        self.profiles = by_kind["file"]
        self.summaries += by_kind["summary"]
        self.num_files = int(self.summaries[-1]["num_files"])


def run(
    plan: Plan, facts: Conditions, json_file: Path | None, budget_s: float = math.inf, study: str = "field-store"
) -> tuple[dict[Case, Outcome], End]:
    """Runs every case in every round; the records begin with the conditions `facts`. Returns what the runs gave and how
    it ended (End.check: where nothing was finished). Runs of another `study` are not taken up. Raises InputError where
    a program is missing."""
    program = programs.find("hakobi-weather")
    for model in plan.storage_models.values():
        model.environment(program, Path())  # raises where its library is missing
    outcomes = {case: Outcome() for case in plan.cases()}
    places = {name: str(folder.absolute()) for name, folder in plan.storages.items()}
    models = {name: model.value() for name, model in plan.storage_models.items()}
    key = key_of(study, program, facts, places, models, plan.arguments)
    log = Log(json_file, {"benchmark": study, **facts}, key)
    jobs = in_rounds(list(outcomes), plan.rounds)
    session = Session(jobs, Case.words, log=log, budget_s=budget_s)
    end = session.run(
        lambda job: _run_case(replace(plan, timeout_s=session.limit_s(plan.timeout_s)), job, program),
        lambda job, lines: outcomes[job.case].take(lines, job.round),
    )
    for case, outcome in outcomes.items():
        outcome.is_gap = case.words() in end.gaps and not outcome.summaries
    end.told += identity.mismatches(outcome.summaries for outcome in outcomes.values())
    return outcomes, end


def has_every_case(outcomes: dict[Case, Outcome]) -> bool:
    """Whether every case ran at least once."""
    return all(outcome.summaries for outcome in outcomes.values())


def stripe(folder: Path, case: Case) -> None:
    """Gives a folder the stripes that its files shall have. Raises RunError."""
    factor, unit_mib = case.settings.striping_factor, case.settings.striping_unit_mib
    if not factor:
        return
    command = ["lfs", "setstripe", "-c", str(factor), "-S", f"{unit_mib}M", str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)}: {done.stderr.strip()}")


def _run_case(plan: Plan, job: Job[Case], program: Program) -> list[records.Record]:
    case = job.case
    base = plan.storages.get(case.storage)
    if base is not None:
        files.prepare_folder(base)
    with launch.own_folder(program.flavour, base) as name:
        folder = Path(name).resolve()
        model = plan.storage_model_of(case)
        if model is None:
            stripe(folder, case)
        arguments = [*case.arguments(folder), *plan.arguments]
        what = f"hakobi-weather {' '.join(arguments)}"
        read, _done = run_recorded(
            program,
            arguments,
            case.model.ranks,
            what=what,
            timeout_s=plan.timeout_s,
            environment=case.model.environment(),
            model=model,
            folder=folder,
        )
        written = files.files_below(folder)
        fields = identity.fields_below(folder, case.kind) if job.round == 0 else {}
        settings = {"output": case.kind, "storage": case.storage, "stride": case.stride, "num_files": len(written)}
        settings |= {"file_bytes": sum(path.stat().st_size for path in written), **fields}
    settings |= {"model": asdict(case.model), "settings": asdict(case.settings)}
    for one in read:
        if one["kind"] == "file":
            one["name"] = Path(str(one["name"])).name
    if not read or read[-1]["kind"] != "summary":
        raise FormatError(f"{what}: no summary")
    return [{**one, "kind": _KIND + str(one["kind"]), **settings} for one in read]

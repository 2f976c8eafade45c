"""A process that is slow: what it costs the others' collective calls, by the number of buffers in flight.

One rank stands still for a share of every cycle (the time in which the storage takes one collective buffer), as the
process of a core that something else uses does. Each (depth, share) is a job of hakobi-bench-collective; every round
has all of them. A loss is against the same depth without pauses.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hakobi import conditions, programs, statistics
from hakobi.conditions import Conditions
from hakobi.measuring import collective
from hakobi.measuring.collective import OPERATIONS, Sample
from hakobi.measuring.job_log import Log, key_of
from hakobi.measuring.session import End, Session, in_rounds
from hakobi.measuring.storage_model import StorageModel
from hakobi.records import Record
from hakobi.statistics import Comparison
from hakobi.table import Table
from hakobi.words import binary_text, count_text, percent_text
from hakobi_lab import plots
from hakobi_lab.studies.collective_buffer.session import SAMPLING_SHARE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hakobi.measuring.session import Job
    from hakobi.programs import Program

CONTENDER = "hakobi threads"


@dataclass(frozen=True)
class Case:
    depth: int
    share: float  #: of a cycle that the slow rank stands still

    def words(self) -> str:
        """
        >>> Case(4, 0.5).words()
        '4 buffers, one rank 50 % slow'
        """
        return f"{count_text(self.depth, 'buffer')}, one rank {percent_text(self.share)} slow"


@dataclass(frozen=True)
class Plan:
    ranks: int
    depths: tuple[int, ...]
    shares: tuple[float, ...]  #: 0 among them
    cb_bytes: int
    file_bytes: int
    model: StorageModel
    folder: Path
    rounds: int
    budget_s: float
    sample_s: float = 0.0  #: for a job's samples; 0: its share of the budget
    timeout_s: float = 600.0

    @property
    def cycle_s(self) -> float:
        """How long the storage takes for a buffer."""
        return self.cb_bytes / (1e9 * self.model.limit_gb_s)

    def cases(self) -> list[Case]:
        return [Case(depth, share) for depth in self.depths for share in self.shares]


@dataclass
class Outcome:
    plan: Plan
    conditions: Conditions
    samples: dict[Case, list[Sample]] = field(default_factory=lambda: defaultdict(list))
    end: End = field(default_factory=lambda: End(0))

    def times(self, case: Case, operation: str) -> list[float]:
        """Seconds of each call."""
        return [
            sample.time_s
            for sample in self.samples.get(case, [])
            if sample.contender == CONTENDER and sample.operation == operation
        ]

    def loss(self, case: Case, operation: str) -> Comparison | None:
        """How many times longer a call takes than without pauses; None where one of both is missing."""
        slow, whole = self.times(case, operation), self.times(Case(case.depth, 0.0), operation)
        return statistics.compare_separate(slow, whole) if slow and whole else None


def run(plan: Plan, json_file: Path | None) -> Outcome:
    """Runs the plan; errors once it runs are in `Outcome.end`. Raises InputError and StorageError before the first
    job."""
    program = programs.find(collective.PROGRAM)
    collective.check_room(plan.folder, plan.file_bytes)
    facts = conditions.collect(program.flavour, {"file": plan.folder})
    outcome = Outcome(plan, facts)
    same = [plan.ranks, plan.cb_bytes, plan.file_bytes, str(plan.folder.absolute()), plan.model.value()]
    log = Log(json_file, {"benchmark": "slow-rank", **facts}, key_of("slow-rank", program, facts, *same))
    session = Session(in_rounds(plan.cases(), plan.rounds), Case.words, budget_s=plan.budget_s, log=log)
    outcome.end = session.run(
        lambda job: _run_job(
            replace(plan, timeout_s=session.limit_s(plan.timeout_s)),
            program,
            job,
            plan.sample_s or SAMPLING_SHARE * session.share_s,
        ),
        lambda job, lines: outcome.samples[job.case].extend(collective.samples_of(lines, job.round)),
    )
    return outcome


def _run_job(plan: Plan, program: Program, job: Job[Case], budget_s: float) -> list[Record]:
    case = job.case
    arguments = ["--size", str(plan.file_bytes), "--cb", str(plan.cb_bytes), "--depth", str(case.depth)]
    arguments += ["--file", "kept", "--access", "threads", "--hint", "hakobi_shuffle=always"]
    arguments += ["--budget", f"{budget_s:.3f}", "--min-samples", "3", "--max-samples", "30"]
    if case.share:
        arguments += ["--pause", f"{case.share * plan.cycle_s:.9f}", "--pause-every", f"{plan.cycle_s:.9f}"]
    lines, _ = collective.run_job(
        program, arguments, plan.ranks, plan.folder, model=plan.model, timeout_s=plan.timeout_s
    )
    samples = [line for line in lines if line.get("kind") == "sample"]
    collective.samples_of(samples, 0)  # what is wrong with them is this job's failure
    return [{**line, "benchmark": "slow-rank", "depth": case.depth, "share": case.share} for line in samples]


def table_of(outcome: Outcome, operation: str) -> Table:
    """GB/s by depth and share; behind a slow rank's what is lost, in brackets where it cannot be told from nothing."""
    plan = outcome.plan
    slow = [share for share in plan.shares if share]
    columns = ["buffers", "none slow", *(f"{percent_text(share)} slow" for share in slow)]
    view = Table(f"{operation}s, {count_text(plan.ranks, 'rank')}, one of them slow: GB/s and what is lost", columns)
    for depth in plan.depths:
        cells = [_rate(outcome, Case(depth, 0.0), operation)]
        for share in slow:
            case = Case(depth, share)
            cells.append(
                " ".join(filter(None, [_rate(outcome, case, operation), _loss_text(outcome, case, operation)]))
            )
        view.add(str(depth), *cells)
    return view


def _rate(outcome: Outcome, case: Case, operation: str) -> str:
    times = outcome.times(case, operation)
    if not times:
        return "gap" if case.words() in outcome.end.gaps else ""
    sizes = [sample.bytes for sample in outcome.samples[case]]
    rate = statistics.summarise([1e-9 * sizes[0] / time for time in times])
    return f"{rate.median:.2f} ± {rate.spread:.2f}"


def _loss_text(outcome: Outcome, case: Case, operation: str) -> str:
    loss = outcome.loss(case, operation)
    if loss is None:
        return ""
    text = percent_text(1 - 1 / loss.estimate)
    return f"−{text}" if loss.differs and loss.estimate > 1 else f"({text})"


def loss_figure(outcome: Outcome) -> Figure:
    """The loss over the buffers in flight, a line a share, an axes a direction. Bars: the 98 % interval."""
    plan = outcome.plan
    figure, all_axes = plots.new_figure(9.2, 3.7, columns=len(OPERATIONS), share=True)
    slow = [share for share in plan.shares if share]
    styles = plots.series_style([percent_text(share) for share in slow])
    for axes, operation in zip(all_axes, OPERATIONS, strict=True):
        for number, share in enumerate(slow):
            known = [(depth, loss) for depth in plan.depths if (loss := outcome.loss(Case(depth, share), operation))]
            colour, marker = styles[percent_text(share)]
            at = [depth * 2 ** (0.04 * (number - (len(slow) - 1) / 2)) for depth, _ in known]
            middle = [100 * (1 - 1 / loss.estimate) for _, loss in known]
            low = [max(0.0, value - _lost(loss.interval.low)) for value, (_, loss) in zip(middle, known, strict=True)]
            high = [max(0.0, _lost(loss.interval.high) - value) for value, (_, loss) in zip(middle, known, strict=True)]
            label = f"stands still {percent_text(share)} of each cycle"
            axes.errorbar(at, middle, yerr=[low, high], color=colour, marker=marker, capsize=3, label=label)
        axes.axhline(0, color=plots.TEXT_COLOUR, linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.set_xticks(plan.depths, [str(depth) for depth in plan.depths])
        axes.minorticks_off()
        axes.set_xlabel("collective buffers in flight")
        axes.set_title(f"{operation}s")
    all_axes[0].set_ylabel("per cent of the throughput lost")
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(slow))
    return figure


def loss_data(outcome: Outcome) -> plots.Data:
    """The seconds of a call that `loss_figure` compares."""
    data = plots.Data("buffers", "seconds of a call")
    for operation in OPERATIONS:
        for case in outcome.plan.cases():
            times = outcome.times(case, operation)
            gap = outcome.end.gaps.get(case.words())
            found = statistics.summarise(times) if times else None
            if found or gap:
                name = f"{percent_text(case.share)} slow"
                data.add(f"{operation}s", name, case.depth, found, gap.reason if gap else "")
    return data


def _lost(ratio: float) -> float:
    """Per cent of the throughput that is lost where a call takes `ratio` times as long."""
    return 100 * (1 - 1 / ratio) if ratio > 0.5 else -100.0


def caption(plan: Plan) -> str:
    return (
        f"Throughput lost where one of {count_text(plan.ranks, 'rank')} stands still for a share of every cycle of "
        f"{1000 * plan.cycle_s:.1f} ms (buffers of {binary_text(plan.cb_bytes)}), over the buffers in flight: medians "
        "against the same depth without pauses, bars: 98 % intervals."
    )

"""`hakobi report stream`: a CFD vendor's comparison of output methods, by runs of the tsunami and of a propeller.

Every table is a study of output methods (hakobi_lab.studies.output_methods) of its own: runs with each method beside
the same run without output, round by round. Storages are models laid over files in memory, so that the network alone
says how fast they are; where the source repository's testbed can be made, real file servers stand beside them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hakobi import conditions, files, programs, statistics, testbeds
from hakobi.errors import HakobiError
from hakobi.measuring.session import End
from hakobi.measuring.storage_model import StorageModel
from hakobi.statistics import Summary
from hakobi.table import Table
from hakobi.words import count_text, percent_text, seconds_text
from hakobi_lab.reports.page import (
    INTERRUPTED,
    MIN_SAMPLES,
    Content,
    Drawing,
    Finding,
    Item,
    is_at_least,
    is_less,
    verdict,
)
from hakobi_lab.reports.running import Order
from hakobi_lab.studies.output_methods import figures, session, tables
from hakobi_lab.studies.output_methods.plan import HIDDEN, Plan
from hakobi_lab.studies.output_methods.result import Study
from hakobi_lab.studies.output_methods.summary import Row, StudySummary
from hakobi_lab.studies.scale import beyond

#: One file server behind a Gigabit Ethernet, and four of 500 MB/s each.
SLOW = StorageModel(servers=1, bandwidth_mb_s=118, latency_s=1e-4)
FAST = StorageModel(servers=4, bandwidth_mb_s=500, latency_s=1e-4)
#: One file server behind 100 Mbit/s.
SLOWEST = StorageModel(servers=1, bandwidth_mb_s=11.8, latency_s=1e-4)
#: Four disks that find a place in 8 ms (7,200 turns a minute) and pass 150 MB/s.
DISKS = StorageModel(servers=4, bandwidth_mb_s=150, latency_s=1e-4, seek_s=8e-3)

#: The report's three methods, and ours.
METHODS = ("per-process", "root", "parallel", "pipelined", "pipelined" + HIDDEN)
_THEIRS = METHODS[:3]
_FEWEST = ("per-process", "pipelined" + HIDDEN)
#: Ten steps of four fields: 46 MB a run.
_TSUNAMI = ("--hours", "1.25", "--resolution", "10", "--output-interval", "7.5", "--precision", "single")
#: Few, so that a method which makes a disk seek for every row ends.
_SEEKING_TSUNAMI = ("--hours", "1.5", "--resolution", "20", "--output-interval", "30", "--precision", "single")
_SMALL_TSUNAMI = ("--hours", "0.5", "--resolution", "30", "--output-interval", "15", "--precision", "single")
_SMALLEST_TSUNAMI = ("--hours", "0.25", "--resolution", "60", "--output-interval", "15", "--precision", "single")


def measure(order: Order) -> Content:
    """Raises HakobiError for what is wrong before the first run."""
    small = order.smallest
    content = Content(conditions.collect(programs.find("hakobi-tsunami").flavour, {"files": order.folder}))
    main = _study(
        order,
        Plan(
            app="tsunami",
            methods=_FEWEST if small else METHODS,
            ranks=order.ranks or ((1, 2) if small else (1, 2, 4, 8, 16, 64)),
            storages={"slow": Path(), "fast": Path()},
            models={"slow": SLOW, "fast": FAST},
            repetitions=1 if small else 5,
            arguments=_SMALL_TSUNAMI if small else _TSUNAMI,
            budget_s=order.budget.share_s(5, of=10),
        ),
        "table",
    )
    _take(content, main)
    _add_tables(content, main)
    _add_propeller(content, order)
    _add_disks(content, order)
    _add_many_ranks(content, order)
    _add_simulated(content, main)
    _add_servers(content, order)
    return content


def _study(order: Order, plan: Plan, part: str) -> Study:
    """Runs a plan whose modelled storages lie in folders of their own below the order's. `part` names it."""
    with files.own_folder(order.folder) as own:
        places = {name: Path(own) / name if name in plan.models else folder for name, folder in plan.storages.items()}
        return session.execute(replace(plan, storages=places), order.json, part=f"report stream, {part}")


def _take(content: Content, study: Study) -> None:
    """Takes over a study's warnings and its exit status."""
    content.take_end(study.outcome.end)
    content.warnings += [text for text in study.warnings() if text not in content.warnings]
    content.exit_status = max(content.exit_status, study.exit_status())


def _add_tables(content: Content, study: Study) -> None:
    places = ("Table of times", "Table of output times", "Speed-up figure", "Share figure")
    if study.summary is None:
        for place in places:
            content.starve(place, "no pair of runs was finished")
        return
    summary = study.summary
    for storage in summary.storages():
        content.item(places[0]).shown.append(time_table(summary, storage))
        content.item(places[1]).shown.append(output_table(summary, storage, _gathers(study)))
    content.item(places[0]).notes += [f"{name}: {model.words()}" for name, model in study.plan.models.items()]
    content.item(places[1]).notes.append(
        "Output time is the time of the run less that of the run without output, in the same round. (…): cannot be "
        "told from zero. Gather: what the gather step of per-process took at the end; it is in its output time."
    )
    content.item(places[2]).shown.append(
        Drawing(
            figures.speed_up_figure(summary),
            "Speed-up of the whole run over ranks, against the run without output on the fewest ranks. Both axes are "
            f"logarithmic; dotted: ideal. This machine has {count_text(study.conditions['cores'], 'core')}: beyond "
            "them no run gets faster, and what a method lies below the run without output is its cost.",
            "Line chart of the speed-up; the table of times has its values.",
            "speed-up",
            figures.speed_up_data(study, summary),
        )
    )
    content.item(places[3]).shown.append(
        Drawing(
            figures.share_figure(summary),
            "Output time as a part of the run's time: medians, whiskers between the quartiles. What is not above zero, "
            "or was run once, is a mark without a bar.",
            "Bar chart of output's share; the table of output times has its values.",
            "share",
            figures.share_data(study, summary),
        )
    )
    content.findings += _findings(summary)


def time_table(summary: StudySummary, storage: str) -> Table:
    """Seconds of the run, a row a rank count."""
    view = Table(f"TIME on the {storage} network: seconds of a run", ["ranks", "none", *summary.methods])
    for number, row in enumerate(summary.of_storage(storage)):
        cells = [row.figures[method].time.seconds() if method in row.figures else "" for method in summary.methods]
        if row.has_winner:
            view.best.add((number, 2 + summary.methods.index(row.fastest[0])))
        view.add(str(row.ranks), row.baseline.seconds(), *cells)
    return view


def output_table(summary: StudySummary, storage: str, gathers: dict[tuple[str, int], float]) -> Table:
    """Seconds of output with its share, a row a rank count; the gather step apart."""
    columns = ["ranks", *summary.methods, "gather"]
    view = Table(f"Output TIME on the {storage} network: seconds and share of the run", columns)
    for row in summary.of_storage(storage):
        gather = gathers.get((storage, row.ranks))
        cells = [_output_cell(row, method) for method in summary.methods]
        view.add(str(row.ranks), *cells, seconds_text(gather) if gather is not None else "")
    return view


def _output_cell(row: Row, method: str) -> str:
    if method not in row.figures:
        return ""
    found = row.figures[method]
    if found.is_zero:
        return f"({found.output_time.seconds()})"
    return f"{found.output_time.seconds()}, {percent_text(found.share.median)}"


def _gathers(study: Study) -> dict[tuple[str, int], float]:
    """(storage, ranks) -> median seconds of the gather step of per-process."""
    times: dict[tuple[str, int], list[float]] = {}
    for record in study.outcome.records:
        if record["method"] == "per-process" and "output_times" in record:
            key = (record["storage"], record["ranks"])
            times.setdefault(key, []).append(float(record["output_times"]["gather_s"]))
    return {key: statistics.summarise(values).median for key, values in times.items()}


def _findings(summary: StudySummary) -> list[Finding]:
    return [
        _collected(summary),
        _grows(summary),
        _stays(summary),
        _parallel_wins(summary),
        *filter(None, [_hidden(summary)]),
    ]


def _counted(cases: list[bool | None], what: str) -> str:
    return (
        f"of {count_text(len(cases), 'case')} {what} in {cases.count(True)}, the other way round in "
        f"{cases.count(False)}, not told in {cases.count(None)}."
    )


def _collected(summary: StudySummary) -> Finding:
    """Whether rank 0 beats a file a process and the gather, network by network and rank count by rank count."""
    published = "Collected by rank 0 the run is shorter than with files of each process, at every rank count (S1)."
    cases = [
        is_less(row.figures["root"].time, row.figures["per-process"].time)
        for row in summary.rows
        if row.figures.keys() >= {"root", "per-process"}
    ]
    return Finding(published, verdict(cases), _counted(cases, "shorter"))


def _shares(summary: StudySummary, method: str) -> tuple[Summary, Summary] | None:
    """Output's share on the slow network by the fewest and by the most ranks; None where one is not known."""
    rows = summary.of_storage("slow")
    if len(rows) < 2 or any(method not in row.figures for row in (rows[0], rows[-1])):
        return None
    first, last = (row.figures[method].share for row in (rows[0], rows[-1]))
    return (first, last) if min(first.count, last.count) >= MIN_SAMPLES else None


def _share_words(summary: StudySummary, methods: tuple[str, ...]) -> str:
    rows = summary.of_storage("slow")
    parts = [
        f"{method} {percent_text(pair[0].median)} to {percent_text(pair[1].median)}"
        for method in methods
        if (pair := _shares(summary, method))
    ]
    if not parts:
        return "fewer than two rank counts were run often enough."
    return f"on the slow network from {rows[0].ranks} to {count_text(rows[-1].ranks, 'rank')}: {', '.join(parts)}."


def _grows(summary: StudySummary) -> Finding:
    """Whether the share of what goes through one rank, or a gather, grows on the slow network."""
    published = "Output's share of the run grows with the ranks: 22 to 58 % over 1 GbE (S2)."
    cases = [
        is_less(pair[0], pair[1])
        for method in ("per-process", "root")
        if method in summary.methods and (pair := _shares(summary, method))
    ]
    return Finding(published, verdict(cases), _share_words(summary, ("per-process", "root")))


#: A share that grows by at most this part of the run stays. The report's went from 0.2 to 0.8 %.
_STAYS = 0.01


def _stays(summary: StudySummary) -> Finding:
    """Whether the share of parallel MPI-IO stays where that of rank 0 grows."""
    published = "Parallel MPI-IO's share does not grow with the ranks, rank 0's does (S3)."
    cases: list[bool | None] = []
    if pair := _shares(summary, "parallel"):
        first, last = pair
        if last.interval.high - first.interval.low <= _STAYS:
            cases.append(True)
        else:
            cases.append(False if last.interval.low - first.interval.high > _STAYS else None)
    if pair := _shares(summary, "root"):
        cases.append(is_less(pair[0], pair[1]))
    is_known = len(cases) == 2
    return Finding(published, verdict(cases) if is_known else None, _share_words(summary, ("root", "parallel")))


def _parallel_wins(summary: StudySummary) -> Finding:
    """Whether parallel MPI-IO is the fastest of the report's three, case by case."""
    published = "Parallel MPI-IO is the cheapest of the three methods (S3, S4)."
    cases = []
    for row in summary.rows:
        others = [row.figures[name] for name in _THEIRS if name != "parallel" and name in row.figures]
        if "parallel" in row.figures and others:
            mine = row.figures["parallel"].output_time
            cases.append(verdict(is_less(mine, other.output_time) for other in others))
    return Finding(published, verdict(cases), _counted(cases, "cheapest"))


def _hidden(summary: StudySummary) -> Finding | None:
    """The rest that hiding leaves of the cheapest of the report's methods, on the slow network."""
    name = "pipelined" + HIDDEN
    rows = [row for row in summary.of_storage("slow") if name in row.figures and row.baseline.count >= MIN_SAMPLES]
    parts, cases = [], []
    for row in rows:
        theirs = [row.figures[method] for method in _THEIRS if method in row.figures]
        if not theirs:
            continue
        cheapest = min(theirs, key=lambda found: found.output_time.median)
        mine = row.figures[name]
        cases.append(is_less(mine.output_time, cheapest.output_time))
        parts.append(f"{row.ranks}: {_short(mine.output_time.median)} for {_short(cheapest.output_time.median)}")
    if not parts:
        return None
    text = f"hidden output for the cheapest of theirs, seconds by ranks: {', '.join(parts)}."
    return Finding("What output costs could be hidden behind the computation (ours).", verdict(cases), text)


def _short(seconds: float) -> str:
    return f"{seconds:.2f}"


def _add_propeller(content: Content, order: Order) -> None:
    """The report's first open question. The propeller needs code_saturne, which only some machines have."""
    item = content.item("Question 1")
    plan = Plan(
        app="propeller",
        methods=("root", "parallel", "pipelined" + HIDDEN),
        ranks=(2,) if order.smallest else (2, 4),
        storages={"slow": Path()} if order.smallest else {"slow": Path(), "fast": Path()},
        models={"slow": SLOWEST} if order.smallest else {"slow": SLOWEST, "fast": FAST},
        repetitions=1 if order.smallest else 5,
        arguments=("--mesh", "10k", "--steps", "5" if order.smallest else "20", "--every", "1"),
        budget_s=order.budget.share_s(5, of=10),
        timeout_s=600,
    )
    study = _optional(content, item, order, plan)
    if study is None or study.summary is None:
        return
    item.shown.append(tables.make_table(study.summary, study.conditions, study.outcome.end))
    item.notes.append(f"slow: {SLOWEST.words()}, a file server behind 100 Mbit/s; fast: {FAST.words()}. {_RECIPE}")
    content.findings.append(_told_apart(study.summary))


_RECIPE = "code_saturne computes the flow on 11,000 cells; every iteration is written."


#: Output is heavy where it takes a tenth of the run by rank 0: the report's propeller took 4.4 % at most.
_HEAVY = 0.1


def _told_apart(summary: StudySummary) -> Finding:
    published = "Open question: an unstructured case in which output is heavy enough to tell methods apart."
    parts: list[str] = []
    told: list[bool | None] = []
    for row in summary.rows:
        root = row.figures.get("root")
        if root is None or row.baseline.count < MIN_SAMPLES:
            continue
        others = [found for name, found in row.figures.items() if name != "root"]
        is_apart = any(is_less(found.output_time, root.output_time) for found in others)
        told.append(True if is_apart and is_at_least(root.share, _HEAVY) else None)
        costs = ", ".join(f"{name} {percent_text(found.share.median)}" for name, found in row.figures.items())
        parts.append(f"{count_text(row.ranks, 'rank')}: {costs} of the run")
    text = "; ".join(parts) or f"fewer than {MIN_SAMPLES} rounds tell nothing"
    return Finding(published, verdict(told), f"{text}.")


def _add_disks(content: Content, order: Order) -> None:
    """The second: disks that seek."""
    item = content.item("Question 2")
    plan = Plan(
        app="tsunami",
        methods=_FEWEST if order.smallest else METHODS,
        ranks=(2,),
        storages={"disks": Path()},
        models={"disks": DISKS},
        repetitions=1 if order.smallest else 5,
        arguments=_SMALLEST_TSUNAMI if order.smallest else _SEEKING_TSUNAMI,
        budget_s=order.budget.share_s(4, of=10),
    )
    study = _optional(content, item, order, plan)
    if study is None or study.summary is None:
        return
    item.shown.append(tables.make_table(study.summary, study.conditions, study.outcome.end))
    item.stand_in = f"In place of cheap disks: {DISKS.words()}; a request that does not follow the last one seeks."


_MANY_RANKS, _FEW_RANKS = 256, 4


def _add_many_ranks(content: Content, order: Order) -> None:
    """The third: 256 ranks. The smallest run has 4."""
    item = content.item("Question 3")
    item.here = count_text(_FEW_RANKS, "rank") if order.smallest else ""
    plan = Plan(
        app="tsunami",
        methods=METHODS[-1:] if order.smallest else ("root", "pipelined" + HIDDEN),
        ranks=(_FEW_RANKS,) if order.smallest else (_MANY_RANKS,),
        storages={"slow": Path()},
        models={"slow": SLOW},
        repetitions=1 if order.smallest else 3,
        arguments=_SMALL_TSUNAMI if order.smallest else _TSUNAMI,
        budget_s=order.budget.share_s(7, of=10),
        timeout_s=600,
    )
    study = _optional(content, item, order, plan)
    if study is None or study.summary is None:
        return
    item.shown.append(tables.make_table(study.summary, study.conditions, study.outcome.end))
    cores = study.conditions["cores"]
    item.stand_in = (
        f"All ranks share {count_text(cores, 'core')}: the time of the run is that of a crowded machine, and only the "
        "difference to the run without output speaks of the method."
    )


#: Beside the most ranks that were measured: what the model says of those, and of more than this machine
#: carries.
_SIMULATED_RANKS = (64, 256, 1024)


def _add_simulated(content: Content, main: Study) -> None:
    """Rows for ranks that this machine cannot carry, marked as simulated."""
    if main.summary is None or content.is_interrupted:
        return
    item = content.item("Question 3")
    load = beyond.Load(main.summary.output_bytes, _num_steps(main.plan.arguments))
    try:
        rows = beyond.output_rows(SLOW, load, _SIMULATED_RANKS)
    except HakobiError as error:
        item.notes.append(f"More ranks could not be simulated: {error}")
        return
    item.shown.append(beyond.output_table("slow", SLOW, load, rows))


def _num_steps(arguments: tuple[str, ...]) -> int:
    """
    >>> _num_steps(_TSUNAMI)
    10
    """
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    return max(1, round(60 * float(given["--hours"]) / float(given["--output-interval"])))


def _add_servers(content: Content, order: Order) -> None:
    """Real file servers, in the testbed of the source repository."""
    item = content.item("Table of times")
    if order.smallest or content.is_interrupted or not testbeds.are_here():
        item.stand_in = "Networks are models here; hakobi from the source repository adds real file servers (testbed)."
        return
    beds = {"NFS, 1 Gbit/s": testbeds.parse(f"{testbeds.TESTBED}nfs,1gbit")}
    plan = Plan(
        app="tsunami",
        methods=_THEIRS + METHODS[-1:],
        ranks=(2,),
        storages={name: Path(f"{testbeds.TESTBED}{name}") for name in beds},
        testbeds=beds,
        repetitions=3,
        arguments=_TSUNAMI,
        budget_s=order.budget.left_s(),
    )
    try:
        study = session.execute(plan, order.json, part="report stream, file servers")
    except HakobiError as error:
        item.stand_in = f"Networks are models here: no file server could be made: {error}"
        return
    _take(content, study)
    if study.summary is not None:
        item.shown.append(tables.make_table(study.summary, study.conditions, study.outcome.end))


def _optional(content: Content, item: Item, order: Order, plan: Plan) -> Study | None:
    """The study of a plan; None, with the reason in the item, where it cannot be run here."""
    if content.is_interrupted:
        item.absent = INTERRUPTED
        return None
    if order.budget.left_s() < 1:
        content.starve(item.place, "no time was left for it")
        return None
    try:
        study = _study(order, plan, item.place)
    except HakobiError as error:
        item.absent = str(error)
        if error.code == "interrupted":
            content.take_end(End(0, is_interrupted=True))
        return None
    end = study.outcome.end
    if study.summary is not None:
        _take(content, study)
        return study
    if end.failure is not None and not end.is_interrupted:  # what this machine lacks
        item.absent = str(end.failure)
        return None
    _take(content, study)
    if end.gaps:
        item.absent = " ".join(end.gap_notes())
    elif end.is_interrupted:
        item.absent = "the report was interrupted in it"
    else:
        content.starve(item.place, "no pair of runs was finished")
    return None

"""`hakobi report stream`: a CFD vendor's comparison of output methods, by runs of the tsunami and of a propeller.

Every table is a study of output methods (hakobi_lab.studies.output_methods) of its own: runs with each method beside
the same run without output, round by round. Storages are models laid over files in memory, so that the network alone
says how fast they are; where the source repository's testbed can be made, real file servers stand beside them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from hakobi import conditions, files, programs, records, statistics, testbeds
from hakobi.errors import HakobiError
from hakobi.measuring.session import End
from hakobi.measuring.storage_model import StorageModel
from hakobi.table import Table
from hakobi.words import bytes_text, count_text, seconds_text
from hakobi_lab.measuring import viewers
from hakobi_lab.reports import stream_cases as cases
from hakobi_lab.reports.page import Content, Drawing
from hakobi_lab.reports.running import Order
from hakobi_lab.studies.output_methods import figures, session, tables
from hakobi_lab.studies.output_methods.plan import HIDDEN, Plan
from hakobi_lab.studies.output_methods.result import Study
from hakobi_lab.studies.output_methods.summary import Figures, StudySummary
from hakobi_lab.studies.scale import beyond

#: One file server behind a Gigabit Ethernet, and four of 500 MB/s each.
SLOW = StorageModel(servers=1, bandwidth_mb_s=118, latency_s=1e-4)
FAST = StorageModel(servers=4, bandwidth_mb_s=500, latency_s=1e-4)
NETWORKS = {"slow": SLOW, "fast": FAST}
#: One file server behind 100 Mbit/s.
SLOWEST = StorageModel(servers=1, bandwidth_mb_s=11.8, latency_s=1e-4)
#: Four disks that find a place in 8 ms (7,200 turns a minute) and pass 150 MB/s.
DISKS = StorageModel(servers=4, bandwidth_mb_s=150, latency_s=1e-4, seek_s=8e-3)
#: Six of them in a RAID 5, which asks for whole rows.
RAID = StorageModel(servers=1, bandwidth_mb_s=150, latency_s=1e-4, seek_s=8e-3, disks=6, raid=5)

#: The report's three methods, and ours.
METHODS = ("per-process", "root", "parallel", "pipelined", "pipelined" + HIDDEN)
_OURS = "pipelined" + HIDDEN
#: Ten steps of four fields: 46 MB a run.
_TSUNAMI = ("--hours", "1.25", "--resolution", "10", "--output-interval", "7.5", "--precision", "single")
#: Few, so that a method which makes a disk seek for every row ends.
_SEEKING_TSUNAMI = ("--hours", "1.5", "--resolution", "20", "--output-interval", "30", "--precision", "single")
_SMALLEST_TSUNAMI = ("--hours", "0.25", "--resolution", "60", "--output-interval", "15", "--precision", "single")
_MAIN_PLACES = ("Table S1", "Table S2", "Output time figure", "Speed-up figures", "Share figures")
_FEW_RANKS = 4
#: The most ranks that were measured, for comparison, and more than this machine carries.
_SIMULATED_RANKS = (64, 256, 1024)
_LOADED_BYTES, _LOADINGS_S = 32 << 20, 20.0


def measure(order: Order) -> Content:
    """Raises HakobiError for what is wrong before the first run."""
    content = Content(conditions.collect(programs.find("hakobi-tsunami").flavour, {"files": order.folder}))
    planned = main_plan(order)
    main = _study(order, planned, "table")
    _take(content, main, "table")
    _add_tables(content, main)
    loaded = _add_viewers(content, order)
    propeller = _add_propeller(content, order)
    _add_disks(content, order)
    many = _add_many_ranks(content, order, main)
    _add_simulated(content, main, order)
    _add_servers(content, order)
    why_none = content.item("Question 1").absent
    content.judge(
        "stream",
        cases.main_evidence(planned, cases.times_of(main))
        | cases.loading_evidence(loaded)
        | {"heavy case": cases.heavy(propeller, why_none), "complete": cases.complete(main, *([many] if many else []))},
    )
    return content


def _plan(order: Order, **values: object) -> Plan:
    """A plan of the tsunami with every method; the smallest report has the least of everything else."""
    usual = {"app": "tsunami", "methods": METHODS, "repetitions": 5, "arguments": _TSUNAMI}
    least = {"repetitions": 1} if "app" in values else {"repetitions": 1, "arguments": _SMALLEST_TSUNAMI}
    models = values["models"]
    assert isinstance(models, dict)
    chosen = {**usual, **values, **(least if order.smallest else {}), "storages": dict.fromkeys(models, Path())}
    return Plan(**chosen)  # type: ignore[arg-type]


def main_plan(order: Order) -> Plan:
    ranks = order.ranks or ((1, 2) if order.smallest else (1, 2, 4, 8, 16, 64))
    return _plan(order, ranks=ranks, models=NETWORKS, budget_s=order.budget.share_s(5, of=10))


def _study(order: Order, plan: Plan, part: str) -> Study:
    """Runs a plan whose modelled storages lie in folders of their own below the order's. `part` names it."""
    with files.own_folder(order.folder) as own:
        places = {name: Path(own) / name if name in plan.models else folder for name, folder in plan.storages.items()}
        return session.execute(replace(plan, storages=places), order.json, part=f"report stream, {part}")


def _take(content: Content, study: Study, part: str) -> None:
    """Takes over a study's warnings and its exit status."""
    content.take_end(study.outcome.end, part)
    content.warnings += [text for text in study.warnings() if text.startswith("FILES DIFFER")]
    content.exit_status = max(content.exit_status, study.exit_status())


def _optional(content: Content, place: str, order: Order, plan: Plan, least_s: float = 1.0) -> Study | None:
    """The study of a plan; None, with the reason in the item, where it cannot be run here."""
    if not content.has_room(place, order.budget, least_s):
        return None
    item = content.item(place)
    try:
        study = _study(order, plan, place)
    except HakobiError as error:
        item.absent = str(error)
        if error.code == "interrupted":
            content.take_end(End(0, is_interrupted=True))
        return None
    end = study.outcome.end
    if study.summary is None and end.failure is not None and not end.is_interrupted:  # what this machine lacks
        item.absent = str(end.failure)
        return None
    _take(content, study, place)
    if study.summary is not None:
        return study
    item.absent = " ".join(end.gap_notes())
    content.starve(place, "no pair of runs was finished")
    return None


def _add_tables(content: Content, study: Study) -> None:
    if study.summary is None:
        for place in _MAIN_PLACES:
            content.starve(place, "no pair of runs was finished")
        return
    summary = study.summary
    s1, s2, bars, speed_up, share = (content.item(place) for place in _MAIN_PLACES)
    s1.shown.append(run_table(summary, "a tsunami, fast network", [(method, "fast") for method in METHODS]))
    for method in ("root", _OURS):
        both = [(method, network) for network in NETWORKS]
        s2.shown.append(run_table(summary, f"a tsunami, {method}, both networks", both, has_share=True))
    s2.notes += [f"{name}: {model.words()}" for name, model in study.plan.models.items()]
    s1.notes += [
        "output: the run less that without output in the same round. (…): not told from zero",
        *_gathers(study),
    ]
    cores = count_text(study.conditions["cores"], "core")
    for item, name, picture, data, caption in (
        (
            bars,
            "output-time",
            figures.output_figure,
            figures.output_data,
            "Seconds of output: medians, whiskers between the quartiles. What is not above zero, or was run once, is a "
            "mark without a bar.",
        ),
        (
            speed_up,
            "speed-up",
            figures.speed_up_figure,
            figures.speed_up_data,
            "Speed-up of the whole run over ranks, against the run without output on the fewest ranks. Both axes are "
            f"logarithmic; dotted: ideal. This machine has {cores}: beyond them no run gets faster, and what a method "
            "lies below the run without output is its cost.",
        ),
        (
            share,
            "share",
            figures.share_figure,
            figures.share_data,
            "Output time as a part of the run's time: medians, whiskers between the quartiles.",
        ),
    ):
        alt = f"{item.place}, by method and ranks; tables S1 and S2 have values."
        item.shown.append(Drawing(picture(summary), caption, alt, name, data(study, summary)))


def run_table(
    summary: StudySummary, what: str, columns: Sequence[tuple[str, str]], *, has_share: bool = False
) -> Table:
    """Seconds of a run without output and by each (method, network), and of its output: the report's tables."""
    methods, networks = ({column[i] for column in columns} for i in range(2))
    shown = [i for i, names in enumerate((methods, networks)) if len(names) > 1] or [0]
    names = [", ".join(column[i] for i in shown) for column in columns]
    kinds: dict[str, Callable[[Figures], str]] = {"": lambda one: one.time.seconds(), "output ": _output_cell}
    kinds |= {"share ": Figures.share_text} if has_share else {}
    heads = [f"{kind}{name}" for kind in kinds for name in names]
    view = Table(f"Seconds of a run, and of its output: {what}", ["ranks", "no output", *heads])
    rows = {(row.ranks, row.storage): row for row in summary.rows}
    for ranks in sorted({ranks for ranks, _ in rows}):
        found = [
            rows[ranks, network].figures.get(method) if (ranks, network) in rows else None
            for method, network in columns
        ]
        base = next(row.baseline for (count, _), row in rows.items() if count == ranks)
        cells = [cell(one) if one else "" for cell in kinds.values() for one in found]
        view.add(str(ranks), base.seconds(), *cells)
    return view


def _output_cell(found: Figures) -> str:
    text = found.output_time.seconds()
    return f"({text})" if found.is_zero else text


def _gathers(study: Study) -> list[str]:
    """Says how long per-process gathers at the end, which is in its output time."""
    times: dict[int, list[float]] = defaultdict(list)
    for record in study.outcome.records:
        if record["method"] == "per-process" and "output_times" in record:
            times[record["ranks"]].append(float(record["output_times"]["gather_s"]))
    each = [f"{seconds_text(statistics.summarise(found).median)} on {ranks}" for ranks, found in sorted(times.items())]
    return [f"of per-process's output the gather took, by ranks: {', '.join(each)}"] if each else []


def _add_viewers(content: Content, order: Order) -> cases.Loaded:
    """Several viewers load a file each, over either network."""
    item = content.item("Item P")
    num_bytes = _LOADED_BYTES // 4 if order.smallest else _LOADED_BYTES
    loaded: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)
    if not content.has_room(item.place, order.budget, 1.0 if order.smallest else _LOADINGS_S):
        return loaded
    try:
        for number in range(1 if order.smallest else 3):
            for count in cases.VIEWERS:
                for network, model in NETWORKS.items():
                    limit_s = order.budget.limit_s(60.0)
                    time_s = viewers.loading_s(model, order.folder, num_bytes, count, limit_s)
                    loaded[network, count][number] = time_s
                    if order.json is not None:
                        own = {"network": network, "viewers": count, "round": number, "bytes": num_bytes}
                        records.append(order.json, {"kind": "loading", "report": "stream", "time_s": time_s} | own)
    except HakobiError as error:
        item.absent = str(error)
    except KeyboardInterrupt:
        content.take_end(End(0, is_interrupted=True))
    view = Table(f"Seconds until each viewer has loaded {bytes_text(num_bytes)}", ["viewers", *NETWORKS, "slow / fast"])
    for count in cases.VIEWERS:
        times = [list(loaded[name, count].values()) for name in NETWORKS]
        if all(times):
            slow, fast = map(statistics.summarise, times)
            view.add(str(count), slow.seconds(), fast.seconds(), f"{slow.median / fast.median:.2f}")
    if not view.rows:
        content.starve(item.place, "nothing was loaded")
        return loaded
    item.shown.append(view)
    item.stand_in = (
        "A checksum of each byte stands for the first processing; theirs was 130 GB of SSDs on a file server."
    )
    return loaded


def _add_propeller(content: Content, order: Order) -> Study | None:
    """The report's second case, and its first open question. It needs code_saturne, which only some machines have."""
    models = {"slow": SLOWEST} if order.smallest else {"slow": SLOWEST, "fast": FAST}
    plan = _plan(
        order,
        app="propeller",
        methods=("root", "parallel", _OURS),
        ranks=(2,) if order.smallest else (2, 4),
        models=models,
        arguments=("--mesh", "10k", "--steps", "5" if order.smallest else "20", "--every", "1"),
        budget_s=order.budget.share_s(5, of=10),
        timeout_s=600.0,
    )
    study = _optional(content, "Question 1", order, plan)
    both = content.item("Tables S3 and S4")
    if study is None or study.summary is None:
        both.absent = content.item("Question 1").absent
        return None
    columns = [(method, network) for network in models for method in ("parallel", "root")]
    both.shown.append(run_table(study.summary, "a propeller", columns))
    item = content.item("Question 1")
    item.shown.append(tables.make_table(study.summary, study.conditions, study.outcome.end))
    item.notes.append(
        f"slow: {SLOWEST.words()}, a file server behind 100 Mbit/s; fast: {FAST.words()}. code_saturne computes "
        "the flow on 11,000 cells; every iteration is written."
    )
    return study


def _add_disks(content: Content, order: Order) -> None:
    """The second open question: disks that seek."""
    share_s = order.budget.share_s(4, of=10)
    models = {"disks": DISKS, "RAID": RAID}
    plan = _plan(order, ranks=(2,), models=models, arguments=_SEEKING_TSUNAMI, budget_s=share_s)
    study = _optional(content, "Question 2", order, plan)
    if study is None or study.summary is None:
        return
    item = content.item("Question 2")
    item.shown.append(tables.make_table(study.summary, study.conditions, study.outcome.end))
    item.stand_in = (
        f"In place of cheap disks: {DISKS.words()}; a request that does not follow the last one seeks. RAID: "
        f"{RAID.words()}; what a write does not fill of a row is read before it is written."
    )


def _add_many_ranks(content: Content, order: Order, main: Study) -> Study | None:
    """The third: 256 ranks, and whether they are stable. The smallest run has 4."""
    item = content.item("Question 3")
    item.here = count_text(_FEW_RANKS, "rank") if order.smallest else ""
    plan = _plan(
        order,
        methods=METHODS if order.smallest else ("root", _OURS),
        ranks=(_FEW_RANKS if order.smallest else cases.MANY_RANKS,),
        models={"slow": SLOW},
        repetitions=3,
        budget_s=order.budget.share_s(8, of=10),
        timeout_s=600.0,
    )
    study = None
    least_s = _least_s(plan, main)
    if content.is_interrupted or least_s is not None:
        study = _optional(content, item.place, order, plan, least_s or 0.0)
    else:
        content.starve(item.place, f"not even {count_text(max(main.plan.ranks), 'rank')} were reached")
    if study is None or study.summary is None:
        return None
    item.shown += [
        tables.make_table(study.summary, study.conditions, study.outcome.end),
        stability_table(main, study),
    ]
    cores = study.conditions["cores"]
    item.stand_in = (
        f"All ranks share {count_text(cores, 'core')}: the time of the run is that of a crowded machine, and only the "
        "difference to the run without output speaks of the method."
    )
    return study


def _least_s(plan: Plan, main: Study) -> float | None:
    """Seconds for a warm-up, a run without output and one with: from a run on the most ranks that were tried, since
    beyond the cores a run takes longer the more ranks it has. None where there is none."""
    most = max(main.plan.ranks)
    known = [record["wall_s"] for record in main.outcome.records if record["ranks"] == most and "wall_s" in record]
    if not known:
        return None
    return 3 * statistics.summarise(known).median * max(1.0, max(plan.ranks) / most)


def stability_table(*studies: Study) -> Table:
    """How many runs ended well at once, on the most ranks of each study."""
    view = Table("Stability", ["ranks", "runs", "complete", "at the second try", "not at all"])
    for study in studies:
        ranks = max(study.plan.ranks)
        runs, complete, lost = cases.counts(study)[ranks]
        view.add(str(ranks), str(runs), str(complete), str(runs - complete - lost), str(lost))
    return view


def _add_simulated(content: Content, main: Study, order: Order) -> None:
    """Rows for ranks that this machine cannot carry, marked as simulated."""
    if main.summary is None or content.is_interrupted or order.budget.left_s() < 1:
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
    item = content.item("Table S2")
    if order.smallest or content.is_interrupted or not testbeds.are_here() or order.budget.left_s() < 1:
        item.stand_in = "Networks are models here; hakobi from the source repository adds real file servers (testbed)."
        return
    beds = {"NFS, 1 Gbit/s": testbeds.parse(f"{testbeds.TESTBED}nfs,1gbit")}
    plan = Plan(
        app="tsunami",
        methods=METHODS[:4],
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
    _take(content, study, "file servers")
    if study.summary is not None:
        item.shown.append(tables.make_table(study.summary, study.conditions, study.outcome.end))

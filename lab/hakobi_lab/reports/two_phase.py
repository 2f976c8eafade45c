"""`hakobi report two-phase`: Kindai's figures of pipelined two-phase I/O, on modelled parallel file systems.

The original is our engine with one collective buffer and blocking file access: the same plan and exchange as threads
and asynchronous I/O have, so that the curves differ in the pipeline alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from hakobi import conditions, programs
from hakobi.errors import HakobiError, RunError
from hakobi.measuring import collective
from hakobi.measuring.session import End
from hakobi.measuring.storage_model import StorageModel
from hakobi.table import Table
from hakobi.words import binary_text, count_text, percent_text, seconds_text
from hakobi_lab.reports.judging import Cases, Value
from hakobi_lab.reports.page import IN_IT, Content, Drawing
from hakobi_lab.reports.running import Order
from hakobi_lab.studies.collective_buffer import figures, overlap, pages, result, session, slow

#: For its PVFS2 with 8 data servers behind Gigabit Ethernet, and its Lustre, of which this machine carries
#: two thirds. Lustre 1.8 reads up to 40 MiB ahead.
PVFS2 = StorageModel(servers=8, bandwidth_mb_s=118, latency_s=1e-3)
LUSTRE = StorageModel(servers=4, bandwidth_mb_s=500, latency_s=2e-3, ahead_bytes=40 << 20)
_STAND_INS = {
    PVFS2: f"For PVFS2 with 8 data servers stands {PVFS2.words()}.",
    LUSTRE: f"For Lustre at about 3 GB/s stands {LUSTRE.words()}, with all processes on one node.",
}
_ORIGINAL = (
    "Original is Hakobi's engine with one buffer and blocking access. ROMIO and, in Figure 3, OMPIO are the MPI "
    "library's, told the same size; OMPIO may choose to read without collective buffers."
)
_KIB, _MIB = 1 << 10, 1 << 20
_LARGEST_BUFFER = 32 * _MIB
_ALL_SIZES = [256 * _KIB << i for i in range(9)]
#: Where less than so long is left for a sweep: three samples of each say more than two of twice as many.
_ALL_SIZES_S = 600.0
_FEWER_SIZES = {
    PVFS2: [512 * _KIB, _MIB, 4 * _MIB, 16 * _MIB],
    LUSTRE: [256 * _KIB, _MIB, 4 * _MIB, 16 * _MIB, _LARGEST_BUFFER],
}
_FILE_BYTES = {PVFS2: 64 * _MIB, LUSTRE: 128 * _MIB}
_JOB_S = 30.0  #: of a job with a handful of samples of each variant, where a call takes a second
_TRACES_S = 5.0  #: two runs of a second, and their starts


def measure(order: Order) -> Content:
    """Raises HakobiError for what is wrong before the first run."""
    program = programs.find(collective.PROGRAM)
    content = Content(conditions.collect(program.flavour, {"file": order.folder}))
    few, many = (
        order.ranks[:1] or ((2,) if order.smallest else (8,)),
        order.ranks or ((2, 4) if order.smallest else (8, 64)),
    )
    places = ("Figure 4a", "Figure 4b")
    pvfs2 = _sweep(content, order, PVFS2, few, 3, ("Figure 3",))
    lustre = _sweep(content, order, LUSTRE, many, 7, places[: len(many)])
    if len(many) == 1:
        content.item("Figure 4b").absent = "one number of ranks was asked for"
    slowed = _slow_plan(order, order.budget.share_s(9, of=10))
    outcome = slow.Outcome(slowed, content.facts)
    if content.has_room("Slow processes", order.budget):
        outcome = slow.run(slowed, order.json)
        content.take_end(outcome.end, "slow processes")
        _add_slow(content, outcome)
    _add_trace(content, order)
    content.judge("two-phase", evidence(pvfs2, lustre) | {"reserve": reserve(outcome)})
    return content


def _sweep(
    content: Content, order: Order, model: StorageModel, ranks: tuple[int, ...], weight: float, places: Sequence[str]
) -> session.Outcome:
    """All sizes on a storage; the reads of each number of ranks have a place each."""
    plan = _sweep_plan(order, model, ranks, order.budget.share_s(weight, of=10))
    sweep = session.Outcome(plan, "", content.facts)
    if content.has_room(places[0], order.budget):
        try:
            sweep = session.run(plan, order.json)
            content.take_end(sweep.end, places[0])
            content.warnings += [text for text in pages.warnings(sweep) if text not in content.warnings]
        except RunError as error:
            if error.code == "interrupted":
                content.take_end(End(0, is_interrupted=True))
            else:
                content.warnings.append(f"{places[0]}: {error}")
    for place, count in zip(places, ranks, strict=False):
        _add_throughput(content, sweep, place, "read", count)
    for count in ranks:
        _add_throughput(content, sweep, "Writes", "write", count)
    content.item(places[0]).notes += [_ORIGINAL, *(pages.notes(sweep) if sweep.samples else [])]
    return sweep


def _sweep_plan(order: Order, model: StorageModel, ranks: tuple[int, ...], budget_s: float) -> session.Plan:
    usual = _FEWER_SIZES[model] if budget_s < _ALL_SIZES_S else _ALL_SIZES
    sizes = [256 * _KIB, _MIB] if order.smallest else usual
    return session.Plan(
        ranks=ranks,
        cb_bytes=tuple(sizes),
        accesses=_accesses(model),
        pattern="block3d",
        piece_bytes=512,
        file_bytes=8 * _MIB if order.smallest else _FILE_BYTES[model],
        depth=4,
        folder=order.folder,
        model=model,
        rounds=_rounds(order, budget_s, len(sizes) * len(ranks)),
        budget_s=budget_s,
        arguments=(),
        timeout_s=900.0,
        sample_s=0.3 if order.smallest else 0.0,
    )


def _accesses(model: StorageModel) -> tuple[str, ...]:
    """OMPIO beside Figure 3 only: on 64 processes of a small machine one of its calls takes the time of all others."""
    own = session.library_components(programs.find(collective.PROGRAM).flavour)
    return (*collective.ACCESSES, *(name for name in own if model == PVFS2 or name == "romio"))


def _rounds(order: Order, budget_s: float, num_cases: int) -> int:
    """As many as leave each job time for several samples; one where that is little."""
    return 1 if order.smallest else max(1, min(5, int(budget_s / (num_cases * _JOB_S))))


def _slow_plan(order: Order, budget_s: float) -> slow.Plan:
    return slow.Plan(
        ranks=2 if order.smallest else 8,
        depths=(1, 4) if order.smallest else (1, 2, 4, 8),
        shares=(0.0, 0.5) if order.smallest else (0.0, 0.25, 0.5, 0.75),
        cb_bytes=_MIB if order.smallest else 4 * _MIB,
        file_bytes=8 * _MIB if order.smallest else 256 * _MIB,
        model=LUSTRE,
        folder=order.folder,
        rounds=_rounds(order, 2 * budget_s, 16),
        budget_s=budget_s,
        sample_s=0.3 if order.smallest else 0.0,
    )


#: The processes of the report's figures.
_THEIR_RANKS = {"Figure 3": 8, "Figure 4a": 8, "Figure 4b": 64}


def _add_throughput(content: Content, sweep: session.Outcome, place: str, operation: str, ranks: int) -> None:
    item = content.item(place)
    if ranks not in result.ranks_measured(sweep):
        content.starve(place, f"no run on {count_text(ranks, 'rank')} was finished")
        return
    processes = count_text(ranks, "process", "processes")
    if _THEIR_RANKS.get(place, ranks) != ranks:
        item.here = processes
    words = f"collective {operation}s on {processes}"
    model = sweep.plan.model
    assert model is not None
    name = f"{place.lower().replace(' ', '-')}-{operation}-{ranks}" + ("-pvfs2" if model == PVFS2 else "")
    item.shown.append(
        Drawing(
            figures.throughput_figure(sweep, operation, [ranks]),
            f"Throughput of {words} over the size of the collective buffer; in brackets the cycles of a call. Medians, "
            f"bands between the quartiles; dashed: large contiguous blocks. The storage is {model.words()}.",
            f"Line chart of the throughput of {words}; the table below has its values.",
            name,
            figures.throughput_data(sweep, operation),
        )
    )
    item.shown.append(pages.table_of(sweep, operation, ranks))
    item.stand_in = _STAND_INS[model] if operation == "read" else "The storages are the two models above."


def gains(
    sweep: session.Outcome, operation: str, ranks: int, access: str, base: str = "posix"
) -> dict[int, Value | None]:
    """How many times faster an access is than another, at every size of the plan."""
    found: dict[int, Value | None] = {}
    pair = (result.contender(access), result.contender(base))
    for size in sweep.plan.cb_bytes:
        samples = [one for one in sweep.samples.get(session.Case(ranks, size), []) if one.operation == operation]
        count = min(sum(one.contender == name for one in samples) for name in pair)
        found[size] = Value.of(collective.ratio(samples, operation, *pair), count) if count else None
    return found


def _cases(found: dict[int, Value | None]) -> dict[str, Value | None]:
    return {binary_text(size): value for size, value in found.items()}


def evidence(pvfs2: session.Outcome, lustre: session.Outcome) -> dict[str, Cases]:
    """At every size of the plans; small buffers are the smaller half of them."""
    few, most = min(lustre.plan.ranks), max(lustre.plan.ranks)
    (ranks,) = pvfs2.plan.ranks
    sizes = sorted(lustre.plan.cb_bytes)
    small = sizes[: (len(sizes) + 1) // 2]
    at_few, at_most = (gains(lustre, "read", count, "threads") for count in (few, most))
    pairs = {size: (at_few[size], at_most[size]) for size in sizes}
    largest = f"buffers of {binary_text(_LARGEST_BUFFER)} were not planned"
    one = "one number of ranks was asked for" if few == most else ""
    return {
        "threads best": _cases(gains(pvfs2, "read", ranks, "threads")),
        "asynchronous above": _cases(gains(pvfs2, "read", ranks, "uring")),
        "asynchronous below": _cases(gains(pvfs2, "read", ranks, "uring", "threads")),
        "far above": _cases({size: at_few[size] for size in small}),
        "smaller gap": one or _cases({size: b.over(a) if a and b else None for size, (a, b) in pairs.items()}),
        "small better": one or _cases({size: at_most[size] for size in small}),
        "crossing": one
        or (_cases({_LARGEST_BUFFER: at_most[_LARGEST_BUFFER]}) if _LARGEST_BUFFER in sizes else largest),
        "writes": {
            f"{count_text(count, 'rank')}, {size}": value
            for count in lustre.plan.ranks
            for size, value in _cases(gains(lustre, "write", count, "threads")).items()
        },
    }


def _add_slow(content: Content, slowed: slow.Outcome) -> None:
    item = content.item("Slow processes")
    if not any(slowed.samples.values()):
        content.starve(item.place, "no run was finished")
        return
    item.shown.append(
        Drawing(
            slow.loss_figure(slowed),
            slow.caption(slowed.plan),
            "Line chart of the throughput lost over the buffers in flight; the tables have its values.",
            "slow-rank",
            slow.loss_data(slowed),
        )
    )
    item.shown += [slow.table_of(slowed, operation) for operation in ("write", "read")]
    item.notes.append(
        "(…): cannot be told from nothing lost, 98 %. The slow rank's computing thread stands still; its I/O threads, "
        "if it has any, go on."
    )


def reserve(slowed: slow.Outcome) -> Cases:
    """The cost of a rank that is up to half a cycle late in each; one that is later has too little time left to be in
    time with any reserve."""
    cases: dict[str, Value | None] = {}
    for share in (share for share in slowed.plan.shares if 0 < share <= 0.5):
        for operation in ("write", "read"):
            one, four = (_loss(slowed, slow.Case(depth, share), operation) for depth in (1, 4))
            name = f"{operation}s, {slow.Case(4, share).words().rpartition(', ')[2]}"
            cases[name] = four.over(one) if one and four else None
    return cases


def _loss(slowed: slow.Outcome, case: slow.Case, operation: str) -> Value | None:
    """How many times longer calls take than without pauses."""
    found = slowed.loss(case, operation)
    counts = [len(slowed.times(one, operation)) for one in (case, slow.Case(case.depth, 0.0))]
    return Value.of(found, min(counts)) if found else None


def _add_trace(content: Content, order: Order) -> None:
    item, servers = content.item("Figures 1 and 2"), content.item("Traces")
    cb_bytes, file_bytes = (_MIB, 8 * _MIB) if order.smallest else (2 * _MIB, 64 * _MIB)
    calls: dict[str, overlap.Call] = {}
    try:
        for name, access, depth in (("original, 1 buffer", "posix", 1), ("threads, 4 buffers", "threads", 4)):
            if content.has_room(item.place, order.budget, _TRACES_S):
                limit_s = order.budget.limit_s(120.0)
                args = (access, depth, cb_bytes, file_bytes, 4, LUSTRE, order.folder, limit_s)
                calls[name] = overlap.record(*args)
    except HakobiError as error:
        item.absent = str(error)
    except KeyboardInterrupt:
        item.absent = IN_IT
        content.take_end(End(0, is_interrupted=True))
    if not calls:
        servers.absent = item.absent
        return
    item.shown.append(
        Drawing(
            overlap.timeline_figure(calls),
            f"One collective write of {binary_text(file_bytes)} by 4 ranks, buffers of {binary_text(cb_bytes)}: what "
            "each rank and I/O thread did, by the engine's trace (HAKOBI_TRACE), and each of the storage's servers, by "
            "its model's (HAKOBI_STORAGE_MODEL_TRACE).",
            "Bars over time: in the original method exchange and file access alternate, with threads they overlap.",
            "trace",
        )
    )
    view = Table("Overlap of one collective write", ["<", "call", "file access", "exchange", "both at once", "events"])
    queues = Table(
        "Servers during that call", ["<", "<server", "requests", "busy", "of the call", "waiting for a turn"]
    )
    for name, call in calls.items():
        times = [call.time_s, call.busy_s("file access"), call.busy_s("exchange"), call.overlap_s()]
        view.add(name, *[seconds_text(value) for value in times], str(call.num_events))
        for server, queued_s in call.queued_s.items():
            bars = [bar for bar in call.bars if bar.row == server]
            busy_s = sum(bar.end_s - bar.begin_s for bar in bars)
            words = [seconds_text(busy_s), percent_text(busy_s / call.time_s), seconds_text(queued_s / len(bars))]
            queues.add(name, server, str(len(bars)), *words)
    item.shown.append(view)
    item.notes.append("The traces are whole JSON files, read for this figure; Perfetto opens such a file.")
    if queues.rows:
        queues.notes.append("waiting: a request's mean; the figure above has when each server was busy")
        servers.shown.append(queues)
    else:
        servers.absent = "the storage's model told nothing of its servers"

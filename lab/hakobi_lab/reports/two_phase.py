"""`hakobi report two-phase`: Kindai's figures of pipelined two-phase I/O, on a modelled parallel file system."""

from __future__ import annotations

from hakobi.errors import HakobiError
from hakobi.measuring.storage_model import StorageModel
from hakobi.table import Table
from hakobi.words import binary_text, count_text, list_text, percent_text, seconds_text
from hakobi_lab.reports.page import INTERRUPTED, Content, Drawing, Finding, verdict
from hakobi_lab.reports.running import Order
from hakobi_lab.studies.collective_buffer import figures, overlap, pages, result, session, slow

MODEL = StorageModel(servers=4, bandwidth_mb_s=500, latency_s=2e-3)
_KIB, _MIB = 1 << 10, 1 << 20
#: Overlapping wins mostly where it is faster at more than twice as many sizes as it is slower.
_MOSTLY = 2
_LARGEST_BUFFER = 32 * _MIB
#: The processes of the report's figures.
_THEIR_RANKS = {"Figure 1": 8, "Figure 2": 64}
_JOB_S = 12.0  #: of a job with a handful of samples of each variant


def measure(order: Order) -> Content:
    """Raises HakobiError for what is wrong before the first run."""
    sweep = session.run(_sweep_plan(order, order.budget.share_s(7, of=10)), order.json)
    content = Content(sweep.conditions, warnings=pages.warnings(sweep))
    content.take_end(sweep.end)
    _add_sweep(content, sweep)
    if content.is_interrupted:
        for place in ("Figure 3", "Trace"):
            content.item(place).absent = INTERRUPTED
        return content
    slowed = slow.run(_slow_plan(order, order.budget.share_s(9, of=10)), order.json)
    content.take_end(slowed.end)
    _add_slow(content, slowed)
    if content.is_interrupted:
        content.item("Trace").absent = INTERRUPTED
    else:
        _add_trace(content, order)
    return content


def _sweep_plan(order: Order, budget_s: float) -> session.Plan:
    sizes = [256 * _KIB, 1 * _MIB] if order.smallest else [256 * _KIB << i for i in range(9)]
    return session.Plan(
        ranks=order.ranks or ((2, 4) if order.smallest else (8, 64)),
        cb_bytes=tuple(sizes),
        accesses=("posix", "uring", "threads"),
        pattern="block3d",
        piece_bytes=512,
        file_bytes=8 * _MIB if order.smallest else 128 * _MIB,
        depth=4,
        folder=order.folder,
        model=MODEL,
        rounds=_rounds(order, budget_s, 18),
        budget_s=budget_s,
        arguments=(),
        timeout_s=900.0,
        sample_s=0.5 if order.smallest else 0.0,
    )


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
        model=MODEL,
        folder=order.folder,
        rounds=_rounds(order, 2 * budget_s, 16),
        budget_s=budget_s,
        sample_s=0.3 if order.smallest else 0.0,
    )


def _add_sweep(content: Content, sweep: session.Outcome) -> None:
    few, *more = sweep.plan.ranks
    for place, ranks in (("Figure 1", few), ("Figure 2", more[0] if more else few)):
        _add_throughput(content, sweep, place, "read", ranks)
    for ranks in sweep.plan.ranks:
        _add_throughput(content, sweep, "Writes", "write", ranks)
    content.item("Figure 1").notes += pages.notes(sweep)
    content.findings += [_pipelined(sweep, "read"), _pipelined(sweep, "write"), _crossing(sweep), _best_gain(sweep)]


def _add_throughput(content: Content, sweep: session.Outcome, place: str, operation: str, ranks: int) -> None:
    item = content.item(place)
    if ranks not in result.ranks_measured(sweep):
        content.starve(place, f"no run on {count_text(ranks, 'rank')} was finished")
        return
    processes = count_text(ranks, "process", "processes")
    if _THEIR_RANKS.get(place, ranks) != ranks:
        item.here = processes
    words = f"collective {operation}s on {processes}"
    item.shown.append(
        Drawing(
            figures.throughput_figure(sweep, operation, [ranks]),
            f"Throughput of {words} over the size of the collective buffer; in brackets the cycles of a call. Medians, "
            f"bands between the quartiles; dashed: large contiguous blocks. The storage is {MODEL.words()}.",
            f"Line chart of the throughput of {words}; the table below has its values.",
            f"{operation}-{ranks}",
            figures.throughput_data(sweep, operation),
        )
    )
    item.shown.append(pages.table_of(sweep, operation, ranks))


def _pipelined(sweep: session.Outcome, operation: str) -> Finding:
    """Whether overlapping beats the original at most sizes, by both ways of overlapping: not at the largest buffers, as
    the report says too. All sizes must have been measured."""
    published = f"Overlapping exchange and file access, by threads or asynchronous I/O, raises {operation} throughput."
    words, faster, slower, measured = [], 0, 0, 0
    for access in ("uring", "threads"):
        for ranks in result.ranks_measured(sweep):
            ratios = result.gains(sweep, operation, ranks, access)
            told = [ratio.estimate for _, ratio in ratios if ratio.differs]
            measured += len(ratios)
            faster += sum(estimate > 1 for estimate in told)
            slower += sum(estimate < 1 for estimate in told)
            if ratios:
                best = max(ratio.estimate for _, ratio in ratios)
                where = f"{result.VARIANTS[access]}, {count_text(ranks, 'rank')}"
                count = sum(estimate > 1 for estimate in told)
                words.append(f"{where}: faster at {count} of {len(ratios)} sizes, up to {best:.2f} times")
    is_whole = measured == 2 * len(sweep.plan.ranks) * len(sweep.plan.cb_bytes)
    agrees = None if faster == slower == 0 else faster > _MOSTLY * slower
    if agrees and not is_whole:
        agrees = None
    text = "; ".join(words) or "nothing was compared"
    return Finding(published, agrees, f"{text}{'' if is_whole else '; not every size was measured'}.")


def _crossing(sweep: session.Outcome) -> Finding:
    """Whether the original is faster at the report's largest buffer on the most ranks."""
    published = "With 64 processes the original is better where a buffer has 32 MiB."
    ranks = max(sweep.plan.ranks)
    cases: list[bool | None] = []
    words = []
    for access in ("uring", "threads"):
        found = dict(result.gains(sweep, "read", ranks, access)).get(_LARGEST_BUFFER)
        cases.append(found.estimate < 1 if found is not None and found.differs else None)
        if found is not None:
            apart = "" if found.differs else ", within the spread"
            words.append(f"{result.VARIANTS[access]} {found.estimate:.2f} times as fast{apart}")
    text = (
        f"reads on {count_text(ranks, 'rank')}: {list_text(words)}" if words else "buffers of 32 MiB were not measured"
    )
    return Finding(published, verdict(cases), f"{text}.")


def _best_gain(sweep: session.Outcome) -> Finding:
    """The most that threads gain over the original anywhere, writing."""
    published = "Threads gain up to 60 % over original collective writes (PDP 2014, on a Lustre file system)."
    found = [
        (ratio.estimate, ranks, size)
        for ranks in result.ranks_measured(sweep)
        for size, ratio in result.gains(sweep, "write", ranks, "threads")
        if ratio.differs
    ]
    if not found:
        return Finding(published, None, "no difference outside the spread.")
    gain, ranks, size = max(found)
    here = f"up to {percent_text(gain - 1)} ({count_text(ranks, 'rank')}, buffers of {binary_text(size)})"
    return Finding(published, gain >= 1.6, f"{here}; the storage, a model, has no memory of its own to hide behind.")


def _add_slow(content: Content, slowed: slow.Outcome) -> None:
    item = content.item("Figure 3")
    if not any(slowed.samples.values()):
        content.starve("Figure 3", "no run was finished")
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
    content.findings.append(_absorbed(slowed))


def _absorbed(slowed: slow.Outcome) -> Finding:
    """Whether four buffers lose less than one does to a rank that is up to half a cycle late in each; a rank that is
    later still has too little time left to be in time with any reserve."""
    published = "Buffers in reserve absorb slow processes."
    words, better = [], []
    for share in (share for share in slowed.plan.shares if share):
        for operation in ("write", "read"):
            one = slowed.loss(slow.Case(1, share), operation)
            four = slowed.loss(slow.Case(4, share), operation)
            if one is None or four is None:
                continue
            if share <= 0.5 and (one.differs or four.differs):
                better.append(four.estimate < one.estimate)
            lost = [percent_text(max(0.0, 1 - 1 / loss.estimate)) for loss in (one, four)]
            rest = "" if four.differs else ", within the spread"
            words.append(f"{operation}s, {percent_text(share)} slow: {lost[0]} with 1 buffer, {lost[1]} with 4{rest}")
    agrees = all(better) if better else None
    return Finding(published, agrees, f"Throughput lost: {'; '.join(words) or 'nothing was compared'}.")


def _add_trace(content: Content, order: Order) -> None:
    item = content.item("Trace")
    cb_bytes, file_bytes = (_MIB, 8 * _MIB) if order.smallest else (2 * _MIB, 64 * _MIB)
    try:
        calls = {
            name: overlap.record(access, depth, cb_bytes, file_bytes, 4, MODEL, order.folder)
            for name, access, depth in (("original, 1 buffer", "posix", 1), ("threads, 4 buffers", "threads", 4))
        }
    except HakobiError as error:
        item.absent = str(error)
        return
    item.shown.append(
        Drawing(
            overlap.timeline_figure(calls),
            f"One collective write of {binary_text(file_bytes)} by 4 ranks, buffers of {binary_text(cb_bytes)}: what "
            "each rank and I/O thread did, by the engine's trace (HAKOBI_TRACE).",
            "Bars over time: in the original method exchange and file access alternate, with threads they overlap.",
            "trace",
        )
    )
    view = Table("Overlap of one collective write", ["<", "call", "file access", "exchange", "both at once", "events"])
    for name, call in calls.items():
        times = [call.time_s, call.busy_s("file access"), call.busy_s("exchange"), call.overlap_s()]
        view.add(name, *[seconds_text(value) for value in times], str(call.num_events))
    item.shown.append(view)
    item.notes.append("The traces are whole JSON files, read for this figure; Perfetto opens such a file.")

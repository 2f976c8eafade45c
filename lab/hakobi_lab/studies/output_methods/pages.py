"""The study's HTML report."""

from __future__ import annotations

from pathlib import Path

from hakobi.words import bytes_text, clock_text, count_text, list_text, percent_text, seconds_text
from hakobi_lab.report import Report
from hakobi_lab.studies.output_methods import figures, tables
from hakobi_lab.studies.output_methods.gauges import Gauges, arrival_table
from hakobi_lab.studies.output_methods.result import Study
from hakobi_lab.studies.output_methods.summary import StudySummary
from hakobi_lab.studies.output_methods.wave import Wave

_METHODS = {
    "none": "Nothing is written: the baseline against which output time is measured.",
    "per-process": "Each rank writes its own piece file; a gather step makes the one file of them, and is counted.",
    "root": "Pieces travel by MPI to rank 0, which writes the file.",
    "parallel": "Every rank writes its part of the one file at once with the MPI library's own collective MPI-IO.",
    "pipelined": "Hakobi's engine: aggregators' file access overlaps the shuffle, several buffers in flight.",
    "writers": "Every n-th rank writes; the ranks between hand over to it.",
    "own": "The program's own writer, without Hakobi.",
    "own+drop-in": "The program's own writer, its collective MPI-IO through Hakobi's engine.",
    "own+hidden": "The same; a collective write returns before the storage has its bytes.",
    "own+hidden-close": "The same, and so does the close of a file.",
    "pipelined+hidden": "The same engine; a step drains while the next is computed: only the last is waited for.",
}
#: The same in a few words, for the axis of a figure.
SHORT = {
    "none": "no output",
    "per-process": "a file a rank, then gathered",
    "root": "rank 0 writes",
    "parallel": "MPI's collective write",
    "pipelined": "Hakobi's engine",
    "writers": "every n-th rank writes",
    "own": "the program itself",
    "own+drop-in": "the program, through Hakobi",
    "own+hidden": "the program, writes hidden",
    "own+hidden-close": "the program, closes hidden",
    "pipelined+hidden": "Hakobi, while computing",
}


def write_report(
    path: Path | None, study: Study, wave: Wave | None, gauges: Gauges | None = None, figures_folder: Path | None = None
) -> None:
    """Writes the report of a study that has a summary, and its figures for a paper. `wave`: for the pictures. Raises
    StorageError."""
    make_report(study, wave, gauges).save(path, figures_folder)


def make_report(study: Study, wave: Wave | None, gauges: Gauges | None = None) -> Report:
    """The report, not yet written."""
    summary = study.summary
    assert summary is not None, "a report needs at least one pair of runs"
    report = Report(f"What output costs: {summary.app}", _lead(study, summary))
    for warning in study.warnings():
        report.warn(warning)
    report.heading("What was found")
    report.bullets([tables.finding(row) for row in summary.rows])
    if len(summary.rows) == 1:
        report.figure(
            figures.times_figure(summary.rows[0], "Time of a run", SHORT),
            "Time of a run by each method; grey: as long as the run without output takes.",
            "Bar chart. " + _scaling_words(summary),
            name="time-of-a-run",
            data=figures.time_data(study, summary),
        )
    if len({row.ranks for row in summary.rows}) > 1:
        report.figure(
            figures.scaling_figure(summary),
            "Time of a run over its ranks: medians, bars from quartile to quartile. The dashed line is the same run "
            "without output; what a method lies above it is its output time.",
            "Line chart. " + _scaling_words(summary),
            name="time-over-ranks",
            data=figures.time_data(study, summary),
        )
        report.figure(
            figures.speed_up_figure(summary),
            "Speed-up of the whole run, against the run without output on the fewest ranks; dotted: ideal.",
            "Line chart of the speed-up over ranks. " + _scaling_words(summary),
            name="speed-up",
            data=figures.speed_up_data(study, summary),
        )
    if len(summary.rows) > 1:  # of one row the bars of times say the same
        report.figure(
            figures.share_figure(summary),
            "Output time as a part of the run's time: medians, whiskers from quartile to quartile. A hollow mark: it "
            "is not above zero (the output's time disappears in the scatter of the runs), or there was one round.",
            "Bar chart. " + _share_words(summary),
            name="output-share",
            data=figures.share_data(study, summary),
        )
    report.table(tables.make_table(summary, study.conditions, study.outcome.end))
    report.bullets(tables.cache_notes(summary, study.conditions))
    _add_wave(report, wave)
    _add_gauges(report, gauges)
    report.heading("What the words mean")
    report.terms(_terms(summary))
    report.conditions(study.conditions)
    plan = study.plan
    options = " ".join(plan.arguments) or "the application's defaults"
    report.terms([("application", f"{plan.app}: {options}"), ("order", f"shuffled in rounds, seed {plan.seed}")])
    return report


def _lead(study: Study, summary: StudySummary) -> str:
    ranks = sorted({row.ranks for row in summary.rows})
    return (
        f"{count_text(len(summary.methods), 'output method')} on {list_text([str(count) for count in ranks])} "
        f"{'rank' if ranks == [1] else 'ranks'}, {count_text(summary.rounds, 'round')} of interleaved runs, "
        f"{bytes_text(summary.output_bytes)} written by each, {study.conditions['mpi']}. "
        "Every file was compared by its SHA-256."
    )


def _scaling_words(summary: StudySummary) -> str:
    parts = []
    for row in summary.rows:
        times = ", ".join(f"{name} {seconds_text(item.time.median)}" for name, item in row.figures.items())
        where = f"{count_text(row.ranks, 'rank')} on storage {row.storage}"
        parts.append(f"{where}: none {seconds_text(row.baseline.median)}, {times}.")
    return " ".join(parts)


def _share_words(summary: StudySummary) -> str:
    parts = []
    for row in summary.rows:
        shares = ", ".join(f"{name} {percent_text(item.share.median)}" for name, item in row.figures.items())
        parts.append(f"{count_text(row.ranks, 'rank')} on storage {row.storage}: {shares}.")
    return " ".join(parts)


def _add_wave(report: Report, wave: Wave | None) -> None:
    if wave is None or not wave.frames:
        return
    from hakobi_lab import plots
    from hakobi_lab.studies.output_methods import pictures

    rows, columns = wave.grid
    report.heading("The field that was written")
    size = f"{columns} x {rows} points, {count_text(wave.num_files, 'step')}"
    last = clock_text(wave.times_s[-1])
    if len(wave.frames) > 2:
        report.image(
            pictures.animation_gif(wave),
            f"{wave.title}: {wave.name}, {size}. Grey: land.",
            f"Animation of the {wave.name} over {last}: the wave spreads from its source over the sea.",
        )
        report.image(
            plots.to_png(pictures.series_figure(wave)),
            "The same as single pictures.",
            f"Maps of the {wave.name} at times up to {last}.",
        )
    else:
        report.image(
            plots.to_png(pictures.field_figure(wave)),
            f"{wave.title}: {wave.name} at the last step, {size}. Grey: land.",
            f"Map of the {wave.name} {last} after the start.",
        )
    peak = pictures.peak_figure(wave)
    if peak is not None:
        report.image(
            plots.to_png(peak),
            f"The greatest height at each place up to {last}. The colours are logarithmic.",
            f"Map of the greatest height within {last}.",
        )


def _add_gauges(report: Report, gauges: Gauges | None) -> None:
    if not gauges:
        return
    report.heading("Computed and observed")
    report.table(arrival_table(gauges))


def _terms(summary: StudySummary) -> list[tuple[str, str]]:
    own = [(name, text) for name, text in _METHODS.items() if name in ("none", *summary.methods)]
    return [
        (
            "time",
            "Of one run, from the first step to the end of the last output; starting MPI and reading inputs left out.",
        ),
        (
            "output time",
            "Time of the run with a method less that of the same run with method none: same round, ranks and storage; "
            "then the median over the rounds. Never a stopwatch around a call.",
        ),
        ("share", "Output time divided by the time of the run with output."),
        (
            "±",
            "Half the distance between the quartiles over the rounds, between which half of the rounds lie.",
        ),
        (
            "(…)",
            "It cannot be told from zero: runs with and without output differ by less than they scatter.",
        ),
        (
            "outside the spread",
            "The differences between two methods within each round leave out zero with 98 % confidence: by order "
            "statistics from seven rounds on, by Student's t below. Otherwise no winner is named.",
        ),
        ("in the page cache", "Share of a run's bytes that the kernel held in memory as the run ended (mincore)."),
        *own,
    ]

"""The tables and the report of `hakobi study stripes`."""

from __future__ import annotations

from hakobi.conditions import Conditions
from hakobi.measuring import machine
from hakobi.measuring.session import End
from hakobi.table import Table
from hakobi.words import count_text
from hakobi_lab.report import Report
from hakobi_lab.studies.field_store import figures, stripe_figures, stripes
from hakobi_lab.studies.field_store.plan import Case, Plan
from hakobi_lab.studies.field_store.session import has_every_case
from hakobi_lab.studies.field_store.tables import Outcomes, finished_table, pages_table, speed, striping_table


def tables(plan: Plan, outcomes: Outcomes, end: End, lacking: dict[str, str] | None) -> list[Table]:
    """Every layout, and the pages unless `lacking` is None: then they are not part of the study. Pure but for what the
    machine says of its pages."""
    if not has_every_case(outcomes) and (end.is_interrupted or end.failure):
        return [finished_table(outcomes)]
    layouts = striping_table(plan, outcomes)
    layouts.title = f"Stripes and stride of the writers, {plan.base.words()}"
    base = outcomes.get(Case("none", plan.base))
    if base and base.summaries:
        layouts.notes.append(f"without output: {speed(base.median(figures.MEAN))} days/day")
    layouts.notes.append(
        f"medians over at most {count_text(plan.rounds, 'round')}; ±: half the distance between the quartiles"
    )
    layouts.notes += end.gap_notes()
    if lacking is None:
        return [layouts]
    cases = stripes.page_cases(plan.base, plan.first_storage, lacking)
    pages = pages_table(cases, outcomes, lacking)
    pages.title = f"Page sizes, {plan.first_storage}, stride 1"
    pages.notes += pages_said()
    return [layouts, pages]


def pages_said() -> list[str]:
    """The machine's setting of huge pages; with "always" all of its memory may be in them."""
    return [f"{fact.topic}: {fact.finding}" for fact in machine.pages() if fact.topic.startswith("huge")]


def make_report(plan: Plan, outcomes: Outcomes, end: End, facts: Conditions, lacking: dict[str, str] | None) -> Report:
    """The page, not yet written."""
    storages = "; ".join(
        f"{name}: {plan.storage_models[name].words() if name in plan.storage_models else folder}"
        for name, folder in plan.storages.items()
    )
    report = Report(
        "Stripes of a weather model's output",
        lead=f"Forecast days per day of hakobi-weather ({' '.join(plan.arguments)}), {plan.base.words()}, with the "
        f"field store on {storages}.",
    )
    for warning in end.warnings():
        report.warn(warning)
    if end.is_out_of_time:
        report.warn(f"the time ran out after {end.num_done} of {end.num_jobs} runs")
    if has_every_case(outcomes) or end.gaps or end.is_out_of_time:
        _add_figures(report, plan, outcomes, lacking)
    for table in tables(plan, outcomes, end, lacking):
        report.table(table)
        report.bullets(table.notes)
    report.conditions(facts)
    return report


def caption(over: stripe_figures.Over, plan: Plan) -> str:
    """The caption of one of the three figures."""
    return (
        f"Speed over the {over.title}, {stripe_figures.fixed_words(over, plan)}, {plan.base.words()}. Solid: mean of "
        "the forecast; dotted: its highest; dashed or in words: without output. Medians of "
        f"{count_text(plan.rounds, 'round')}, bars between the quartiles."
    )


def alt(over: stripe_figures.Over) -> str:
    return f"Line chart of forecast days per day over the {over.title}, a panel a storage; the table has its values."


def _add_figures(report: Report, plan: Plan, outcomes: Outcomes, lacking: dict[str, str] | None) -> None:
    for number, over in enumerate(stripe_figures.OVER, 1):
        report.figure(
            stripe_figures.stripes_figure(over, plan, outcomes),
            f"Figure {number}. {caption(over, plan)}",
            alt=alt(over),
            name=over.name,
            data=stripe_figures.stripes_data(over, plan, outcomes),
        )
    if lacking is None:
        return
    runs = {
        words: outcomes.get(case) for words, case in stripes.page_cases(plan.base, plan.first_storage, lacking).items()
    }
    report.figure(
        figures.forecast_figure(runs, ["days_per_day"]),
        f"Figure {len(stripe_figures.OVER) + 1}. Speed of each hour of the forecast by the pages behind the memory, "
        f"{plan.base.words()}, {plan.first_storage}.",
        alt="Line chart of forecast days per day over the hours of the forecast, a line a page size.",
        name="pages",
        data=figures.forecast_data(runs, ["days_per_day"]),
    )

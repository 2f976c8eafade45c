"""The study's report: its tables and its figures, one HTML file, and the figures' own files."""

from __future__ import annotations

from hakobi.conditions import Conditions
from hakobi.measuring.session import End
from hakobi.words import count_text
from hakobi_lab.report import Report
from hakobi_lab.studies.field_store import figures
from hakobi_lab.studies.field_store.plan import Case, Plan
from hakobi_lab.studies.field_store.session import has_every_case
from hakobi_lab.studies.field_store.tables import Outcomes, tables


def make_report(plan: Plan, outcomes: Outcomes, end: End, facts: Conditions) -> Report:
    """The page, not yet written."""
    models = "; ".join(model.words() for model in plan.models)
    report = Report(
        "Output of a weather model",
        lead=f"Forecast days per day of hakobi-weather ({' '.join(plan.arguments)}): {models}. Without output, with "
        "two GRIB files a step written by one task, and with the field store.",
    )
    for warning in end.warnings():
        report.warn(warning)
    if has_every_case(outcomes) or end.gaps:
        _add_figures(report, plan, outcomes)
    for table in tables(plan, outcomes, end):
        if table.rows:
            report.table(table)
        report.bullets(table.notes)
    report.conditions(facts)
    return report


def _add_figures(report: Report, plan: Plan, outcomes: Outcomes) -> None:
    rounds = count_text(plan.rounds, "round")
    report.figure(
        figures.stride_figure(plan, outcomes),
        f"Figure 1. Mean speed over the stride of the writers, {plan.base.words()}: medians of {rounds}, bars between "
        "the quartiles. Dashed: without output. Dotted: two files a step.",
        alt="Line chart of forecast days per day over the stride of the writers; the tables have its values.",
        name="stride",
        data=figures.stride_data(plan, outcomes),
    )
    same = [
        model for model in plan.models if (model.resolution, model.threads) == (plan.base.resolution, plan.base.threads)
    ]
    if len(same) > 1:
        report.figure(
            figures.ranks_figure(same, list(plan.storages), outcomes),
            f"Figure 2. Mean speed over ranks, {plan.base.resolution}: medians of {rounds}, bars: quartiles.",
            alt="Line chart of forecast days per day over ranks; the tables have its values.",
            name="ranks",
            data=figures.ranks_data(same, list(plan.storages), outcomes),
        )
    runs = {
        f"{kind}, {plan.first_storage}": outcomes.get(Case(kind, plan.base, plan.first_storage))
        for kind in ("files", "store")
    }
    if any(len(steps) > 1 for one in runs.values() if one for steps in one.steps):
        names = ["days_per_day", figures.MEAN, "peak_days_per_day"]
        report.figure(
            figures.forecast_figure(runs, names),
            f"Figure 3. Speed during the forecast, {plan.base.words()}: of the last hour, mean and highest so far.",
            alt="Line chart of forecast days per day over the hours of the forecast.",
            name="forecast",
            data=figures.forecast_data(runs, names),
        )

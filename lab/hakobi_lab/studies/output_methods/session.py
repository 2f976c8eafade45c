"""One study from the command line: checks, progress on stderr, the table on stdout, report, exit status."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from hakobi import conditions, files, programs, table, testbeds
from hakobi.errors import InputError, unknown_name
from hakobi.measuring.job_log import key_of
from hakobi.programs import Program
from hakobi_lab.studies.output_methods import runner, tables
from hakobi_lab.studies.output_methods.plan import Plan
from hakobi_lab.studies.output_methods.result import Study
from hakobi_lab.studies.output_methods.runner import Runner
from hakobi_lab.studies.output_methods.summary import summarise


def find_app(name: str) -> Program:
    """The program of an application. Raises InputError with the nearest name when there is none."""
    wanted = f"hakobi-{name}"
    known = programs.names()
    if known and wanted not in known:
        apps = [
            other.removeprefix("hakobi-")
            for other in known
            if other not in ("hakobi-gather", "hakobi-with-parent", "hakobi-bench")
        ]
        raise unknown_name("app", name, apps) if apps else InputError(f"unknown app '{name}': none is built")
    return programs.find(wanted)


def execute(plan: Plan, json: Path | None, observer: runner.Observer | None = None, part: str = "") -> Study:
    """Checks, runs and sums up a plan; progress goes to stderr. `part` names a study that shares `json` with others,
    and whose folders have another name each time: its runs are taken up by that name. Raises HakobiError for what is
    wrong before the first run; what goes wrong later is in the result."""
    program = Program(plan.program, programs.flavour_of(plan.program)) if plan.program else find_app(plan.app)
    with ExitStack() as ended:
        beds = {name: ended.enter_context(testbeds.bring_up(wanted)) for name, wanted in plan.testbeds.items()}
        storages = {**plan.storages, **{name: bed.folder for name, bed in beds.items()}}
        same = [part or "output-methods", part or str(plan.storages)]
        return _execute(replace(plan, storages=storages), program, beds, json, observer, same)


def _execute(
    plan: Plan,
    program: Program,
    beds: dict[str, testbeds.Testbed],
    json: Path | None,
    observer: runner.Observer | None,
    same: list[str],
) -> Study:
    facts = conditions.collect(program.flavour)
    models = {name: model.value() for name, model in plan.models.items()}
    name, places = same
    key = key_of(name, program, facts, plan.app, places, plan.sync, plan.arguments, models, Path.cwd())
    work = Runner(plan, program, facts, json, beds, key)
    work.check()
    facts["storage"] = {
        name: beds[name].file_system() if name in beds else conditions.file_system(folder)
        for name, folder in plan.storages.items()
    }
    conditions.add_models(facts, plan.models)
    outcome = work.run(*filter(None, [observer]))
    summary = summarise(outcome.records, plan.methods)
    return Study(plan, outcome, summary, facts, runner.mismatches(outcome.records))


def show(study: Study, command: str) -> None:
    """The table on stdout, then warnings on stderr, each as a line of `command`'s."""
    if study.summary is not None:
        table.show(tables.make_table(study.summary, study.conditions, study.outcome.end))
    for line in study.warnings():
        if line not in study.outcome.end.load:  # which was said at the head
            sys.stderr.write(f"{command}: {' '.join(line.split())}\n")


def study(plan: Plan, json: Path | None, report: Path | None, figures: Path | None = None) -> int:
    """`hakobi study output-methods`: returns the exit status."""
    from hakobi_lab.studies.output_methods.wave import FrameReader

    reader = FrameReader(max_frames=1) if report is not None else None
    if report is not None:
        files.prepare_file(report)
    if figures is not None:
        files.prepare_folder(figures)
    result = execute(plan, json, reader)
    show(result, "hakobi study output-methods")
    if (report or figures) and result.summary is not None:
        from hakobi_lab.studies.output_methods import pages

        pages.write_report(report, result, reader.wave if reader else None, figures_folder=figures)
        for what, path in (("report", report), ("figures", figures)):
            if path is not None:
                sys.stdout.write(f"{what}: {path}\n")
    return result.exit_status()

"""`hakobi bench replay`: predicts a recorded program's communication time and says which prediction came nearest."""

from __future__ import annotations

from pathlib import Path

import click

from hakobi.options import SECONDS, Number


@click.command()
@click.argument("trace_file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--figures", type=click.Path(path_type=Path), help="Records of `hakobi bench mpi` to predict from, not new ones."
)
@click.option(
    "--repetitions", type=click.IntRange(0, 1000), default=3, show_default=True, help="Number of replays; 0 for none."
)
@click.option("--whole", is_flag=True, help="Include set-up and end, not only the main loop.")
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    help="Number of time steps of the recorded run; figures are then for one step.",
)
@click.option(
    "--eager",
    type=click.IntRange(0, 2**62),
    default=4096,
    show_default=True,
    help="Eager limit: sends up to this size complete without their receive.",
)
@click.option(
    "--budget", type=Number(min=0), default=1.0, show_default=True, help="Time budget per message size in seconds."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Append records (JSON lines) to this file.")
@click.option(
    "--timeout", "timeout_s", type=SECONDS, default=3600.0, show_default=True, help="Time limit per part in seconds."
)
def command(
    trace_file: Path,
    figures: Path | None,
    repetitions: int,
    whole: bool,
    steps: int | None,
    eager: int,
    budget: float,
    json_file: Path | None,
    timeout_s: float,
) -> int:
    """Predict the communication time of a program that `hakobi run --record FILE` recorded.

    Predicts from cold figures, from hot figures and by replaying the communication, and compares with the application's
    own time. Only the program's main loop counts (--whole: all of it).
    """
    from hakobi import files, launch, programs, records, table
    from hakobi_lab.measuring import replay, trace

    if json_file:
        files.prepare_file(json_file)
    recorded = trace.read(trace_file)
    with launch.own_folder(programs.flavour()) as folder:
        if not whole:
            recorded = trace.crop(recorded, trace.loop(recorded), Path(folder) / "loop.jsonl")
        lines = records.read(figures) if figures else replay.measure_figures(recorded, budget, timeout_s)
        others = replay.other_libraries(recorded, lines)
        outcome = replay.evaluate(recorded, lines, repetitions=repetitions, eager_bytes=eager, timeout_s=timeout_s)
    share = steps or 1
    unit = "us a step" if steps else "us"
    view = table.Table(
        f"Communication of {recorded.command or trace_file} on {len(recorded.ranks)} ranks",
        ["<", unit, "of it waiting", "error"],
    )
    view.add("application, recorded", f"{1e6 * outcome.application_s / share:.1f}", "", "")
    for name, label in (("cold", "predicted, cold figures"), ("hot", "predicted, hot figures"), ("replay", "replayed")):
        if name in outcome.predicted_s:
            waiting = f"{1e6 * outcome.waiting_s[name] / share:.1f}" if name in outcome.waiting_s else ""
            view.add(
                label, f"{1e6 * outcome.predicted_s[name] / share:.1f}", waiting, f"{100 * outcome.error(name):+.1f} %"
            )
    names = {"cold": "cold figures", "hot": "hot figures", "replay": "replaying the pattern"}
    view.notes.append(f"nearest to the application: {names[outcome.nearest()]}")
    if {"cold", "hot"} <= outcome.predicted_s.keys():
        view.notes.append(f"of the two kinds of figures, nearer: {names[outcome.nearest(('cold', 'hot'))]}")
    if len(outcome.replays) > 1:
        span = f"{1e6 * min(outcome.replays) / share:.1f} to {1e6 * max(outcome.replays) / share:.1f}"
        view.notes.append(f"{len(outcome.replays)} replays: {span} {unit}")
    view.notes += others
    view.notes += outcome.notes
    table.show(view)
    if json_file:
        replay.write_records(json_file, recorded, lines, outcome, steps)
    return 0

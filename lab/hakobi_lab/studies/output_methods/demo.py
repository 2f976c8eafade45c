"""The demonstration: what output costs a run on a slow storage where one rank writes, and where it is hidden behind
the computation; then the wave itself, to look at.

 1. What the machine lacks is said before anything runs.
 2. The study: the tsunami with each method and without output, in interleaved rounds, on a model of one server laid
    over files in memory. No run is started after BUDGET_S, so that a slow machine ends in time, with fewer rounds.
 3. Its conclusion, table and picture.
 4. One more run, longer and with fewer bytes a step, whose steps stay; its pictures, and what to type next.

out/demo/times.png              the runs' times
out/demo/wave.png               the wave
out/demo/report.html            everything on one page
out/demo/tsunami_000000.nc …    the wave's steps, as the run left them
out/demo/runs.jsonl             one record a run of the study
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hakobi import conditions, drop_in, files, launch, progress, records
from hakobi.demo.quick import own_command
from hakobi.errors import InputError, RunError, StorageError
from hakobi.measuring import machine
from hakobi.measuring.storage_model import StorageModel
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.words import bytes_text, count_text
from hakobi_lab import plots
from hakobi_lab.studies.output_methods import session
from hakobi_lab.studies.output_methods.gauges import gauges_of
from hakobi_lab.studies.output_methods.plan import HIDDEN, Plan
from hakobi_lab.studies.output_methods.result import Study
from hakobi_lab.studies.output_methods.summary import Row
from hakobi_lab.studies.output_methods.tables import conclusion

if TYPE_CHECKING:
    from hakobi_lab.studies.output_methods.wave import Wave

APP = "tsunami"
#: The study's one storage: 1 Gbit/s to one server.
STORAGE = "slow"
MODEL = StorageModel(servers=1, bandwidth_mb_s=118, latency_s=1e-4)
#: The method of many programs today, and the best that there is. The MPI library's own collective write
#: (`parallel`) would not fit into the time: Open MPI's takes several times as long as the server needs for
#: the bytes.
METHODS = ("root", "pipelined" + HIDDEN)
ROUNDS = 4
#: Each rank's share of a run of the study: two ranks compute for two to four seconds. Many steps: only the
#: last one of a run cannot be hidden.
HOURS_A_RANK, STEPS_A_RANK = 2.625, 15
#: Part of the run's time for which its output may occupy the storage: a faster machine writes fewer steps.
BUSY_SHARE = 0.7
STUDY_ARGUMENTS = ("--resolution", "10")
#: The run to look at: long enough for the wave to reach the farthest gauge.
WAVE_HOURS = 9.0
WAVE_ARGUMENTS = ("--resolution", "10", "--output-interval", "15", "--precision", "single", "--gauges", "default")
#: Seconds after which no run of the study is started; what comes after it takes 15.
BUDGET_S = 72.0
MEMORY = Path("/dev/shm")
#: The bytes that a run of the study writes (removed before the next one), those that stay in the folder, and
#: the memory of two ranks.
RUN_BYTES, KEPT_BYTES, RANKS_BYTES = 300_000_000, 180_000_000, 500_000_000
MAX_FRAMES = 37


def demo(folder: Path) -> int:
    """Runs the demonstration into `folder`; returns the exit status of its study. Raises HakobiError for what ends
    it before the study."""
    program = session.find_app(APP)
    files.prepare_folder(folder)
    _remove_old(folder)
    place = _place(folder, program)
    ranks = _ranks()
    _check_machine(folder, place)
    progress.say(
        f"At most 90 s: {count_text(ROUNDS * (1 + len(METHODS)), 'run')} of a {APP} on {count_text(ranks, 'rank')}, "
        f"then one to look at. Each writes up to {bytes_text(RUN_BYTES)} into {place}, removed at once; "
        f"{bytes_text(KEPT_BYTES)} stay in {folder}."
    )
    with files.own_folder(place) as modelled:
        steps = _num_steps(program, Path(modelled), ranks)
        result = session.execute(_plan(ranks, steps, Path(modelled)), folder / "runs.jsonl")
    if result.summary is None:
        result.outcome.end.check()
        raise RunError(f"not one run with output and one without in {BUDGET_S:g} s: {_busy()}")
    (row,) = result.summary.rows
    sys.stdout.write(f"{conclusion(row)}\n{_advice(result, row)}\n")
    session.show(result, "hakobi demo")
    sys.stdout.flush()
    if result.outcome.end.is_interrupted:
        return result.exit_status()
    record = _run_wave(program, folder, expected_s=WAVE_HOURS / (HOURS_A_RANK * ranks) * row.baseline.median)
    with progress.phase("drawing the pictures", 5):
        _write_pages(folder, result, row, record)
    sys.stdout.write(f"\n{_next_steps(folder)}")
    return result.exit_status()


def _num_steps(program: Program, folder: Path, ranks: int) -> int:
    """As many as BUSY_SHARE allows, by one run without output."""
    most = STEPS_A_RANK * ranks
    extent = ("--hours", f"{HOURS_A_RANK * ranks:g}", "--steps-out", str(most))
    with progress.phase("how long a run takes without output", 4):
        record = _run(program, ["--method", "none", "--output", str(folder / APP), *extent, *STUDY_ARGUMENTS], folder)
    step_bytes = RUN_BYTES / (STEPS_A_RANK * 2)
    return max(ranks, min(most, int(BUSY_SHARE * record["time_s"] * MODEL.bandwidth_mb_s * 1e6 / step_bytes)))


def _plan(ranks: int, steps: int, modelled: Path) -> Plan:
    extent = ("--hours", f"{HOURS_A_RANK * ranks:g}", "--steps-out", str(steps))
    return Plan(
        app=APP,
        methods=METHODS,
        ranks=(ranks,),
        storages={STORAGE: modelled},
        repetitions=ROUNDS,
        arguments=(*STUDY_ARGUMENTS, *extent),
        timeout_s=300,
        models={STORAGE: MODEL},
        budget_s=BUDGET_S,
    )


def _ranks() -> int:
    """As many as there are cores, at most 2: more would compete for them."""
    return min(2, machine.usable_cores())


def _place(folder: Path, program: Program) -> Path:
    """Where the modelled storage's files lie: in memory, so that the model alone says how fast they are. Where memory
    has no room for them, or the ranks may be on several nodes, in `folder`."""
    memory = MEMORY
    if launch.reaches_other_nodes(program.flavour):
        why = f"the ranks may be on nodes that do not share {memory}"
    elif memory.is_dir() and os.access(memory, os.W_OK):
        free_bytes = conditions.file_system(memory)["free_bytes"]
        if free_bytes >= RUN_BYTES:
            return memory
        why = f"{memory} has {bytes_text(free_bytes)} free, a run writes {bytes_text(RUN_BYTES)}"
    else:
        why = f"{memory} is not there"
    progress.say(f"hakobi: warning: {why}: files go to {folder}, whose own time is then in the figures")
    return folder


def _check_machine(folder: Path, place: Path) -> None:
    """Says what of the machine falsifies the figures, its load aside, which the study says. Raises StorageError and
    InputError where there is no room."""
    needed_bytes = KEPT_BYTES + (RUN_BYTES if place == folder else 0)
    free_bytes = conditions.file_system(folder)["free_bytes"]
    if free_bytes < needed_bytes:
        raise StorageError(
            f"no space in {folder}: {bytes_text(needed_bytes)} are needed, {bytes_text(free_bytes)} free; "
            "name another folder by --folder"
        )
    needed_bytes = RANKS_BYTES + (RUN_BYTES if place != folder else 0)
    free_bytes = conditions.machine()["memory_available_bytes"]
    if free_bytes < needed_bytes:
        raise InputError(
            f"too little memory: {bytes_text(needed_bytes)} are needed, {bytes_text(free_bytes)} available"
        )
    if machine.usable_cores() == 1:
        progress.say("hakobi: warning: one core: one rank, which shares it with what stores its hidden output")
    for fact in machine.processor():
        if fact.topic == "CPU quota" and fact.verdict == "trap":
            progress.say(f"hakobi: warning: {fact.topic}: {fact.finding}: {fact.why}")


def _advice(result: Study, row: Row) -> str:
    """Says what to do where the machine had no time for a conclusion; "" else: a failed run says so itself."""
    end = result.outcome.end
    dearest = max(row.figures.values(), key=lambda figures: figures.time.median)
    if end.gaps or end.failure or end.is_interrupted:
        return ""
    is_cut = end.is_out_of_time and row.baseline.count < ROUNDS
    if not is_cut and dearest.case.method not in row.fastest and not dearest.is_zero:
        return ""
    rounds = f"{row.baseline.count} of {count_text(ROUNDS, 'round')}"
    return f"{rounds} in {BUDGET_S:g} s: {_busy()}.\n"


def _busy() -> str:
    return f"the machine was too slow or too busy: end what else runs ('{own_command()} doctor' shows it) and repeat"


def _remove_old(folder: Path) -> None:
    """Removes what an earlier demonstration left, and nothing else."""
    for pattern in (f"{APP}_*.nc", f"{APP}.series*.nc", "run*.jsonl", "wave.*", "times.png", "report.html"):
        for path in folder.glob(pattern):
            path.unlink()


def _run_wave(program: Program, folder: Path, expected_s: float) -> Record:
    """The run to look at, on as many ranks as there are cores, at most 2."""
    extent = ["--hours", f"{WAVE_HOURS:g}"]
    arguments = ["--method", "pipelined", "--output", str(folder / APP), *extent, *WAVE_ARGUMENTS]
    with progress.phase("the wave crosses the North Pacific, to be looked at", expected_s):
        return _run(program, arguments, folder)


def _run(program: Program, arguments: list[str], folder: Path) -> Record:
    """One run on as many ranks as the study's; its record."""
    json = folder / "run.jsonl"
    finished = launch.run(program, [*arguments, "--json", str(json)], _ranks(), timeout_s=600)
    launch.check(finished, APP)
    told = records.read(json) if json.exists() else []
    json.unlink(missing_ok=True)
    if len(told) != 1:
        raise RunError(f"{APP} ended without its record")
    return told[0]


def _read_wave(folder: Path) -> Wave | None:
    from hakobi_lab.studies.output_methods.wave import read_wave

    return read_wave(sorted(folder.glob(f"{APP}_*.nc")), MAX_FRAMES)


def _write_pages(folder: Path, result: Study, row: Row, record: Record) -> None:
    from hakobi_lab.studies.output_methods import figures, pages, pictures

    title = f"A run on {count_text(row.ranks, 'rank')}, storage: one server of {MODEL.bandwidth_mb_s:g} MB/s (model)"
    (folder / "times.png").write_bytes(plots.to_png(figures.times_figure(row, title, pages.SHORT)))
    wave = _read_wave(folder)
    if wave is not None:
        (folder / "wave.png").write_bytes(plots.to_png(pictures.series_figure(wave)))
    pages.write_report(folder / "report.html", result, wave, gauges_of([record]))


def _next_steps(folder: Path) -> str:
    """Where the files are, and what to type next."""
    command, prefix = own_command(), folder / APP
    built = "" if any(drop_in.library_folders()) else "   (after: make programs)"
    kept = bytes_text(sum(path.stat().st_size for path in files.files_below(folder)))
    pictures = ", ".join(str(folder / name) for name in ("times.png", "wave.png") if (folder / name).exists())
    return f"""report    {folder / "report.html"}
pictures  {pictures}
steps     {prefix}_*.nc   ({kept} in {folder} in all)

The wave's steps, and the wave in a browser (Ctrl-C ends it):
  {command} ls {prefix}
  {command} post {prefix}
A program of your own: what output costs it (docs/own-study.md), and its MPI-IO by Hakobi, unchanged:
  {command} study output-methods --app ./solver
  {command} run -- mpirun -n 2 ./solver{built}
"""

"""The demonstration: one run of the wave for the eye and for the arrival times, then the study at a small size.

out/demo/report.html            everything on one page
out/demo/wave.gif, wave.png     the wave
out/demo/tsunami_000000.nc …    its steps, as the run left them
out/demo/runs.jsonl             one record a run of the study
"""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from hakobi import files, launch, records, table
from hakobi.errors import RunError
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.studies.output_methods import session
from hakobi.studies.output_methods.gauges import arrival_table, gauges_of
from hakobi.studies.output_methods.plan import METHODS, Plan

if TYPE_CHECKING:
    from hakobi.studies.output_methods.wave import Wave

APP = "tsunami"
#: The run for the eye: long enough for the wave to reach the farthest gauge.
WAVE_ARGUMENTS = ("--hours", "9", "--resolution", "10", "--output-interval", "15", "--gauges", "default")
#: The study's runs: a second or so each, with enough output to weigh.
STUDY_ARGUMENTS = ("--hours", "0.15", "--resolution", "8", "--steps-out", "6")
RANKS = (1, 2, 4)
REPETITIONS = 3
MAX_FRAMES = 41


def demo(folder: Path) -> int:
    """Runs the demonstration into `folder`; returns the exit status of its study. Raises HakobiError for what ends
    it before the study."""
    program = session.find_app(APP)
    files.prepare_folder(folder)
    json = folder / "runs.jsonl"
    _remove_old(folder)
    record = _run_wave(program, folder)
    gauges = gauges_of([record])
    if gauges:
        table.show(arrival_table(gauges))
        sys.stdout.write("\n")
    plan = Plan(
        app=APP,
        methods=METHODS,
        ranks=RANKS,
        storages={"demo": folder},
        repetitions=REPETITIONS,
        arguments=STUDY_ARGUMENTS,
        timeout_s=300,
    )
    _say(f"Comparing the output methods on {', '.join(map(str, RANKS))} ranks, {REPETITIONS} rounds …")
    result = session.execute(plan, json)
    session.show(result, "hakobi demo")
    if result.summary is not None:
        from hakobi.studies.output_methods import pages

        wave = _read_wave(folder)
        report = folder / "report.html"
        pages.write_report(report, result, wave, gauges)
        sys.stdout.write(f"\nreport:   {report}\n")
        if wave is not None:
            sys.stdout.write(f"pictures: {', '.join(str(path) for path in _write_pictures(folder, wave))}\n")
        sys.stdout.write(f"fields:   {folder}/{APP}_*.nc   records: {json}\n")
    return result.exit_status()


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _remove_old(folder: Path) -> None:
    """Removes what an earlier demonstration left, and nothing else."""
    for pattern in (f"{APP}_*.nc", "runs.jsonl", "wave.gif", "wave.png", "report.html"):
        for path in folder.glob(pattern):
            path.unlink()


def _run_wave(program: Program, folder: Path) -> Record:
    """The run for the eye, on as many ranks as there are cores, at most 2."""
    import psutil

    ranks = min(2, psutil.cpu_count() or 1)
    _say(f"The tsunami of 11 March 2011 crosses the North Pacific on {ranks} rank{'s' * (ranks > 1)} …")
    begin = time.perf_counter()
    json = folder / "wave.jsonl"
    json.unlink(missing_ok=True)
    arguments = ["--method", "pipelined", "--output", str(folder / APP), "--json", str(json), *WAVE_ARGUMENTS]
    with _spinner():
        finished = launch.run(program, arguments, ranks, timeout_s=600)
    launch.check(finished, APP)
    told = records.read(json) if json.exists() else []
    json.unlink(missing_ok=True)
    if len(told) != 1:
        raise RunError(f"{APP} ended without its record")
    _say(f"… {time.perf_counter() - begin:.1f} s")
    return told[0]


def _spinner() -> AbstractContextManager[object]:
    """Something that turns on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status("computing")


def _read_wave(folder: Path) -> Wave | None:
    from hakobi.studies.output_methods.wave import read_wave

    return read_wave(sorted(folder.glob(f"{APP}_*.nc")), MAX_FRAMES)


def _write_pictures(folder: Path, wave: Wave) -> list[Path]:
    from hakobi import plots
    from hakobi.studies.output_methods import pictures

    animation, picture = folder / "wave.gif", folder / "wave.png"
    animation.write_bytes(pictures.animation_gif(wave))
    picture.write_bytes(plots.to_png(pictures.series_figure(wave)))
    return [animation, picture]

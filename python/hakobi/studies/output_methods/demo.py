"""The demonstration: one run of the wave for the eye and for the arrival times, then the study on three storages: this
machine's, a slow one and a fast one; the last two are models laid over files in memory. Its first lines say what was
found.

out/demo/report.html            everything on one page
out/demo/wave.gif, wave.png     the wave
out/demo/tsunami_000000.nc …    its steps, as the run left them
out/demo/runs.jsonl             one record a run of the study
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hakobi import conditions, files, launch, progress, records, statistics, table
from hakobi.errors import RunError
from hakobi.measuring.storage_model import StorageModel
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.studies.output_methods import session
from hakobi.studies.output_methods.gauges import arrival_table, gauges_of
from hakobi.studies.output_methods.plan import BASELINE, HIDDEN, Plan
from hakobi.studies.output_methods.tables import each_finding
from hakobi.words import seconds_text

if TYPE_CHECKING:
    from hakobi.studies.output_methods.wave import Wave

APP = "tsunami"
#: The run for the eye: long enough for the wave to reach the farthest gauge.
WAVE_ARGUMENTS = ("--hours", "9", "--resolution", "10", "--output-interval", "15", "--gauges", "default")
#: The study's runs: three seconds each, so that a few milliseconds a step are told from noise. The ten steps occupy the
#: slow storage for a seventh of that time; the run goes on after the last, which could not be hidden at its end.
STUDY_ARGUMENTS = ("--hours", "5.25", "--resolution", "10", "--output-interval", "30", "--precision", "single")
#: What many programs do today, MPI's own collective output, hidden output, and the default.
STUDY_METHODS = ("root", "parallel", "pipelined" + HIDDEN, "auto")
#: Where the difference is the finding. Open MPI's default takes as long as the run itself on the models; hidden output
#: is what `auto` takes wherever it pays.
ONLY_ON = {"parallel": "slow", "pipelined" + HIDDEN: "slow"}
#: Storage -> what is laid over it: 1 Gbit/s to one server, and four servers of 500 MB/s each.
MODELS = {
    "slow": StorageModel(servers=1, bandwidth_mb_s=118, latency_s=1e-4),
    "fast": StorageModel(servers=4, bandwidth_mb_s=500, latency_s=1e-4),
}
REPETITIONS = 5
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
    with files.own_folder(_memory(folder)) as modelled:
        storages = {**{name: Path(modelled) / name for name in MODELS}, "here": folder}
        plan = Plan(
            app=APP,
            methods=STUDY_METHODS,
            ranks=(_ranks(),),
            storages=storages,
            repetitions=REPETITIONS,
            arguments=STUDY_ARGUMENTS,
            timeout_s=300,
            models=MODELS,
            only_on=ONLY_ON,
        )
        progress.say(
            f"Comparing {len(STUDY_METHODS)} ways to write on {len(storages)} storages, {REPETITIONS} rounds …"
        )
        result = session.execute(plan, json)
    if result.summary is not None:
        for row in sorted(result.summary.rows, key=lambda row: [*MODELS, "here"].index(row.storage)):
            sys.stdout.write(f"{each_finding(row, _description(row.storage, folder))}\n")
        sys.stdout.write(f"{_cost_of_hiding(result.outcome.records)}\n\n")
    session.show(result, "hakobi demo")
    if gauges:
        sys.stdout.write("\n")
        table.show(arrival_table(gauges))
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


def _ranks() -> int:
    """As many as there are cores, at most 2: more would compete for them."""
    return min(2, len(os.sched_getaffinity(0)))


def _memory(folder: Path) -> Path:
    """Where the modelled storages' files lie: in memory, so that the model alone says how fast they are."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and os.access(memory, os.W_OK) else folder


def _description(storage: str, folder: Path) -> str:
    if storage not in MODELS:
        return f"this machine's storage ({conditions.file_system(folder).get('type', 'unknown type')})"
    model = MODELS[storage]
    speed = f"{model.servers} x {model.bandwidth_mb_s:g} MB/s"
    return f"a {storage} storage ({speed}, modelled)"


def _cost_of_hiding(results: list[Record]) -> str:
    """What hiding cannot hide: the processor time of the threads that store, where the ranks leave them no core, from
    the hidden runs' own records; and what is left of the difference to the runs without output of the same rounds.
    That difference has the noise of two runs in it: beside it stands how long the ranks were in the output's calls."""
    none = {(record["storage"], record["repetition"]): record for record in results if record["method"] == BASELINE}
    hidden = [record for record in results if record["method"].endswith(HIDDEN)]
    pairs = [(record, none[key]) for record in hidden if (key := (record["storage"], record["repetition"])) in none]
    if not pairs:
        return "No hidden run ended."
    cores = len(os.sched_getaffinity(0))
    storing_s = [record["output_times"]["cpu_s"] / cores if record["ranks"] >= cores else 0.0 for record, _ in pairs]
    rest = [
        (record["time_s"] - baseline["time_s"] - own_s) / baseline["time_s"]
        for (record, baseline), own_s in zip(pairs, storing_s, strict=True)
    ]
    summary = statistics.summarise(rest, statistics.COMPARISON_CONFIDENCE)
    low, high = (f"{100 * share:.1f}" for share in (summary.interval.low, summary.interval.high))
    per_gb = statistics.summarise(
        [1e9 * record["output_times"]["cpu_s"] / record["output_bytes"] for record, _ in pairs]
    )
    waited = statistics.summarise([_waited_s(record) / record["time_s"] for record, _ in pairs])
    hid = statistics.summarise([record["output_times"]["hidden_s"] for record, _ in pairs])
    return (
        f"Hidden output: a run is in its calls for {100 * waited.median:.1f} % of its time "
        f"({100 * waited.interval.low:.1f} to {100 * waited.interval.high:.1f}); {seconds_text(hid.median)} of storing "
        "pass beside the computation. "
        f"Beyond the processor time of storing it ({per_gb.median:.2f} s a GB, "
        f"{seconds_text(statistics.summarise(storing_s).median)} of a run on {cores} cores) it adds "
        f"{100 * summary.median:.1f} % ({low} to {high}) to the run without output."
    )


def _waited_s(record: Record) -> float:
    """How long the slowest ranks were in the output's calls."""
    return float(
        sum(record["output_times"][f"{phase}_s"] for phase in ("encode", "layout", "values", "finish", "gather"))
    )


def _remove_old(folder: Path) -> None:
    """Removes what an earlier demonstration left, and nothing else."""
    for pattern in (f"{APP}_*.nc", f"{APP}.series*.nc", "runs.jsonl", "wave.gif", "wave.png", "report.html"):
        for path in folder.glob(pattern):
            path.unlink()


def _run_wave(program: Program, folder: Path) -> Record:
    """The run for the eye, on as many ranks as there are cores, at most 2."""
    ranks = _ranks()
    progress.say(f"The tsunami of 11 March 2011 crosses the North Pacific on {ranks} rank{'s' * (ranks > 1)} …")
    begin = time.perf_counter()
    json = folder / "wave.jsonl"
    json.unlink(missing_ok=True)
    arguments = ["--method", "pipelined", "--output", str(folder / APP), "--json", str(json), *WAVE_ARGUMENTS]
    with progress.phase("computing"):
        finished = launch.run(program, arguments, ranks, timeout_s=600)
    launch.check(finished, APP)
    told = records.read(json) if json.exists() else []
    json.unlink(missing_ok=True)
    if len(told) != 1:
        raise RunError(f"{APP} ended without its record")
    progress.say(f"… {time.perf_counter() - begin:.1f} s")
    return told[0]


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

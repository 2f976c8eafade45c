"""The demonstration in a minute.

 1. A short run says how long a time step takes here, and so how much to compute between two steps of output: storing
    one takes about half of that on the modelled storage, one server of 118 MB/s (1 Gbit/s).
 2. The same run by a solver's own writer (one rank writes while the others wait) and by Hakobi's default, and without
    output, take turns on that storage, until BUDGET_S.
 3. A run is killed (kill -9) and resumed, on another number of ranks where there is a launcher: its files are held
    against those of a run that nobody killed.
 4. The picture, the page, and what to type next.

FOLDER/wave.png                  four pictures of the wave
FOLDER/demo.html                 everything on one page
FOLDER/wave_000000.nc …          the steps of the run that was killed and resumed
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hakobi import files, launch, programs
from hakobi.demo import drawing, solver
from hakobi.errors import HakobiError, RunError
from hakobi.measuring.storage_model import StorageModel
from hakobi.programs import Program
from hakobi.progress import phase, say
from hakobi.words import count_text

MODEL = StorageModel(servers=1, bandwidth_mb_s=118, latency_s=1e-4)
STEPS = 24
STEP_BYTES = 2 * 4 * solver.EXTENT**2
#: The part of the time between two steps of output that storing one takes.
SHARE = 0.5
FEWEST_BETWEEN, MOST_BETWEEN = 10, 400
ROUNDS = 3
#: No round begins that would not be done by then; what comes after takes 15 s.
BUDGET_S = 40.0
#: The step whose file is waited for before the kill.
KILLED_AFTER = 6
PREFIX = "wave"

OWN, HIDDEN, NONE = "one rank writes, the others wait", "Hakobi, hidden behind computing", "without output"
ARGUMENTS = {OWN: ("--method", "root", "--waits"), HIDDEN: ("--method", "pipelined"), NONE: ("--method", "none")}


@dataclass
class Machine:
    """How the solver is started here."""

    program: Program
    ranks: int  #: 1 where there is no launcher

    def command(self, arguments: Sequence[str], ranks: int) -> list[str]:
        words = ["-m", "hakobi.demo.solver", *arguments]
        if self.ranks == 1:
            return [str(self.program.path), *words]
        return launch.command_line(self.program, words, ranks)

    def environment(self, modelled: Path) -> dict[str, str]:
        return launch.environment(self.program.flavour, MODEL.environment(self.program, modelled))

    def run(self, prefix: Path, *arguments: str, ranks: int = 0) -> float:
        """Seconds of a run's steps and close. Raises RunError."""
        told = prefix.with_suffix(".json")
        command = self.command([str(prefix), *arguments, "--told", str(told)], ranks or self.ranks)
        finished = launch.run(
            self.program, [], 0, timeout_s=120, extra_environment=self.environment(prefix.parent), command=command
        )
        launch.check(finished, "the solver")
        return float(json.loads(told.read_text())["run_s"])


@dataclass
class Times:
    """Seconds of runs, by how they write."""

    of: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in ARGUMENTS})

    def medians(self) -> list[tuple[str, float]]:
        return [(name, statistics.median(values)) for name, values in self.of.items()]

    def sentence(self) -> str:
        """The runs' conclusion; no comparison where they do not tell the writers apart."""
        medians = dict(self.medians())
        own, hidden = (medians[name] / medians[NONE] for name in (OWN, HIDDEN))
        where = f"On a storage of {MODEL.bandwidth_mb_s:g} MB/s"
        if max(self.of[HIDDEN]) >= min(self.of[OWN]):
            return f"{where} the two ways to write cannot be told apart here: the machine was busy otherwise."
        if len(self.of[OWN]) == 1:
            where = (
                f"By one round only, since the machine is slow or busy: on a storage of {MODEL.bandwidth_mb_s:g} MB/s"
            )
        rest = f"makes it {hidden:.2f} times as long" if hidden >= 1.005 else "costs it nothing that can be measured"
        waits = "one rank that writes while the others wait"
        return f"{where}, {waits} makes this run {own:.2f} times as long; Hakobi {rest}."


def demo(folder: Path) -> int:
    """Runs the demonstration into `folder`. Raises HakobiError."""
    begin_s = time.monotonic()
    files.prepare_folder(folder)
    _remove_old(folder)
    machine = _machine()
    say(
        f"About a minute: waves over a sea floor on {count_text(machine.ranks, 'rank')}, {STEPS} steps of "
        f"{STEP_BYTES / 1e6:.0f} MB, on a model of a storage of {MODEL.bandwidth_mb_s:g} MB/s."
    )
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    if load > 0.5 * cores:
        say(f"hakobi: warning: the machine is busy, load {load:.1f} on {count_text(cores, 'core')}: all takes longer")
    memory = Path("/dev/shm")
    with files.own_folder(memory if os.access(memory, os.W_OK) else folder) as place:
        between = _time_steps_between(machine, Path(place))
        times = _measure(machine, Path(place), between, begin_s)
        sys.stdout.write(f"\n{times.sentence()}\n\n{drawing.bars(times.medians())}\n")
        sys.stdout.write(f"(medians of {count_text(len(times.of[OWN]), 'run')} each)\n\n")
        sys.stdout.flush()
        killed = _kill_and_resume(machine, folder, Path(place), between)
    sys.stdout.write(f"{killed}\n\n")
    sys.stdout.flush()
    with phase("drawing the wave", 2):
        film = drawing.png(_film(folder))
    (folder / "wave.png").write_bytes(film)
    typed = _next_steps(folder)
    page = drawing.page("Hakobi in a minute", times.sentence(), times.medians(), film, [killed], typed)
    (folder / "demo.html").write_text(page)
    sys.stdout.write(f"{typed}\n{time.monotonic() - begin_s:.0f} s in all.\n")
    return 0


def _machine() -> Machine:
    """By the first MPI library that there is a launcher and a library of Hakobi's for; else one process."""
    cores = len(os.sched_getaffinity(0))
    python = Path(sys.executable)
    for flavour in programs.FLAVOURS if programs.is_wheel() else (programs.flavour(),):
        with contextlib.suppress(HakobiError):
            launch.launcher(flavour)
            return Machine(Program(python, flavour), min(2, cores))
    return Machine(Program(python, programs.flavour()), 1)


def _time_steps_between(machine: Machine, place: Path) -> int:
    """So many that storing a step takes SHARE of the time between two."""
    with phase("a first run, to see how fast this machine is", 3):
        run_s = machine.run(place / "first", *ARGUMENTS[NONE], "--steps", "2", "--between", "50")
    store_s = STEP_BYTES / (1e6 * MODEL.bandwidth_mb_s)
    return max(FEWEST_BETWEEN, min(MOST_BETWEEN, round(store_s / SHARE / (run_s / 100))))


def _measure(machine: Machine, place: Path, between: int, begin_s: float) -> Times:
    times = Times()
    round_s = 0.0
    for number in range(ROUNDS):
        if number and time.monotonic() - begin_s + round_s > BUDGET_S:
            break
        round_begin_s = time.monotonic()
        for name, arguments in ARGUMENTS.items():
            with phase(f"round {number + 1} of {ROUNDS}: {name}", round_s / 3 if round_s else None):
                seconds = machine.run(place / name.split()[0].strip(","), *arguments, *_extent(between))
            times.of[name].append(seconds)
        round_s = time.monotonic() - round_begin_s
    return times


def _extent(between: int) -> tuple[str, ...]:
    return ("--steps", str(STEPS), "--between", str(between))


def _kill_and_resume(machine: Machine, folder: Path, place: Path, between: int) -> str:
    """Kills a rank of a run, resumes it on other ranks, and says how its files compare. `place` has those of a run that
    ended by itself. Raises RunError where they differ."""
    prefix = folder / PREFIX
    with phase("a run, to be killed", 3):
        _kill(machine, prefix, between)
    whole = len(list(folder.glob(f"{PREFIX}_??????.nc")))
    others = 1 if machine.ranks > 1 else machine.ranks
    with phase(f"resumed after {count_text(whole, 'whole step')}", 5):
        machine.run(prefix, *ARGUMENTS[HIDDEN], *_extent(between), "--resume", ranks=others)
    (folder / f"{PREFIX}.json").unlink(missing_ok=True)
    undisturbed = sorted(place.glob(f"{HIDDEN.split()[0].strip(',')}_??????.nc"))
    resumed = sorted(folder.glob(f"{PREFIX}_??????.nc"))
    same = [files.sha256([one]) == files.sha256([other]) for one, other in zip(undisturbed, resumed, strict=False)]
    if len(resumed) != STEPS or len(undisturbed) != STEPS or not all(same):
        raise RunError(
            f"{same.count(True)} of {STEPS} files of the killed and resumed run have the bytes of an undisturbed one"
        )
    how = f"resumed on {count_text(others, 'rank')}" if others != machine.ranks else "resumed"
    return (
        f"Killed (kill -9) with {count_text(whole, 'whole step')}, {how}: all {STEPS} files have the same bytes as "
        "those of a run that nobody killed."
    )


def _kill(machine: Machine, prefix: Path, between: int) -> None:
    """Starts a run and kills one of its ranks when a step is there."""
    command = machine.command([str(prefix), *ARGUMENTS[HIDDEN], *_extent(between)], machine.ranks)
    environment = machine.environment(prefix.parent)
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, text=True
    )
    try:
        awaited = Path(f"{prefix}_{KILLED_AFTER - 1:06d}.nc")
        begin_s = time.monotonic()
        while not awaited.exists():
            if process.poll() is not None or time.monotonic() - begin_s > 60:
                raise RunError(
                    f"the solver ended before it was killed: {(process.communicate()[1] or '').strip()[-200:]}"
                )
            time.sleep(0.01)
        for rank in range(machine.ranks):
            with contextlib.suppress(OSError, ValueError):
                os.kill(int(Path(f"{prefix}.{rank}.pid").read_text()), signal.SIGKILL)
        process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
        for path in prefix.parent.glob(f"{prefix.name}.*.pid"):
            path.unlink()


def _film(folder: Path) -> drawing.Pixels:
    """Four steps, half as large, of which the first is the earliest."""
    from hakobi import Input

    is_land = solver.depth()[::2, ::2] == 0
    with Input.open(folder / PREFIX) as steps:
        numbers = [steps.steps[round(at * (len(steps.steps) - 1))] for at in (0, 1 / 3, 2 / 3, 1)]
        frames = [steps.read("eta", step=number)[::2, ::2] for number in numbers]
    most = float(np.percentile(np.abs(frames[-1][~is_land]), 99.5)) or 1.0
    return drawing.film_strip([drawing.painted(frame, is_land, most) for frame in frames])


def _remove_old(folder: Path) -> None:
    """Removes what an earlier demonstration left, and nothing else."""
    for pattern in (f"{PREFIX}_??????.nc", f"{PREFIX}.series*.nc", f"{PREFIX}.png", "demo.html", f"{PREFIX}.json"):
        for path in folder.glob(pattern):
            path.unlink()


def own_command() -> str:
    """How the user calls this command from here."""
    path = Path(sys.argv[0])
    if path.name != "hakobi":
        return f"{sys.executable} -m hakobi"
    found = shutil.which("hakobi")
    if found and path.exists() and Path(found).samefile(path):
        return "hakobi"
    path = path.absolute()
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _next_steps(folder: Path) -> str:
    command, prefix = own_command(), folder / PREFIX
    return f"""picture   {folder / "wave.png"}
page      {folder / "demo.html"}
steps     {prefix}_*.nc   NetCDF-4, for ncdump, xarray, ParaView

What is in them; in a browser (pip install 'hakobi[post]'):
  {command} ls {prefix}
  {command} post {prefix}
A program of your own, its MPI-IO by Hakobi, unchanged; the careful study of what output costs (docs/measure.md):
  {command} run -- mpirun -n 2 ./solver
  {command} demo
"""

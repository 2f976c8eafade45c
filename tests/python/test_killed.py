"""Runs that are killed, in every cell of format x method x hidden x stage x steps a file x ranks x signal x opener:
what end_step has accepted is whole, is completed by the next opener, or is named by it.

HAKOBI_CELL_KILLS=300 kills so many, drawn at random; without it the suite kills those of CELLS.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from hakobi import launch, programs
from hakobi.programs import Program
from test_several_steps import wait_for_ranks

FLAVOUR = programs.flavour()
RUN = Path(__file__).resolve().parents[2] / "build" / FLAVOUR / "tests" / "endless_run"
GATHER = RUN.parents[1] / "bin" / "hakobi-gather"
NUM_KILLS = int(os.environ.get("HAKOBI_CELL_KILLS", "0"))
SEED = int(os.environ.get("HAKOBI_SEED", "1"))
LOG = os.environ.get("HAKOBI_CELL_LOG")

pytestmark = [
    pytest.mark.programs,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not RUN.is_file(), reason=f"{RUN} is not built"),
]


@dataclass(frozen=True)
class Cell:
    format: str = "vtkhdf"
    method: str = "pipelined"
    is_hidden: bool = True
    stage_rate: str = ""  # "": no stage
    steps_per_file: str = "1"
    ranks: int = 2
    how: str = "kill"  # or terminate; of all ranks, or of the last one
    is_one_rank: bool = False
    opener: str = "look"

    def __str__(self) -> str:
        words = [self.format, self.method, "hidden" if self.is_hidden else "", f"stage{self.stage_rate}", self.opener]
        return "-".join(word for word in [*words, self.steps_per_file, str(self.ranks), self.how] if word)


CELLS = [
    Cell(stage_rate="2M", opener="gather"),
    Cell(steps_per_file="3", opener="open"),
    Cell(steps_per_file="all", method="writers"),
    Cell(format="netcdf4", steps_per_file="3", method="writers", ranks=3, is_one_rank=True),
]


def is_taken(cell: Cell) -> bool:
    """Whether Output takes its options."""
    if (cell.method == "per-process" or cell.stage_rate) and cell.steps_per_file != "1":
        return False
    if cell.method == "per-process" and cell.stage_rate:
        return False
    return cell.format != "zarr" or (not cell.stage_rate and cell.steps_per_file == "1")


def drawn(number: int) -> Cell:
    draw = random.Random(SEED * 100_000 + number)
    while True:
        cell = Cell(
            format=draw.choice(["netcdf4", "vtkhdf", "vtkhdf", "zarr"]),
            method=draw.choice(["root", "pipelined", "writers", "writers", "per-process"]),
            is_hidden=draw.random() < 0.7,
            stage_rate=draw.choice(["", "0", "2M", "20M"]),
            steps_per_file=draw.choice(["1", "3", "3", "all"]),
            ranks=draw.choice([1, 1, 2, 3]),
            how=draw.choice(["kill", "kill", "terminate"]),
            is_one_rank=draw.random() < 0.3,
            opener=draw.choice(["look", "open", "gather"]),
        )
        # Input reads no pieces of meshes and compressed fields: they are gathered before.
        if is_taken(cell) and (cell.method, cell.opener) != ("per-process", "look"):
            return cell


def ranks_of(prefix: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[0] == str(RUN).encode() and prefix.encode() in words:
                found.append(int(folder.name))
    return sorted(found)


def settings_of(cell: Cell, stage: Path) -> dict[str, str]:
    settings = {"HAKOBI_ASYNCHRONOUS": "1" if cell.is_hidden else "0"}
    if cell.stage_rate:
        settings |= {"HAKOBI_STAGE": str(stage), "HAKOBI_STAGE_RATE": cell.stage_rate, "HAKOBI_STAGE_BYTES": "30M"}
    return settings


def accepted_steps(prefix: str) -> set[int]:
    path = Path(f"{prefix}.accepted")
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return {int(line) for line in lines if line.endswith("\n")}


def run_until_killed(cell: Cell, prefix: str, mode: str, stage: Path, alive_s: float) -> str:
    """Returns what it said."""
    before = len(accepted_steps(prefix))
    arguments = [prefix, cell.method, mode, cell.format, cell.steps_per_file]
    command = [str(RUN), *arguments]
    process = subprocess.Popen(
        command if cell.ranks == 1 else launch.command_line(Program(RUN, FLAVOUR), arguments, cell.ranks),
        env=launch.environment(FLAVOUR, settings_of(cell, stage)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline_s = time.monotonic() + 60
    try:
        while process.poll() is None and len(accepted_steps(prefix)) == before and time.monotonic() < deadline_s:
            time.sleep(0.005)
        time.sleep(alive_s)
        assert process.poll() is None, process.communicate()[1]
        assert len(accepted_steps(prefix)) > before, "no step in a minute"
        signal_of = {"kill": signal.SIGKILL, "terminate": signal.SIGTERM}[cell.how]
        ranks = ranks_of(prefix)
        for rank in ranks[-1:] if cell.is_one_rank else ranks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rank, signal_of)
        _, said = process.communicate(timeout=60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    wait_for_ranks(prefix)
    return said


def look(cell: Cell, prefix: str) -> tuple[set[int], str]:
    """The steps that are there, each whole, and what was said of others."""
    done = subprocess.run(
        [str(RUN), prefix, "-", "look", cell.format],
        capture_output=True, text=True, timeout=120, check=False, env=launch.environment(FLAVOUR, {}),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return {int(word) for word in done.stdout.split()}, done.stderr


def opened(cell: Cell, prefix: str, stage: Path) -> str:
    if cell.opener == "look":
        return ""
    command = [str(GATHER), prefix]
    if cell.opener == "open":
        command = [str(RUN), prefix, cell.method, "open", cell.format, cell.steps_per_file]
    environment = launch.environment(FLAVOUR, settings_of(cell, stage))
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    # 1: something is left, which is named.
    assert done.returncode in ((0, 1) if cell.opener == "gather" else (0,)), done.stderr
    return done.stderr


def named_steps(text: str) -> set[int]:
    """Those that lines of Hakobi's name: "step 3", "steps 2 to 4", or a file."""
    named: set[int] = set()
    for first, last in re.findall(r"steps? (\d+)(?: to (\d+))?", text):
        named |= set(range(int(first), int(last or first) + 1))
    return named | {int(number) for number in re.findall(r"run_(\d{6})\.", text)}


@pytest.mark.parametrize("number", range(NUM_KILLS or len(CELLS)))
def test_accepted_steps_are_whole_completed_or_named(tmp_path: Path, number: int) -> None:
    cell = drawn(number) if NUM_KILLS else CELLS[number]
    draw = random.Random(SEED * 100_000 + number)
    home, stage = tmp_path / "home", tmp_path / "stage"
    home.mkdir()
    stage.mkdir()
    prefix = str(home / "run")
    kept: set[int] = set()
    for mode in ["fail", "resume"] if NUM_KILLS else ["resume"]:
        said = run_until_killed(cell, prefix, mode, stage, draw.uniform(0, 0.1))
        told = opened(cell, prefix, stage)
        whole, told_then = look(cell, prefix)
        accepted = accepted_steps(prefix)
        missing = accepted - whole - named_steps(told + told_then)
        assert not missing, f"{cell}: steps {missing} have vanished\n{said}\n{told}\n{told_then}"
        assert kept <= whole, f"{cell}: steps {kept - whole} were whole"
        kept = whole
        # The next run takes up where this one ends: what was lost and named is written anew.
        Path(f"{prefix}.accepted").write_text("".join(f"{step}\n" for step in sorted(whole)))
        if LOG:
            with Path(LOG).open("a") as log:
                print(cell, mode, len(accepted), len(whole & accepted), len(accepted - whole), sep="\t", file=log)

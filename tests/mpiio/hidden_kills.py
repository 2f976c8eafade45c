"""Hidden output under kills and storage faults at random moments (docs/hidden.md).

    hidden_kills.py --drop-in LIBRARY --model LIBRARY --folder FOLDER [--kills N] [--faults N] [--seed S] [--ranks N]
        -- launcher … -n {ranks} program

The program is hidden_close_program.c, which writes eleven files; the model's speed, the hint, the ranks (1 to 3) and
whether a rank writes alone are drawn for each run. HAKOBI_CASES is the number of both together, by default 8; a quarter
of them are kills. HAKOBI_SEED repeats a run.

A kill ends all ranks. Each file whose close had returned must be whole then, or have a `.hakobi-pending` beside it; and
a run over what is left must end well and leave none.

A fault is one failure of rank 0 to N-1's n-th open, write, sync or close. A file that has other bytes in the end must
have been told of, by a call of the program or by a line that names it, and the status is not 0 where there is a line.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

PIECE, NUM_PIECES, NUM_STEPS, BEHIND = 4096, 256, 11, b"b" * 64
MOST_S = 60
#: The rounds of the files that are there after a run that nothing disturbs, by step.
ROUNDS = {step: {6: 100, 8: 108}.get(step, step) for step in range(NUM_STEPS) if step != 3}
SAID = re.compile(r"^(writes|closed|removes) (\d+) (\d+)$", re.M)
TOLD_BY_CALL = re.compile(r"^rank \d+: step (\d+): (?:open|write|write behind|close|open to read|read)$", re.M)
TOLD_BY_LINE = re.compile(r"^hakobi: \S*step_(\d+)\S*: rank \d+: hidden output is not stored whole: ", re.M)
WRONG = re.compile(r"^rank \d+: step (\d+): (it is closed, and nothing .*|another group of ranks reads .*)$", re.M)
CYCLE = bytes((31 * i) % 251 + 1 for i in range(251)) * (PIECE // 251 + 3)
#: The product with 31 is 1 modulo 251.
INVERSE = pow(31, -1, 251)


@functools.cache
def pieces(ranks: int, at_round: int) -> tuple[bytes, ...]:
    """A file's pieces, in its order: the program's `value`."""
    found = []
    for number in range(NUM_PIECES):
        for rank in range(ranks):
            first = number * PIECE * 31 + number * 7 + rank * 57 + at_round * 101
            begin = first * INVERSE % 251
            found.append(CYCLE[begin : begin + PIECE])
    return tuple(found)


def holds(path: Path, ranks: int, rounds: set[int], is_behind: bool) -> bool:
    """Whether each piece of the file is one of these rounds'."""
    if not path.exists():
        return False
    data = path.read_bytes()
    size = ranks * NUM_PIECES * PIECE
    if len(data) != size + (len(BEHIND) if is_behind else 0) or (is_behind and data[size:] != BEHIND):
        return False
    if len(rounds) == 1:
        return data[:size] == b"".join(pieces(ranks, *rounds))
    found = [data[at : at + PIECE] for at in range(0, size, PIECE)]
    return all(piece in right for piece, *right in zip(found, *(pieces(ranks, each) for each in rounds), strict=True))


@dataclass
class Draw:
    """A run as it is drawn."""

    hidden: str
    ranks: int
    is_behind: bool
    bandwidth: int

    @staticmethod
    def next(draws: random.Random, ranks: int, speeds: tuple[int, ...]) -> Draw:
        return Draw(
            draws.choice(["close", "close", "write"]),
            ranks or draws.randint(1, 3),
            draws.random() < 0.5,
            draws.choice(speeds),
        )


@dataclass
class Run:
    status: int | None  # None: it did not end
    stdout: str
    stderr: str


@dataclass
class Counts:
    kills: int = 0
    killed: int = 0
    files_closed: int = 0
    files_pending: int = 0
    faults: int = 0
    told_by_call: int = 0
    told_by_line: int = 0
    files_wrong: int = 0
    findings: list[str] = field(default_factory=list)


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.folder: Path = options.folder.resolve()
        self.counts = Counts()
        self.seconds: dict[str, float] = {}

    def run(self, draw: Draw, *words: str, fault: str = "") -> Run:
        variables = {
            "LD_PRELOAD": f"{self.options.drop_in.resolve()}:{self.options.model.resolve()}",
            "HAKOBI_STORAGE_MODEL": f"servers=1,bandwidth={draw.bandwidth},latency=1ms,stripe=1M",
            "HAKOBI_STORAGE_MODEL_PATH": str(self.folder),
            "HAKOBI_HINTS": f"hakobi_hidden={draw.hidden};hakobi_io_threads=1;cb_buffer_size=256k",
            "HAKOBI_FAULT": fault,
            # Open MPI's launcher need not wait for ranks that are dead.
            "OMPI_MCA_odls_base_sigkill_timeout": "0",
        }
        command = [word.replace("{ranks}", str(draw.ranks)) for word in self.options.command]
        command += [str(self.folder), "steps", *(["behind"] if draw.is_behind else []), *words]
        child = subprocess.Popen(
            command,
            env=os.environ | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            stdout, stderr = child.communicate(timeout=MOST_S)
            return Run(child.returncode, stdout, stderr)
        except subprocess.TimeoutExpired:
            child.terminate()  # a launcher ends its ranks
            stdout, stderr = child.communicate()
            return Run(None, stdout, stderr)

    def pending(self, step: int) -> list[str]:
        return [path.name for path in self.folder.glob(f"step_{step}.hakobi-pending*")]

    def path(self, step: int) -> Path:
        renamed = self.folder / f"step_{step}.renamed"
        return renamed if renamed.exists() else self.folder / f"step_{step}"

    def clean(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def find(self, what: str, draw: Draw, run: Run, how: str) -> None:
        names = sorted(path.name for path in self.folder.iterdir())
        self.counts.findings.append(f"{what}: {draw}, {how}")
        print(f"FOUND {self.counts.findings[-1]}\nstatus {run.status}")
        print(f"{run.stdout[-1500:]}{run.stderr[-2500:]}{names}\n", flush=True)

    def duration_us(self, draw: Draw) -> int:
        if str(draw) not in self.seconds:
            self.clean()
            begin_s = time.monotonic()
            run = self.run(draw)
            self.seconds[str(draw)] = time.monotonic() - begin_s
            if run.status != 0 or TOLD_BY_LINE.search(run.stderr):
                self.find("a run that nothing disturbs fails", draw, run, "no kill")
        return int(self.seconds[str(draw)] * 1e6)

    def kill(self, draws: random.Random) -> None:
        draw = Draw.next(draws, self.options.ranks, (10, 40, 100))
        after_us = draws.randint(1, self.duration_us(draw))
        how = f"killed after {after_us} us"
        self.clean()
        run = self.run(draw, str(after_us))
        self.counts.kills += 1
        if run.status is None:
            return self.find("it does not end", draw, run, how)
        self.counts.killed += run.status != 0
        closed: dict[int, set[int]] = {}  # by step: the rounds that its pieces may have
        for what, step, at_round in ((each[0], int(each[1]), int(each[2])) for each in SAID.findall(run.stdout)):
            if what == "closed":
                closed[step] = {at_round}
            elif what == "removes":
                closed.pop(step, None)
            elif step in closed:
                closed[step].add(at_round)
        for step, rounds in closed.items():
            self.counts.files_closed += 1
            self.counts.files_pending += bool(self.pending(step))
            if not self.pending(step) and not holds(self.path(step), draw.ranks, rounds, draw.is_behind):
                self.find(f"step {step} is closed, not whole, and nothing says so", draw, run, how)
        again = Draw(draws.choice(["close", "write"]), draw.ranks, draw.is_behind, 300)
        left = sorted(path.name for path in self.folder.iterdir())
        run = self.run(again)
        how = f"over what a run left that was {how}: {draw}, {left}"
        if run.status != 0 or TOLD_BY_LINE.search(run.stderr):
            self.find("a run over what is left fails", again, run, how)
        for step in range(NUM_STEPS):
            if self.pending(step):
                self.find(f"step {step} is whole, and {self.pending(step)} is left", again, run, how)
            if step in ROUNDS and not holds(self.path(step), draw.ranks, {ROUNDS[step]}, draw.is_behind):
                self.find(f"step {step} is not whole", again, run, how)
        return None

    def fault(self, draws: random.Random) -> None:
        draw = Draw.next(draws, self.options.ranks, (40, 100, 300))
        fault = (
            f"rank={draws.randrange(draw.ranks)},operation={draws.choice(['open', 'write', 'write', 'sync', 'close'])},"
            f"nth={draws.randint(1, 40)},error={draws.choice(['ENOSPC', 'EIO', 'EDQUOT'])}"
        )
        self.clean()
        run = self.run(draw, "unchecked", fault=fault)
        self.counts.faults += 1
        if run.status is None:
            return self.find("it does not end", draw, run, fault)
        by_call = {int(step) for step in TOLD_BY_CALL.findall(run.stderr)}
        by_line = {int(step) for step in TOLD_BY_LINE.findall(run.stderr)}
        self.counts.told_by_call += bool(by_call)
        self.counts.told_by_line += bool(by_line)
        if (run.status != 0) != bool(by_line):
            self.find("the status and the lines differ", draw, run, fault)
        for step, what in WRONG.findall(run.stderr):
            if int(step) not in by_call:
                self.find(f"step {step}: {what}", draw, run, fault)
        for step, at_round in ROUNDS.items():
            is_told = step in by_call or step in by_line
            if self.pending(step) and not is_told:
                self.find(f"{self.pending(step)} is left, and nothing is told", draw, run, fault)
            if not holds(self.path(step), draw.ranks, {at_round}, draw.is_behind):
                self.counts.files_wrong += 1
                if not is_told:
                    self.find(f"step {step} is not whole, and nothing is told", draw, run, fault)
        return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drop-in", required=True, type=Path)
    parser.add_argument("--model", required=True, type=Path)
    parser.add_argument("--folder", required=True, type=Path)
    parser.add_argument("--ranks", type=int, default=0, help="0, the default: drawn")
    cases = int(os.environ.get("HAKOBI_CASES", 8))
    parser.add_argument("--kills", type=int, default=cases // 4)
    parser.add_argument("--faults", type=int, default=cases - cases // 4)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("HAKOBI_SEED", 0)), help="0, the default: drawn")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    seed = options.seed or random.randrange(1, 32768)
    print(f"HAKOBI_SEED={seed}", flush=True)
    draws, bench = random.Random(seed), Bench(options)
    for _ in range(options.kills):
        bench.kill(draws)
    for _ in range(options.faults):
        bench.fault(draws)
    shutil.rmtree(options.folder, ignore_errors=True)
    counts = bench.counts
    print(
        f"hidden output: {counts.kills} kills, {counts.killed} before the end, {counts.files_closed} files closed by "
        f"then, {counts.files_pending} files pending, {counts.faults} faults, {counts.told_by_call} told by calls, "
        f"{counts.told_by_line} told by lines, {counts.files_wrong} files not whole, {len(counts.findings)} findings"
    )
    return 1 if counts.findings else 0


if __name__ == "__main__":
    sys.exit(main())

"""Ends of hidden output: it cannot be stored, or the program ends (docs/hidden.md).

    hidden_ends.py --drop-in LIBRARY --model LIBRARY --folder FOLDER --ranks N [--accesses N] [--only CASE]
        -- launcher … program

The program is hidden_close_program.c. Each case runs it on a model of storage on which the bytes of a file take a
fraction of a second, with a fault at the last of rank 0's `--accesses` to a file or without one, and looks at its
status, its words and the files that it leaves.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

#: The accesses of a file are in line, in the file's order.
HINTS = "hakobi_io_threads=1;cb_buffer_size=256k"
MODEL = "servers=1,bandwidth=16,latency=1ms,stripe=1M"
LINE = re.compile(r"hakobi: \S*step_\d: rank \d: hidden output is not stored whole: .*")


@dataclass
class Run:
    status: int
    stdout: str
    stderr: str
    files: set[str]

    def lines(self) -> int:
        return len(LINE.findall(self.stderr))


@dataclass
class Case:
    name: str
    words: tuple[str, ...]
    expected: Callable[[Run, int], str]  # what is wrong, "" where nothing is
    hidden: str = "close"
    fault: str = ""
    variables: dict[str, str] = field(default_factory=dict)


def all_is_well(run: Run, ranks: int) -> str:
    if run.status != 0 or run.lines():
        return "it should end well"
    return "a file says that another is not whole" if any("pending" in name for name in run.files) else ""


def told_at_the_end(run: Run, ranks: int) -> str:
    if run.lines() != 1:
        return "one line should name file, rank and cause"
    return "" if run.status != 0 else "the status should not be 0"


def told_and_marked(run: Run, ranks: int) -> str:
    if not any("pending" in name for name in run.files):
        return "nothing says that the file is not whole"
    return told_at_the_end(run, ranks)


def told_by_close_or_marked(run: Run, ranks: int) -> str:
    """The write fails at once: the close may know of it, and then waits and tells."""
    by_close = [f"rank {rank}: step 0: close" for rank in range(ranks)]
    return "" if run.status != 0 and all(line in run.stderr for line in by_close) else told_and_marked(run, ranks)


def only_told(run: Run, ranks: int) -> str:
    return "" if run.lines() == 1 and run.status == 0 else "one line, and status 0"


def says(*lines: str, error: str = "NO_SPACE", status: int = 0) -> Callable[[Run, int], str]:
    """These lines, of which each rank has its part, among the program's; `error` stands for the class and a call of the
    handler."""

    def compare(run: Run, ranks: int) -> str:
        for line in lines:
            call, _, result = line.partition(": ")
            word = f"{error}/1" if result == "error" else "success/0"
            if f"{call}:{f' {word}' * ranks}" not in run.stdout:
                return f"it should say '{call}:' and {ranks} x {word}"
        return "" if (run.status != 0) == (status != 0) else f"status {run.status}"

    return compare


def told_to_each(run: Run, ranks: int) -> str:
    """Another node knows that there was an error, not which."""
    if not re.search(rf"^open alone:( (NO_SPACE|IO)/1){{{ranks}}}$", run.stdout, re.M):
        return "the open by each rank alone should tell"
    if re.search(r"^open:.*/1", run.stdout, re.M):
        return "it should be told once"
    return says("second open alone: success", status=1)(run, ranks)


def killed(run: Run, ranks: int) -> str:
    return "" if "step_0.hakobi-pending" in run.files else "nothing says that the file is not whole"


#: Rank 0's last access of a file, of which {nth} is the number.
WRITE = "rank=0,operation=write,nth={nth},path=step_0,error="
#: The write of rank 1 alone; with one rank some write of the file.
BEHIND = "rank={alone},operation=write,nth={nth_alone},path=step_0,error="
CASES = [
    Case("files a step", ("steps",), all_is_well),
    Case("files a step, hidden writes alone", ("steps",), all_is_well, hidden="write"),
    Case("until MPI_Finalize", ("finalize",), all_is_well),
    Case("no space behind a close", ("finalize",), told_and_marked, fault=WRITE + "ENOSPC"),
    Case("an error that is to be a warning", ("finalize",), only_told, fault=WRITE + "EIO",
         variables={"HAKOBI_HIDDEN_ERRORS": "warn"}),
    Case("an error of close(2)", ("finalize",), told_at_the_end,
         fault="rank=0,operation=close,nth=1,path=step_0,error=EIO"),
    Case("the next open tells", ("again",), says("close: success", "open: error", status=1), fault=WRITE + "ENOSPC"),
    Case("the next open tells of EIO", ("again",), says("open: error", error="IO", status=1), fault=WRITE + "EIO"),
    Case("the next open by each rank alone tells", ("alone",), told_to_each, fault=WRITE + "ENOSPC"),
    Case("the next write tells", ("write", "write"), says("write: success", "second write: error",
         "third write: success", "close: success"), fault=WRITE + "ENOSPC"),
    Case("sync tells", ("write", "sync"), says("write: success", "sync: error", "close: success"),
         hidden="write", fault=WRITE + "ENOSPC"),
    Case("close tells", ("write", "close"), says("write: success", "close: error", error="IO"), hidden="write",
         fault=WRITE + "EIO"),
    Case("MPI_Finalize tells of a file that is open", ("write", "finalize"), told_at_the_end, hidden="write",
         fault=WRITE + "ENOSPC"),
    Case("killed", ("kill",), killed),
    Case("a rank's own write", ("behind",), all_is_well),
    Case("no space for a rank's own write behind a close", ("behind",), told_by_close_or_marked,
         fault=BEHIND + "ENOSPC"),
    Case("the next write tells of a rank's own", ("write", "write", "behind"), says("write: success",
         "write behind: success", "second write: error", "third write: success", "close: success"),
         fault=BEHIND + "ENOSPC"),
    Case("sync tells of a rank's own", ("write", "sync", "behind"), says("write behind: success", "sync: error",
         "close: success"), hidden="write", fault=BEHIND + "ENOSPC"),
    Case("close tells of a rank's own", ("write", "close", "behind"), says("write behind: success", "close: error",
         error="IO"), hidden="write", fault=BEHIND + "EIO"),
    Case("MPI_Finalize tells of a rank's own", ("write", "finalize", "behind"), told_at_the_end, hidden="write",
         fault=BEHIND + "ENOSPC"),
]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drop-in", required=True, type=Path)
    parser.add_argument("--model", required=True, type=Path)
    parser.add_argument("--folder", required=True, type=Path)
    parser.add_argument("--ranks", required=True, type=int)
    parser.add_argument("--accesses", type=int, default=8)
    parser.add_argument("--only", default="")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    num_wrong = 0
    for case in CASES:
        if options.only not in case.name:
            continue
        shutil.rmtree(options.folder, ignore_errors=True)
        options.folder.mkdir(parents=True)
        alone = 1 if options.ranks > 1 else 0
        fault = case.fault.format(nth=options.accesses, alone=alone, nth_alone=1 if alone else options.accesses + 1)
        variables = {
            "LD_PRELOAD": f"{options.drop_in.resolve()}:{options.model.resolve()}",
            "HAKOBI_STORAGE_MODEL": MODEL,
            "HAKOBI_STORAGE_MODEL_PATH": str(options.folder),
            "HAKOBI_HINTS": f"hakobi_hidden={case.hidden};{HINTS}",
            **({"HAKOBI_FAULT": fault} if fault else {}),
            **case.variables,
        }
        done = subprocess.run(
            [*options.command, str(options.folder), *case.words],
            env=os.environ | variables, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        run = Run(done.returncode, done.stdout, done.stderr, {path.name for path in options.folder.iterdir()})
        if wrong := case.expected(run, options.ranks):
            num_wrong += 1
            print(f"{case.name}: {wrong}\n{done.stdout}{done.stderr[-3000:]}{sorted(run.files)}", file=sys.stderr)
    shutil.rmtree(options.folder, ignore_errors=True)
    return 1 if num_wrong else 0


if __name__ == "__main__":
    sys.exit(main())

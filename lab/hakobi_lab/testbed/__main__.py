"""Runs an MPI program on a testbed's nodes, also while its server goes away:

    python -m hakobi_lab.testbed WANTED [--ranks N] [--drop-in] [--fault FAULT] PROGRAM [ARGUMENT ...]

WANTED: nfs, smb, gluster or ceph, then rate, nodes, size, options, osds (of ceph):
"nfs,1gbit,nodes=4,options=vers=3:nolock". The server's files are below /srv/shared on the nodes; N ranks (one a node)
are dealt out to them. --drop-in puts the drop-in in
front of the program's MPI-IO, as `hakobi run` does. FAULT: "stop@5+20" stops the server's processes 5 s after the
program's start and lets them go on 20 s later; "cut@5+20" does so with its link. At the end the server's files are
listed with their sizes; --verify SCRIPT runs a Python script beside the server, with its folder as the argument,
before all goes away. Exit status: the program's, or the script's where that is not 0; 77 (skipped, with a line that
says why) where no testbed can be made.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

from hakobi import drop_in, files, launch, programs
from hakobi.errors import InputError
from hakobi.programs import Program
from hakobi_lab.testbed import Testbed, parse
from hakobi_lab.testbed.ending import end_with

#: The words that undo a fault.
UNDONE = {"stop": "continue", "cut": "restore"}


def parse_fault(text: str) -> tuple[str, float, float]:
    """The fault, after how many seconds, for how many. Raises InputError.

    >>> parse_fault("cut@5+2.5")
    ('cut', 5.0, 2.5)
    """
    found = re.fullmatch(r"(stop|cut)@(\d+(?:\.\d+)?)\+(\d+(?:\.\d+)?)", text)
    if not found:
        raise InputError(f"--fault {text}: give stop@5+20 or cut@5+20: after and for how many seconds")
    return found.group(1), float(found.group(2)), float(found.group(3))


def fail_while(bed: Testbed, fault: tuple[str, float, float], ended: threading.Event) -> None:
    """Lets it happen, unless the program has ended, and undoes it."""
    word, after_s, for_s = fault
    if ended.wait(after_s):
        return
    begin = time.monotonic()
    bed.tell(word)
    sys.stderr.write(f"testbed: {word} for {for_s:g} s\n")
    has_ended = ended.wait(for_s)
    bed.tell(UNDONE[word])
    passed = f"{time.monotonic() - begin:.1f} s"
    sys.stderr.write(f"testbed: {UNDONE[word]} after {passed}{', the program had ended' if has_ended else ''}\n")


def preloaded(program: Program) -> dict[str, str]:
    """The environment that puts the drop-in in front of a program's MPI-IO. Raises InputError."""
    return {"LD_PRELOAD": drop_in.preload_text([drop_in.library_of(program.path)], "")}


def main() -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").split("\n\n")[1].strip())
    parser.add_argument("wanted")
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--drop-in", action="store_true")
    parser.add_argument("--fault")
    parser.add_argument("--verify", type=Path)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    wanted = parse(given.wanted)
    fault = parse_fault(given.fault) if given.fault else None
    path = Path(given.program)
    program = Program(path.resolve(), programs.flavour_of(path)) if path.is_file() else programs.find(given.program)
    ranks = given.ranks or wanted.nodes
    variables = preloaded(program) if given.drop_in else {}
    with Testbed(wanted) as bed:
        ended = threading.Event()
        failing = threading.Thread(target=fail_while, args=(bed, fault, ended)) if fault else None
        if failing:
            failing.start()
        try:
            command = bed.command_line(program, given.arguments, ranks, variables)
            done = launch.run(program, given.arguments, ranks, capture=False, command=command)
        finally:
            ended.set()
            if failing:
                failing.join()
        sys.stderr.write(f"testbed: {program.name} ended with status {done.status} after {done.wall_s:.1f} s\n")
        for file in files.files_below(bed.folder):
            sys.stderr.write(f"testbed: {file.stat().st_size:12d} {file.relative_to(bed.folder)}\n")
        status = done.status
        if given.verify:
            checked = subprocess.run([sys.executable, given.verify, bed.folder], check=False)
            status = checked.returncode or status
    return status


if __name__ == "__main__":
    end_with(main)

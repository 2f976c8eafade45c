"""Slurm on this machine, for a command or until it is ended:

    python -m hakobi_lab.slurm up [nodes=4] [cpus=2]    brings it up, and it stays up
    python -m hakobi_lab.slurm run COMMAND [ARGUMENT …] runs a command where jobs are submitted; without `up` in a Slurm
                                                        of its own, which goes with the command
    python -m hakobi_lab.slurm down                     ends it with all jobs

Exit status: the command's; 77 (skipped, with a line that says why) where none can be made.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hakobi.errors import InputError
from hakobi_lab.slurm.cluster import Cluster, end, enter, is_first_process
from hakobi_lab.testbed import packages
from hakobi_lab.testbed.ending import end_with

MOST_NODES = 16


def parse(words: list[str]) -> dict[str, int]:
    """Raises InputError.

    >>> parse(["nodes=2"])
    {'nodes': 2, 'cpus': 2}
    """
    found = {"nodes": 4, "cpus": 2}
    for word in words:
        name, _, value = word.partition("=")
        if name not in found or not value.isdecimal() or not 1 <= int(value) <= MOST_NODES:
            raise InputError(f"'{word}' is no word of a Slurm: nodes=N and cpus=N, 1 to {MOST_NODES}")
        found[name] = int(value)
    return found


def _place() -> Path:
    """Where the pid of the one that stays is kept."""
    return packages.folder() / "slurm.pid"


def known() -> int:
    """The first process of the one that stays; 0: there is none."""
    try:
        pid = int(_place().read_text())
    except (OSError, ValueError):
        return 0
    return pid if is_first_process(pid) else 0


def up(words: list[str]) -> int:
    asked = parse(words)
    if known():
        raise InputError("Slurm is up: end it first (tools/testbed slurm down)")
    with Cluster(asked["nodes"], asked["cpus"], [Path.cwd()], stays=True) as cluster:
        _place().write_text(f"{cluster.pid}\n")
    sys.stderr.write(f"testbed: Slurm is up with {asked['nodes']} nodes of {asked['cpus']} processors\n")
    return 0


def run(command: list[str]) -> int:
    if not command:
        raise InputError("name the command to run: tools/testbed slurm run sinfo")
    if pid := known():
        os.execvp("nsenter", enter(pid, command))
    with Cluster(shared=[Path.cwd()]) as cluster:
        return subprocess.run(cluster.command_line(command), check=False).returncode


def down() -> int:
    if pid := known():
        end(pid)
    _place().unlink(missing_ok=True)
    return 0


def main(words: list[str]) -> int:
    what, rest = (words[0], words[1:]) if words else ("", [])
    if what == "up":
        return up(rest)
    if what == "run":
        return run(rest)
    if what == "down" and not rest:
        return down()
    raise InputError("say up [nodes=4] [cpus=2], run COMMAND, or down")


if __name__ == "__main__":
    end_with(lambda: main(sys.argv[1:]))

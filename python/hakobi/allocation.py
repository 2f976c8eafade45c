"""Places to start ranks on: the allocation of a batch system, or this machine."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hakobi.errors import InputError
from hakobi.words import bytes_text, count_text

#: Ranks of a core from which on starting them takes longer than anybody expects.
CROWD = 32
#: The memory of a rank before the program has begun: Open MPI 4 and MPICH 4 with a handful of ranks on a
#: node.
RANK_BYTES = 20 << 20


@dataclass(frozen=True)
class Allocation:
    """A job of a batch system that this process is in. 0: the batch system's environment does not tell."""

    scheduler: str
    job: str
    num_nodes: int = 0
    num_cpus: int = 0

    def words(self) -> str:
        """For people: "Slurm job 12: 4 nodes, 8 processors"."""
        parts = [(self.num_nodes, "node"), (self.num_cpus, "processor")]
        told = ", ".join(count_text(number, word) for number, word in parts if number)
        return f"{self.scheduler} job {self.job}" + (f": {told}" if told else "")


def current(variables: Mapping[str, str] | None = None) -> Allocation | None:
    """The allocation that this process is in; None: it is in none that is known.

    >>> slurm = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "3", "SLURM_JOB_CPUS_PER_NODE": "2(x2),4"}
    >>> current(slurm).words(), current({})
    ('Slurm job 7: 3 nodes, 8 processors', None)
    """
    given = os.environ if variables is None else variables
    if job := given.get("SLURM_JOB_ID"):
        nodes = given.get("SLURM_JOB_NUM_NODES", "")
        return Allocation("Slurm", job, int(nodes) if nodes.isdecimal() else 0, _slurm_cpus(given))
    if job := given.get("PBS_JOBID"):
        return Allocation("PBS", job, num_nodes=_different_lines(given.get("PBS_NODEFILE", "")))
    if job := given.get("LSB_JOBID"):
        return Allocation("LSF", job, num_nodes=_different_lines(given.get("LSB_DJOB_HOSTFILE", "")))
    if job := given.get("FLUX_ENCLOSING_ID") or given.get("FLUX_JOB_ID"):
        return Allocation("Flux", job)
    return None


def _slurm_cpus(variables: Mapping[str, str]) -> int:
    parts = re.findall(r"(\d+)(?:\(x(\d+)\))?", variables.get("SLURM_JOB_CPUS_PER_NODE", ""))
    return sum(int(number) * int(times or 1) for number, times in parts)


def _different_lines(path: str) -> int:
    try:
        return len(set(Path(path).read_text().split()))
    except OSError:
        return 0


def check_ranks(ranks: int) -> None:
    """Raises InputError for more ranks than this machine's memory holds: the launcher alone would take all of it."""
    import psutil

    total = psutil.virtual_memory().total + psutil.swap_memory().total
    if ranks * RANK_BYTES > total:
        raise InputError(
            f"{count_text(ranks, 'rank')} take about {bytes_text(ranks * RANK_BYTES)} of memory before they begin, and "
            f"this machine has {bytes_text(total)}: at most {total // RANK_BYTES} can be started"
        )


def check_ranks_in(allocation: Allocation, ranks: int) -> None:
    """Raises InputError for more ranks than an allocation has processors."""
    each = os.environ.get("SLURM_CPUS_PER_TASK", "1") if allocation.scheduler == "Slurm" else "1"
    needed = ranks * (int(each) if each.isdecimal() else 1)
    if allocation.num_cpus and needed > allocation.num_cpus:
        what = count_text(ranks, "rank") + (
            f" with {count_text(int(each), 'processor')} each" if needed != ranks else ""
        )
        raise InputError(
            f"{what} are more than the allocation has ({allocation.words()}): start fewer, ask for more tasks, or let "
            "ranks share processors by --overcommit (srun) or --oversubscribe (Open MPI) in HAKOBI_MPIEXEC"
        )


@functools.cache
def warn_of_crowd(ranks: int, cores: int, flavour: str) -> None:
    """One line on stderr, once, for a job that this machine can hardly start."""
    if ranks <= CROWD * cores:
        return
    import psutil

    needed, has = ranks * RANK_BYTES / 1e9, psutil.virtual_memory().available / 1e9
    what = f"{ranks} ranks on {cores} cores"
    if needed > has:
        what += f", which take about {needed:.0f} GB of memory before they begin ({has:.0f} GB are available)"
    more = ", and MPICH spins while it waits" if flavour == "mpich" else ""
    sys.stderr.write(
        f"hakobi: warning: {what}: starting them may take minutes and fail{more}. Ctrl-C ends it; "
        f"--ranks {2 * cores} is what this machine can serve\n"
    )
    sys.stderr.flush()

"""Runs the library's collectives, and those that SimGrid's SMPI offers, on a simulated network."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hakobi import files, launch, programs
from hakobi.errors import InputError, RunError
from hakobi_lab.studies.collectives.network import OPERATIONS, Network

PROGRAM = "hakobi-simulated-collectives"
OURS = "hakobi"

#: SMPI's algorithms by operation (its option smpi/<operation>): those of its own collection and the choices
#: that it copies from MPI libraries. Left out: those for ranks of one node, and those that need arrival
#: patterns.
STOCK: dict[str, tuple[str, ...]] = {
    "allreduce": (
        "default",
        "ompi",
        "mpich",
        "mvapich2",
        "impi",
        "rdb",
        "rab",
        "rab1",
        "rab2",
        "rab_rdb",
        "lr",
        "ompi_ring_segmented",
        "redbcast",
        "mvapich2_rs",
    ),
    "alltoall": (
        "default",
        "ompi",
        "mpich",
        "mvapich2",
        "impi",
        "bruck",
        "2dmesh",
        "3dmesh",
        "rdb",
        "pair",
        "ring",
        "basic_linear",
        "mvapich2_scatter_dest",
    ),
    "allgather": ("default", "ompi", "mpich", "mvapich2", "bruck", "rdb", "rhv", "ring", "pair", "2dmesh", "3dmesh"),
    "broadcast": (
        "default",
        "ompi",
        "mpich",
        "mvapich2",
        "binomial_tree",
        "scatter_LR_allgather",
        "scatter_rdb_allgather",
        "ompi_pipeline",
        "ompi_split_bintree",
        "NTSL",
    ),
}
_SMPI_NAMES = {"broadcast": "bcast"}

#: Above so many bytes of all ranks together their memory is shared and nothing can be verified.
MOST_BYTES = 1 << 31


@dataclass(frozen=True)
class Work:
    """`num_bytes`: the vector of an allreduce or a broadcast, else one rank's block."""

    operation: str
    num_bytes: int

    @property
    def text(self) -> str:
        return f"{self.operation}:{self.num_bytes}"

    @property
    def is_large(self) -> bool:
        return self.num_bytes >= 4096


@dataclass(frozen=True)
class Timing:
    """Simulated seconds of one operation. `is_correct`: None where it could not be verified."""

    work: Work
    contender: str
    time_s: float
    is_correct: bool | None
    form: str


@dataclass(frozen=True)
class Failure:
    """A case that a contender did not finish, and why."""

    works: tuple[Work, ...]
    contender: str
    reason: str


def parse_works(texts: str) -> list[Work]:
    """Reads `allreduce:16,alltoall:4096`. Raises InputError."""
    works = []
    for text in texts.split(","):
        operation, _, size = text.strip().partition(":")
        if operation not in OPERATIONS or not size.isascii() or not size.isdigit() or int(size) % 8 or int(size) == 0:
            raise InputError(
                f"--work {text!r} is not OPERATION:BYTES with an operation of {', '.join(OPERATIONS)} and "
                "a positive multiple of 8"
            )
        works.append(Work(operation, int(size)))
    return works


def contenders_of(operation: str, only: Sequence[str]) -> list[str]:
    """Ours and SMPI's, or those of them that `only` names."""
    return [name for name in (OURS, *STOCK[operation]) if not only or name in only]


def find_simulator() -> Path:
    """smpirun. Raises InputError when it is missing."""
    found = shutil.which("smpirun")
    if found is None:
        raise InputError("no smpirun in PATH: the network is simulated by SimGrid (Debian: libsimgrid-dev)")
    return Path(found)


def run(
    network: Network, works: Sequence[Work], contender: str, timeout_s: float
) -> tuple[list[Timing], list[Failure]]:
    """Times works of one operation in one simulation; what was finished before it failed or ran out of time counts.

    Raises InputError where the simulator or the program is missing."""
    program = programs.find(PROGRAM).path
    with files.own_folder() as folder:
        hosts = Path(folder) / "hosts"
        hosts.write_text("".join(f"node{i}\n" for i in range(network.num_nodes)))
        command = [str(find_simulator()), "-np", str(network.num_nodes), "-no-privatize"]
        command += ["-platform", str(program.parent / "hakobi-simulated-network.so"), "-hostfile", str(hosts)]
        command += [f"--cfg={option}" for option in _options(network, works, contender)]
        command += ["--log=root.thres:critical", str(program), network.topology]
        command += [OURS if contender == OURS else "mpi"]
        command += [f"{value:.9g}" for value in (network.latency_s, network.overhead_s, network.bandwidth)]
        command += [work.text for work in works]
        environment = dict(os.environ) | {"TMPDIR": folder}
        environment["HAKOBI_SIMULATED_NETWORK"] = f"{network.topology} {network.bandwidth:.9g} {network.latency_s:.9g}"
        if _is_shared(network, works):
            environment["HAKOBI_SIMULATED_SHARED"] = "1"
        stdout, reason = _output_of(command, environment, timeout_s)
    timings = list(_timings(stdout, contender))
    done = {timing.work for timing in timings}
    missing = tuple(work for work in works if work not in done)
    return timings, [Failure(missing, contender, reason)] if missing else []


def _is_shared(network: Network, works: Sequence[Work]) -> bool:
    def held(work: Work) -> int:
        each = work.num_bytes * (network.num_nodes if work.operation in ("alltoall", "allgather") else 1)
        return 4 * each

    return max(map(held, works)) * network.num_nodes > MOST_BYTES


def _options(network: Network, works: Sequence[Work], contender: str) -> Iterator[str]:
    """SMPI's options: the declared latency, overhead and bandwidth, and no factors fitted to another cluster."""
    overhead = f"0:{network.overhead_s:.9g}:0"
    yield from ("smpi/simulate-computation:no", "smpi/bw-factor:0:1", "smpi/lat-factor:0:1")
    # Links are full duplex and shared evenly; looking for messages takes no time.
    yield from ("network/crosstraffic:0", "network/weight-S:0", "smpi/test:0", "smpi/iprobe:0")
    yield from (f"smpi/os:{overhead}", f"smpi/ois:{overhead}", f"smpi/or:{overhead}")
    if _is_shared(network, works):
        yield "smpi/auto-shared-malloc-thresh:65536"
        yield "smpi/shared-malloc-blocksize:4194304"  # else one mapping a MiB, more than a process may have
    if all(work.is_large for work in works):
        # The simulator keeps messages that their sender has done with in one list, and looks through it for
        # each. Without such messages small ones are up to a fifth faster, large operations by 2 % at most.
        yield "smpi/send-is-detached-thresh:0"
    operation = works[0].operation
    if operation != "allgather" or contender == OURS:
        yield "smpi/allgather:bruck"  # of the preparations: the default one takes minutes
    if contender != OURS:
        yield f"smpi/{_SMPI_NAMES.get(operation, operation)}:{contender}"


def _output_of(command: Sequence[str], environment: dict[str, str], timeout_s: float) -> tuple[str, str]:
    """The command's output until its end or the time limit, and why it may not have printed all."""
    with launch.uninterrupted():
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise RunError(f"cannot start {command[0]}: {error.strerror}") from error
    # Some of SMPI's algorithms take memory of their own for every rank, more than there is: end these, nobody
    # else's.
    with contextlib.suppress(OSError):
        Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000")
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
        words = [line.strip() for line in (stderr + stdout).splitlines() if line.strip() and line[0] != "{"]
        return stdout, words[0] if words else f"exit status {process.returncode}"
    except subprocess.TimeoutExpired as partly:
        text = partly.stdout or b""
        return (text.decode(errors="replace") if isinstance(text, bytes) else text), f"not done in {timeout_s:g} s"
    finally:
        launch.end_session(process)


def _timings(stdout: str, contender: str) -> Iterator[Timing]:
    for line in stdout.splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            found = json.loads(line)
            work = Work(found["operation"], int(found["bytes"]))
            yield Timing(work, contender, float(found["time_s"]), found["is_correct"], str(found["form"]))

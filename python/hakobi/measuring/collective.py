"""Jobs of hakobi-bench-collective, and figures out of their samples.

1. A job measures the floor, the engine and at most one component of the MPI library, in turn, write and read.
2. Components of one library (Open MPI has OMPIO and ROMIO) cannot share a job. Their jobs alternate in rounds, so that
   drift falls on both; each job has its own floor and its own measurement of the engine.
3. A sample's fraction of the floor is that of its neighbour in time, within its job. Contenders are compared by
   neighbours where they share jobs, else as separate samples (hakobi.statistics).
"""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hakobi import conditions, files, launch, records, statistics
from hakobi.errors import FormatError, InputError, StorageError, unknown_name
from hakobi.measuring import session, transports
from hakobi.measuring.storage_model import StorageModel
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.statistics import Comparison, Summary
from hakobi.words import bytes_text

PROGRAM = "hakobi-bench-collective"
PATTERNS = ("block3d", "tile2d", "cyclic", "lattice4d", "contiguous")
ACCESSES = ("posix", "uring", "threads")
OPERATIONS = ("write", "read")
FLOOR = "floor"


@dataclass(frozen=True)
class Component:
    """An implementation of MPI-IO within an MPI library: what tables call it, and the environment that selects it."""

    contender: str
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """One collective call, from opening the file to closing it; `call_s` without both. `floor_s` is the floor's time in
    the same turn; `job` says which samples are neighbours."""

    contender: str
    operation: str
    time_s: float
    cpu_s: float
    floor_s: float
    bytes: int
    job: int
    call_s: float = 0.0  #: 0: not told


@dataclass(frozen=True)
class Figure:
    """A contender in one direction over all of its samples."""

    contender: str
    operation: str
    gb_s: Summary
    of_floor: Summary
    of_limit: float  #: of the known limit, else of the floor
    cpu_s_per_gb: float
    bytes: int
    calls_gb_s: float  #: without opening and closing


def parse_bytes(text: str, option: str) -> int:
    """Bytes of a size with a binary unit. Raises InputError.

    >>> [parse_bytes(text, "--cb") for text in ("512", "64K", "4MiB", "1g")]
    [512, 65536, 4194304, 1073741824]
    """
    found = re.fullmatch(r"(\d{1,15})([kmg]?)(?:i?b)?", text.strip().lower())
    if not found or int(found.group(1)) == 0:
        raise InputError(f"{option}: '{text}' is not a size such as 512, 64K or 4M")
    return int(found.group(1)) << {"": 0, "k": 10, "m": 20, "g": 30}[found.group(2)]


def parse_names(text: str, kind: str, known: Sequence[str]) -> tuple[str, ...]:
    """Names separated by commas, each once. Raises InputError for one that is none of `known`.

    >>> parse_names("threads,posix", "access", ACCESSES)
    ('threads', 'posix')
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in known:
            raise unknown_name(kind, name, known)
    if not names:
        raise InputError(f"no {kind} is named (known: {', '.join(known)})")
    return names


def components(
    flavour: str, tool: transports.Ask = transports.ask, environment: Mapping[str, str] = os.environ
) -> list[Component]:
    """The MPI-IO implementations of an MPI library, its default first; of Open MPI those that the user's OMPI_MCA_io
    ("romio321", "^ompio") leaves."""
    if flavour == "mpich":
        return [Component("mpi-io (ROMIO)")]
    text = tool(["ompi_info.openmpi"]) or tool(["ompi_info"])
    chosen = environment.get("OMPI_MCA_io", "")
    listed = set(chosen.removeprefix("^").split(","))
    names = dict.fromkeys(re.findall(r"^\s*MCA io: (\w+)", text, re.MULTILINE))
    wanted = [name for name in names if not chosen or (name in listed) != chosen.startswith("^")]
    known = sorted((name for name in wanted if name == "ompio" or name.startswith("romio")), key=lambda n: n != "ompio")
    if not known:
        return [Component("mpi-io")]
    return [Component(f"mpi-io ({re.sub(r'[0-9]', '', name).upper()})", {"OMPI_MCA_io": name}) for name in known]


def check_room(folder: Path, file_bytes: int) -> None:
    """Before hours of runs: whether two files (one written, one read) and the ranks' data have room. Makes the folder.
    Raises StorageError, InputError."""
    import psutil

    files.prepare_folder(folder)
    place = conditions.file_system(folder)
    if 2 * file_bytes > place["free_bytes"]:
        free = bytes_text(place["free_bytes"])
        raise StorageError(f"{folder} has {free} free, and two files of {bytes_text(file_bytes)} are needed")
    needed = (3 if conditions.in_memory(place) else 1) * file_bytes
    available = psutil.virtual_memory().available
    if needed > 0.9 * available:
        have = bytes_text(available)
        raise InputError(f"--size: {bytes_text(needed)} of memory are needed, and {have} are available")


def cache_note(facts: conditions.Conditions, storage: str, file_bytes: int, *, is_synced: bool = False) -> str:
    """Whether what is measured is storage or memory."""
    place, size = facts["storage"][storage], bytes_text(file_bytes)
    sync = "counted" if is_synced else "not counted"
    if conditions.in_memory(place):
        return f"the file ({size}) lies in memory ({place['type']}): no device takes part; sync is {sync}"
    memory = bytes_text(facts["memory_available_bytes"])
    if file_bytes < facts["memory_available_bytes"]:
        return f"the file ({size}) fits into the page cache ({memory} of memory available); sync is {sync}"
    return f"the file ({size}) is larger than the page cache ({memory} of memory available); sync is {sync}"


def crowd_note(flavour: str, ranks: int, cores: int) -> str:
    """Says how more ranks than cores change the figures of a library; "" where they do not."""
    if flavour != "mpich" or ranks <= cores:
        return ""
    return (
        f"MPICH polls without yielding: with {ranks} ranks on {cores} cores its own calls wait for the scheduler, "
        "and a comparison with them says nothing"
    )


def run_job(
    program: Program,
    arguments: Sequence[str],
    ranks: int,
    folder: Path,
    *,
    model: StorageModel | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 3600.0,
) -> tuple[list[Record], str]:
    """The records of one job and its stderr; its files are in a folder of their own below `folder`, gone afterwards.
    Raises what session.run_recorded raises; a wrong byte is a RunError."""
    with launch.own_folder(program.flavour, folder) as name:
        command = ["--dir", name, *arguments]
        lines, done = session.run_recorded(
            program,
            command,
            ranks,
            timeout_s=timeout_s,
            environment=environment,
            model=model,
            folder=Path(name),
        )
    return lines, done.stderr


def samples_of(lines: Iterable[Record], job: int) -> list[Sample]:
    """The samples of one job's records. Raises FormatError when a contender and the floor did not take turns."""
    series: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for line in lines:
        if line.get("kind") == "sample":
            series[line["operation"], line["contender"]].append(line)
    result: list[Sample] = []
    for (operation, contender), taken in series.items():
        floor = series.get((operation, FLOOR), [])
        if len(floor) != len(taken):
            raise FormatError(f"{contender}: {len(taken)} samples beside {len(floor)} of the floor")
        for mine, base in zip(taken, floor, strict=True):
            time_s, floor_s = (records.number(line, "time_s", PROGRAM) for line in (mine, base))
            if min(time_s, floor_s) <= 0:
                raise FormatError(f"{contender}: a sample of no time")
            cpu_s = records.number(mine, "cpu_s", PROGRAM)
            result.append(
                Sample(
                    contender,
                    operation,
                    time_s,
                    cpu_s,
                    floor_s,
                    int(mine["bytes"]),
                    job,
                    float(mine.get("call_s") or 0.0),
                )
            )
    return result


def figures_of(samples: Sequence[Sample], limit_gb_s: float = 0.0) -> list[Figure]:
    """One a contender and direction: writes first, the floor before the others."""
    groups: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        groups[sample.operation, sample.contender].append(sample)
    result = []
    for (operation, contender), group in groups.items():
        gb_s = statistics.summarise([sample.bytes / sample.time_s / 1e9 for sample in group])
        of_floor = statistics.summarise([sample.floor_s / sample.time_s for sample in group])
        of_limit = gb_s.median / limit_gb_s if limit_gb_s > 0 else of_floor.median
        cpu = float(np.median([1e9 * sample.cpu_s / sample.bytes for sample in group]))
        calls = float(np.median([sample.bytes / (sample.call_s or sample.time_s) / 1e9 for sample in group]))
        result.append(Figure(contender, operation, gb_s, of_floor, of_limit, cpu, group[0].bytes, calls))
    return sorted(result, key=lambda item: (OPERATIONS.index(item.operation), item.contender != FLOOR))


def ratio(samples: Sequence[Sample], operation: str, first: str, second: str) -> Comparison:
    """How many times faster `first` is than `second`: over neighbours in the jobs that have both (geometric), else
    over separate samples. Raises ValueError when one has no samples."""
    times: dict[str, dict[int, list[float]]] = {first: defaultdict(list), second: defaultdict(list)}
    for sample in samples:
        if sample.operation == operation and sample.contender in times:
            times[sample.contender][sample.job].append(sample.time_s)
    shared = sorted(times[first].keys() & times[second].keys())
    if not shared:
        a, b = ([value for job in times[name].values() for value in job] for name in (second, first))
        return statistics.compare_separate(a, b)
    a, b = ([value for job in shared for value in times[name][job]] for name in (second, first))
    return statistics.compare_ratios(a, b)


def ratio_words(comparison: Comparison, first: str, second: str) -> str:
    """
    >>> from hakobi.statistics import Interval
    >>> ratio_words(Comparison(1.5, Interval(1.4, 1.6, 0.98), True), "hakobi threads", "mpi-io (ROMIO)")
    'hakobi threads is 1.50 times as fast as mpi-io (ROMIO) (1.40 to 1.60)'
    >>> ratio_words(Comparison(1.05, Interval(0.9, 1.2, 0.98), False), "a", "b")
    'a and b cannot be told apart: 1.05 times (0.90 to 1.20)'
    """
    low, high = comparison.interval.low, comparison.interval.high
    if not math.isfinite(high):
        return f"{first} and {second}: {comparison.estimate:.2f} times, too few samples to tell them apart"
    span = f"({low:.2f} to {high:.2f})"
    if comparison.differs:
        return f"{first} is {comparison.estimate:.2f} times as fast as {second} {span}"
    return f"{first} and {second} cannot be told apart: {comparison.estimate:.2f} times {span}"

"""The measurements of `hakobi doctor`, each within a few seconds: memory, storage, messages between two ranks."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hakobi import conditions, files, launch, programs, statistics
from hakobi.errors import HakobiError, InputError, StorageError, storage_error
from hakobi.measuring.machine import Fact
from hakobi.measuring.session import run_recorded
from hakobi.words import binary_text, bytes_text

#: Bytes a storage call moves.
PIECE = 4 << 20


def memory(budget_s: float = 2.0, size: int = 256 << 20) -> Fact:
    """Bandwidth of copying memory that no cache holds, by one thread (bytes read and written count once)."""
    import psutil

    size = min(size, max(PIECE, psutil.virtual_memory().available // 8))
    source = np.ones(size, dtype=np.uint8)
    target = np.zeros(size, dtype=np.uint8)
    rates: list[float] = []
    end = time.perf_counter() + budget_s
    while len(rates) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        np.copyto(target, source)
        rates.append(size / (time.perf_counter() - begin) / 1e9)
    rate = statistics.summarise(rates)
    return Fact(
        "memory copy",
        f"{rate.median:.3g} ± {rate.spread:.1g} GB/s, one thread, {binary_text(size)}",
        "note",
        "no process takes in messages, or writes a file in memory, faster than one copy",
        "one direction of one process above this was served from a cache; sendrecv's figure counts two directions",
    )


@dataclass(frozen=True)
class StorageLimits:
    """Bytes and seconds of what was tried; `cached_share` of the file lay in the page cache when it was read."""

    written_bytes: int
    write_s: float  #: with the sync at the end
    sync_ms: float  #: median of small synced appends
    read_s: float
    cached_share: float


def probe_storage(folder: Path, budget_s: float = 8.0, most: int = 1 << 30) -> StorageLimits:
    """Writes a file for a third of the budget, syncs it, appends small synced pieces, drops it from the page cache and
    reads it. The file is removed; a folder is never made. Raises StorageError."""
    if not folder.is_dir():
        raise StorageError(f"cannot measure storage in {folder}: {_why_no_folder(folder)}")
    try:
        free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".hakobi-doctor-") as file:
            return _probe(file.fileno(), Path(file.name), budget_s / 3, min(most, free // 4))
    except OSError as error:
        raise storage_error("measure storage in", error) from error


def _why_no_folder(folder: Path) -> str:
    return "it is not a folder" if folder.exists() else "there is no such folder"


def _probe(fd: int, path: Path, part_s: float, most: int) -> StorageLimits:
    piece = os.urandom(min(PIECE, max(4096, most)))  # storage that compresses gets nothing to compress
    written = 0
    begin = time.perf_counter()
    while time.perf_counter() - begin < part_s and written < most:
        written += os.pwrite(fd, piece, written)
    os.fsync(fd)
    write_s = time.perf_counter() - begin
    syncs: list[float] = []
    end = time.perf_counter() + part_s / 2
    while len(syncs) < 100 and time.perf_counter() < end:
        start = time.perf_counter()
        os.pwrite(fd, piece[:4096], written)
        os.fdatasync(fd)
        syncs.append(time.perf_counter() - start)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    cached = files.cached_bytes([path]) / max(1, os.fstat(fd).st_size)
    begin = time.perf_counter()
    done = 0
    while done < written and time.perf_counter() - begin < part_s:
        got = len(os.pread(fd, len(piece), done))
        if got == 0:
            break
        done += got
    read_s = (time.perf_counter() - begin) * (written / done if done else 1)
    return StorageLimits(written, write_s, 1e3 * float(np.median(syncs)) if syncs else 0.0, read_s, cached)


def storage(folder: Path, budget_s: float = 8.0) -> list[Fact]:
    """The file system of a folder, and its limits as measured. Raises StorageError when it cannot be written into."""
    limits = probe_storage(folder, budget_s)
    described = conditions.file_system(folder)
    kind = str(described.get("type", "unknown"))
    write = limits.written_bytes / limits.write_s / 1e9
    read = limits.written_bytes / limits.read_s / 1e9 if limits.read_s else 0.0
    facts = [
        Fact(
            f"storage {folder}",
            f"{kind} on {described.get('device', '?')}, {bytes_text(described['free_bytes'])} free",
            "note" if conditions.in_memory(described) else "good",
            "files here are memory: figures show the copy, not storage" if conditions.in_memory(described) else "",
            "give --storage a folder of the file system that runs write to" if conditions.in_memory(described) else "",
        ),
        Fact(
            "  writing",
            f"{write:.3g} GB/s with sync at the end ({bytes_text(limits.written_bytes)}, one writer)",
            "note",
            "a figure above this without sync is the page cache's",
            "count sync (--sync), or write more than memory holds",
        ),
        Fact(
            "  small syncs",
            f"{limits.sync_ms:.3g} ms each",
            "trap" if limits.sync_ms > 20 else "good",
            "a flush after every field costs this every time",
            "archive many fields before a flush" if limits.sync_ms > 20 else "",
        ),
    ]
    held = limits.cached_share
    facts.append(
        Fact(
            "  reading",
            f"{read:.3g} GB/s, {100 * held:.0f} % of it from the page cache (dropped before, then counted)",
            "note" if held > 0.01 else "good",
            "what was just written is read from memory" if held > 0.01 else "",
            "read what another node wrote, or more than memory holds" if held > 0.01 else "",
        )
    )
    return facts


def messages(budget_s: float = 1.0, timeout_s: float = 30.0) -> list[Fact]:
    """Latency and bandwidth between two ranks, hot and cold, by hakobi-bench-mpi; a note when it cannot run. In an
    allocation of several nodes on one of them, then between two."""
    if has_nodes():
        on_one = _messages(budget_s, timeout_s, "2 ranks on one node", ranks_each=2)
        return on_one + _messages(budget_s, timeout_s, "2 nodes", ranks_each=1)
    return _messages(budget_s, timeout_s, "2 ranks")


def has_nodes() -> bool:
    try:
        return launch.chooses_nodes(programs.flavour())
    except InputError:
        return False


def _messages(budget_s: float, timeout_s: float, where: str, ranks_each: int = 0) -> list[Fact]:
    try:
        program = programs.find("hakobi-bench-mpi")
        arguments = ["--pattern", "sendrecv", "--sizes", "8,64K,1M", "--budget", str(budget_s)]
        lines, _done = run_recorded(program, arguments, 2, timeout_s=timeout_s, ranks_each=ranks_each)
    except HakobiError as error:
        return [Fact("messages", "not measured", "note", str(error))]
    facts = []
    for line in lines:
        if line.get("kind") != "summary":
            continue
        size = binary_text(int(line["bytes"]))
        inflated = bool(line["cache_inflated"])
        facts.append(
            Fact(
                f"sendrecv {size}",
                f"{line['hot_gb_s']:.3g} GB/s hot, {line['cold_gb_s']:.3g} cold ({program.flavour}, {where})",
                "trap" if inflated and line["ratio"] > 1.2 else "note",
                f"the classical figure is {line['ratio']:.2f} times what cold data sees" if inflated else "",
                "plan with the cold figure" if inflated else "",
            )
        )
    return facts

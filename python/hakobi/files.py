"""Functions on folders and files for studies: check a folder before hours of runs, tell how much of a file lies in the
page cache, compare contents by checksum."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import mmap
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from hakobi.errors import StorageError, storage_error

#: A folder of one process has its pid, when it began and where that pid means it in its name (`own_name`).
_OWN = re.compile(r"hakobi-run-(\d+)-(\d+)-([0-9a-f]{12})-.+")


def prepare_folder(folder: Path) -> None:
    """Makes the folder if it is missing and writes one block into it, which tells an unwritable or full place before
    anything is started. Raises StorageError with the reason."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise StorageError(f"cannot use {folder}: a file is in the way, not a folder") from error
    except NotADirectoryError as error:
        raise StorageError(f"cannot make {folder}: a file is in the way above it") from error
    except OSError as error:
        raise storage_error("make", error) from error
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".hakobi-", suffix=".probe") as probe:
            probe.write(b"\0" * 4096)
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        raise StorageError(f"cannot write into {folder}: {error.strerror}") from error


def prepare_file(path: Path) -> None:
    """Checks that a result file can be written: its folder can, and no folder has its name. Raises StorageError."""
    if path.is_dir():
        raise StorageError(f"cannot write {path}: a folder is in the way")
    if path.exists() and not os.access(path, os.W_OK):
        raise StorageError(f"cannot write {path}: permission denied")
    prepare_folder(path.parent)


def own_folder(folder: Path | None = None) -> tempfile.TemporaryDirectory[str]:
    """A new folder below `folder` (the system's for temporary files by default) that goes with the returned object.
    Removes before what killed processes left there. Raises StorageError."""
    folder = folder or Path(tempfile.gettempdir())
    remove_abandoned(folder)
    try:
        return tempfile.TemporaryDirectory(prefix=own_name(), dir=folder)
    except OSError as error:
        raise StorageError(f"cannot write into {folder}: {error.strerror}") from error


def own_name() -> str:
    """How the name of a folder begins that `remove_abandoned` removes when this process is no more."""
    pid = os.getpid()
    return f"hakobi-run-{pid}-{_start_of(pid)}-{_pid_space()}-"


def remove_abandoned(folder: Path) -> None:
    """Removes the folders in `folder` that are called as `own_name` says and whose process is no more. Those of another
    machine, another boot or another container stay: their processes cannot be seen from here."""
    try:
        found = [(path, match) for path in folder.iterdir() if (match := _OWN.fullmatch(path.name))]
    except OSError:
        return
    for path, match in found:
        pid, start, space = match.groups()
        if space == _pid_space() and _start_of(int(pid)) != start:
            shutil.rmtree(path, ignore_errors=True)


def _start_of(pid: int) -> str:
    """When a process began, in ticks since the machine's start; "" where there is none (proc_pid_stat(5), field 22)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


@functools.cache
def _pid_space() -> str:
    """Where a pid of this process's means the same process: this boot of this machine, this namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return hashlib.sha256(f"{boot} {os.readlink('/proc/self/ns/pid')}".encode()).hexdigest()[:12]  # noqa: PTH115


def remove_folder(folder: Path) -> None:
    """Removes a folder and all in it; a missing one is fine. Raises StorageError."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_error("remove", error) from error


def files_below(folder: Path) -> list[Path]:
    """Every regular file below a folder, sorted by its path relative to it."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def sha256(paths: Sequence[Path]) -> str:
    """The SHA-256 of the files' contents one after the other: the same for the same bytes, whatever the names."""
    digest = hashlib.sha256()
    buffer = bytearray(1 << 20)
    view = memoryview(buffer)
    for path in paths:
        with path.open("rb", buffering=0) as file:
            while count := file.readinto(buffer):
                digest.update(view[:count])
    return digest.hexdigest()


def cached_bytes(paths: Iterable[Path]) -> int:
    """How many bytes of the files the page cache holds, by mincore(2): whole pages, at most the files' sizes. A file
    system that lives in memory holds all. Raises StorageError when a file cannot be mapped."""
    return sum(_cached_bytes_of(path) for path in paths)


_WINDOW_BYTES = 1 << 30


def _cached_bytes_of(path: Path) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    page = mmap.PAGESIZE
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size = os.fstat(fd).st_size
            resident = 0
            for start in range(0, size, _WINDOW_BYTES):
                length = min(_WINDOW_BYTES, size - start)
                # A private mapping that nothing writes to shows the file's own pages; ctypes needs it
                # writable.
                with mmap.mmap(fd, length, access=mmap.ACCESS_COPY, offset=start) as view:
                    pages = (ctypes.c_ubyte * ((length + page - 1) // page))()
                    first = ctypes.c_char.from_buffer(view)
                    status = libc.mincore(ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(length), pages)
                    number = ctypes.get_errno()
                    del first
                    if status != 0:
                        raise OSError(number, os.strerror(number), str(path))
                    resident += sum(flag & 1 for flag in bytes(pages)) * page
            return min(resident, size)
        finally:
            os.close(fd)
    except OSError as error:
        raise storage_error("map", error) from error

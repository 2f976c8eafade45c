"""Whether a folder's file system keeps what several writers put into one file.

 1. The file is made, all zeros.
 2. Every writer, a process of its own, waits until all have opened it, then writes its pieces in an order of its own.
    They are of PIECE_BYTES, so that blocks are shared, and each lies between those of other writers.
 3. Each syncs and closes; then the file is opened anew and compared, byte by byte.

This file is also the writer: `python lost_bytes.py FILE WRITER NUM_WRITERS NUM_PIECES`, with Python's standard library
alone, so that any launcher starts it on any node; a WRITER of "-" is the rank that the launcher gave.
"""

from __future__ import annotations

import os
import random
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PIECE_BYTES = 1009  # a prime: no piece begins or ends where a block does, but by chance
#: Where launchers say which of the processes this is.
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")


@dataclass(frozen=True)
class Kept:
    """The findings: bytes that differ from what any writer put there, and pieces that have any."""

    writers: int
    pieces: int
    lost_bytes: int
    lost_pieces: int
    seconds: float


class WriterError(Exception):
    """A writer ended with an error; the text is its own."""


def content(piece: int) -> bytes:
    """A piece's bytes: of every value but 0, and different for neighbours.

    >>> len(content(7)), 0 in content(7), content(7) == content(8)
    (1009, False, False)
    """
    return bytes(1 + (piece * 37 + i * 11) % 255 for i in range(PIECE_BYTES))


def write_pieces(path: str, writer: int, num_writers: int, num_pieces: int) -> None:
    """Writes every piece whose number is `writer` modulo `num_writers`. Raises OSError."""
    file = os.open(path, os.O_RDWR)
    try:
        _wait_for_all(path, writer, num_writers)
        mine = list(range(writer, num_pieces, num_writers))
        random.Random(writer).shuffle(mine)
        for piece in mine:
            data, at = content(piece), piece * PIECE_BYTES
            while data:
                done = os.pwrite(file, data, at)
                data, at = data[done:], at + done
        os.fsync(file)
    finally:
        os.close(file)


def _wait_for_all(path: str, writer: int, num_writers: int, timeout_s: float = 60) -> None:
    Path(f"{path}.{writer}").touch()
    end = time.monotonic() + timeout_s
    for other in range(num_writers):
        while not Path(f"{path}.{other}").exists():
            if time.monotonic() > end:
                raise TimeoutError(f"writer {other} did not come within {timeout_s:g} s")
            time.sleep(0.01)


def lost(path: str, num_pieces: int) -> tuple[int, int]:
    """Bytes of the file that are not as they were written, and pieces that have any. Raises OSError."""
    lost_bytes = lost_pieces = 0
    with Path(path).open("rb", buffering=0) as file:
        for piece in range(num_pieces):
            expected, found = content(piece), file.read(PIECE_BYTES) or b""
            if found != expected:
                lost_pieces += 1
                lost_bytes += PIECE_BYTES - sum(a == b for a, b in zip(expected, found, strict=False))
    return lost_bytes, lost_pieces


def look(folder: Path, writers: int, pieces_each: int = 10_000, launcher: str = "", timeout_s: float = 300) -> Kept:
    """Lets `writers` processes write `pieces_each` pieces each into one file of the folder, which is removed.

    `launcher`: what starts one writer on each of so many nodes or ranks ("mpirun -n 2 --host a,b"); "": they are
    started here. Raises OSError, StorageError, or WriterError.
    """

    def commands(path: Path) -> list[list[str]]:
        program = [sys.executable, str(Path(__file__).resolve()), str(path)]
        rest = [str(writers), str(writers * pieces_each)]
        if launcher:
            return [[*shlex.split(launcher), *program, "-", *rest]]
        return [[*program, str(writer), *rest] for writer in range(writers)]

    return look_by(folder, writers, pieces_each, commands, timeout_s)


def look_by(
    folder: Path,
    writers: int,
    pieces_each: int,
    commands: Callable[[Path], list[list[str]]],
    timeout_s: float,
) -> Kept:
    """The same with the writers' commands, from the file's path. Raises OSError, or WriterError."""
    from hakobi import files  # not at the top: a writer has the standard library alone

    begin = time.perf_counter()
    num_pieces = writers * pieces_each
    with files.own_folder(folder) as name:
        path = Path(name) / "shared"
        with path.open("wb") as file:
            file.truncate(num_pieces * PIECE_BYTES)
            os.fsync(file.fileno())
        _run_all(commands(path), timeout_s)
        lost_bytes, lost_pieces = lost(str(path), num_pieces)
    return Kept(writers, num_pieces, lost_bytes, lost_pieces, time.perf_counter() - begin)


def _run_all(commands: list[list[str]], timeout_s: float) -> None:
    started: list[subprocess.Popen[str]] = []
    try:
        for command in commands:
            started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        end = time.monotonic() + timeout_s
        for process in started:
            _, text = process.communicate(timeout=max(0.1, end - time.monotonic()))
            if process.returncode != 0:
                raise WriterError(text.strip().splitlines()[-1] if text.strip() else f"status {process.returncode}")
    except subprocess.TimeoutExpired:
        raise WriterError(f"writers had not ended after {timeout_s:g} s") from None
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.wait()


def main(arguments: list[str]) -> int:
    """The writer's program."""
    path, writer, *counts = arguments
    num_writers, num_pieces = map(int, counts)
    if writer == "-":
        ranks = [os.environ[name] for name in RANK_VARIABLES if name in os.environ]
        if not ranks:
            sys.stderr.write(f"the launcher tells no rank: none of {', '.join(RANK_VARIABLES)} is set\n")
            return 2
        writer = ranks[0]
    if not 0 <= int(writer) < num_writers:
        sys.stderr.write(f"the launcher started writer {writer}, but there are {num_writers} (--writers)\n")
        return 2
    try:
        write_pieces(path, int(writer), num_writers, num_pieces)
    except OSError as error:
        sys.stderr.write(f"writer {writer}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A run's calls of MPI-IO and its bytes, as its ranks leave them (src/mpiio/front_watch.h). Pure but for `read`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from hakobi.records import Record

#: Bytes of a rank that are no output: what a launcher and an MPI library say to each other, and a few lines;
#: with UCX, also the zeros by which it fills its shared memory.
NOISE_BYTES, NOISE_OF_UCX_BYTES = 1 << 16, 1 << 23

_SETS = ("set_view", "set_info", "set_size", "set_atomicity", "seek_shared", "preallocate")
_COLLECTIVE = ("open", "close", "sync", *_SETS)


@dataclass(frozen=True)
class Calls:
    """The calls of one function, all ranks together."""

    name: str  #: after "MPI_"
    num_ranks: int
    num_calls: int
    bytes: int  #: asked for
    slowest_s: float  #: in them, of the rank that was in them longest

    @property
    def is_read(self) -> bool:
        return "read" in self.name

    @property
    def is_write(self) -> bool:
        return "write" in self.name

    @property
    def is_nonblocking(self) -> bool:
        return self.name.startswith(("File_iread", "File_iwrite"))

    def kind(self) -> str:
        """
        >>> [Calls(name, 1, 1, 0, 0.0).kind() for name in ("File_write_at_all_c", "File_iwrite_all", "File_read_at")]
        ['collective', 'nonblocking collective', 'independent']
        """
        plain = self.name.removeprefix("File_")
        is_together = "_all" in plain or "ordered" in plain or plain in _COLLECTIVE
        kind = "collective" if is_together else "independent"
        return f"nonblocking{' collective' * is_together}" if self.is_nonblocking else kind


@dataclass(frozen=True)
class Figures:
    num_ranks: int
    calls: tuple[Calls, ...]  #: the longest first
    files: tuple[str, ...]  #: opened by MPI-IO
    num_more_files: int  #: opened beyond those that a rank has names of
    waited_s: float  #: in MPI-IO, of the rank that waited longest
    output_s: float  #: the same without reads
    read_bytes: int  #: by system calls of the ranks
    written_bytes: int  #: the same, where a rank's are more than noise
    noise_bytes: int  #: of all ranks

    def asked_bytes(self, is_write: bool) -> int:
        """By MPI-IO."""
        return sum(one.bytes for one in self.calls if (one.is_write if is_write else one.is_read))

    def other_bytes(self) -> int:
        """Written by no call of MPI-IO; 0 where that may be noise."""
        other = self.written_bytes - self.asked_bytes(is_write=True)
        return other if not self.calls or other > self.noise_bytes else 0

    def record(self) -> Record:
        return asdict(self)


def of_record(record: Record) -> Figures:
    calls = tuple(Calls(**one) for one in record["calls"])
    return Figures(**{**record, "calls": calls, "files": tuple(record["files"])})


def merged(texts: Iterable[str]) -> Figures:
    """The figures of a run from its ranks'. One that was cut off counts for nothing.

    >>> merged(["io 1 700 0\\ncall File_write 2 600 3000000000\\nfile /a\\nend\\n", "io 1 1 0\\ncall File_wr"]).output_s
    3.0
    """
    num_ranks = num_more = read_bytes = written_bytes = noise_bytes = 0
    by_name: dict[str, list[tuple[int, int, float]]] = {}
    files: dict[str, None] = {}
    waited: list[float] = []
    output: list[float] = []
    for text in texts:
        lines = text.split("\n")
        if lines[-2:] != ["end", ""]:
            continue
        num_ranks += 1
        waited.append(0.0)
        output.append(0.0)
        for line in lines[:-2]:
            word, _, rest = line.partition(" ")
            if word == "file":
                files[rest] = None
            elif word == "more":
                num_more = max(num_more, int(rest))
            elif word == "io":
                read, written, has_ucx = map(int, rest.split())
                noise = NOISE_OF_UCX_BYTES if has_ucx else NOISE_BYTES
                noise_bytes += noise
                read_bytes += read
                written_bytes += written if written > noise else 0
            elif word == "call":
                name, num_calls, size, time_ns = rest.split()
                time_s = int(time_ns) / 1e9
                by_name.setdefault(name, []).append((int(num_calls), int(size), time_s))
                waited[-1] += time_s
                output[-1] += 0.0 if "read" in name else time_s
    calls = [
        Calls(
            name, len(ranks), sum(one[0] for one in ranks), sum(one[1] for one in ranks), max(one[2] for one in ranks)
        )
        for name, ranks in by_name.items()
    ]
    calls.sort(key=lambda one: -one.slowest_s)
    longest = (max(waited, default=0.0), max(output, default=0.0))
    return Figures(num_ranks, tuple(calls), tuple(files), num_more, *longest, read_bytes, written_bytes, noise_bytes)


def read(folder: Path) -> Figures:
    """The figures that HAKOBI_WATCH has had the ranks leave in the folder."""
    return merged(path.read_text(errors="replace") for path in sorted(folder.iterdir()))

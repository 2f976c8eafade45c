"""The storage-time model that benchmarks lay over every contender's file calls: its words, its limit, its library.

The model is in bench/storage_model; a program meets it by LD_PRELOAD. What passes neither through libc's file calls
nor through liburing (mmap, a system call of one's own) does not meet it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from hakobi import drop_in, programs
from hakobi.errors import InputError, unknown_name
from hakobi.programs import Program
from hakobi.words import binary_text, count_text

LIBRARY = "libhakobi_storage_model.so"
_UNITS_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30}
_MOST_OF_A_UNIT = 10**6  #: the model's library takes no larger number before a unit of the stripe


@dataclass(frozen=True)
class StorageModel:
    """Servers that work side by side, each one request after the other; a request pays the latency once. With a seek
    time they are disks: a request that does not begin where the last one on its server ended takes that much longer.

    With `stripes` files have layouts, as Lustre's. Ranks are divided among `nodes`, each with a link of its own to
    one network; a lock on a part of a server's share of a file moves from node to node."""

    servers: int = 4
    bandwidth_mb_s: float = 500.0  #: of each server
    latency_s: float = 2e-3
    stripe_bytes: int = 1 << 20
    seek_s: float = 0.0
    disks: int = 1  #: of each server, which the bandwidth is then of
    raid: int = 0  #: 5: of a server's disks, one for parity; what does not fill a row is read before it is written
    stripes: int = 0  #: of a file that nobody has laid out; 0: all servers, and files have no layout to ask for
    nodes: int = 0  #: 0: one, or as HAKOBI_RANKS_PER_NODE says
    client_mb_s: float = 0.0  #: of each node; 0: no limit
    network_mb_s: float = 0.0  #: of all nodes together; 0: no limit
    lock_bytes: int = 0  #: 0: no locks
    lock_move_s: float = 0.0
    ahead_bytes: int = 0  #: that a client reads ahead of a file; 0: nothing
    slow_server: int = -1  #: -1: none
    slow_bandwidth_mb_s: float = 0.0
    slow_latency_s: float = 0.0
    stalled_server: int = -1  #: -1: none
    stall_s: float = 0.0  #: so long the server stands still when a file's first request reaches it

    @property
    def limit_gb_s(self) -> float:
        """The rate of all servers together when none of them ever waits, as far as nodes and network let them; without
        the time of a slow or stalled server.

        >>> parse("servers=16,bandwidth=50,nodes=8,client=80").limit_gb_s
        0.64
        >>> parse("servers=1,bandwidth=150,disks=6,raid=5").limit_gb_s
        0.75
        """
        return self.limit_of(self.nodes)

    def limit_of(self, ranks: int) -> float:
        """The same with so many ranks: there are no more nodes than these."""
        limit = self.servers * self.bandwidth_mb_s * (self.disks - (self.raid == 5))
        if self.client_mb_s:
            limit = min(limit, max(1, min(self.nodes, ranks)) * self.client_mb_s)
        return min(limit, self.network_mb_s or limit) / 1000

    def value(self) -> str:
        """As HAKOBI_STORAGE_MODEL takes it: equal models have equal texts."""
        default = StorageModel()
        items = []
        for word in _WORDS:
            value = getattr(self, word.field)
            if word.is_always_told or value != getattr(default, word.field):
                items.append(f"{word.name}={word.text(value)}")
        return ",".join(items)

    def words(self) -> str:
        """
        >>> StorageModel().words()
        'a model of 4 servers x 500 MB/s, 2 ms, stripes of 1 MiB: 2 GB/s at best'
        >>> parse("stripes=1,nodes=8,client=80").words().partition("stripes ")[2]
        'of 1 MiB, files on 1 of them unless laid out; 8 nodes x 80 MB/s: 0.64 GB/s at best'
        """
        seeks = f"{1000 * self.seek_s:g} ms a seek, " if self.seek_s else ""
        servers = count_text(self.servers, "server")
        if self.disks > 1:
            servers += f" x {self.disks} disks{' in RAID 5' if self.raid else ''}"
        text = (
            f"a model of {servers} x {self.bandwidth_mb_s:g} MB/s, {1000 * self.latency_s:g} ms, "
            f"{seeks}stripes of {binary_text(self.stripe_bytes)}"
        )
        if self.stripes:
            text += f", files on {self.stripes} of them unless laid out"
        if self.nodes or self.client_mb_s:
            text += f"; {count_text(self.nodes or 1, 'node')}"
            text += f" x {self.client_mb_s:g} MB/s" if self.client_mb_s else ""
        if self.network_mb_s:
            text += f"; a network of {self.network_mb_s:g} MB/s"
        if self.lock_bytes:
            text += f"; locks of {binary_text(self.lock_bytes)} that move in {1000 * self.lock_move_s:g} ms"
        if self.ahead_bytes:
            text += f"; clients read up to {binary_text(self.ahead_bytes)} ahead"
        if self.slow_server >= 0:
            rate = f" {self.slow_bandwidth_mb_s:g} MB/s" if self.slow_bandwidth_mb_s else ""
            later = f" {1000 * self.slow_latency_s:g} ms later" if self.slow_latency_s else ""
            text += f"; server {self.slow_server} slow:{rate}{later}"
        if self.stalled_server >= 0:
            text += f"; server {self.stalled_server} stalls for {self.stall_s:g} s, once a file"
        return f"{text}: {self.limit_gb_s:g} GB/s at best"

    def environment(self, program: Program, folder: Path, state: Path | None = None) -> dict[str, str]:
        """The variables with which a job of `program` has files below `folder` modelled; the model's state that its
        ranks share lies in the folder `state` (default: the model's own choice). Raises InputError without the model's
        library."""
        result = {
            "LD_PRELOAD": str(library_beside(program)),
            "HAKOBI_STORAGE_MODEL": self.value(),
            "HAKOBI_STORAGE_MODEL_PATH": str(folder),
        }
        return result | ({"HAKOBI_STORAGE_MODEL_STATE": str(state / "model")} if state else {})


@dataclass(frozen=True)
class _Word:
    """A word of a model's text: bench/storage_model/service_model.hpp has the same."""

    name: str
    kind: str  #: "servers" (from 1), "number" (from 0), "rate", "time", "bytes"
    field: str
    is_always_told: bool = False

    def text(self, value: float) -> str:
        if self.kind == "time":
            return f"{round(1e9 * value)}ns"
        return _stripe_text(int(value)) if self.kind == "bytes" else f"{value:g}"

    def checked(self, number: float, unit: str) -> float:
        """The field's value. Raises ValueError, with what is wrong."""
        if self.kind in ("servers", "number"):
            least, most = (1, 4096) if self.kind == "servers" else (0, 4095)
            if unit or not least <= number <= most or number != int(number):
                raise ValueError(f"1 to 4096 {self.name}" if least else "a server's number, from 0")
            return int(number)
        if self.kind == "rate":
            if unit or not 0 < number <= 1e15:
                raise ValueError("MB/s of a server, above 0" if self.name == "bandwidth" else "MB/s, above 0")
            return number
        if self.kind == "time":
            if (not unit and number > 0) or (unit and unit not in _UNITS_S):
                raise ValueError("a time with its unit: 2ms")
            if number * _UNITS_S.get(unit, 0.0) > 1000:
                raise ValueError("longer than a quarter of an hour")
            return number * _UNITS_S.get(unit, 0.0)
        if unit not in _SHIFTS or not 1 <= number <= _MOST_OF_A_UNIT or number != int(number):
            raise ValueError("a size: 65536, 64K, 1M")
        return int(number) << _SHIFTS[unit]


_WORDS = (
    _Word("servers", "servers", "servers", True),
    _Word("bandwidth", "rate", "bandwidth_mb_s", True),
    _Word("latency", "time", "latency_s", True),
    _Word("stripe", "bytes", "stripe_bytes", True),
    _Word("seek", "time", "seek_s"),
    _Word("disks", "servers", "disks"),
    _Word("raid", "number", "raid"),
    _Word("stripes", "servers", "stripes"),
    _Word("nodes", "servers", "nodes"),
    _Word("client", "rate", "client_mb_s"),
    _Word("network", "rate", "network_mb_s"),
    _Word("lock", "bytes", "lock_bytes"),
    _Word("lock_move", "time", "lock_move_s"),
    _Word("readahead", "bytes", "ahead_bytes"),
    _Word("slow_server", "number", "slow_server"),
    _Word("slow_bandwidth", "rate", "slow_bandwidth_mb_s"),
    _Word("slow_latency", "time", "slow_latency_s"),
    _Word("stalled_server", "number", "stalled_server"),
    _Word("stall", "time", "stall_s"),
)


def parse(text: str) -> StorageModel:
    """The model of "servers=4,bandwidth=500,latency=2ms,stripe=1M", names left out at their defaults. Raises
    InputError.

    >>> parse("servers=1,bandwidth=2000,latency=0.2ms").limit_gb_s
    2.0
    >>> parse("servers=2,bandwidth=150,seek=8ms").value()
    'servers=2,bandwidth=150,latency=2000000ns,stripe=1024K,seek=8000000ns'
    """
    values: dict[str, float] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        found = re.fullmatch(r"(\w+)=([0-9.]+(?:e-?\d+)?)([A-Za-z]*)", item)
        if not found:
            raise InputError(f"--storage-model: '{item}' is not name=number")
        try:
            number = float(found.group(2))
        except ValueError:
            raise InputError(f"--storage-model: '{item}' is not name=number") from None
        word = next((word for word in _WORDS if word.name == found.group(1)), None)
        if word is None:
            raise unknown_name("name in --storage-model", found.group(1), [word.name for word in _WORDS])
        try:
            values[word.field] = word.checked(number, found.group(3))
        except ValueError as why:
            raise InputError(f"--storage-model: '{item}': {why}") from None
    model = replace(StorageModel(), **values)  # type: ignore[arg-type]
    if max(model.slow_server, model.stalled_server) >= model.servers:
        raise InputError("--storage-model: slow_server and stalled_server are numbers below servers")
    if model.raid and (model.raid != 5 or model.disks < 3):
        raise InputError("--storage-model: raid is 0, or 5 with 3 disks or more")
    if model.stripes > model.servers:
        raise InputError("--storage-model: a file's stripes are no more than the servers")
    return model


def _stripe_text(stripe_bytes: int) -> str:
    """
    >>> [_stripe_text(size) for size in (1000, 1 << 20, 1 << 30)]
    ['1000', '1024K', '1024M']
    """
    for unit in ("K", "M", "G"):
        number, rest = divmod(stripe_bytes, 1 << _SHIFTS[unit])
        if rest == 0 and number <= _MOST_OF_A_UNIT:
            return f"{number}{unit}"
    return str(stripe_bytes)


def library_beside(program: Program) -> Path:
    """The model's library of the installation (or build) that `program` is of. Raises InputError."""
    prefix = program.path.resolve().parent.parent
    folders = [prefix / "lib", prefix / "lib64", *sorted((prefix / "lib").glob("*-linux-gnu"))]
    if not program.name.startswith("hakobi-"):  # a program of the user's own
        folders += drop_in.library_folders()
    for folder in folders:
        if (folder / LIBRARY).is_file():
            return folder / LIBRARY
    if not program.name.startswith("hakobi-") and programs.source_tree():
        raise InputError(f"--storage-model needs {LIBRARY} and the drop-in, which are not built: make build")
    raise InputError(f"--storage-model needs {LIBRARY}, which is not in {prefix}/lib")

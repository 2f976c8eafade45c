"""The storage-time model that benchmarks lay over every contender's file calls: its words, its limit, its library.

The model is in bench/storage_model; a program meets it by LD_PRELOAD. What passes neither through libc's file calls
nor through liburing (mmap, a system call of one's own) does not meet it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from hakobi import drop_in
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
    time they are disks: a request that does not begin where the last one on its server ended takes that much longer."""

    servers: int = 4
    bandwidth_mb_s: float = 500.0  #: of each server
    latency_s: float = 2e-3
    stripe_bytes: int = 1 << 20
    seek_s: float = 0.0

    @property
    def limit_gb_s(self) -> float:
        """What all servers together do when none of them ever waits."""
        return self.servers * self.bandwidth_mb_s / 1000

    def value(self) -> str:
        """As HAKOBI_STORAGE_MODEL takes it: equal models have equal texts."""
        nanoseconds = round(1e9 * self.latency_s)
        rest = f"latency={nanoseconds}ns,stripe={_stripe_text(self.stripe_bytes)}"
        rest += f",seek={round(1e9 * self.seek_s)}ns" if self.seek_s else ""
        return f"servers={self.servers},bandwidth={self.bandwidth_mb_s:g},{rest}"

    def words(self) -> str:
        """
        >>> StorageModel().words()
        'a model of 4 servers x 500 MB/s, 2 ms, stripes of 1 MiB: 2 GB/s at best'
        """
        seeks = f"{1000 * self.seek_s:g} ms a seek, " if self.seek_s else ""
        servers = count_text(self.servers, "server")
        return (
            f"a model of {servers} x {self.bandwidth_mb_s:g} MB/s, {1000 * self.latency_s:g} ms, "
            f"{seeks}stripes of {binary_text(self.stripe_bytes)}: {self.limit_gb_s:g} GB/s at best"
        )

    def environment(self, program: Program, folder: Path, state: Path | None = None) -> dict[str, str]:
        """What a job of `program` needs so that files below `folder` are modelled; what its ranks share of the model
        lies in the folder `state` (default: the model's own choice). Raises InputError without the model's library."""
        result = {
            "LD_PRELOAD": str(library_beside(program)),
            "HAKOBI_STORAGE_MODEL": self.value(),
            "HAKOBI_STORAGE_MODEL_PATH": str(folder),
        }
        return result | ({"HAKOBI_STORAGE_MODEL_STATE": str(state / "model")} if state else {})


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
        name, unit = found.group(1), found.group(3)
        try:
            number = float(found.group(2))
        except ValueError:
            raise InputError(f"--storage-model: '{item}' is not name=number") from None
        values[name] = _checked(name, number, unit, item)
    model = StorageModel()
    return StorageModel(
        servers=int(values.get("servers", model.servers)),
        bandwidth_mb_s=values.get("bandwidth", model.bandwidth_mb_s),
        latency_s=values.get("latency", model.latency_s),
        stripe_bytes=int(values.get("stripe", model.stripe_bytes)),
        seek_s=values.get("seek", model.seek_s),
    )


def _checked(name: str, number: float, unit: str, item: str) -> float:
    def wrong(why: str) -> InputError:
        return InputError(f"--storage-model: '{item}': {why}")

    if name == "servers":
        if unit or not 1 <= number <= 4096 or number != int(number):
            raise wrong("1 to 4096 servers")
        return number
    if name == "bandwidth":
        if unit or not 0 < number <= 1e15:
            raise wrong("MB/s of a server, above 0")
        return number
    if name in ("latency", "seek"):
        if (not unit and number > 0) or (unit and unit not in _UNITS_S):
            raise wrong("a time with its unit: 2ms")
        if number * _UNITS_S.get(unit, 0.0) > 1000:
            raise wrong("longer than a quarter of an hour")
        return number * _UNITS_S.get(unit, 0.0)
    if name == "stripe":
        if unit not in _SHIFTS or not 1 <= number <= _MOST_OF_A_UNIT or number != int(number):
            raise wrong("a size: 65536, 64K, 1M")
        return float(int(number) << _SHIFTS[unit])
    raise unknown_name("name in --storage-model", name, ["servers", "bandwidth", "latency", "stripe", "seek"])


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
    raise InputError(f"--storage-model needs {LIBRARY}, which is not in {prefix}/lib")

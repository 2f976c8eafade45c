"""A machine as a file says it: nodes, memory, network, storage, locks, and the layout of a new file.

A machine file is TOML, and each number has its source in a comment. Every field of FIELDS must be there; what does not
limit a machine is 0 where 0 is allowed. What is wrong is said with line and field.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from hakobi.errors import InputError, unknown_name
from hakobi.measuring.storage_model import StorageModel


@dataclass(frozen=True)
class Field:
    """A number between `low` and `high`, or one of `choices`. `scale` makes it hakobi-scale's unit. A file may leave
    one out that has a `default`."""

    what: str
    low: float = 0.0
    high: float = 0.0
    scale: float = 1.0
    is_whole: bool = False
    choices: tuple[str, ...] = ()
    default: float | None = None


#: By section and name, in the order of a file.
FIELDS: dict[str, dict[str, Field]] = {
    "nodes": {
        "count": Field("nodes that a job may have", 1, 1e7, is_whole=True),
        "ranks": Field("ranks of a node", 1, 1024, is_whole=True),
        "cores": Field("cores of a node; 0: no limit", 0, 4096, is_whole=True, default=0),
    },
    "memory": {
        "core_gb_s": Field("GB/s at which one process copies", 0.01, 1e3, 1e9),
        "piece_ns": Field("nanoseconds of a process for each piece that it copies", 0, 1e6, 1e-9),
        "node_gb_s": Field("GB/s at which all of a node's do", 0.01, 1e5, 1e9),
    },
    "network": {
        "gb_s": Field("GB/s of a node in each direction", 0.001, 1e5, 1e9),
        "rank_gb_s": Field("GB/s of one of its ranks; 0: not limited", 0, 1e5, 1e9, default=0),
        "latency_us": Field("microseconds of a message", 0, 1e6, 1e-6),
        "message_us": Field("microseconds of a processor for a message, on each side", 0, 1e6, 1e-6),
        "highest_tag": Field("MPI_TAG_UB", 32767, 2**31 - 1, is_whole=True),
    },
    "storage": {
        "servers": Field("servers that a file may lie on", 1, 1e6, is_whole=True),
        "gb_s": Field("GB/s of each", 0.0001, 1e4, 1e9),
        "latency_ms": Field("milliseconds of a request", 0, 1e5, 1e-3),
        "node_gb_s": Field("GB/s of a node to one file; 0: not limited", 0, 1e4, 1e9),
        "files_gb_s": Field("GB/s of a node to files of its own; 0: not limited", 0, 1e4, 1e9),
        "stream_gb_s": Field("GB/s of one thread that writes and waits; 0: not limited", 0, 1e4, 1e9),
        "cpu_s_gb": Field("processor seconds of a node for each GB that it writes", 0, 1e3, 1e-9, default=0),
        "lock_ms": Field("milliseconds of a server when a file's lock moves to another node", 0, 1e5, 1e-3),
    },
    "file": {
        "stripes": Field("stripes of a new file", 1, 1e6, is_whole=True),
        "stripe_mib": Field("MiB of a stripe", 0.0625, 4096),
    },
    "mpi_io": {"aggregators": Field("who aggregates in the MPI library", choices=("node", "stripe"))},
}

_FOLDER = Path(__file__).with_name("machines")


@dataclass(frozen=True)
class Machine:
    """`values`: by section and name, in the file's units."""

    name: str
    values: Mapping[str, Mapping[str, Any]]
    path: Path | None = None

    def __getitem__(self, name: str) -> float:
        """
        >>> load("frontier")["nodes.ranks"]
        8
        """
        section, _, field = name.partition(".")
        value: float = self.values[section][field]
        return value

    def scaled(self, name: str) -> float:
        section, _, field = name.partition(".")
        return self[name] * FIELDS[section][field].scale

    def costs(self) -> dict[str, Any]:
        """As hakobi-scale takes them: bytes per second, and seconds."""
        return {
            "ranks_per_node": int(self["nodes.ranks"]),
            "cores": int(self["nodes.cores"]),
            "core_rate": self.scaled("memory.core_gb_s"),
            "piece_s": self.scaled("memory.piece_ns"),
            "memory_rate": self.scaled("memory.node_gb_s"),
            "network_rate": self.scaled("network.gb_s"),
            "rank_rate": self.scaled("network.rank_gb_s"),
            "network_latency_s": self.scaled("network.latency_us"),
            "message_s": self.scaled("network.message_us"),
            "highest_tag": int(self["network.highest_tag"]),
            "num_servers": int(self["storage.servers"]),
            "server_rate": self.scaled("storage.gb_s"),
            "storage_latency_s": self.scaled("storage.latency_ms"),
            "client_rate": self.scaled("storage.node_gb_s"),
            "files_rate": self.scaled("storage.files_gb_s"),
            "stream_rate": self.scaled("storage.stream_gb_s"),
            "byte_cpu_s": self.scaled("storage.cpu_s_gb"),
            "lock_s": self.scaled("storage.lock_ms"),
            "is_aggregated_by_stripe": self.values["mpi_io"]["aggregators"] == "stripe",
        }

    def num_nodes(self, ranks: int) -> int:
        return -(-ranks // int(self["nodes.ranks"]))

    def possible(self, ranks: int) -> float:
        """Bytes per second that all servers, or all nodes of so many ranks, can write to one file."""
        servers = self["storage.servers"] * self.scaled("storage.gb_s")
        of_node = self.scaled("storage.node_gb_s") or self.scaled("network.gb_s")
        return min(servers, self.num_nodes(ranks) * of_node)

    def with_values(self, changes: Mapping[str, float | str]) -> Machine:
        """Another machine: `changes` by "section.name"."""
        values = {section: dict(fields) for section, fields in self.values.items()}
        for name, value in changes.items():
            section, _, field = name.partition(".")
            values[section][field] = value
        return Machine(self.name, values, self.path)


def shipped() -> list[str]:
    """The names of the machine files that come with Hakobi."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def load(given: str | Path) -> Machine:
    """The machine of a file, or of a shipped file's name. Raises InputError with line and field."""
    path = Path(given)
    if not path.exists() and str(given) in shipped():
        path = _FOLDER / f"{given}.toml"
    if not path.exists() and path.suffix != ".toml" and len(path.parts) == 1:
        raise unknown_name("machine", str(given), shipped())
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise InputError(f"cannot read the machine file {path}: {reason}") from error
    return parse(text, path)


def parse(text: str, path: Path) -> Machine:
    """The machine of a file's text. Raises InputError with line and field."""
    try:
        read = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: no TOML: {error}") from error
    except RecursionError as error:
        raise InputError(f"{path}: no machine file: lists in lists without end") from error
    lines = _lines(text)

    def wrong(where: str, what: str) -> InputError:
        line = lines.get(where) or lines.get(where.partition(".")[0]) or max(1, len(text.splitlines()))
        return InputError(f"{path}, line {line}: {where}: {what}")

    name = read.get("name")
    if not isinstance(name, str) or not name.strip():
        raise wrong("name", "the machine's name is missing")
    for section, fields in read.items():
        if section == "name":
            continue
        if section not in FIELDS or not isinstance(fields, dict):
            raise wrong(section, str(unknown_name("section", section, FIELDS)))
        for field in fields:
            if field not in FIELDS[section]:
                raise wrong(f"{section}.{field}", str(unknown_name(f"field of [{section}]", field, FIELDS[section])))
    values: dict[str, dict[str, Any]] = {}
    for section, wanted in FIELDS.items():
        values[section] = {}
        for field, rule in wanted.items():
            where = f"{section}.{field}"
            given = read.get(section, {}).get(field, rule.default)
            if given is None:
                raise wrong(where, f"missing ({rule.what})")
            if problem := _problem(given, rule):
                raise wrong(where, f"{given!r} is not {problem}")
            values[section][field] = given
    if values["file"]["stripes"] > values["storage"]["servers"]:
        raise wrong("file.stripes", f"more stripes than the {values['storage']['servers']} servers of storage.servers")
    if values["memory"]["core_gb_s"] > values["memory"]["node_gb_s"]:
        raise wrong("memory.core_gb_s", "one process copies faster than its node (memory.node_gb_s)")
    return Machine(name.strip(), values, path)


def of_storage_model(model: StorageModel, base: Machine) -> Machine:
    """A machine whose storage is a modelled one, with the nodes and the network of another."""
    return Machine(
        model.words(),
        {
            **base.values,
            "storage": {
                "servers": model.servers,
                "gb_s": model.bandwidth_mb_s / 1000,
                "latency_ms": 1000 * model.latency_s,
                "node_gb_s": 0,
                "files_gb_s": 0,
                "stream_gb_s": 0,
                "cpu_s_gb": 0,
                "lock_ms": 0,
            },
            "file": {"stripes": model.servers, "stripe_mib": model.stripe_bytes / (1 << 20)},
            "mpi_io": {"aggregators": "node"},
        },
    )


def _problem(value: object, rule: Field) -> str:
    """Says what a value should be; "" where it is right."""
    if rule.choices:
        return "" if value in rule.choices else " or ".join(f'"{choice}"' for choice in rule.choices)
    kind = "a whole number" if rule.is_whole else "a number"
    wanted = f"{kind} from {rule.low:g} to {rule.high:g}: {rule.what}"
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        return wanted
    if not rule.low <= value <= rule.high or (rule.is_whole and value != int(value)):
        return wanted
    return ""


def _lines(text: str) -> dict[str, int]:
    """Where sections and fields stand: "storage" -> line, "storage.gb_s" -> line.

    >>> _lines('name = "x"\\n[storage] # Lustre\\ngb_s = 3')
    {'name': 1, 'storage': 2, 'storage.gb_s': 3}
    """
    found: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if head := re.match(r"\s*\[\s*([\w.-]+)\s*\]", line):
            section = head.group(1)
            found[section] = number
        elif field := re.match(r"\s*\"?([\w-]+)\"?\s*=", line):
            found[f"{section}.{field.group(1)}" if section else field.group(1)] = number
    return found

"""On what something was measured: a figure without its conditions is not kept.

`collect` returns a plain dict of JSON values, the same for every study, so that records can be compared between
machines; `rows` words it for a table or a report. Everything is read, nothing is guessed: what the system does not
say is left out.
"""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hakobi import launch, layout, programs
from hakobi.words import binary_text, bytes_text

if TYPE_CHECKING:
    from hakobi.measuring.storage_model import StorageModel

Conditions = dict[str, Any]


def collect(flavour: str | None = None, storages: Mapping[str, Path] | None = None) -> Conditions:
    """This machine, this build, now. `flavour`: whose MPI (the user's by default); `storages`: name -> folder, each
    described by `file_system`. Raises InputError when the MPI library's launcher is missing."""
    result = machine() | {"mpi": launch.mpi_version(flavour or programs.flavour())}
    if storages:
        result["storage"] = {name: file_system(folder) for name, folder in storages.items()}
    return result


def add_models(facts: Conditions, models: Mapping[str, StorageModel]) -> None:
    """Says of described storages, by name, what model each has."""
    for name, model in models.items():
        facts["storage"][name]["model"] = model.words()


def machine() -> Conditions:
    """The conditions that `collect` finds without an MPI library."""
    import psutil

    from hakobi import __version__

    memory = psutil.virtual_memory()
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "hakobi": __version__,
        "commit": commit(),
        "machine": platform.node(),
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "caches": caches(),
        "memory_bytes": memory.total,
        "memory_available_bytes": memory.available,
        "load": round(os.getloadavg()[0], 2),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def commit() -> str | None:
    """The source tree's commit, with "+changes" when tracked files differ from it; None for an installed package."""
    tree = programs.source_tree()
    if tree is None:
        return None
    git = ["git", "-C", str(tree)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(
            [*git, "--no-optional-locks", "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + ("+changes" if changed.stdout.strip() else "")


def cpu_name() -> str:
    """The processor's name as the system has it."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    found = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def caches(cpu: int = 0) -> list[dict[str, Any]]:
    """The data caches that a core sees: level, bytes, and the number of cpus that share it. Empty when not told."""
    result = []
    for index in sorted(Path(f"/sys/devices/system/cpu/cpu{cpu}/cache").glob("index*")):
        try:
            kind = (index / "type").read_text().strip()
            level = int((index / "level").read_text())
            size = (index / "size").read_text().strip()
            shared = (index / "shared_cpu_list").read_text().strip()
        except (OSError, ValueError):
            continue
        found = re.fullmatch(r"(\d+)([KMG]?)", size)
        if kind != "Instruction" and found:
            scale = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[found.group(2)]
            result.append({"level": level, "bytes": int(found.group(1)) * scale, "cpus": _count_cpus(shared)})
    return result


def _count_cpus(text: str) -> int:
    """How many cpus a list like "0-3,8" names."""
    total = 0
    for part in text.split(","):
        low, _, high = part.partition("-")
        total += int(high or low) - int(low) + 1 if low else 0
    return total


def file_system(folder: Path) -> dict[str, Any]:
    """The file system that a folder (or, when it is missing, its nearest existing parent) lies on: type, device,
    mount point and options, total and free bytes (as an unprivileged user may use them), and the layout of new files
    where it has stripes."""
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    place = place.resolve()
    space = os.statvfs(place)
    result: dict[str, Any] = {
        "path": str(folder),
        "total_bytes": space.f_blocks * space.f_frsize,
        "free_bytes": space.f_bavail * space.f_frsize,
    }
    stripes = layout.of_folder(place) if place.is_dir() else ""
    result |= {"layout": stripes} if stripes else {}
    return result | _mount_of(place, Path("/proc/self/mountinfo").read_text())


def _mount_of(place: Path, mountinfo: str) -> dict[str, Any]:
    """The last mounted of the deepest mounts above `place` (proc(5): octal escapes for blanks)."""
    best: tuple[int, dict[str, Any]] = (-1, {})
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, after = left.split(), right.split()
        point = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code.group(1), 8)), fields[4]))
        depth = len(point.parts)
        if place.is_relative_to(point) and depth >= best[0]:
            options = ",".join(sorted({*fields[5].split(","), *after[2].split(",")} - {"rw"}))
            best = (depth, {"type": after[0], "device": after[1], "mount": str(point), "options": options})
    return best[1]


def in_memory(storage: Mapping[str, Any]) -> bool:
    """Whether a described file system keeps its files in memory."""
    return storage.get("type") in {"tmpfs", "ramfs"}


def rows(conditions: Conditions) -> list[tuple[str, str]]:
    """Label and text, in reading order, for people."""
    result = [("date", str(conditions["date"]).replace("T", " ").replace("+00:00", " UTC"))]
    result.append(("Hakobi", " ".join(filter(None, [conditions["hakobi"], conditions.get("commit") or ""]))))
    result.append(("machine", f"{conditions['machine']}, {conditions['kernel']}"))
    result.append(("processor", f"{conditions['cpu']}, {conditions['cores']} cores, load {conditions['load']} before"))
    levels = [f"L{cache['level']} {binary_text(cache['bytes'])}" for cache in conditions["caches"]]
    if levels:
        result.append(("caches", ", ".join(levels)))
    memory = f"{bytes_text(conditions['memory_bytes'])}, {bytes_text(conditions['memory_available_bytes'])} available"
    result.append(("memory", memory))
    result.append(("MPI", conditions["mpi"]))
    for name, storage in conditions.get("storage", {}).items():
        text = f"{storage['path']}: {storage.get('type', 'unknown type')} on {storage.get('device', 'unknown device')}"
        text += f" ({storage.get('options', '')}), {bytes_text(storage['free_bytes'])} free"
        if model := storage.get("model"):
            text += f"; {model}"
        result.append((f"storage {name}", text))
    return result

"""Facts of this machine and its MPI that falsify or explain figures: each `Fact` says what is, why it matters, and what
to do about it. Everything is read from the system below `root` (tests give another one) or asked of a tool; a fact that
the system does not tell is said to be unknown."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hakobi import allocation, conditions, launch, launchers, programs
from hakobi.errors import InputError
from hakobi.measuring import transports
from hakobi.words import binary_text, bytes_text, count_text, percent_text

ROOT = Path("/")


@dataclass(frozen=True)
class Fact:
    """`verdict`: "good", "note" (know it), "trap" (it falsifies figures or costs time until something is done)."""

    topic: str
    finding: str
    verdict: str = "good"
    why: str = ""
    advice: str = ""


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def processor(root: Path = ROOT) -> list[Fact]:
    """Cores, threads, clock policy, and whether this is a virtual machine."""
    cores = len(os.sched_getaffinity(0)) if root == ROOT else _count(root / "sys/devices/system/cpu", r"cpu\d+")
    facts = [Fact("processor", f"{_cpu_name(root)}, {count_text(cores, 'core')} to run on")]
    share = _cpu_quota(root)
    if share is not None:
        facts.append(
            Fact(
                "CPU quota",
                f"{share:g} processors by the cgroup",
                "trap" if share < cores else "note",
                "ranks are stopped when the quota of a period is used up, which shows as rare, very long times",
                f"start at most {max(1, int(share))} ranks, or lift the quota",
            )
        )
    governor = _read(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if not governor:
        facts.append(Fact("CPU governor", "not visible (virtual machine or fixed clock)", "note"))
    elif governor == "performance":
        facts.append(Fact("CPU governor", governor))
    else:
        facts.append(
            Fact(
                "CPU governor",
                governor,
                "trap",
                "the clock follows the load: short measurements see a slow processor, later ones a fast one",
                "cpupower frequency-set -g performance",
            )
        )
    if " hypervisor" in _read(root / "proc/cpuinfo"):
        facts.append(
            Fact(
                "virtual machine",
                "yes",
                "note",
                "other guests share caches and memory bandwidth; the last-level cache may not be what is said",
                "believe ratios of interleaved runs; give hakobi bench mpi a --window larger than the host's cache",
            )
        )
    return facts


def _cpu_quota(root: Path) -> float | None:
    """How many processors the tightest quota of this process's control group and of those above it allows; None when
    there is none. Version 2 has both figures in `cpu.max`, version 1 a file for each below its controllers' names."""
    mounts = root / "sys/fs/cgroup"
    shares = []
    for line in _read(root / "proc/self/cgroup").splitlines() or ["0::/"]:
        _, controllers, group = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        for mount in (mounts / controllers, mounts / "unified"):
            place = mount / group.lstrip("/")
            for folder in (place, *place.parents):
                if not folder.is_relative_to(mount):
                    break
                words = _read(folder / "cpu.max").split()
                words = words or [_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")]
                if all(word.isdigit() for word in words):  # "max" and -1: no quota
                    shares.append(int(words[0]) / int(words[1]))
    return min(shares, default=None)


def _cpu_name(root: Path) -> str:
    found = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", _read(root / "proc/cpuinfo"), re.MULTILINE)
    return found.group(1).strip() if found else "unknown"


def _count(folder: Path, pattern: str) -> int:
    return sum(1 for entry in folder.glob("*") if re.fullmatch(pattern, entry.name))


def caches_and_numa(root: Path = ROOT) -> list[Fact]:
    """Data caches and NUMA nodes."""
    facts = []
    levels = conditions.caches() if root == ROOT else []
    if levels:
        last = levels[-1]
        text = ", ".join(f"L{level['level']} {binary_text(level['bytes'])}" for level in levels)
        facts.append(
            Fact(
                "caches",
                f"{text} (the last one shared by {count_text(last['cpus'], 'cpu')})",
                "note",
                "a benchmark that sends one buffer again and again measures these, not memory",
                f"cold buffers need a window over {binary_text(last['bytes'])}: hakobi bench mpi takes twice that",
            )
        )
    else:
        facts.append(
            Fact(
                "caches",
                "sizes unknown",
                "trap",
                "cold buffers cannot be sized",
                "give hakobi bench mpi --window BYTES",
            )
        )
    nodes = _count(root / "sys/devices/system/node", r"node\d+")
    if nodes > 1:
        facts.append(
            Fact(
                "NUMA",
                count_text(nodes, "node"),
                "trap",
                "memory lies where it was touched first; a rank that moves reads it from afar",
                "bind ranks (Open MPI --bind-to core, MPICH -bind-to core); see hakobi bench mpi --place other-socket",
            )
        )
    else:
        facts.append(Fact("NUMA", "one node"))
    return facts


def _chosen(path: Path) -> str:
    """The word in brackets of a file of the kernel that lists its choices; empty where it lists none."""
    found = re.search(r"\[(\w+)\]", _read(path))
    return found.group(1) if found else ""


def _gives_free_memory_back(root: Path) -> bool:
    """Whether a virtio balloon reports free pages to the host (VIRTIO 1.2, 5.5: device 5, feature bit 5)."""
    return any(
        _read(device / "device") == "0x0005" and _read(device / "features")[5:6] == "1"
        for device in (root / "sys/bus/virtio/devices").glob("*")
    )


def pages(root: Path = ROOT) -> list[Fact]:
    """Huge pages, memory that the host takes back, and shared memory."""
    facts = []
    reserved = _read(root / "proc/sys/vm/nr_hugepages") or "0"
    mode = _chosen(root / "sys/kernel/mm/transparent_hugepage/enabled") or "unknown"
    advice = {
        "never": "large buffers pay a TLB miss every 4 KiB: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        "always": "figures change with how fragmented memory is: hakobi bench mpi --tell-apart compares",
    }.get(mode, "")
    facts.append(
        Fact(
            "huge pages",
            f"transparent: {mode}; {reserved} reserved",
            "trap" if mode == "never" else "note" if mode in ("always", "unknown") else "good",
            "a cold buffer of 300 MB pays cache misses, TLB misses and first touch: three different costs",
            advice or "hakobi bench mpi --tell-apart shows the three",
        )
    )
    shared = _chosen(root / "sys/kernel/mm/transparent_hugepage/shmem_enabled")
    if shared:
        facts.append(
            Fact(
                "huge pages, shared",
                shared,
                "note" if shared in ("never", "deny") else "good",
                "collective buffers are memory that a node's ranks share: its first touch costs a fault every 4 KiB",
                "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled: 2 MiB a fault, where a library asks",
            )
        )
    if _gives_free_memory_back(root):
        facts.append(
            Fact(
                "free memory",
                "goes back to the host (virtio balloon, free page reporting)",
                "trap",
                "memory that was free for some seconds costs a fault in the host at its next touch: new files in "
                "/dev/shm were seen to grow by 0.25 GB/s, and by 1.6 a moment later",
                "compare in turns and leave the first rounds out; or keep memory from becoming free in whole 2 MiB",
            )
        )
    try:
        space = os.statvfs(root / "dev/shm")
    except OSError:
        return [
            *facts,
            Fact("/dev/shm", "missing", "trap", "MPI shares memory through it", "mount a tmpfs there"),
        ]
    size = space.f_blocks * space.f_frsize
    facts.append(
        Fact(
            "/dev/shm",
            f"{bytes_text(size)}, {bytes_text(space.f_bavail * space.f_frsize)} free",
            "trap" if size < 256 << 20 else "good",
            "MPI's windows and its own segments live there; too small, a run ends with SIGBUS",
            "docker run --shm-size=1g, or mount -o remount,size=… /dev/shm" if size < 256 << 20 else "",
        )
    )
    return facts


#: Reads 4 bytes of process argv[1] at address argv[2] as CMA does; exit status 0 when the kernel lets it.
_READER = """
import ctypes, sys
class Iovec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))
target = ctypes.create_string_buffer(4)
local, remote = Iovec(ctypes.addressof(target), 4), Iovec(int(sys.argv[2]), 4)
libc = ctypes.CDLL(None)
got = libc.process_vm_readv(int(sys.argv[1]), ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
sys.exit(0 if got == 4 and target.raw == b"here" else 1)
"""


def _can_read_another_process() -> bool:
    """Tries what CMA does: a child reads this process's memory, which Yama's scope 1 refuses as it refuses a rank that
    reads its sibling."""
    source = ctypes.create_string_buffer(b"here")
    command = [sys.executable, "-S", "-c", _READER, str(os.getpid()), str(ctypes.addressof(source))]
    try:
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def single_copy(root: Path = ROOT, probe: Callable[[], bool] = _can_read_another_process) -> list[Fact]:
    """Whether ranks of a node can read each other's memory: one copy a message instead of two."""
    scope = _read(root / "proc/sys/kernel/yama/ptrace_scope")
    devices = [name for name in ("xpmem", "knem") if (root / "dev" / name).exists()]
    others = f"; {', '.join(devices)} present" if devices else ""
    if probe():
        return [
            Fact(
                "single copy",
                f"CMA works (process_vm_readv; ptrace_scope {scope or 'absent'}){others}",
                "note",
                "large messages are one copy from the sender's buffer, which is very fast while that lies in the cache",
                "hakobi study mpi-cache shows how much of it remains with cold buffers",
            )
        ]
    return [
        Fact(
            "single copy",
            f"CMA refused (ptrace_scope {scope or 'absent'}){others}",
            "note" if devices else "trap",
            "messages between ranks of a node are copied twice",
            "sysctl kernel.yama.ptrace_scope=0 (or prctl(PR_SET_PTRACER)); in a container --cap-add SYS_PTRACE",
        )
    ]


def _times(root: Path) -> list[int]:
    line = _read(root / "proc/stat").partition("\n")[0]
    return [int(word) for word in line.split()[1:]]


def contention(root: Path = ROOT, seconds: float = 1.0) -> list[Fact]:
    """Steal time and other load, over `seconds`."""
    before = _times(root)
    if len(before) < 8:
        return [Fact("steal time", "unknown (no /proc/stat)", "note")]
    time.sleep(seconds)
    passed = [now - then for now, then in zip(_times(root), before, strict=True)]
    total = max(1, sum(passed[:8]))
    steal, idle = passed[7] / total, (passed[3] + passed[4]) / total
    facts = [
        Fact(
            "steal time",
            percent_text(steal),
            "trap" if steal > 0.02 else "good",
            "the host gave this machine's processors to others: times grow without anything here to see",
            "repeat later; distrust medians of less than ten interleaved samples" if steal > 0.02 else "",
        )
    ]
    if 1 - idle - steal > 0.25:
        facts.append(
            Fact(
                "other load",
                f"{percent_text(1 - idle - steal)} of the processors busy now",
                "trap",
                "ranks that poll lose their turn: one message can then take a scheduler's slice of 4 to 12 ms",
                "wait until it is over; figures taken now say little",
            )
        )
    else:
        facts.append(Fact("other load", f"{percent_text(max(0.0, 1 - idle - steal))} of the processors busy now"))
    return facts


def mpi_library(flavour: str, cores: int, root: Path = ROOT, tool: transports.Ask = transports.ask) -> list[Fact]:
    """The MPI library, how it polls, and what moves its bytes."""
    try:
        version = launch.mpi_version(flavour)
    except InputError as error:
        return [Fact(f"MPI ({flavour})", "not installed", "note", str(error))]
    rows = transports.transports(flavour, tool)
    facts = [Fact(f"MPI ({flavour})", f"{version}: {rows[0].text}")]
    if flavour == "openmpi":
        facts.append(
            Fact(
                "polling (openmpi)",
                "yields when told",
                "note",
                f"more than {count_text(cores, 'rank')} here share cores: who polls holds up whom it waits for",
                "--oversubscribe --bind-to none --mca mpi_yield_when_idle 1",
            )
        )
    elif flavour == "mpich":
        group = _read(root / "proc/sys/kernel/sched_autogroup_enabled")
        facts.append(
            Fact(
                "polling (mpich)",
                "never yields",
                "trap",
                f"with more than {count_text(cores, 'rank')} here a barrier takes tens of ms, and no setting helps"
                + ("; sched_autogroup is on, so that even sched_yield would not" if group == "1" else ""),
                f"at most {count_text(cores, 'rank')} on this machine",
            )
        )
    missing = [f"{row.name} ({row.missing})" for row in rows if row.missing]
    if missing:
        facts.append(Fact(f"controls ({flavour})", f"missing: {'; '.join(missing)}", "note"))
    controls = [f"{row.name}: {row.text}" for row in rows[1:3] if not row.missing]
    if controls:
        facts.append(Fact(f"controls ({flavour})", "; ".join(controls)))
    return facts


def batch_system(tool: transports.Ask = transports.ask) -> list[Fact]:
    """The allocation that this is in, and whether its launcher gives ranks what they meet by; nothing elsewhere."""
    place = allocation.current()
    if place is None:
        return []
    facts = [Fact("batch system", place.words())]
    flavour = programs.flavour()
    try:
        started = launch.launcher(flavour)
    except InputError as error:
        return [*facts, Fact("launcher", "none", "trap", "nothing starts the ranks", str(error))]
    facts.append(Fact("launcher", f"{started.kind.title}: {' '.join(started.words)}"))
    is_told = started.is_told("mpi") or "SLURM_MPI_TYPE" in os.environ
    if started.kind is launchers.SRUN and not is_told:
        found = re.search(r"^MpiDefault\s*=\s*(\S+)", tool(["scontrol", "show", "config"]), re.MULTILINE)
        default = found.group(1) if found else "unknown"
        facts.append(
            Fact(
                "process manager",
                f"srun's default: {default}",
                "trap" if default == "none" else "note",
                "by it ranks find each other: with a wrong one each is alone, or ends in MPI_Init",
                'HAKOBI_MPIEXEC="srun --mpi=pmix" (Open MPI) or "srun --mpi=pmi2" (MPICH); srun --mpi=list names them',
            )
        )
    return facts


def usable_cores() -> int:
    """Processors that this process may run on."""
    return len(os.sched_getaffinity(0))

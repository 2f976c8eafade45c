"""Ways to pages of 2 MiB behind a program's memory, and what of them this machine lacks."""

from __future__ import annotations

import platform
import re
from pathlib import Path

from hakobi.measuring.machine import ROOT

#: glibc's malloc asks for huge pages from this version on (its news of 2.35).
_GLIBC = (2, 35)


def lacking(root: Path = ROOT, libc: tuple[str, str] | None = None) -> dict[str, str]:
    """Why a way cannot be had, by its name: "madvise" (transparent huge pages), "hugetlbfs" (reserved ones), each for
    what the kernel gives; "malloc" where the C library cannot ask for either. `libc`: name and version (default: those
    of this Python). Ways that are here are not in it."""
    found = {}
    mode = re.search(r"\[(\w+)\]", _read(root / "sys/kernel/mm/transparent_hugepage/enabled"))
    if mode is None or mode.group(1) == "never":
        found["madvise"] = "transparent huge pages are off" if mode else "the kernel has no transparent huge pages"
    pool = root / "sys/kernel/mm/hugepages/hugepages-2048kB"
    if not any(int(_read(pool / name) or 0) for name in ("free_hugepages", "nr_overcommit_hugepages")):
        found["hugetlbfs"] = "no page of 2 MiB is free of those reserved (sysctl vm.nr_hugepages)"
    name, version = libc or platform.libc_ver()
    if name != "glibc" or tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < _GLIBC:
        found["malloc"] = f"malloc of {name or 'this C library'} {version} asks for no huge pages".replace("  ", " ")
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""

"""`hakobi study stripes`: a plan of the study whose runs differ in the layout of the store's files and in who writes
them, and in the pages behind the program's memory. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hakobi.errors import InputError
from hakobi.measuring.storage_model import StorageModel
from hakobi.words import count_text
from hakobi_lab.studies.field_store.plan import Case, Model, Plan, Settings, Striping

#: A server of the modelled folders.
SERVER = StorageModel(servers=1, bandwidth_mb_s=60.0, latency_s=2e-3)
SMALL_PAGES, BUFFERS = "4 KiB", "2 MiB, the store's buffers (madvise)"


def modelled(servers: Sequence[int]) -> dict[str, StorageModel]:
    """A folder for each number of servers, by its name.

    >>> list(modelled((4, 84)))
    ['4 servers', '84 servers']
    """
    return {count_text(count, "server"): replace(SERVER, servers=count) for count in servers}


def every_striping(counts: Sequence[int], units_mib: Sequence[int], strides: Sequence[int]) -> tuple[Striping, ...]:
    """Every combination, once.

    >>> len(every_striping((1, 4), (1, 4), (1, 2, 4)))
    12
    """
    return tuple(itertools.starmap(Striping, dict.fromkeys(itertools.product(counts, units_mib, strides))))


def few_stripings(counts: Sequence[int], units_mib: Sequence[int], strides: Sequence[int]) -> tuple[Striping, ...]:
    """Those that the figures need to have a line each: counts and strides with the first unit, the other units with the
    last count and the first stride.

    >>> [(one.factor, one.unit_mib, one.stride) for one in few_stripings((1, 4), (1, 8), (1, 2))]
    [(1, 1, 1), (1, 1, 2), (4, 1, 1), (4, 1, 2), (4, 8, 1)]
    """
    return (*every_striping(counts, units_mib[:1], strides), *every_striping(counts[-1:], units_mib[1:], strides[:1]))


def page_cases(model: Model, storage: str, lacking: dict[str, str]) -> dict[str, Case]:
    """A run with the store by the pages behind its memory, but for what the machine lacks
    (hakobi_lab.measuring.huge_pages)."""
    cases = {SMALL_PAGES: Case("store", model, storage)}
    if "madvise" not in lacking:
        cases[BUFFERS] = replace(cases[SMALL_PAGES], settings=Settings(has_huge_pages=True))
    for way in ("madvise", "hugetlbfs"):
        if not lacking.keys() & {way, "malloc"}:
            huge = replace(model, huge_heap=way)
            cases[f"2 MiB, all memory ({way})"] = Case("store", huge, storage)
    return cases


def make_plan(
    storages: dict[str, Path],
    models: dict[str, StorageModel],
    model: Model,
    stripings: tuple[Striping, ...],
    *,
    rounds: int,
    arguments: tuple[str, ...],
    pages_lacking: dict[str, str] | None = None,
    timeout_s: float = 3600.0,
) -> Plan:
    """The whole study; without page sizes where `pages_lacking` is None. Raises InputError for a storage that has no
    stripes to choose."""
    plan = Plan(
        storages,
        (model,),
        strides=(),
        stripings=stripings,
        rounds=rounds,
        timeout_s=timeout_s,
        arguments=arguments,
        storage_models=models,
        kinds=("none",),
    )
    for name, folder in storages.items():
        if not plan.has_stripes(name):
            raise InputError(
                f"storage '{name}': {folder} has no stripes to choose: it is not on Lustre (or lfs is not installed); "
                f"--storage-model '{name}=servers=16' models them"
            )
    if pages_lacking is None:
        return plan
    return replace(plan, further=tuple(page_cases(model, plan.first_storage, pages_lacking).values()))

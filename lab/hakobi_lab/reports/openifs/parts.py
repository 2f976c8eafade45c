"""The parts that the report runs, each a plan of hakobi_lab.studies.field_store.

A part has a session of its own, so its comparisons are between runs of the same rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from hakobi.measuring.session import End
from hakobi_lab.measuring import huge_pages
from hakobi_lab.reports.running import Order
from hakobi_lab.studies.field_store import stripes
from hakobi_lab.studies.field_store.plan import OTHER_SETTINGS, Model, Plan, Settings, settings_of, useful_strides
from hakobi_lab.studies.field_store.tables import Outcomes

#: The two directories, and the storage that stands for the slower one.
FIRST, SECOND = "directory 1", "directory 2"
SLOW = replace(stripes.SERVER, servers=2)
#: Servers of the two directories whose files have stripes.
SERVERS = (4, 84)


@dataclass(frozen=True)
class Part:
    """A plan with its share of the time."""

    weight: float
    plan: Plan


@dataclass
class Measured:
    """The outcome of a part; `end` None: it has not begun."""

    plan: Plan
    outcomes: Outcomes
    end: End | None = None


@dataclass(frozen=True)
class Size:
    """How much a part runs; times are for two cores with nothing else to do."""

    few: tuple[str, ...]  #: levels of parts that need little output
    many: tuple[str, ...]  #: of the part that compares volumes with the report's, which has 60
    hours: str  #: of the long forecast
    middle: str  #: resolution of parts that need one only
    ranks: tuple[int, ...]
    writers: int  #: ranks of the part with strides
    rounds: int


#: A round of all parts takes about 75 s.
SHORT = Size(("--levels", "10"), ("--levels", "20"), "6", "T95", (1, 2, 4), 8, 7)
#: A round of all parts takes about four minutes.
USUAL = Size(("--levels", "20"), ("--levels", "60"), "24", "T159", (1, 2, 4, 8), 16, 7)
#: Less time than this is for the short size.
SHORT_S = 900.0


def parts(order: Order) -> dict[str, Part]:
    """The parts to run, by name. Looks at the machine's pages alone."""
    if order.smallest:
        return _smallest(order)
    size = SHORT if order.budget.left_s() < SHORT_S else USUAL
    if order.ranks:
        size = replace(size, ranks=order.ranks, writers=max(order.ranks))
    return {
        "resolutions": Part(0.2, _resolutions_plan(order, size)),
        "strides": Part(0.2, _strides_plan(order, size)),
        "parameters": Part(0.2, _parameters_plan(order, size)),
        "ranks and threads": Part(0.2, _ranks_plan(order, size)),
        "forecast": Part(
            0.1, _forecast_plan(order, min(2, max(size.ranks)), (*size.few, "--hours", size.hours), size.rounds)
        ),
        "stripes": Part(0.1, _stripes_plan(order, 4, (1, 2, 4), (*size.few, "--hours", "2"), size.rounds)),
    }


def _both(order: Order) -> dict[str, Path]:
    return {FIRST: order.folder, SECOND: order.folder}


def _resolutions_plan(order: Order, size: Size) -> Plan:
    return Plan(
        _both(order),
        tuple(Model(name, 2) for name in _resolutions(order.budget.left_s())),
        rounds=size.rounds,
        arguments=(*size.many, "--hours", "1"),
        storage_models={SECOND: SLOW},
    )


def _strides_plan(order: Order, size: Size) -> Plan:
    """Small fields: the report's strides need many ranks."""
    return Plan(
        _both(order),
        (Model("T63", size.writers),),
        strides=useful_strides((1, 2, 4, 6, 8, 16), size.writers),
        rounds=size.rounds,
        arguments=(*size.few, "--hours", "2"),
        storage_models={SECOND: SLOW},
    )


def _parameters_plan(order: Order, size: Size) -> Plan:
    """On the slow storage, where what buffers hide is to be seen."""
    return Plan(
        {SECOND: order.folder},
        (Model(size.middle, 2),),
        settings=settings_of([(2, 1), (2, 4), (4, 4), (4, 16), (8, 64)]),
        rounds=size.rounds,
        arguments=(*size.few, "--hours", "2"),
        storage_models={SECOND: SLOW},
        kinds=("store",),
    )


def _ranks_plan(order: Order, size: Size) -> Plan:
    """Each number of ranks, and two threads on each of the few."""
    single = [Model(size.middle, count) for count in size.ranks]
    return Plan(
        {FIRST: order.folder},
        (*single, *(replace(model, threads=2) for model in single[:2])),
        rounds=size.rounds,
        arguments=(*size.few, "--hours", "1"),
    )


def _resolutions(seconds: float) -> tuple[str, ...]:
    """Those that several rounds of fit into a fifth of the time: T255 takes about half a minute a run on two cores,
    T511 ten minutes."""
    larger = [name for name, least_s in (("T255", 1500), ("T511", 6 * 3600)) if seconds >= least_s]
    return ("T63", "T95", "T159", *larger)


def _forecast_plan(order: Order, ranks: int, arguments: tuple[str, ...], rounds: int) -> Plan:
    """A long forecast, with small and with huge pages, as far as the machine has them."""
    model = Model("T63", ranks)
    cases = stripes.page_cases(model, FIRST, huge_pages.lacking())
    return Plan(
        {FIRST: order.folder},
        (model,),
        rounds=rounds,
        arguments=arguments,
        kinds=("store",) if order.smallest else ("files", "store"),
        further=tuple(cases.values()),
    )


def _stripes_plan(order: Order, ranks: int, strides: tuple[int, ...], arguments: tuple[str, ...], rounds: int) -> Plan:
    """The two directories are models: stripes need servers."""
    models = stripes.modelled(SERVERS)
    counts, units_mib = ((1,), (1,)) if order.smallest else ((1, 4, 84), (1, 4))
    return stripes.make_plan(
        dict.fromkeys(models, order.folder),
        models,
        Model("T63", ranks),
        stripes.few_stripings(counts, units_mib, strides),
        rounds=rounds,
        arguments=arguments,
    )


def _smallest(order: Order) -> dict[str, Part]:
    """One run or two for each table."""
    levels = ("--levels", "1", "--pressure-levels", "1", "--grid-pressure-levels", "1")
    hour = (*levels, "--hours", "1")
    first = {FIRST: order.folder}
    one = Model("T63", 1)
    settings = (Settings(), OTHER_SETTINGS[0])
    plans = {
        "resolutions": Plan(first, (one,), rounds=1, arguments=hour),
        "strides": Plan(
            _both(order),
            (one,),
            rounds=1,
            arguments=hour,
            storage_models={SECOND: SLOW},
            kinds=("none", "store"),
        ),
        "parameters": Plan(first, (one,), settings=settings, rounds=1, arguments=hour, kinds=("store",)),
        "ranks and threads": Plan(
            first, (one, replace(one, threads=2)), rounds=1, arguments=hour, kinds=("none", "store")
        ),
        "forecast": _forecast_plan(order, 1, (*levels, "--hours", "2"), 1),
        "stripes": _stripes_plan(order, 1, (1,), hour, 1),
    }
    return {name: Part(1, plan) for name, plan in plans.items()}

"""`hakobi report openifs`: output of a weather model through a field store, by resolution, writers, ranks, threads,
parameters, stripes and page sizes.

hakobi-weather stands for OpenIFS, Hakobi's field store for ECMWF's FDB, a folder and a modelled slow storage for two
directories of a Lustre file system. parts.py has what is run, items.py the figures and tables, conclusions.py what they
say.
"""

from __future__ import annotations

import os

from hakobi import conditions, programs
from hakobi.conditions import Conditions
from hakobi.errors import RunError
from hakobi_lab.reports.openifs.conclusions import evidence
from hakobi_lab.reports.openifs.items import add_items
from hakobi_lab.reports.openifs.parts import Measured, Part, parts
from hakobi_lab.reports.page import Content
from hakobi_lab.reports.running import Order
from hakobi_lab.studies.field_store import session


def measure(order: Order) -> Content:
    """Runs every part within its share of the time, and returns the page's content. Raises RunError where it was
    interrupted before anything ran, InputError where a program is missing."""
    planned = parts(order)
    facts = _facts(order, planned)
    content = Content(facts)
    measured = {name: Measured(part.plan, {}) for name, part in planned.items()}
    weights = [part.weight for part in planned.values()]
    for number, (name, part) in enumerate(planned.items()):
        if order.budget.left_s() < 1:
            content.warnings.append(f"{name}: not begun: no time was left: give a larger --budget")
            content.exit_status = max(content.exit_status, 2)
            continue
        share_s = order.budget.share_s(part.weight, sum(weights[number:]))
        outcomes, end = session.run(part.plan, facts, order.json, share_s, study=f"openifs, {name}")
        measured[name] = Measured(part.plan, outcomes, end)
        content.take_end(end, name)
        if end.is_interrupted:
            break
    if content.is_interrupted and not any(one.end and one.end.num_done for one in measured.values()):
        raise RunError(content.warnings[0], code="interrupted")
    add_items(content, measured)
    content.judge("openifs", evidence(measured, os.cpu_count() or 1))
    return content


def _facts(order: Order, planned: dict[str, Part]) -> Conditions:
    """Conditions of all storages, with what is modelled."""
    storages = {name: folder for part in planned.values() for name, folder in part.plan.storages.items()}
    facts = conditions.collect(programs.find("hakobi-weather").flavour, storages)
    for part in planned.values():
        conditions.add_models(facts, part.plan.storage_models)
    return facts

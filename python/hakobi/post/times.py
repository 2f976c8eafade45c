"""Chooses the times of a file's steps among its variables, and those of fields along others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hakobi.post.source import Found, Times


def time_rank(name: str, standard_name: str, is_of_fields: bool) -> tuple[bool, ...]:
    """The order of a file's times, the first of which are those of its steps: rather the fields' direction than a
    number beside it, the time of validity than that at which a forecast began."""
    return not is_of_fields, standard_name != "time", name.rpartition("/")[2].lower() != "time"


def take_times(
    found: Found, times: Iterable[tuple[Any, str, str]], along: Mapping[str, str], read: Callable[[str], Times]
) -> None:
    """Gives a file the first of its times, and fields along other dimensions those along theirs. `times` are their rank
    (`time_rank`), name, and dimension ("": none, or not known), `along` is the dimension of each field with times."""
    ranked = sorted(times, key=lambda each: each[0])  # of equal ones the first in the file
    if not ranked:
        return
    _, found.times_name, first = ranked[0]
    told = {first: read(found.times_name)}
    found.times, found.time_units, found.calendar = told[first].values, told[first].units, told[first].calendar
    for name, dimension in along.items():
        if not first or dimension == first:
            continue
        if dimension not in told:
            own = next((each for _, each, where in ranked if where == dimension), None)
            told[dimension] = read(own) if own else Times()
        found.fields[name] = dataclasses.replace(found.fields[name], own_times=told[dimension])

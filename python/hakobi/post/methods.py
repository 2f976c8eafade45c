"""Says in words what a field's values stand for along time: CF's cell_methods and the bounds of its times."""

from __future__ import annotations

import re

_METHOD = re.compile(r"(?:^| )time:(?: \w+:)* (\w+)\b(?! +(?:within|over) )(?: \((?:[^)]*comment: )?([^)]*)\))?")
_SECONDS = {"d": 86400.0, "day": 86400.0, "h": 3600.0, "hr": 3600.0, "hour": 3600.0, "min": 60.0, "minute": 60.0}
_SECONDS |= {"s": 1.0, "sec": 1.0, "second": 1.0}
#: Units of lengths, the largest first that divides one.
_SHOWN = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def seconds_of(time_units: str) -> float:
    """Seconds of the unit of times; 0 where it is none that is known."""
    unit = (time_units.split() or [""])[0]
    return _SECONDS.get(unit, _SECONDS.get(unit.lower().removesuffix("s"), 0.0) if len(unit) > 1 else 0.0)


def length_text(seconds: float) -> str:
    """`30 min`, `1 day`, `90 s`."""
    for size, name in _SHOWN:
        number = seconds / size
        if number >= 1 and abs(number - round(number)) < 1e-6 * number:
            return f"{round(number)} {'day' if name == 'days' and round(number) == 1 else name}"
    return f"{seconds:.4g} s"


def over_time(cell_methods: str, lengths: tuple[float, float] | None, time_units: str) -> str:
    """`mean over 30 min`; "" where values are of moments, or nothing says of what.

    `lengths`: the least and the greatest of the intervals, where the file has their bounds.
    """
    found = _METHOD.search(cell_methods)
    if found is None or found[1] == "point":
        return ""
    comment = found[2] or ""
    method = comment if comment.startswith("number of") else found[1].replace("_", " ")
    unit_s = seconds_of(time_units)
    if lengths is None or not unit_s or not 0 < lengths[0] <= lengths[1] < 1.001 * lengths[0]:
        return method
    return f"{method} over {length_text(lengths[0] * unit_s)}"

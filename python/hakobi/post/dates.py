"""Times of CF as dates, as the page tells them (client/numbers.js)."""

from __future__ import annotations

import itertools
import math
import re

_UNITS = (
    (0.001, "ms msec millisecond milliseconds"), (1, "s sec second seconds"), (60, "min minute minutes"),
    (3600, "h hour hours"), (86400, "d day days"),
)  # fmt: skip
_SECONDS = {name: seconds for seconds, names in _UNITS for name in names.split()}
_SINCE = re.compile(
    r"\s*(\w+)\s+since\s+(\d{1,4})-(\d{1,2})-(\d{1,2})(?:[ T]+(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.\d*)?)?)?)?"
    r"(?:\s*([+-]\d{1,2})(?::?(\d{2}))?)?(?!\d)"
)
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LEAP = (31, 29, *_MONTHS[2:])
#: Calendars whose years are alike: the lengths of their months.
_EVEN = {"360_day": (30,) * 12, "noleap": _MONTHS, "365_day": _MONTHS, "all_leap": _LEAP, "366_day": _LEAP}
_USUAL = ("standard", "gregorian", "proleptic_gregorian")
#: Other names of calendars.
_ALIASES = {"": "standard", "gregorian": "standard", "365_day": "noleap", "366_day": "all_leap"}


def time_text(value: float, units: str, calendar: str = "") -> str:
    """A time as date and clock in its calendar, where its units count from a date; else the number and its unit.

    >>> time_text(18, "hours since 2011-03-11 05:46:24"), time_text(2.5, "s")
    ('2011-03-11 23:46:24 UTC', '2.5 s')
    """
    start, calendar = _start_of(units, calendar), calendar.lower() or "standard"
    seconds = value * start[2] if start else math.nan
    if start is None or not abs(seconds) < 1e14:
        return f"{value:g} {units or 's'}"
    days, rest = divmod(start[1] + math.floor(seconds + 0.5), 86400)
    y, m, d = _date_of(start[0] + days, calendar)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{y:04}-{m:02}-{d:02} {clock} {'UTC' if calendar in _USUAL else calendar}"


def rebased(times: tuple[float, ...], units: tuple[str, str], others: tuple[str, str]) -> tuple[float, ...]:
    """Times in the units and calendar of others; NaN where they cannot be.

    >>> rebased((0, 12), ("hours since 2000-01-02", ""), ("days since 2000-01-01", "Gregorian"))
    (1.0, 1.5)
    >>> rebased((0,), ("days since 2000-01-01", "noleap"), ("days since 2000-01-01", "360_day"))
    (nan,)
    """
    (own, calendar), (other, their_calendar) = units, others
    calendars = {_ALIASES.get(name.lower(), name.lower()) for name in (calendar, their_calendar)}
    is_one = len(calendars) == 1 or calendars <= {*_USUAL}  # the usual ones count the same days
    start, theirs = _start_of(own, calendar), _start_of(other, their_calendar)
    if is_one and (start == theirs if start and theirs else own == other):
        return times
    if not is_one or start is None or theirs is None:
        return (math.nan,) * len(times)
    between_s = 86400 * (start[0] - theirs[0]) + start[1] - theirs[1]
    return tuple((between_s + time * start[2]) / theirs[2] for time in times)


def _start_of(units: str, calendar: str) -> tuple[int, int, float] | None:
    """Day in the calendar and second in UTC from which times count, and the seconds of one unit."""
    found = _SINCE.match(units)
    unit_s = _SECONDS.get(found[1].lower()) if found else None
    if found is None or unit_s is None:
        return None
    year, month, day, hour, minute, second, east, more = (int(text or 0) for text in found.groups()[1:])
    zone_s = 3600 * east + (-60 if (found[8] or "").startswith("-") else 60) * more
    day_number = _day_of(year, month, day, calendar.lower() or "standard")
    return day_number, 3600 * hour + 60 * minute + second - zone_s, unit_s


def _day_of(year: int, month: int, day: int, calendar: str) -> int:
    """The day's number in a calendar: of one with leap years the Julian day number (Richards, 2013)."""
    if months := _EVEN.get(calendar):
        return year * sum(months) + sum(months[: month - 1]) + day - 1
    is_early = (14 - month) // 12  # January and February end the year before
    y = year + 4800 - is_early
    count = day + (153 * (month + 12 * is_early - 3) + 2) // 5 + 365 * y + y // 4
    is_new = calendar == "proleptic_gregorian" or (calendar != "julian" and (year, month, day) >= (1582, 10, 15))
    return count - y // 100 + y // 400 - 32045 if is_new else count - 32083


def _date_of(number: int, calendar: str) -> tuple[int, int, int]:
    if months := _EVEN.get(calendar):
        year, rest = divmod(number, sum(months))
        starts = [0, *itertools.accumulate(months)]
        month = max(m for m in range(12) if starts[m] <= rest)
        return year, month + 1, rest - starts[month] + 1
    is_new = calendar == "proleptic_gregorian" or (calendar != "julian" and number >= 2299161)
    centuries = (4 * (number + 32044) + 3) // 146097 if is_new else 0
    days = number + 32044 - 146097 * centuries // 4 if is_new else number + 32082
    year = (4 * days + 3) // 1461
    rest = days - 1461 * year // 4
    month = (5 * rest + 2) // 153
    return (
        100 * centuries + year - 4800 + month // 10,
        month + 3 - 12 * (month // 10),
        rest - (153 * month + 2) // 5 + 1,
    )

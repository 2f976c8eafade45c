"""Times of CF as dates, as the page tells them (client/numbers.js)."""

from __future__ import annotations

import itertools
import math
import re

_SECONDS = {name: seconds for seconds, names in ((1, "s sec second seconds"), (60, "min minute minutes"),
            (3600, "h hour hours"), (86400, "d day days")) for name in names.split()}  # fmt: skip
_SINCE = re.compile(r"\s*(\w+)\s+since\s+(\d{1,4})-(\d{1,2})-(\d{1,2})(?:[ T]+(\d{1,2}):(\d{1,2})(?::(\d{1,2}))?)?")
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LEAP = (31, 29, *_MONTHS[2:])
#: Calendars whose years are alike: the lengths of their months.
_EVEN = {"360_day": (30,) * 12, "noleap": _MONTHS, "365_day": _MONTHS, "all_leap": _LEAP, "366_day": _LEAP}
_USUAL = ("standard", "gregorian", "proleptic_gregorian")


def time_text(value: float, units: str, calendar: str = "") -> str:
    """A time as date and clock in its calendar, where its units count from a date; else the number and its unit.

    >>> time_text(18, "hours since 2011-03-11 05:46:24"), time_text(2.5, "s")
    ('2011-03-11 23:46:24 UTC', '2.5 s')
    """
    found, calendar = _SINCE.match(units), calendar.lower() or "standard"
    seconds = value * _SECONDS.get(found[1].lower(), float("nan")) if found else float("nan")
    if found is None or not abs(seconds) < 1e14:
        return f"{value:g} {units or 's'}"
    year, month, day, hour, minute, second = (int(text or 0) for text in found.groups()[1:])
    days, rest = divmod(hour * 3600 + minute * 60 + second + math.floor(seconds + 0.5), 86400)
    y, m, d = _date_of(_day_of(year, month, day, calendar) + days, calendar)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{y:04}-{m:02}-{d:02} {clock} {'UTC' if calendar in _USUAL else calendar}"


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

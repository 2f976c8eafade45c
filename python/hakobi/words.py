"""Numbers as people read them: one wording for tables, reports and messages."""

from __future__ import annotations

import math


def bytes_text(count: float) -> str:
    """Bytes in decimal units, three figures.

    >>> [bytes_text(n) for n in (0, 999, 1000, 12_345_678, 3.2e12)]
    ['0 B', '999 B', '1.00 kB', '12.3 MB', '3.20 TB']
    """
    units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"]
    rank = 0
    value = float(count)
    while abs(value) >= 999.5 and rank < len(units) - 1:
        value /= 1000
        rank += 1
    return f"{value:.0f} B" if rank == 0 else f"{_three_figures(value)} {units[rank]}"


def binary_text(count: int) -> str:
    """Bytes in binary units, for what comes in powers of two: caches, buffers.

    >>> [binary_text(n) for n in (512, 32768, 100_000, 33554432)]
    ['512 B', '32 KiB', '97.7 KiB', '32 MiB']
    """
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    value = float(count)
    rank = 0
    while value >= 1024 and rank < len(units) - 1:
        value /= 1024
        rank += 1
    return f"{value:.0f} {units[rank]}" if value == int(value) else f"{_three_figures(value)} {units[rank]}"


def seconds_text(value: float) -> str:
    """Seconds with as many decimals as three figures need, at most three.

    >>> [seconds_text(t) for t in (0.00123, 0.123456, 1.23456, 12.3456, 1234.5, -0.04)]
    ['0.001 s', '0.123 s', '1.23 s', '12.3 s', '1234 s', '-0.040 s']
    """
    return f"{seconds_digits(value)} s"


def seconds_digits(value: float) -> str:
    """`seconds_text` without the unit."""
    if not math.isfinite(value):
        return "?"
    size = abs(value)
    decimals = 3 if size < 0.9995 else 2 if size < 9.995 else 1 if size < 99.95 else 0
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0 else text


def clock_text(seconds: float) -> str:
    """A span of time in hours and minutes.

    >>> clock_text(0), clock_text(3720), clock_text(59.7)
    ('0 h 00 min', '1 h 02 min', '0 h 01 min')
    """
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def percent_text(share: float) -> str:
    """A share as a percentage, two figures below ten per cent.

    >>> [percent_text(x) for x in (0.0123, 0.123, 1.5, -0.004)]
    ['1.2 %', '12 %', '150 %', '-0.4 %']
    """
    if not math.isfinite(share):
        return "?"
    text = f"{100 * share:.1f}" if abs(share) < 0.0995 else f"{100 * share:.0f}"
    return f"{text.lstrip('-') if float(text) == 0 else text} %"


def count_text(count: int, noun: str, plural: str = "") -> str:
    """
    >>> count_text(1, "rank"), count_text(3, "rank"), count_text(2, "entry", "entries")
    ('1 rank', '3 ranks', '2 entries')
    """
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def list_text(names: list[str]) -> str:
    """
    >>> list_text(["a"]), list_text(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def _three_figures(value: float) -> str:
    size = abs(value)
    return f"{value:.{2 if size < 9.995 else 1 if size < 99.95 else 0}f}"

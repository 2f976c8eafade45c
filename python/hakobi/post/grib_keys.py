"""The keywords of a GRIB field: its parameter, level, member, and when it is valid.

ecCodes knows the names, and takes a millisecond to say them. So it is asked once for each kind of message: what varies
from one message of a kind to the next (dates, the forecast's time, pressure and model levels) is read here, where the
message has it in a way that is known here; all else is part of the kind.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hakobi.errors import HakobiError
from hakobi.post.grib_scan import Record
from hakobi.store.grib_names import UNKNOWN, valid_seconds
from hakobi.store.parameters import grib_texts

#: Seconds of a unit of time: of code table 4.4, and of edition 1's table 4 where it is another.
_UNITS_S = {0: 60, 1: 3600, 2: 86400, 10: 10800, 11: 21600, 12: 43200, 13: 1}
_UNITS_1_S = {**{k: v for k, v in _UNITS_S.items() if k < 13}, 254: 1}
#: Product definitions of edition 2 -> where the end of their interval stands (an index), None for an instant.
_ENDS = {0: None, 1: None, 8: 34, 11: 37}
#: Those of a member of an ensemble, whose number is at 35.
_MEMBERS = (1, 11)
#: Types of level by code table 4.5, and by edition 1's table 3, whose numbers are coordinates.
_LEVELS_2, _LEVELS_1 = {100: "pl", 105: "ml"}, {100: "pl", 109: "ml"}
_KEYS = (
    "shortName", "name", "units", "cfName", "typeOfLevel", "level", "validityDate", "validityTime", "number",
    "stepType", "stepRange", "dataDate", "dataTime", "packingType", "gridType", "parameterName", "parameterUnits",
)  # fmt: skip


@dataclass(frozen=True)
class Keys:
    """`levtype` is pl (hPa), ml, or ecCodes' name of another surface; `valid_s` and `base_s` (the forecast's beginning)
    count from 1970, None where that is not known; `from_s` is where an interval begins. `packing` and `grid` are
    ecCodes' names."""

    name: str
    long_name: str = ""
    units: str = ""
    standard_name: str = ""
    levtype: str = ""
    level: float | None = None
    valid_s: float | None = None
    base_s: float | None = None
    from_s: float | None = None
    member: str = ""
    steptype: str = ""
    packing: str = ""
    grid: str = ""


class KeyReader:
    """Remembers what ecCodes said. `reason` is why it said nothing, "" where it did."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Keys] = {}
        self.reason = ""

    def of(self, record: Record, message: Callable[[], bytes]) -> Keys:
        """The keywords of a field; `message` reads it. Never raises but OSError and FormatError by `message`."""
        kind, own = _of_2(record) if record.edition == 2 else _of_1(record)
        if kind not in self._known:
            self._known[kind] = self._ask(record, message)
        return replace(self._known[kind], **own)

    def _ask(self, record: Record, message: Callable[[], bytes]) -> Keys:
        try:
            texts = grib_texts(message(), _KEYS)
        except HakobiError as error:
            self.reason = self.reason or str(error)
            return Keys(_number_of(record))
        known = {key: "" if text in UNKNOWN or text.isdigit() else text for key, text in texts.items()}
        if not known["name"]:
            known |= {"name": known["parameterName"], "units": known["parameterUnits"]}
        base_s, valid_s = (valid_seconds(texts[f"{w}Date"], texts[f"{w}Time"]) for w in ("data", "validity"))
        return Keys(
            known["shortName"] or _number_of(record), known["name"], known["units"], known["cfName"],
            known["typeOfLevel"], _float(texts["level"]), valid_s, base_s, None, texts["number"],
            known["stepType"] or "instant", known["packingType"], known["gridType"],
        )  # fmt: skip


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _number_of(record: Record) -> str:
    """The parameter as numbers: discipline, category and number, or edition 1's table and number."""
    if record.edition == 1:
        return f"param={record.sections[1][3]}-{record.sections[1][8]}"
    return f"param={record.discipline}-{record.sections[4][9]}-{record.sections[4][10]}"


def _masked(data: bytes, *ranges: tuple[int, int]) -> bytes:
    masked = bytearray(data)
    for start, stop in ranges:
        masked[start:stop] = bytes(stop - start)
    return bytes(masked)


def _signed(data: bytes) -> int:
    """The highest bit is the sign."""
    value, top = int.from_bytes(data, "big"), 1 << (8 * len(data) - 1)
    return -(value - top) if value & top else value


def _seconds(year: int, month: int, day: int, hour: int, minute: int, second: int = 0) -> float | None:
    try:
        return datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.UTC).timestamp()
    except ValueError:
        return None


def _of_2(record: Record) -> tuple[tuple[object, ...], dict[str, Any]]:
    """The kind, and what is read here."""
    one, product = record.sections[1], record.sections[4]
    template = int.from_bytes(product[7:9], "big")
    whole = (2, record.discipline, one, record.sections[3], product, record.sections[5][9:11])
    least = 36 if template in _MEMBERS else 34
    if template not in _ENDS or len(product) < least or one[11] > 1 or product[17] not in _UNITS_S:
        return whole, {}
    base_s = _seconds(int.from_bytes(one[12:14], "big"), *one[14:19])
    end = _ENDS[template]
    begin_s = None if base_s is None else base_s + _signed(product[18:22]) * _UNITS_S[product[17]]
    own: dict[str, Any] = {"base_s": base_s, "valid_s": begin_s}
    ranges = [(18, 22)]
    if end is not None:
        if len(product) < end + 7:
            return whole, {}
        own |= {"valid_s": _seconds(int.from_bytes(product[end : end + 2], "big"), *product[end + 2 : end + 7])}
        own |= {"from_s": begin_s}
        ranges.append((end, end + 7))
    if base_s is None or own["valid_s"] is None:
        return whole, {}
    if product[23] != 255 and product[24:28] != b"\xff" * 4:
        level = _signed(product[24:28]) / 10.0 ** _signed(product[23:24])
        own |= {"level": level / 100 if product[22] == 100 else level}
        if product[22] in _LEVELS_2 and product[28] == 255:
            own |= {"levtype": _LEVELS_2[product[22]]}
            ranges.append((23, 28))
    if template in _MEMBERS:
        own |= {"member": str(product[35])}
        ranges.append((35, 36))
    kind = (2, record.discipline, _masked(one, (12, 19)), record.sections[3], _masked(product, *ranges),
            record.sections[5][9:11])  # fmt: skip
    return kind, own


def _of_1(record: Record) -> tuple[tuple[object, ...], dict[str, Any]]:
    """The same of edition 1."""
    product = record.sections[1]
    whole = (1, product, record.sections[3])
    unit, first, second, indicator = product[17:21]
    if unit not in _UNITS_1_S or indicator not in (0, 1, 2, 3, 4, 5, 10):
        return whole, {}
    year = (product[24] - 1) * 100 + product[12]
    base_s = _seconds(year, *product[13:17])
    if base_s is None:
        return whole, {}
    steps = {0: first, 1: 0, 10: first * 256 + second}.get(indicator, second)
    own: dict[str, Any] = {"base_s": base_s, "valid_s": base_s + steps * _UNITS_1_S[unit]}
    if 2 <= indicator <= 5:
        own |= {"from_s": base_s + first * _UNITS_1_S[unit]}
    ranges = [(12, 17), (18, 20), (24, 25)]
    if product[9] in _LEVELS_1:
        own |= {"levtype": _LEVELS_1[product[9]], "level": float(int.from_bytes(product[10:12], "big"))}
        ranges.append((10, 12))
    return (1, _masked(product, *ranges), record.sections[3]), own

"""A GRIB message in words: its parameter's names and unit, and when it is valid. ecCodes knows them."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from hakobi.errors import HakobiError
from hakobi.store.parameters import grib_texts

#: Texts by which ecCodes says that it does not know.
UNKNOWN = ("", "unknown", "Unknown", "~", "undef", "Experimental product")
_KEYS = ("shortName", "name", "units", "cfName", "validityDate", "validityTime", "parameterName", "parameterUnits")
EPOCH = "seconds since 1970-01-01 00:00:00"


@dataclass(frozen=True)
class Words:
    """`name` is the parameter's, as "Temperature", `short_name` as "t", `standard_name` that of the CF conventions;
    `valid_s` counts from EPOCH, None where there is no date."""

    name: str = ""
    units: str = ""
    valid_s: float | None = None
    short_name: str = ""
    standard_name: str = ""


def words_of(message: bytes) -> Words:
    """Never raises: what is not known, or what nobody knows without ecCodes, is left empty."""
    try:
        texts = grib_texts(message, _KEYS)
    except HakobiError:
        return Words()
    known = {key: "" if text in UNKNOWN or text.isdigit() else text for key, text in texts.items()}
    if not known["name"]:  # not in ECMWF's database: WMO's table of edition 2 may have it
        known |= {"name": known["parameterName"], "units": known["parameterUnits"]}
    valid_s = valid_seconds(texts["validityDate"], texts["validityTime"])
    return Words(known["name"], known["units"], valid_s, known["shortName"], known["cfName"])


def valid_seconds(date: str, clock: str) -> float | None:
    """Since EPOCH, of ecCodes' texts; None where they are no date."""
    try:
        day = datetime.datetime.strptime(f"{int(date):08}", "%Y%m%d").replace(tzinfo=datetime.UTC)
        return day.timestamp() + 3600.0 * (int(clock) // 100) + 60.0 * (int(clock) % 100)
    except ValueError:
        return None

"""Numbers as a variable stores them, and what they mean: types without a sign, missing values, packing (NetCDF User
Guide, appendix A; CF conventions, 2.5.1 and 8.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Number = float | int
_MOST_MISSING = 64
#: The values of what was never written, by type; bytes have none (netcdf.h).
_NEVER_WRITTEN: dict[str, Number] = {
    "i2": -32767, "u2": 65535, "i4": -2147483647, "u4": 4294967295, "i8": -9223372036854775806,
    "u8": 18446744073709551614, "f4": float(np.float32(9.9692099683868690e36)), "f8": 9.9692099683868690e36,
}  # fmt: skip


@dataclass(frozen=True)
class Packing:
    """`dtype` is the type with the sign that is meant, of the size that is stored. `missing` are values of that type;
    `scaling` is scale_factor and add_offset."""

    dtype: np.dtype[Any]
    missing: tuple[Number, ...] = ()
    scaling: tuple[float, float] | None = None

    @classmethod
    def of(cls, dtype: np.dtype[Any], attribute: Callable[[str], Any], never_written: Any = None) -> Packing:
        """By a variable's attributes: numbers, arrays of them, texts, None. `never_written` is the value that stands
        where nothing was written: it counts where there is no _FillValue."""
        meant = _meant(dtype, attribute("_Unsigned"))
        fills = [*_missing(dtype, meant, attribute("_FillValue"))]
        if not fills and never_written is not None:
            fills = [*_missing(dtype, meant, never_written)]
        missing = tuple(dict.fromkeys([*fills, *_missing(dtype, meant, attribute("missing_value"))]))
        scale, shift = (next(_numbers(attribute(word)), None) for word in ("scale_factor", "add_offset"))
        is_scaled = scale is not None or shift is not None
        return cls(meant, missing, (1.0 if scale is None else float(scale), float(shift or 0)) if is_scaled else None)

    @property
    def value_type(self) -> np.dtype[Any]:
        """float32 or float64: that of the values."""
        narrow = self.dtype.itemsize <= (4 if self.dtype.kind == "f" else 2)
        return np.dtype(np.float32 if narrow and self.scaling is None else np.float64)

    def values(self, raw: Array) -> Array:
        """The values of stored numbers, NaN where one is missing."""
        raw = raw if raw.dtype == self.dtype else np.ascontiguousarray(raw).view(self.dtype)
        values = raw.astype(self.value_type, copy=False)
        missing = None
        for number in self.missing:
            found = raw == self.dtype.type(number)
            missing = found if missing is None else missing | found
        if self.scaling is not None:
            with np.errstate(over="ignore", invalid="ignore"):  # infinite, or no number: shown as missing
                values = values * self.scaling[0] + self.scaling[1]
        if missing is not None and missing.any():
            values = values.copy() if values is raw else values
            values[missing] = np.nan
        return values


def never_written(dtype: np.dtype[Any]) -> Number | None:
    """The value that netCDF's library gives to what was never written."""
    return _NEVER_WRITTEN.get(f"{dtype.kind}{dtype.itemsize}")


def _meant(dtype: np.dtype[Any], unsigned: Any) -> np.dtype[Any]:
    """The type with the sign that the attribute _Unsigned says."""
    kind = {("i", "true"): "u", ("u", "false"): "i"}.get((dtype.kind, str(unsigned).lower()))
    return np.dtype(f"{dtype.byteorder}{kind}{dtype.itemsize}") if kind else dtype


def _numbers(value: Any) -> Iterator[Number]:
    """The numbers of an attribute; a text may be one."""
    if value is None:
        return
    for item in np.asarray(value).ravel()[:_MOST_MISSING]:
        try:
            yield item.item() if isinstance(item, np.integer | np.floating) else float(item)
        except (TypeError, ValueError):
            return


def _missing(stored: np.dtype[Any], meant: np.dtype[Any], value: Any) -> Iterator[Number]:
    """The numbers of an attribute that the type can hold: no other is one of a field's. NaN is missing anyway."""
    for number in _numbers(value):
        if meant.kind == "f":
            with np.errstate(over="ignore"):
                held = float(np.float64(number).astype(meant))
            if np.isfinite(held) or np.isinf(number):
                yield held
            continue
        if number != number or number in (np.inf, -np.inf) or number != int(number):
            continue
        limits, whole = np.iinfo(meant), int(number)
        if stored != meant and np.iinfo(stored).min <= whole <= np.iinfo(stored).max:  # as it is stored
            whole = int(np.array(whole, stored).view(meant))
        if limits.min <= whole <= limits.max:
            yield whole

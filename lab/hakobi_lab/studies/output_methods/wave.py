"""NetCDF files of a run -> the surface height in frames that a picture can show.

The files are read right after their run, before they are removed, thinned to MAX_POINTS a side. A series that cannot
be read gives no wave and no error: the checksums have the say about files, this is about pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hakobi.measuring.session import Job
from hakobi.records import Record
from hakobi_lab.studies.output_methods.plan import BASELINE, Case

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Field = NDArray[np.float32]
    Axis = NDArray[np.float64]

#: Grid points a side that a frame keeps at most.
MAX_POINTS = 900


@dataclass
class Wave:
    """A field over time: `frames[i]` at `times_s[i]` after `origin`, rows by `lat`, columns by `lon`; NaN on land.
    `peak` is the greatest height so far at the last time where the files have it."""

    title: str
    name: str
    units: str
    lat: Axis
    lon: Axis
    origin: str = "the start"
    times_s: list[float] = field(default_factory=list)
    frames: list[Field] = field(default_factory=list)
    peak: Field | None = None
    num_files: int = 0
    grid: tuple[int, int] = (0, 0)


class FrameReader:
    """An observer of a study's runs: keeps the wave of the first that wrote readable files. `max_frames` of its steps,
    evenly spaced, the last one always among them."""

    def __init__(self, max_frames: int) -> None:
        self._max_frames = max_frames
        self.wave: Wave | None = None

    def __call__(self, job: Job[Case], record: Record, written: list[Path]) -> None:
        if self.wave is None and job.case.method != BASELINE:
            self.wave = read_wave([path for path in written if path.suffix == ".nc"], self._max_frames)


def pick(count: int, wanted: int) -> list[int]:
    """Indices of `wanted` of `count` steps, evenly spaced backwards from the last.

    >>> pick(10, 4), pick(3, 9), pick(5, 1), pick(0, 3)
    ([0, 3, 6, 9], [0, 1, 2], [4], [])
    """
    wanted = min(wanted, count)
    if wanted < 2:
        return [count - 1] if wanted else []
    return [round(i * (count - 1) / (wanted - 1)) for i in range(wanted)]


def read_wave(paths: Sequence[Path], max_frames: int) -> Wave | None:
    """The surface height of the steps in `paths`, or None when there is none or a file is not what it should be."""
    import h5py

    wave: Wave | None = None
    chosen = [paths[index] for index in pick(len(paths), max_frames)]
    try:
        for path in chosen:
            with h5py.File(path, "r") as file:
                name = _surface_name(file)
                if name is None:
                    return None
                if wave is None:
                    wave = _make_wave(file, name, len(paths))
                wave.times_s.append(_time_of(file, len(wave.times_s)))
                wave.frames.append(_thinned(file[name]))
                peak = _peak_name(file)
                if path == chosen[-1] and peak is not None:
                    wave.peak = _thinned(file[peak])
    except (OSError, KeyError, ValueError):
        return None
    return wave


def _fields(file: Any) -> list[str]:
    """The names of the fields over the grid: two dimensions, a leading one of length 1 apart."""
    names = []
    for name, item in file.items():
        shape = tuple(getattr(item, "shape", ()))
        if len(shape) - (len(shape) > 2 and shape[0] == 1) == 2:
            names.append(name)
    return names


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _is_peak(name: str, item: Any) -> bool:
    words = f"{name} {_text(item.attrs.get('long_name', ''))}".lower()
    return any(word in words for word in ("max", "peak", "highest"))


def _surface_name(file: Any) -> str | None:
    """The surface height: CF's standard name says it, or the customary short names do."""
    candidates = [name for name in _fields(file) if not _is_peak(name, file[name])]
    for name in candidates:
        if _text(file[name].attrs.get("standard_name", "")).startswith("sea_surface_height"):
            return name
    return next((name for name in ("eta", "ssh", "zeta", "height", "h") if name in candidates), None)


def _peak_name(file: Any) -> str | None:
    return next((name for name in _fields(file) if _is_peak(name, file[name])), None)


def _label(name: str, item: Any) -> str:
    """A few words for titles and colour bars."""
    if _text(item.attrs.get("standard_name", "")).startswith("sea_surface_height"):
        return "sea surface height"
    return _text(item.attrs.get("long_name", name)).partition(",")[0]


def _steps(shape: tuple[int, ...]) -> tuple[int, int]:
    return tuple(max(1, -(-length // MAX_POINTS)) for length in shape[-2:])  # type: ignore[return-value]


def _thinned(item: Any) -> Field:
    """Every n-th value of a field each way, fill values as NaN."""
    import numpy as np

    rows, columns = _steps(item.shape)
    index = (0,) * (len(item.shape) - 2)
    values = np.asarray(item[(*index, slice(None, None, rows), slice(None))], dtype=np.float32)[:, ::columns]
    fill = item.attrs.get("_FillValue")
    if fill is not None:
        values = np.where(values == np.float32(np.ravel(fill)[0]), np.float32(np.nan), values)
    return values


def _make_wave(file: Any, name: str, num_files: int) -> Wave:
    import numpy as np

    item = file[name]
    rows, columns = _steps(item.shape)
    axes = []
    for dimension, step in ((-2, rows), (-1, columns)):
        scales = item.dims[len(item.shape) + dimension]
        values = scales[0][()] if len(scales) else np.arange(item.shape[dimension])
        axes.append(np.asarray(values, dtype=np.float64)[::step])
    return Wave(
        title=_text(file.attrs.get("title", "")),
        name=_label(name, item),
        units=_text(item.attrs.get("units", "")),
        lat=axes[0],
        lon=axes[1],
        origin=_origin(file),
        num_files=num_files,
        grid=(int(item.shape[-2]), int(item.shape[-1])),
    )


def _time_of(file: Any, fallback: int) -> float:
    """Seconds of model time: the `time` variable in its unit, or the step's number."""
    import numpy as np

    if "time" not in file:
        return float(fallback)
    value = float(np.ravel(file["time"][()])[0])
    unit = _text(file["time"].attrs.get("units", "s")).split()[0]
    return value * {"minutes": 60.0, "min": 60.0, "hours": 3600.0, "h": 3600.0, "days": 86400.0}.get(unit, 1.0)


def _origin(file: Any) -> str:
    """The origin of time: "2011-03-11 05:46:24 UTC" for "seconds since 2011-03-11 05:46:24"."""
    units = _text(file["time"].attrs.get("units", "")) if "time" in file else ""
    _unit, _since, origin = units.partition(" since ")
    return f"{origin.removesuffix(' UTC')} UTC" if origin else "the start"

"""Pictures of the wave: the field at one time, a series, an animation. Land is grey, its border the coast."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from hakobi.words import clock_text
from hakobi_lab import plots
from hakobi_lab.studies.output_methods.wave import Wave

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from numpy.typing import NDArray

    Field = NDArray[np.float32]

_LAND = "#b9b4a7"
_COLOURS = "RdBu_r"


def height_limit(wave: Wave) -> float:
    """A symmetric limit of the colours that the open sea's wave fills, not the few highest cells at a coast: the
    99.5 % quantile of |height| over the frames where something has happened."""
    import numpy as np

    limits = []
    for frame in wave.frames:
        moved = np.abs(frame[np.isfinite(frame) & (np.abs(frame) > 1e-3)])
        if moved.size:
            limits.append(float(np.quantile(moved, 0.97)))
    return max(float(np.median(limits)), 1e-3) if limits else 1.0


def field_figure(wave: Wave, index: int = -1) -> Figure:
    """The surface height at one step with coast and colour bar."""
    figure, axes = _map_figure(wave, 9.2)
    image = _draw(axes, wave, wave.frames[index], height_limit(wave))
    axes.set_title(f"{wave.name.capitalize()}, {clock_text(wave.times_s[index])} after {wave.origin}")
    _colour_bar(figure, axes, image, wave)
    return figure


def peak_figure(wave: Wave) -> Figure | None:
    """The greatest height so far, on a logarithmic scale, or None when the files do not have it."""
    if wave.peak is None:
        return None
    import numpy as np
    from matplotlib.colors import LogNorm

    figure, axes = _map_figure(wave, 9.2)
    values = wave.peak
    positive = values[np.isfinite(values) & (values > 0.01)]
    top = float(np.quantile(positive, 0.999)) if positive.size else 1.0
    norm = LogNorm(vmin=0.01, vmax=max(top, 0.1))
    image = _draw_map(axes, wave, np.where(values < 0.01, np.float32(0.01), values), "YlGnBu", norm)
    axes.set_title(f"Greatest height in the first {clock_text(wave.times_s[-1])}")
    bar = figure.colorbar(image, ax=axes, shrink=0.85, extend="both", pad=0.02)
    bar.set_label(f"greatest height [{wave.units}]")
    return figure


def series_figure(wave: Wave) -> Figure:
    """Up to six steps beside each other."""
    from hakobi_lab.studies.output_methods.wave import pick

    chosen = pick(len(wave.frames), 6)
    rows = -(-len(chosen) // 2)
    figure, every_axes = plots.new_figure(
        9.2, rows * (0.42 * 9.2 * _height_over_width(wave) + 0.45), rows=rows, columns=2, share=True
    )
    limit = height_limit(wave)
    images = []
    for axes, index in zip(every_axes, chosen, strict=False):
        images.append(_draw(axes, wave, wave.frames[index], limit, labels=False))
        axes.set_title(clock_text(wave.times_s[index]))
    for axes in every_axes[len(chosen) :]:
        axes.set_visible(False)
    _colour_bar(figure, every_axes, images[0], wave, shrink=0.6)
    figure.suptitle(f"{wave.name.capitalize()} after {wave.origin}", fontsize=11, fontweight="bold")
    return figure


def animation_gif(wave: Wave, frame_ms: int = 160) -> bytes:
    """The wave as an animated GIF that repeats; the last frame stands for a second and a half."""
    import numpy as np
    from PIL import Image

    figure, axes = _map_figure(wave, 7.4)
    figure.set_dpi(100)
    image = _draw(axes, wave, wave.frames[0], height_limit(wave))
    title = axes.set_title(f"{clock_text(wave.times_s[-1])} after {wave.origin}")
    _colour_bar(figure, axes, image, wave)
    figure.canvas.draw()
    figure.set_layout_engine("none")  # laid out once: the frames must not shift, and layout is most of the work
    # One palette for all frames, or colours would flicker: the map's own colours, and greys for text.
    palette = Image.new("P", (1, 1))
    palette.putpalette(_palette())
    frames = []
    for time_s, values in zip(wave.times_s, wave.frames, strict=True):
        image.set_data(_masked(values))
        title.set_text(f"{clock_text(time_s)} after {wave.origin}")
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]  # type: ignore[attr-defined]
        indices = np.array(Image.fromarray(pixels).quantize(palette=palette, dither=Image.Dither.NONE))
        indices[(pixels == 255).all(axis=-1)] = 255  # Pillow's search is approximate: paper stays white
        frame = Image.fromarray(indices, mode="P")
        frame.putpalette(_palette())
        frames.append(frame)
    durations = [frame_ms] * (len(frames) - 1) + [1500]
    buffer = io.BytesIO()
    frames[0].save(buffer, format="GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0)
    return buffer.getvalue()


def _palette() -> list[int]:
    """256 colours: 190 of the map's scale, the land's, and greys from ink to paper."""
    import matplotlib as mpl
    import numpy as np

    scale = mpl.colormaps[_COLOURS](np.linspace(0, 1, 190))[:, :3]
    land = np.array([[int(_LAND[i : i + 2], 16) / 255 for i in (1, 3, 5)]])
    greys = np.linspace(0.1, 1, 65)[:, None].repeat(3, axis=1)
    return [round(255 * float(part)) for part in np.concatenate([scale, land, greys]).ravel()]


def _colour_bar(figure: Figure, axes: Axes | list[Axes], image: AxesImage, wave: Wave, shrink: float = 0.85) -> None:
    bar = figure.colorbar(image, ax=axes, shrink=shrink, extend="both", pad=0.02)
    bar.set_label(f"{wave.name} [{wave.units}]")


def _height_over_width(wave: Wave) -> float:
    """The shape of the map: degrees of longitude shrink with the cosine of the latitude."""
    import numpy as np

    width = (wave.lon[-1] - wave.lon[0]) * np.cos(np.radians(wave.lat.mean()))
    return float(np.clip((wave.lat[-1] - wave.lat[0]) / width, 0.2, 2.0)) if width > 0 else 1.0


def _map_figure(wave: Wave, width: float) -> tuple[Figure, Axes]:
    """A figure that one map with a colour bar fills."""
    figure, (axes,) = plots.new_figure(width, 0.8 * width * _height_over_width(wave) + 0.75)
    return figure, axes


def _draw(axes: Axes, wave: Wave, frame: Field, limit: float, *, labels: bool = True) -> AxesImage:
    """One frame on one axes, with the coast."""
    from matplotlib.colors import Normalize
    from matplotlib.ticker import MaxNLocator

    image = _draw_map(axes, wave, frame, _COLOURS, Normalize(-limit, limit))
    if not labels:
        axes.label_outer()
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 3, 5, 10]))
    return image


def _draw_map(axes: Axes, wave: Wave, values: Field, colours: str, norm: Normalize) -> AxesImage:
    import numpy as np

    half_x = (wave.lon[1] - wave.lon[0]) / 2 if len(wave.lon) > 1 else 0.5
    half_y = (wave.lat[1] - wave.lat[0]) / 2 if len(wave.lat) > 1 else 0.5
    extent = (wave.lon[0] - half_x, wave.lon[-1] + half_x, wave.lat[0] - half_y, wave.lat[-1] + half_y)
    axes.set_facecolor(_LAND)
    axes.grid(visible=False)
    image = axes.imshow(_masked(values), origin="lower", extent=extent, cmap=colours, norm=norm)
    land = ~np.isfinite(values)
    if land.any() and not land.all():
        axes.contour(wave.lon, wave.lat, land.astype(float), levels=[0.5], colors="#4a463d", linewidths=0.6)
    # On the sphere a degree of longitude is shorter than one of latitude; true at the picture's middle.
    axes.set_aspect(1 / max(0.2, float(np.cos(np.radians(wave.lat.mean())))))
    axes.xaxis.set_major_formatter(_longitude)
    axes.yaxis.set_major_formatter(_latitude)
    return image


def _masked(values: Field) -> Any:
    import numpy as np

    return np.ma.masked_invalid(values)


def _longitude(degrees: float, _position: object = None) -> str:
    """
    >>> _longitude(140.0), _longitude(180.0), _longitude(215.0)
    ('140°E', '180°', '145°W')
    """
    east = (degrees + 180) % 360 - 180
    return "180°" if abs(east) == 180 else f"{abs(east):g}°{'E' if east > 0 else 'W' if east < 0 else ''}"


def _latitude(degrees: float, _position: object = None) -> str:
    """
    >>> _latitude(40.0), _latitude(0.0), _latitude(-12.5)
    ('40°N', '0°', '12.5°S')
    """
    return f"{abs(degrees):g}°{'N' if degrees > 0 else 'S' if degrees < 0 else ''}"

"""The demonstration's picture and page, by numpy and the standard library alone: a wheel brings no more."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Pixels = NDArray[np.uint8]
_LAND = (216, 208, 190)
#: From -1 to 1: blue, nearly white, red.
_COLOURS = ((8, 48, 107), (66, 146, 198), (247, 247, 245), (239, 101, 72), (127, 0, 0))
_BAR_CELLS = 44
_ALT = "Four pictures of a wave that runs over a sea, round an island and onto a shelf."


def painted(surface: Array, is_land: NDArray[np.bool_], most: float) -> Pixels:
    """Colours of a sea's surface between -`most` and `most`."""
    at = np.clip(surface / most, -1, 1)
    stops = np.linspace(-1, 1, len(_COLOURS))
    pixels = np.stack([np.interp(at, stops, [colour[c] for colour in _COLOURS]) for c in range(3)], axis=-1)
    pixels[is_land] = _LAND
    return np.asarray(pixels.round(), np.uint8)


def film_strip(frames: Sequence[Pixels], gap: int = 8) -> Pixels:
    """Frames beside each other, the first one on the left."""
    white = np.full((frames[0].shape[0], gap, 3), 255, np.uint8)
    parts = [part for frame in frames for part in (white, frame)][1:]
    return np.concatenate(parts, axis=1)


def png(pixels: Pixels) -> bytes:
    """An image of 8 bits a colour as PNG (ISO/IEC 15948).

    >>> png(np.zeros((2, 3, 3), np.uint8))[:4]
    b'\\x89PNG'
    """

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = pixels.shape
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def bars(values: Sequence[tuple[str, float]]) -> str:
    """Bars for a terminal, one a line.

    >>> print(bars([("one", 4.0), ("two", 1.0)]))
    one  ████████████████████████████████████████████  4.00 s
    two  ███████████  1.00 s
    """
    most = max(value for _, value in values)
    width = max(len(name) for name, _ in values)
    lines = [f"{name:{width}}  {'█' * round(_BAR_CELLS * value / most)}  {value:.2f} s" for name, value in values]
    return "\n".join(lines)


def page(
    title: str, sentence: str, values: Sequence[tuple[str, float]], film: bytes, told: Sequence[str], typed: str
) -> str:
    """The whole demonstration on one page: what it found first, then the film, then what to type next."""
    most = max(value for _, value in values)
    rows = "".join(
        f'<div class="row"><span>{html.escape(name)}</span><b style="width:{52 * value / most:.2f}%"></b>'
        f"<span>{value:.2f} s</span></div>"
        for name, value in values
    )
    paragraphs = "".join(f"<p>{html.escape(text)}</p>" for text in told)
    source = base64.b64encode(film).decode()
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>
body {{ margin: 2rem auto; max-width: 60rem; padding: 0 1.2rem; color: #1d2733; font: 17px/1.5 sans-serif; }}
.row {{ display: flex; align-items: center; gap: .7rem; margin: .35rem 0; }}
.row span {{ white-space: nowrap; }}
.row span:first-child {{ width: 19rem; flex: none; }}
.row b {{ height: 1.5rem; background: #0b5a8a; }}
.row:first-of-type b {{ background: #b3561e; }}
.row:last-of-type b {{ background: #aab4bd; }}
img {{ width: 100%; height: auto; margin-top: 1.2rem; }}
pre {{ background: #f4f7f9; padding: .8rem 1rem; overflow-x: auto; font-size: .85rem; }}
@media (max-width: 40rem) {{ .row {{ flex-wrap: wrap; }} .row span:first-child {{ width: 100%; }} }}
</style></head><body>
<h1>{html.escape(sentence)}</h1>
<div>{rows}</div>
<img src="data:image/png;base64,{source}" alt="{_ALT}">
{paragraphs}
<pre>{html.escape(typed)}</pre>
</body></html>
"""

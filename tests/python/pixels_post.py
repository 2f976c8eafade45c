"""Holds the page's pixels against those of `hakobi post --picture`, cell by cell, over fields of many kinds.

    python tests/python/pixels_post.py --fields 50 --seed 1

Both are held against the field's own values too: a picture is wrong where it is off by more than one of 256 colours, or
where more than a few cells are off by one (float16 of the page lies beside the end of a colour there).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from hakobi.post import indexing
from hakobi.post.catalogue import identifier
from hakobi.post.picture import colours_of, picture
from hakobi_lab.browser import Browser
from posting import TOKEN, Client, served

Array = NDArray[Any]
GAP = (200, 196, 188)


def _grids(shape: tuple[int, int]) -> tuple[Array, Array]:
    y, x = np.meshgrid(np.linspace(-1, 1, shape[0]), np.linspace(-1, 1, shape[1]), indexing="ij")
    return y, x


def _wave(dice: np.random.Generator, shape: tuple[int, int]) -> Array:
    y, x = _grids(shape)
    a, b, phase = dice.uniform(1, 6, 3)
    return np.sin(a * x + b * y + phase) + 0.3 * np.cos(3 * b * x * y)


def _of_any_size(dice: np.random.Generator, shape: tuple[int, int]) -> Array:
    return _wave(dice, shape) * 10.0 ** dice.integers(-320, 300)


def _bright_cell(dice: np.random.Generator, shape: tuple[int, int]) -> Array:
    values = dice.normal(0, 1, shape)
    values[tuple(dice.integers(0, shape))] = 10.0 ** dice.integers(3, 300)
    return values


def _all_sizes(dice: np.random.Generator, shape: tuple[int, int]) -> Array:
    return dice.choice([-1.0, 1.0], shape) * 10.0 ** dice.uniform(-320, 300, shape)


def _calm_sea(dice: np.random.Generator, shape: tuple[int, int]) -> Array:
    """A wave of 1, and a forerunner that ends in the smallest numbers."""
    y, x = _grids(shape)
    return _wave(dice, shape) * np.exp(-((40 * (np.hypot(x, y) - 0.1).clip(0)) ** 2))


def _holes(dice: np.random.Generator, shape: tuple[int, int]) -> Array:
    values = _wave(dice, shape) * 1e5
    for value in (np.nan, np.inf, -np.inf, 1e30, 0.0):
        values[dice.random(shape) < 0.001] = value
    values[: shape[0] // 5, : shape[1] // 4] = np.nan
    return values


def _one_value(dice: np.random.Generator, shape: tuple[int, int]) -> Array:
    values = np.full(shape, dice.choice([0.0, 1e-320, -7.5, 1e300]))
    values[tuple(dice.integers(0, shape))] += dice.choice([0.0, 1.0])
    return values


def _far_from_zero(dice: np.random.Generator, shape: tuple[int, int]) -> Array:
    return 1e6 + 1e-3 * _wave(dice, shape)


def _of_float32(dice: np.random.Generator, shape: tuple[int, int]) -> Array:
    values = _wave(dice, shape) * 10.0 ** dice.integers(-44, 38)
    return np.asarray(values, "f4")


def _two_worlds(dice: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Noise of 1, and a small tile in a corner that has values of 1e10 but for a few cells."""
    values = dice.normal(0, 1, shape)
    corner = values[256:270, 256:270]
    corner[dice.random(corner.shape) < 0.9] += 1e10
    return values


def _largest(dice: np.random.Generator, shape: tuple[int, int]) -> Array:
    return 1.7e308 * np.clip(_wave(dice, shape), -1, 1)


def _integers(dice: np.random.Generator, shape: tuple[int, int]) -> Array:
    return dice.integers(-3, 3, shape).astype(dice.choice(["i1", "i4"]))


KINDS = [_of_any_size, _bright_cell, _all_sizes, _calm_sea, _holes, _one_value, _far_from_zero, _of_float32,
         _two_worlds, _largest, _integers]  # fmt: skip


def make_fields(folder: Path, numbers: list[int], seed: int) -> dict[str, Array]:
    """One file a field, of which the page and the picture take their usual look. KINDS take turns."""
    fields = {}
    for number in numbers:
        dice = np.random.default_rng((seed, number))
        kind: Callable[[np.random.Generator, tuple[int, int]], Array] = KINDS[number % len(KINDS)]
        low = 270 if number % 4 == 3 or kind in (_two_worlds, _holes) else 20  # more than one tile, or a part of one
        name = f"{kind.__name__.strip('_')}-{chr(97 + number // 26)}{chr(97 + number % 26)}.nc"
        rows, columns = (int(n) for n in dice.integers(low, low + 40, 2))
        fields[name] = kind(dice, (rows, columns))
        with h5py.File(folder / name, "w") as file:
            file["u"] = fields[name]
        if number % 3 == 2:
            indexing.make_overview(folder / name)
    return fields


_PAGE = """
const { plane } = hakobi, { canvas } = plane, ratio = devicePixelRatio, [rows, columns] = plane.source.shape;
const { data } = plane.context.getImageData(0, 0, canvas.width, canvas.height);
const found = [];
for (let r = 0; r < rows; r += 1) for (let c = 0; c < columns; c += 1) {
  const [x, y] = plane.toScreen(c + 0.5, r + 0.5);
  const at = 4 * (Math.floor(y * ratio) * canvas.width + Math.floor(x * ratio));
  found.push((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
}
const { low, high, map } = hakobi.now.look;
return [low, high, map, found];
"""


def _of_page(browser: Browser, name: str) -> tuple[float, float, str, Array]:
    key = identifier(name)
    none = "low: undefined, high: undefined, zoom: undefined, map: undefined, field: undefined"
    browser.run(f"return hakobi.set({{ series: '{key}', step: 'last', range: '0.5', {none} }})")
    browser.wait(f"hakobi.now.series.id === '{key}' && (hakobi.plane.drawNow(), hakobi.plane.isComplete)")
    low, high, name, found = browser.run(_PAGE)
    words = np.array(found)
    return low, high, name, np.stack([words >> 16, words >> 8 & 255, words & 255], axis=-1)


def _of_picture(path: Path, out: Path, shape: tuple[int, ...]) -> Array:
    """The colour in the middle of each cell."""
    places = []
    save = Figure.savefig

    def watched(self: Figure, *arguments: Any, **words: Any) -> None:
        save(self, *arguments, **words)
        places.append(self.axes[0].get_window_extent().bounds)

    Figure.savefig = watched  # type: ignore[method-assign]
    try:
        with mpl.rc_context():
            mpl.rcdefaults()  # as in a process of its own, whatever other tests have drawn in this one
            picture(path, out)
    finally:
        Figure.savefig = save  # type: ignore[method-assign]
    pixels = np.asarray(Image.open(out).convert("RGB"))
    left, bottom, width, height = places[-1]
    rows = pixels.shape[0] - bottom - (np.arange(shape[0]) + 0.5) / shape[0] * height
    columns = left + (np.arange(shape[1]) + 0.5) / shape[1] * width
    return pixels[rows.astype(int)[:, None], columns.astype(int)[None]].reshape(-1, 3)


def _numbers(pixels: Array, table: Array) -> Array:
    """The number of each pixel's colour; 1000 for cells without a value, 2000 for none of them. Colours may be one off:
    both sides round for themselves."""
    steps = np.stack(np.meshgrid(*[[-1, 0, 1]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    steps = steps[np.argsort(np.abs(steps).sum(axis=1), kind="stable")]  # the colour itself first
    colours = np.concatenate([table, [GAP]])
    numbers = np.append(np.arange(len(table)), 1000)
    pack = lambda rgb: (rgb.astype(np.int64) + 1) @ np.array([1 << 20, 1 << 10, 1])  # noqa: E731
    keys, first = np.unique(np.concatenate([pack(colours + step) for step in steps]), return_index=True)
    wanted = pack(pixels)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, numbers[first[place] % len(colours)], 2000)


def compare(
    browser: Browser, client: Client, folder: Path, fields: dict[str, Array], out: Path, is_kept: bool = False
) -> list[str]:
    """Returns what is wrong, a line a finding. The page's pictures are kept in `out` on wish."""
    browser.go("about:blank")
    browser.go(f"http://127.0.0.1:{client.port}/?token={TOKEN}")
    browser.wait("window.hakobi && hakobi.now.look && hakobi.plane.source")
    wrong = []
    for name, values in fields.items():
        low, high, colours, page = _of_page(browser, name)
        if is_kept:
            browser.picture(out / f"{name}.page.png")
        shown = _of_picture(folder / name, out / f"{name}.png", values.shape)
        table = np.rint(255 * colours_of(colours)).astype(int)
        with np.errstate(all="ignore"):
            wide = values.ravel().astype(float)
            place = np.nan_to_num((wide / 2 - low / 2) / (high / 2 - low / 2) * 256, posinf=255, neginf=0)
        right = np.where(np.isnan(wide), 1000, np.clip(place, 0, 255).astype(int))
        for what, pixels in (("the page", page), ("--picture", shown)):
            off = np.abs(_numbers(pixels, table) - right)
            if off.max() > 1 or (off > 0).mean() > 0.1:
                share = 100 * (off > 0).mean()
                wrong.append(f"{name}: {what} is off by up to {off.max()} colours, in {share:.1f} % of its cells")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fields", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="where the pictures go")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fields = make_fields(folder, list(range(options.fields)), options.seed)
        out = options.out or folder
        with served(folder) as client, Browser() as browser:
            wrong = compare(browser, client, folder, fields, out, options.out is not None)
    print(f"{len(fields)} fields; {len(wrong)} findings")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

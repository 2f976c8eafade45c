// Coast lines and wind over a map: what is drawn on a plane whose rows are latitudes and whose columns are longitudes.

import { valueAt } from './half.js';
import { text } from './numbers.js';
import { TILE } from './tiles.js';

const INK = '#1a1a1a';
const LEAST_DEGREES = 10; // of latitude: at 1:110 million lines are good to some tens of kilometres
const APART = 44; // pixels from one arrow to the next
let lines = null; // of [longitude, latitude, …] in degrees, once they are here
let coming = null;

function fetchLines(onCome) {
  coming ??= fetch(new URL('coast.json', import.meta.url), { credentials: 'same-origin' }).then((answer) => answer.json()).then((found) => {
    lines = found.lines.map((steps) => {
      const line = new Float64Array(steps.length);
      steps.forEach((step, n) => { line[n] = step / 100 + (n > 1 ? line[n - 2] : 0); });
      return line;
    });
  }, () => { lines = []; });
  coming.then(onCome);
}

export const isMap = (rows, columns) => rows.kind === 'lat' && columns.kind === 'lon' && rows.first !== undefined && columns.first !== undefined;
export const hasCoast = (rows, columns) => isMap(rows, columns) && Math.abs(rows.last - rows.first) >= LEAST_DEGREES;

// `at(longitude, latitude)` is the place on the screen. A map from 0° to 360° has the west beyond 180°.
export function drawCoast(context, columns, at, onCome) {
  if (!lines) { fetchLines(onCome); return; }
  const half = Math.abs(columns.last - columns.first) / Math.max(1, columns.size - 1) / 2;
  const [west, east] = [Math.min(columns.first, columns.last) - half, Math.max(columns.first, columns.last) + half];
  context.beginPath();
  for (let turn = Math.floor((west - 180) / 360); turn <= Math.ceil((east + 180) / 360); turn += 1) {
    for (const line of lines) {
      let isDown = false;
      for (let n = 0; n < line.length; n += 2) {
        const longitude = line[n] + 360 * turn;
        if (longitude < west || longitude > east) { isDown = false; continue; }
        const [x, y] = at(longitude, line[n + 1]);
        if (isDown) context.lineTo(x, y); else context.moveTo(x, y);
        isDown = true;
      }
    }
  }
  for (const [width, colour] of [[2.5, '#ffffff90'], [1, INK]]) { context.lineWidth = width; context.strokeStyle = colour; context.stroke(); }
}

// The addresses of the tiles of both components that a view needs.
export const windTiles = (source, level, places) => (source.wind ? source.wind.flatMap((address) => places.map(([r, c]) => address(level, r, c))) : []);

// Arrows with the wind, north up, and one that says how long a speed is. Returns how many tiles are not here yet.
export function drawWind(context, plane, level) {
  const { source, tiles } = plane;
  const size = 2 ** level;
  const missing = windTiles(source, level, plane.visible(level)).filter((address) => !tiles.get(address) && !tiles.hasFailed(address)).length;
  const value = (address, row, column) => {
    const [r, c] = [Math.floor(row / size), Math.floor(column / size)];
    const tile = tiles.get(address(level, Math.floor(r / TILE), Math.floor(c / TILE)));
    return tile ? valueAt(tile, (r % TILE) * tile.columns + (c % TILE)) : NaN;
  };
  const { left, top, width, height } = plane.area();
  const ends = [plane.toCell(left, top), plane.toCell(left + width, top + height)];
  const every = [Math.ceil(APART / plane.zoom()), Math.ceil(APART / (plane.zoom() * plane.wide))]; // rows, columns
  const range = (d) => {
    const [a, b] = [0, 1].map((n) => Math.min(Math.max(ends[n][1 - d], 0), source.shape[d] - 1)).sort((x, y) => x - y);
    const found = [];
    for (let at = Math.floor(a / every[d]) * every[d] + Math.floor(every[d] / 2); at <= b; at += every[d]) if (at < source.shape[d]) found.push(at);
    return found;
  };
  const arrows = [];
  for (const row of range(0)) for (const column of range(1)) {
    const [u, v] = source.wind.map((address) => value(address, row, column));
    if (Number.isFinite(u + v)) arrows.push([...plane.toScreen(column + 0.5, row + 0.5), u, v]);
  }
  const fast = niceAbove(Math.max(0, ...arrows.map(([, , u, v]) => Math.hypot(u, v))));
  plane.canvas.dataset.arrows = arrows.length;
  if (!fast) return missing;
  const scale = APART / fast;
  context.strokeStyle = context.fillStyle = INK;
  context.lineWidth = 1.2;
  for (const [x, y, u, v] of arrows) arrow(context, x - (u * scale) / 2, y + (v * scale) / 2, u * scale, -v * scale);
  key(context, left + width, top + height, `${text(fast)} ${source.windUnits}`.trim());
  return missing;
}

function niceAbove(value) {
  if (!(value > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((n) => n * power >= value) * power;
}

function arrow(context, x, y, dx, dy) {
  const length = Math.hypot(dx, dy);
  if (length < 1.5) { context.fillRect(x - 0.5, y - 0.5, 1, 1); return; }
  const head = Math.min(6, length / 2) / length;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + dx, y + dy);
  for (const side of [-0.5, 0.5]) {
    context.moveTo(x + dx, y + dy);
    context.lineTo(x + dx - head * (dx + side * dy), y + dy - head * (dy - side * dx));
  }
  context.stroke();
}

function key(context, right, bottom, label) {
  context.font = '12px system-ui, "DejaVu Sans", sans-serif';
  const width = context.measureText(label).width + APART + 22;
  context.fillStyle = '#ffffffd0';
  context.fillRect(right - width, bottom - 22, width, 22);
  context.fillStyle = INK;
  arrow(context, right - width + 6, bottom - 11, APART, 0);
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  context.fillText(label, right - width + APART + 14, bottom - 11);
}

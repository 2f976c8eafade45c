// How far places along a line are, and numbers as a file for spreadsheets.

import { coordinate } from './plane.js';

const EARTH_KM = 6371.0088; // the mean radius (IUGG)

// Distances of cells from the first one, with their unit: along the sphere on maps, in the axes' unit where they have one
// and the same, else in cells.
export function distances(cells, axes) {
  const places = cells.map((cell) => cell.map((i, d) => coordinate(axes[d], i + 0.5)));
  const [lat, lon] = ['lat', 'lon'].map((kind) => axes.findIndex((axis) => axis.kind === kind));
  const moving = axes.filter((_, d) => cells.some((cell) => cell[d] !== cells[0][d]));
  if (lat >= 0 && lon >= 0 && moving.every((axis) => axis.kind)) return { units: 'km', values: places.map((place) => arc(places[0], place, lat, lon)) };
  const isEven = moving.length && moving.every((axis) => axis.first !== undefined && !axis.kind && axis.units === moving[0].units);
  const from = isEven ? places : cells;
  return { units: isEven ? moving[0].units || 'coordinates' : 'cells', values: from.map((place) => Math.hypot(...place.map((v, d) => v - from[0][d]))) };
}

// Haversine formula.
function arc(a, b, lat, lon) {
  const [p, q, dlon] = [a[lat], b[lat], b[lon] - a[lon]].map((degrees) => (degrees * Math.PI) / 180);
  const h = Math.sin((q - p) / 2) ** 2 + Math.cos(p) * Math.cos(q) * Math.sin(dlon / 2) ** 2;
  return 2 * EARTH_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}

const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell);

// RFC 4180; a number that is not there is an empty cell. Numbers have all of their digits.
export function csv(names, rows) {
  const cell = (value) => (value === null || Number.isNaN(value) ? '' : quoted(String(value)));
  return [names, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

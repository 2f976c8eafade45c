// The axes of a volume's or a mesh's box: numbers, names and units along the edges that are at the picture's rim.

import { apart, place, textWithin, ticks } from './numbers.js';
import { FOCAL } from './orbit.js';

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

// Where a place is on a picture of that size.
function project(camera, point, width, height) {
  const away = point.map((v, d) => v - camera.eye[d]);
  const scale = (FOCAL * Math.min(width, height)) / Math.max(1e-6, dot(camera.forward, away));
  return [width / 2 + scale * dot(camera.right, away), height / 2 - scale * dot(camera.up, away)];
}

// `axes` has for x, y and z: name, units, kind, low and high (the numbers at the box's ends), and part(number), where a
// number is between them, 0 to 1. `low` and `high` are the box's corners.
export function drawBoxAxes(canvas, camera, low, high, axes) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  context.font = '12px system-ui, "DejaVu Sans", sans-serif';
  context.fillStyle = context.strokeStyle = getComputedStyle(document.body).color;
  context.textBaseline = 'middle';
  context.textAlign = 'center';
  const middle = project(camera, low.map((v, d) => (v + high[d]) / 2), width, height);
  const isFree = apart(8); // "8 0" would be read as one
  const told = [];
  axes.forEach((axis, d) => {
    const others = [0, 1, 2].filter((n) => n !== d);
    const edges = [[-1, -1], [-1, 1], [1, -1], [1, 1]].map((signs) => {
      const at = (part) => { const p = [0, 0, 0]; p[d] = low[d] + part * (high[d] - low[d]); others.forEach((n, k) => { p[n] = signs[k] < 0 ? low[n] : high[n]; }); return project(camera, p, width, height); };
      const [x, y] = at(0.5);
      const away = [x - middle[0], y - middle[1]];
      return { at, away, score: Math.hypot(...away) + 0.3 * away[1] }; // rather below
    });
    const { at, away } = edges.reduce((best, edge) => (edge.score > best.score ? edge : best));
    const size = Math.hypot(...away) || 1;
    const outward = away.map((v) => v / size);
    const length = Math.hypot(at(1)[0] - at(0)[0], at(1)[1] - at(0)[1]);
    if (length < 25) return; // seen end on
    write(axis.kind ? '' : `${axis.name}${axis.units ? ` (${axis.units})` : ''}`, ...at(0.5), 34, outward);
    const [first, last] = [Math.min(axis.low, axis.high), Math.max(axis.low, axis.high)];
    for (const tick of ticks(first, last, Math.min(5, length / 70))) {
      const [x, y] = at(axis.part(tick));
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x + 5 * outward[0], y + 5 * outward[1]);
      context.stroke();
      write(axis.kind ? place(tick, axis, last - first) : textWithin(tick, last - first), x, y, 10, outward);
    }
  });
  canvas.dataset.labels = told.join('|');

  // Outside of an edge, as far as its width needs, and never over the picture's rim.
  function write(label, x, y, away, [outX, outY]) {
    if (!label) return;
    const half = context.measureText(label).width / 2;
    const across = Math.min(Math.max(x + outX * (away + half), half + 2), width - half - 2);
    const down = Math.min(Math.max(y + outY * (away + 6), 8), height - 8);
    if (!isFree(across - half, down - 7, across + half, down + 7)) return;
    context.fillText(label, across, down);
    told.push(label);
  }
}

// Small charts as SVG: a line over numbers, and a histogram.

import { textWithin, ticks } from './numbers.js';

const SPACE = 'http://www.w3.org/2000/svg';
const [WIDTH, HEIGHT, BOTTOM, TOP, RIGHT] = [290, 120, 20, 6, 6];
const LETTER = 7.2; // the most that a digit is wide

function element(name, attributes, parent, content) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (content !== undefined) made.textContent = content;
  parent?.append(made);
  return made;
}

// `isCounted`: the heights have no scale.
function frame(holder, label, [x0, x1], [y0, y1], isCounted = false) {
  const heights = isCounted ? [] : ticks(y0, y1, 3).map((tick) => [tick, textWithin(tick, y1 - y0, 3)]);
  const left = 10 + LETTER * Math.max(3, ...heights.map(([, told]) => told.length));
  const svg = element('svg', { class: 'chart', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label });
  const x = (v) => left + ((v - x0) / (x1 - x0 || 1)) * (WIDTH - left - RIGHT);
  const y = (v) => HEIGHT - BOTTOM - ((v - y0) / (y1 - y0 || 1)) * (HEIGHT - TOP - BOTTOM);
  element('rect', { class: 'frame', x: left, y: TOP, width: WIDTH - left - RIGHT, height: HEIGHT - TOP - BOTTOM }, svg);
  for (const [tick, told] of heights) element('text', { x: left - 4, y: y(tick) + 4, 'text-anchor': 'end' }, svg, told);
  let end = 0; // of the label before: none is written over another or over the edge
  for (const tick of ticks(x0, x1, 4)) {
    const told = textWithin(tick, x1 - x0, 4);
    const half = (LETTER * told.length) / 2;
    const middle = Math.min(Math.max(x(tick), half), WIDTH - half);
    if (middle - half < end + 4) continue;
    element('text', { x: middle, y: HEIGHT - 6, 'text-anchor': 'middle' }, svg, told);
    end = middle + half;
  }
  holder.replaceChildren(svg);
  return { svg, x, y, left };
}

// Points [x, y]; a y that is no number leaves a gap. `mark` is an x to point out, `units` are those of x and y.
export function lineChart(holder, label, points, mark, [xUnits, yUnits] = ['', '']) {
  const numbers = points.filter((p) => Number.isFinite(p[0]) && Number.isFinite(p[1]));
  if (!numbers.length) { holder.replaceChildren(Object.assign(document.createElement('p'), { textContent: 'No values there.' })); return; }
  let [low, high] = [Math.min(...numbers.map((p) => p[1])), Math.max(...numbers.map((p) => p[1]))];
  if (low === high) { const pad = Math.abs(low) * 0.05 || 1; low -= pad; high += pad; }
  const xs = numbers.map((p) => p[0]);
  const { svg, x, y } = frame(holder, label, [Math.min(...xs), Math.max(...xs)], [low, high]);
  let path = '';
  let isOpen = false;
  for (const [a, b] of points) {
    if (!Number.isFinite(b)) { isOpen = false; continue; }
    path += `${isOpen ? 'L' : 'M'}${x(a).toFixed(1)} ${y(b).toFixed(1)}`;
    isOpen = true;
  }
  element('path', { class: 'line', d: path }, svg);
  if (numbers.length === 1) element('circle', { class: 'bar', cx: x(numbers[0][0]), cy: y(numbers[0][1]), r: 3 }, svg);
  if (Number.isFinite(mark)) element('line', { class: 'mark', x1: x(mark), x2: x(mark), y1: TOP, y2: HEIGHT - BOTTOM }, svg);
  const units = [yUnits, xUnits && `over ${xUnits}`].filter(Boolean).join(' ');
  if (units) holder.append(Object.assign(document.createElement('p'), { className: 'units', textContent: units }));
}

// Counts on a scale of logarithms: rare values are seen too.
export function histogram(holder, label, { counts, from, to }) {
  const heights = counts.map((n) => Math.log10(1 + n));
  const { svg, x, left } = frame(holder, label, [from, to], [0, Math.max(...heights, 1)], true);
  element('text', { x: left - 4, y: TOP + 9, 'text-anchor': 'end' }, svg, 'log');
  const most = Math.max(...heights, 1);
  heights.forEach((height, n) => {
    const size = (height / most) * (HEIGHT - TOP - BOTTOM);
    const [a, b] = [from + ((to - from) * n) / counts.length, from + ((to - from) * (n + 1)) / counts.length];
    const [x0, x1] = counts.length > 1 ? [x(a), x(b)] : [left + 100, left + 110];
    element('rect', { class: 'bar', x: x0, y: HEIGHT - BOTTOM - size, width: Math.max(0.5, x1 - x0 - 0.5), height: size }, svg);
  });
}

// A plane of a field: moved, zoomed, drawn from tiles with axes around it.

import { contour } from './contours.js';
import { drawCoast, drawWind, hasCoast, windTiles } from './geography.js';
import { errorAt, valueAt } from './half.js';
import { painted, TILE, Tiles } from './tiles.js';
import { apart, place, textWithin, ticks } from './numbers.js';
import { ticksOn } from './scales.js';

const MARGIN = { right: 18, top: 18, bottom: 50 };
const FONT = '12px system-ui, "DejaVu Sans", sans-serif';

// The coordinate of a place in cells (0 is the low edge of the first cell), where the axis has coordinates.
export function coordinate(axis, at) {
  if (axis.first === undefined) return at - 0.5;
  if (axis.values) {
    const low = Math.min(Math.max(Math.floor(at - 0.5), 0), axis.size - 2);
    return axis.values[low] + (at - 0.5 - low) * (axis.values[low + 1] - axis.values[low]);
  }
  return axis.size > 1 ? axis.first + ((at - 0.5) * (axis.last - axis.first)) / (axis.size - 1) : axis.first;
}

// The place in cells of a coordinate.
export function cellOf(axis, wanted) {
  if (axis.first === undefined) return wanted + 0.5;
  if (axis.values) {
    const rises = axis.values[axis.size - 1] > axis.values[0];
    let [low, high] = [0, axis.size - 1];
    while (high - low > 1) { const mid = (low + high) >> 1; if ((axis.values[mid] <= wanted) === rises) low = mid; else high = mid; }
    return low + 0.5 + (wanted - axis.values[low]) / (axis.values[high] - axis.values[low]);
  }
  return 0.5 + ((wanted - axis.first) * (axis.size - 1)) / (axis.last - axis.first || 1);
}

// A tick of an axis, where `span` of it is in sight.
const told = (axis, tick, span) => (axis.kind ? place(tick, axis, span) : textWithin(tick, span));

export class Plane {
  constructor(canvas, { onMove, onHover, onPick, onLine, onFailure }) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.tiles = new Tiles(() => this.draw(), onFailure);
    this.on = { onMove, onHover, onPick, onLine };
    this.pointers = new Map();
    this.listen();
  }

  // What is shown. `source`: address(level, row, column) of tiles, the plane's level-0 shape, axes, number of levels.
  show(source, view) {
    const isOther = !this.source || this.source.rowAxis !== source.rowAxis || this.source.columnAxis !== source.columnAxis;
    this.source = source;
    const [rows, columns] = source.shape;
    const spacing = (axis) => (axis.first !== undefined && axis.size > 1 ? Math.abs(axis.last - axis.first) / (axis.size - 1) : 1);
    const [r, c] = [source.rowAxis, source.columnAxis];
    const isMap = r.kind === 'lat' && c.kind === 'lon';
    let wide = 1;
    if (isMap) wide = (spacing(c) / spacing(r)) * Math.max(0.1, Math.cos((((r.first + r.last) / 2) * Math.PI) / 180));
    else if (r.first !== undefined && c.first !== undefined && r.units === c.units) wide = spacing(c) / spacing(r) || 1;
    else if (r.is_down) wide = (1.8 * rows) / columns; // few levels over many degrees
    this.wide = Math.min(50, Math.max(0.02, wide)); // a column's width over a row's height
    this.up = r.first !== undefined && r.last < r.first !== Boolean(r.is_down) ? 1 : -1; // rows go up as their coordinate grows, or falls
    this.right = c.first !== undefined && c.last < c.first ? -1 : 1;
    this.left = this.leftOf(r);
    if (view && view.zoom) this.view = { ...view };
    else if (!this.view || isOther) this.view = { x: columns / 2, y: rows / 2, zoom: 0 };
    this.draw();
  }

  // What was drawn is of nothing that is wanted now.
  drop() { this.isComplete = this.canvas.dataset.complete = false; }

  setLook(look) { this.look = look; this.draw(); }

  fit() {
    this.view = { x: this.source.shape[1] / 2, y: this.source.shape[0] / 2, zoom: 0 };
    this.moved();
  }

  // Pixels of the window a row's height.
  zoom() { return this.view.zoom || this.wholeZoom(); }

  wholeZoom() {
    const [rows, columns] = this.source.shape;
    const { width, height } = this.area();
    return Math.min(width / (columns * this.wide), height / rows);
  }

  area() {
    const { clientWidth, clientHeight } = this.canvas;
    const left = this.left ?? 64;
    return { left, top: MARGIN.top, width: Math.max(40, clientWidth - left - MARGIN.right), height: Math.max(40, clientHeight - MARGIN.top - MARGIN.bottom) };
  }

  toScreen(column, row) {
    const { left, top, width, height } = this.area();
    const zoom = this.zoom();
    return [left + width / 2 + this.right * (column - this.view.x) * zoom * this.wide, top + height / 2 + this.up * (row - this.view.y) * zoom];
  }

  toCell(x, y) {
    const { left, top, width, height } = this.area();
    const zoom = this.zoom();
    return [this.view.x + (this.right * (x - left - width / 2)) / (zoom * this.wide), this.view.y + (this.up * (y - top - height / 2)) / zoom];
  }

  // The level whose cells are about as large as a pixel of the screen.
  level() {
    const cell = this.zoom() * Math.min(1, this.wide) * (window.devicePixelRatio || 1);
    return Math.min(this.source.numLevels, Math.max(this.source.finest || 0, Math.floor(Math.log2(1 / cell) + 0.25)));
  }

  visible(level) {
    const { left, top, width, height } = this.area();
    const corners = [this.toCell(left, top), this.toCell(left + width, top + height)];
    const size = TILE * 2 ** level;
    const range = (a, b, n) => [Math.max(0, Math.floor(Math.min(a, b) / size)), Math.min(Math.ceil(n / size), Math.ceil(Math.max(a, b) / size))];
    const [r0, r1] = range(corners[0][1], corners[1][1], this.source.shape[0]);
    const [c0, c1] = range(corners[0][0], corners[1][0], this.source.shape[1]);
    const found = [];
    for (let r = r0; r < r1; r += 1) for (let c = c0; c < c1; c += 1) found.push([r, c]);
    const middle = [this.view.y / size - 0.5, this.view.x / size - 0.5];
    return found.sort((a, b) => Math.hypot(a[0] - middle[0], a[1] - middle[1]) - Math.hypot(b[0] - middle[0], b[1] - middle[1]));
  }

  draw() {
    if (this.isDue || !this.source || !this.look) return;
    this.isDue = true;
    requestAnimationFrame(() => { this.isDue = false; this.drawNow(); });
  }

  drawNow() {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth || !clientHeight) return;
    const [width, height] = [Math.round(clientWidth * ratio), Math.round(clientHeight * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.drawOn(this.context, ratio);
    const target = this.level();
    const wanted = [];
    for (const level of [Math.min(this.source.numLevels, target + 2), target]) {
      for (const [r, c] of this.visible(level)) {
        wanted.push(this.source.address(level, r, c));
        if (level === target && this.tiles.get(wanted.at(-1))?.isCoarse) wanted.push(this.source.address(level, r, c, true));
      }
    }
    if (this.look.hasArrows) wanted.push(...windTiles(this.source, target, this.visible(target)));
    this.tiles.want([...new Set(wanted)]);
  }

  drawOn(context, ratio) {
    const { left, top, width, height } = this.area();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    const target = this.level();
    context.imageSmoothingEnabled = false;
    let drawn = 0;
    let missing = 0;
    this.shown = null;
    for (let level = this.source.numLevels; level >= 0; level -= 1) {
      if (level < target) break;
      for (const [r, c] of this.visible(level)) {
        const tile = this.tileAt(level, r, c);
        if (!tile) { missing += level === target; continue; }
        this.drawTile(context, tile, level, r, c);
        if (tile.isCoarse && !this.tiles.hasFailed(this.source.address(level, r, c, true))) missing += level === target;
        this.shown = Math.min(this.shown ?? level, level);
        drawn += 1;
      }
    }
    if (this.look.hasContours && this.shown !== null) this.drawContours(context);
    const { rowAxis, columnAxis } = this.source;
    if (this.look.hasCoastLines && hasCoast(rowAxis, columnAxis)) drawCoast(context, columnAxis, (x, y) => this.toScreen(cellOf(columnAxis, x), cellOf(rowAxis, y)), () => this.draw());
    if (this.look.hasArrows && this.source.wind) missing += drawWind(context, this, target);
    this.drawMarks(context);
    context.restore();
    this.drawAxes(context);
    this.isComplete = missing === 0 && drawn > 0;
    this.canvas.dataset.level = this.shown ?? '';
    this.canvas.dataset.complete = this.isComplete;
    if (drawn > 0) this.canvas.dataset.first ||= performance.now();
    if (this.isComplete) this.canvas.dataset.refined ||= performance.now();
    this.canvas.dispatchEvent(new CustomEvent('drawn', { detail: { level: this.shown, isComplete: this.isComplete } }));
  }

  // The exact tile where it was needed and has come, else that of float16.
  tileAt(level, r, c) { return this.tiles.get(this.source.address(level, r, c, true)) ?? this.tiles.get(this.source.address(level, r, c)); }

  drawTile(context, tile, level, r, c) {
    const size = 2 ** level;
    const [column, row] = [c * TILE * size, r * TILE * size];
    const [x0, y0] = this.toScreen(column, row);
    const [x1, y1] = this.toScreen(Math.min(column + tile.columns * size, this.source.shape[1]), Math.min(row + tile.rows * size, this.source.shape[0]));
    // The last cells of an odd direction are cut: draw as much of the tile as there is field.
    const part = [Math.min(tile.columns, (this.source.shape[1] - column) / size), Math.min(tile.rows, (this.source.shape[0] - row) / size)];
    context.save();
    context.transform((x1 - x0) / part[0], 0, 0, (y1 - y0) / part[1], x0, y0);
    context.drawImage(painted(tile, this.look), 0, 0, part[0], part[1], 0, 0, part[0], part[1]);
    context.restore();
  }

  // Lines of equal value through the cells that are drawn, at the bar's numbers.
  drawContours(context) {
    const level = this.level();
    const tiles = new Map();
    for (const [r, c] of this.visible(level)) {
      const tile = this.tileAt(level, r, c);
      if (tile) tiles.set(r * 1e6 + c, tile);
    }
    if (!tiles.size) return;
    const places = [...tiles.keys()].map((key) => [Math.floor(key / 1e6), key % 1e6]);
    const [r0, c0] = [0, 1].map((d) => Math.min(...places.map((at) => at[d])) * TILE);
    const size = 2 ** level;
    const end = (d) => Math.min((Math.max(...places.map((at) => at[d])) + 1) * TILE, Math.ceil(this.source.shape[d] / size));
    const at = (row, column) => {
      const [r, c] = [row + r0, column + c0];
      const tile = tiles.get(Math.floor(r / TILE) * 1e6 + Math.floor(c / TILE));
      return tile ? valueAt(tile, (r % TILE) * tile.columns + (c % TILE)) : NaN;
    };
    const [x0, y0] = this.toScreen((c0 + 0.5) * size, (r0 + 0.5) * size);
    const [x1, y1] = this.toScreen((c0 + 1.5) * size, (r0 + 1.5) * size);
    context.beginPath();
    this.contours = ticksOn(this.look, 10);
    for (const value of this.contours) {
      contour(end(0) - r0, end(1) - c0, at, value, (ca, ra, cb, rb) => {
        context.moveTo(x0 + ca * (x1 - x0), y0 + ra * (y1 - y0));
        context.lineTo(x0 + cb * (x1 - x0), y0 + rb * (y1 - y0));
      });
    }
    context.lineWidth = 1;
    context.strokeStyle = '#1a1a1ac0';
    context.stroke();
  }

  drawMarks(context) {
    const dot = (cell, colour) => {
      const [x, y] = this.toScreen(cell[1] + 0.5, cell[0] + 0.5);
      context.beginPath();
      context.arc(x, y, 6, 0, 7);
      context.lineWidth = 4; context.strokeStyle = '#fff'; context.stroke();
      context.lineWidth = 2; context.strokeStyle = colour; context.stroke();
    };
    const { point, line } = this.marks || {};
    if (line) {
      const ends = line.map((cell) => this.toScreen(cell[1] + 0.5, cell[0] + 0.5));
      for (const [w, colour] of [[5, '#fff'], [2, '#111']]) {
        context.beginPath(); context.moveTo(...ends[0]); context.lineTo(...ends[1]);
        context.lineWidth = w; context.strokeStyle = colour; context.stroke();
      }
      line.forEach((cell) => dot(cell, '#111'));
    }
    if (point) dot(point, '#111');
  }

  // The room for the numbers along the rows: for as many digits as a view of a tenth of them needs.
  leftOf(axis) {
    const [low, high] = [coordinate(axis, 0), coordinate(axis, axis.size)].sort((a, b) => a - b);
    this.context.font = FONT;
    const widths = ticks(low, high, 40).map((tick) => this.context.measureText(told(axis, tick, (high - low) / 10)).width);
    return Math.round(Math.max(40, ...widths) + (axis.kind ? 16 : 32));
  }

  drawAxes(context) {
    const { left, top, width, height } = this.area();
    const style = getComputedStyle(document.body);
    context.strokeStyle = style.getPropertyValue('--line');
    context.fillStyle = style.color;
    context.font = FONT;
    context.lineWidth = 1;
    context.strokeRect(left - 0.5, top - 0.5, width + 1, height + 1);
    const [c0, r0] = this.toCell(left, top);
    const [c1, r1] = this.toCell(left + width, top + height);
    const axes = [[this.source.columnAxis, c0, c1, width, true], [this.source.rowAxis, r0, r1, height, false]];
    const isFree = apart();
    for (const [axis, from, to, length, isWide] of axes) {
      const inside = [Math.min(from, to), Math.max(from, to)].map((v) => Math.min(Math.max(v, 0), axis.size));
      const ends = inside.map((at) => coordinate(axis, at)).sort((a, b) => a - b);
      for (const tick of ticks(ends[0], ends[1], length / (isWide ? 95 : 55))) {
        const at = cellOf(axis, tick);
        const [x, y] = isWide ? this.toScreen(at, 0) : this.toScreen(0, at);
        context.beginPath();
        context.textAlign = isWide ? 'center' : 'right';
        context.textBaseline = isWide ? 'top' : 'middle';
        const label = told(axis, tick, ends[1] - ends[0]);
        const half = context.measureText(label).width / 2;
        const inside = Math.min(Math.max(x, half + 2), this.canvas.clientWidth - half - 2);
        context.moveTo(isWide ? x : left - 5, isWide ? top + height : y);
        context.lineTo(isWide ? x : left, isWide ? top + height + 5 : y);
        context.stroke();
        const [middle, down] = isWide ? [inside, top + height + 13] : [left - 8 - half, y];
        if (isFree(middle - half, down - 7, middle + half, down + 7)) context.fillText(label, isWide ? inside : left - 8, isWide ? top + height + 7 : y);
      }
    }
    const name = (axis) => (axis.kind ? '' : `${axis.name}${axis.units ? ` (${axis.units})` : ''}`);
    context.textAlign = 'center';
    context.fillText(name(this.source.columnAxis), left + width / 2, top + height + 30);
    context.save();
    context.translate(12, top + height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(name(this.source.rowAxis), 0, 0);
    context.restore();
  }

  // The finest value that is here already, for the pointer, and how far it may be wrong.
  peek(row, column) {
    for (let level = 0; level <= this.source.numLevels; level += 1) {
      const [r, c] = [Math.floor(row / 2 ** level), Math.floor(column / 2 ** level)];
      const tile = this.tileAt(level, Math.floor(r / TILE), Math.floor(c / TILE));
      const at = (r % TILE) * tile?.columns + (c % TILE);
      if (tile) return { value: valueAt(tile, at), error: errorAt(tile, at), level };
    }
    return null;
  }

  // The values that are on the screen, thinned: for the range of differences.
  sample() {
    if (!this.source) return [];
    const level = this.shown ?? this.source.numLevels;
    const found = [];
    for (const [r, c] of this.visible(level)) {
      const tile = this.tileAt(level, r, c);
      for (let i = 0; tile && i < tile.rows * tile.columns; i += 7) {
        const v = valueAt(tile, i);
        if (Number.isFinite(v)) found.push(v);
      }
    }
    return found.sort((a, b) => a - b);
  }

  zoomBy(factor, x, y) {
    const { left, top, width, height } = this.area();
    const at = [x ?? left + width / 2, y ?? top + height / 2];
    const before = this.toCell(...at);
    this.view.zoom = Math.min(64, Math.max(this.wholeZoom() * 0.5, this.zoom() * factor));
    const after = this.toCell(...at);
    this.view.x += before[0] - after[0];
    this.view.y += before[1] - after[1];
    this.moved();
  }

  moveBy(x, y) {
    const zoom = this.zoom();
    this.view.zoom = zoom;
    const [rows, columns] = this.source.shape;
    this.view.x = Math.min(columns, Math.max(0, this.view.x - (this.right * x) / (zoom * this.wide)));
    this.view.y = Math.min(rows, Math.max(0, this.view.y - (this.up * y) / zoom));
    this.moved();
  }

  moved() { this.draw(); this.on.onMove(this.view); }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const [column, row] = this.toCell(event.clientX - box.left, event.clientY - box.top);
    const cell = [Math.floor(row), Math.floor(column)];
    return cell.every((v, d) => v >= 0 && v < this.source.shape[d]) ? cell : null;
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener('wheel', (event) => {
      if (!this.source) return;
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      this.zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    canvas.addEventListener('pointerdown', (event) => {
      if (!this.source) return;
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, [event.clientX, event.clientY]);
      this.way = 0;
      this.lineStart = this.isLining ? this.cellAt(event) : null;
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!this.source) return;
      const before = this.pointers.get(event.pointerId);
      if (!before) { this.on.onHover(this.cellAt(event)); return; }
      const now = [event.clientX, event.clientY];
      this.way += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (this.isLining && this.lineStart) {
        const end = this.cellAt(event);
        if (end) { this.marks = { ...this.marks, line: [this.lineStart, end] }; this.draw(); }
      } else if (this.pointers.size === 2) {
        const other = [...this.pointers.entries()].find(([id]) => id !== event.pointerId)[1];
        const distance = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
        const box = canvas.getBoundingClientRect();
        this.zoomBy(distance(now) / Math.max(1, distance(before)), other[0] - box.left, other[1] - box.top);
      } else if (this.pointers.size === 1) this.moveBy(now[0] - before[0], now[1] - before[1]);
      this.pointers.set(event.pointerId, now);
    });
    const end = (event) => {
      if (!this.pointers.delete(event.pointerId) || event.type === 'pointercancel') return;
      if (this.isLining && this.lineStart && this.marks?.line && this.way > 5) this.on.onLine(this.marks.line);
      else if (this.way <= 5) { const cell = this.cellAt(event); if (cell) this.on.onPick(cell); }
      this.lineStart = null;
    };
    canvas.addEventListener('pointerup', end);
    canvas.addEventListener('pointercancel', end);
    canvas.addEventListener('pointerleave', () => this.on.onHover(null));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }
}

// The tiles that a plane is drawn from: which ones a view needs, fetched coarse first, kept, and painted.

import { decodeTile, errorAt, finestSize, HALVES, isBetween, placing, valueAt } from './half.js';
import { getBytes } from './net.js';
import { placeOn } from './scales.js';

export const TILE = 256;
const MOST_TILES = 400;
const MOST_REQUESTS = 6;
const LAND = [200, 196, 188];
const COAST = [74, 70, 62];
const word = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

export class Tiles {
  constructor(onChange, onFailure) {
    this.kept = new Map(); // address -> tile, the least recently used first
    this.coming = new Map();
    this.failed = new Map();
    this.queue = [];
    this.onChange = onChange;
    this.onFailure = onFailure;
  }

  get(address) {
    const tile = this.kept.get(address);
    if (tile) { this.kept.delete(address); this.kept.set(address, tile); }
    return tile;
  }

  // The addresses that are wanted now, most urgent first; what was wanted before and has not begun is dropped.
  want(addresses) {
    const wanted = new Set(addresses);
    for (const [address, abort] of this.coming) if (!wanted.has(address)) { abort.abort(); this.coming.delete(address); }
    this.queue = addresses.filter((a) => !this.kept.has(a) && !this.coming.has(a) && !this.hasFailed(a));
    const refused = addresses.find((a) => this.hasFailed(a) && this.failed.get(a).until === Infinity);
    if (refused) this.onFailure(this.failed.get(refused).error);
    this.pump();
  }

  pump() {
    while (this.coming.size < MOST_REQUESTS && this.queue.length) this.fetch(this.queue.shift());
  }

  async fetch(address) {
    const abort = new AbortController();
    this.coming.set(address, abort);
    try {
      const tile = decodeTile(await getBytes(address, abort.signal));
      this.kept.set(address, tile);
      while (this.kept.size > MOST_TILES) this.kept.delete(this.kept.keys().next().value);
      this.onChange();
    } catch (error) {
      if (error.name !== 'AbortError') {
        const wait_ms = error.status >= 400 && error.status < 500 ? Infinity : 3000; // refused is refused
        this.failed.set(address, { until: Date.now() + wait_ms, error });
        if (Number.isFinite(wait_ms)) setTimeout(this.onChange, wait_ms + 100);
        this.onFailure(error);
      }
    } finally {
      if (this.coming.get(address) === abort) this.coming.delete(address);
      this.pump();
    }
  }

  hasFailed(address) { return this.failed.get(address)?.until > Date.now(); }

  isIdle() { return this.coming.size === 0 && this.queue.length === 0; }
}

const COLOURS = 256;

// The tile as a canvas in the look's colours; painted again only when the look has changed. `isCoarse` of the tile says then
// that its values are not right to a colour of this look.
export function painted(tile, look) {
  if (tile.look === look) return tile.canvas;
  tile.canvas ??= Object.assign(document.createElement('canvas'), { width: tile.columns, height: tile.rows });
  const context = tile.canvas.getContext('2d');
  const image = context.createImageData(tile.columns, tile.rows);
  const out = new Uint32Array(image.data.buffer);
  const { codes, values, columns, rows } = tile;
  const { words } = look;
  const [land, coast] = [word(LAND), word(COAST)];
  const to = placing(look, COLOURS);
  let hasGaps = false;
  tile.isCoarse = false;
  if (look.scale !== 'linear') {
    const place = placeOn(look);
    for (let i = 0; i < rows * columns; i += 1) {
      const value = valueAt(tile, i);
      if (Number.isNaN(value)) { out[i] = land; hasGaps = true; continue; }
      const at = COLOURS * place(value);
      out[i] = words[at >= COLOURS ? COLOURS - 1 : at > 0 ? at | 0 : 0];
      if (tile.isCoarse || values || !Number.isFinite(value)) continue;
      const error = errorAt(tile, i);
      const [from, to] = [COLOURS * place(value - error), COLOURS * place(value + error)];
      tile.isCoarse = to - from > 0.5 && to > 0 && from < COLOURS;
    }
  } else if (values) {
    for (let i = 0; i < values.length; i += 1) {
      if (Number.isNaN(values[i])) { out[i] = land; hasGaps = true; continue; }
      const at = to.ofValue(values[i]);
      out[i] = words[at >= COLOURS ? COLOURS - 1 : at > 0 ? at | 0 : 0];
    }
  } else {
    const [factor, shift] = [to.factor(tile.scale), to.ofValue(tile.offset)];
    const finest = Number.isFinite(factor) && Number.isFinite(shift) ? finestSize(factor) : 0;
    for (let i = 0; i < codes.length; i += 1) {
      const code = codes[i];
      const size = code & 0x7fff;
      if (size > 0x7c00) { out[i] = land; hasGaps = true; continue; }
      const at = size === 0x7c00 ? HALVES[code] : HALVES[code] * factor + shift;
      out[i] = words[at >= COLOURS ? COLOURS - 1 : at > 0 ? at | 0 : 0];
      if (size >= finest && size < 0x7c00 && !tile.isCoarse) tile.isCoarse = isBetween(code, at, factor, COLOURS);
    }
  }
  const isGap = values ? (i) => Number.isNaN(values[i]) : (i) => (codes[i] & 0x7fff) > 0x7c00;
  if (hasGaps && look.hasCoast) { // cells without a value that touch one with: the coast
    for (let r = 0, i = 0; r < rows; r += 1) {
      for (let c = 0; c < columns; c += 1, i += 1) {
        if (isGap(i) && ((c > 0 && !isGap(i - 1)) || (c + 1 < columns && !isGap(i + 1)) || (r > 0 && !isGap(i - columns)) || (r + 1 < rows && !isGap(i + columns)))) out[i] = coast;
      }
    }
  }
  context.putImageData(image, 0, 0);
  tile.look = look;
  return tile.canvas;
}

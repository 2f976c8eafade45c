// The tiles that a plane is drawn from: which ones a view needs, fetched coarse first, kept, and painted.

import { decodeTile, HALVES } from './half.js';
import { getBytes } from './net.js';

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
    this.queue = addresses.filter((a) => !this.kept.has(a) && !this.coming.has(a) && !(this.failed.get(a) > Date.now()));
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
      if (error.name !== 'AbortError') { this.failed.set(address, Date.now() + 3000); setTimeout(this.onChange, 3100); this.onFailure(error); }
    } finally {
      if (this.coming.get(address) === abort) this.coming.delete(address);
      this.pump();
    }
  }

  isIdle() { return this.coming.size === 0 && this.queue.length === 0; }
}

export function value(tile, row, column) {
  return HALVES[tile.codes[row * tile.columns + column]] * tile.scale + tile.offset;
}

// The tile as a canvas in the look's colours; painted again only when the look has changed.
export function painted(tile, look) {
  if (tile.look === look) return tile.canvas;
  tile.canvas ??= Object.assign(document.createElement('canvas'), { width: tile.columns, height: tile.rows });
  const context = tile.canvas.getContext('2d');
  const image = context.createImageData(tile.columns, tile.rows);
  const out = new Uint32Array(image.data.buffer);
  const span = look.high - look.low;
  const factor = (255 * (tile.scale / span)) || 0;
  const shift = 255 * ((tile.offset - look.low) / span) + 0.5;
  const { codes, columns, rows } = tile;
  const { words } = look;
  const [land, coast] = [word(LAND), word(COAST)];
  let hasGaps = false;
  for (let i = 0; i < codes.length; i += 1) {
    const code = codes[i];
    if ((code & 0x7fff) > 0x7c00) { out[i] = land; hasGaps = true; continue; }
    const at = HALVES[code] * factor + shift;
    out[i] = words[at > 255 ? 255 : at > 0 ? at | 0 : 0];
  }
  if (hasGaps && look.hasCoast) { // cells without a value that touch one with: the coast
    const isGap = (i) => (codes[i] & 0x7fff) > 0x7c00;
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

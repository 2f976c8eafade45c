// float16 as tiles bring it, and tiles themselves (hakobi/post/tiles.py has their layout).

export const HALVES = new Float32Array(65536);
for (let code = 0; code < 65536; code += 1) {
  const exponent = (code >> 10) & 31;
  const fraction = code & 1023;
  const size = exponent === 0 ? fraction * 2 ** -24 : exponent === 31 ? (fraction ? NaN : Infinity) : (1 + fraction / 1024) * 2 ** (exponent - 15);
  HALVES[code] = code & 0x8000 ? -size : size;
}

// Half of the distance to the next float16, by the code's size: how far the value may lie from it.
const errorOf = (size) => 2 ** (Math.max(size >> 10, 1) - 26);
const LARGEST = 0x7bff; // may stand for any value beyond it

// Values whose lowest bytes came first, then the next ones, and so on.
export function joinedPlanes(planes, width, count) {
  const bytes = new Uint8Array(width * count);
  for (let plane = 0; plane < width; plane += 1) for (let n = 0; n < count; n += 1) bytes[width * n + plane] = planes[plane * count + n];
  return bytes.buffer;
}

export function decodeTile(buffer) {
  const head = new DataView(buffer);
  const [offset, scale] = [head.getFloat64(0, true), head.getFloat64(8, true)];
  const [rows, columns, width] = [head.getUint16(16, true), head.getUint16(18, true), head.getUint32(20, true)];
  const count = rows * columns;
  if (buffer.byteLength !== 24 + width * count || (width !== 2 && width !== 8)) throw new Error('a tile of the wrong length');
  const joined = joinedPlanes(new Uint8Array(buffer, 24), width, count);
  return width === 8 ? { rows, columns, values: new Float64Array(joined) } : { offset, scale, rows, columns, codes: new Uint16Array(joined) };
}

// The value of a cell, and how far it may be wrong: 0 of exact tiles.
export function valueAt({ values, codes, offset, scale }, at) { return values ? values[at] : HALVES[codes[at]] * scale + offset; }

export function errorAt({ values, codes, scale }, at) {
  const size = values ? 0 : codes[at] & 0x7fff;
  return values ? 0 : size === LARGEST ? Infinity : errorOf(size) * Math.abs(scale);
}

// Places among `count` colours from low to high: (value - low) / (high - low) * count. Differences of which float64 has no
// number are taken of smaller ones.
export function placing({ low, high }, count) {
  const size = Math.max(Math.abs(low), Math.abs(high)) > 1e300 ? 2 ** -10 : 1;
  const span = high * size - low * size;
  return { ofValue: (value) => count * ((value * size - low * size) / span), factor: (scale) => count * ((scale * size) / span) };
}

// Up to which size codes are right to a quarter of a colour, where a float16 of 1 is `factor` colours.
export function finestSize(factor) {
  const exponent = Math.min(30, Math.floor(Math.log2(0.25 / Math.abs(factor))) + 26);
  return exponent < 1 ? 0 : Math.min(LARGEST, (exponent + 1) << 10);
}

// Whether a code that is not so right may lie between the ends of the colours (hakobi/post/reduction.py, resolves).
export function isBetween(code, at, factor, count) {
  const size = code & 0x7fff;
  const error = errorOf(size) * Math.abs(factor);
  const isUp = (code < 0x8000) === factor > 0;
  const isOpen = size === LARGEST;
  return !((isOpen && isUp ? Infinity : at + error) < 0) && !((isOpen && !isUp ? -Infinity : at - error) > count);
}

// float16 as tiles bring it, and tiles themselves (hakobi/post/tiles.py has their layout).

export const HALVES = new Float32Array(65536);
for (let code = 0; code < 65536; code += 1) {
  const exponent = (code >> 10) & 31;
  const fraction = code & 1023;
  const size = exponent === 0 ? fraction * 2 ** -24 : exponent === 31 ? (fraction ? NaN : Infinity) : (1 + fraction / 1024) * 2 ** (exponent - 15);
  HALVES[code] = code & 0x8000 ? -size : size;
}

export function decodeTile(buffer) {
  const head = new DataView(buffer);
  const [offset, scale] = [head.getFloat64(0, true), head.getFloat64(8, true)];
  const [rows, columns] = [head.getUint16(16, true), head.getUint16(18, true)];
  const count = rows * columns;
  if (buffer.byteLength !== 24 + 2 * count) throw new Error('a tile of the wrong length');
  const low = new Uint8Array(buffer, 24, count);
  const high = new Uint8Array(buffer, 24 + count, count);
  const codes = new Uint16Array(count);
  for (let i = 0; i < count; i += 1) codes[i] = low[i] | (high[i] << 8);
  return { offset, scale, rows, columns, codes };
}

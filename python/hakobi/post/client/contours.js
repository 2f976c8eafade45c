// Lines of equal value through the values of a grid (marching squares: W. Lorensen, H. Cline, 1987, in two dimensions).

// Calls back with the two ends [column, row, column, row] of each piece of a line, in cells from the first one's middle.
// `valueAt(row, column)` is NaN where there is no value: no line passes there.
export function contour(rows, columns, valueAt, level, draw) {
  let above = Float64Array.from({ length: columns }, (_, c) => valueAt(0, c) - level);
  for (let r = 0; r + 1 < rows; r += 1) {
    const below = Float64Array.from({ length: columns }, (_, c) => valueAt(r + 1, c) - level);
    for (let c = 0; c + 1 < columns; c += 1) {
      const [a, b, d, e] = [above[c], above[c + 1], below[c + 1], below[c]]; // round the square
      const sum = a + b + d + e;
      if (!Number.isFinite(sum)) continue;
      const code = (a > 0) | ((b > 0) << 1) | ((d > 0) << 2) | ((e > 0) << 3);
      if (code === 0 || code === 15) continue;
      const top = [c + a / (a - b), r];
      const right = [c + 1, r + b / (b - d)];
      const bottom = [c + e / (e - d), r + 1];
      const left = [c, r + a / (a - e)];
      const isOpen = sum > 0; // of a saddle: what is above lies together
      for (const [from, to] of piecesOf(code, isOpen, top, right, bottom, left)) draw(from[0], from[1], to[0], to[1]);
    }
    above = below;
  }
}

function piecesOf(code, isOpen, top, right, bottom, left) {
  switch (code) {
    case 1: case 14: return [[left, top]];
    case 2: case 13: return [[top, right]];
    case 4: case 11: return [[right, bottom]];
    case 8: case 7: return [[bottom, left]];
    case 3: case 12: return [[left, right]];
    case 6: case 9: return [[top, bottom]];
    case 5: return isOpen ? [[top, right], [bottom, left]] : [[left, top], [right, bottom]];
    default: return isOpen ? [[left, top], [right, bottom]] : [[top, right], [bottom, left]]; // 10
  }
}

// Colour maps that are even to the eye: paths through the colour space OKLab (B. Ottosson, 2020) along which equal steps of
// the value are equal distances. Given by a few colours (lightness, chroma, hue in degrees); the points are spread evenly.

export const MAPS = JSON.parse(document.getElementById('start').textContent).maps; // client/maps.json
export const NAMES = Object.keys(MAPS);
const SIZE = 256;

function toLab([lightness, chroma, hue]) {
  const angle = (hue * Math.PI) / 180;
  return [lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)];
}

function toRgb([lightness, a, b]) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s, -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s];
  return linear.map((v) => Math.round(255 * Math.min(1, Math.max(0, v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055))));
}

// 256 colours [r, g, b], evenly along the path.
export function colours(name, isFlipped = false) {
  const path = (MAPS[name] || MAPS.tide).points.map(toLab);
  const lengths = path.slice(1).map((p, i) => Math.hypot(...p.map((v, d) => v - path[i][d])));
  const isDiverging = (MAPS[name] || MAPS.tide).diverging;
  const middle = (path.length - 1) / 2;
  const sum = (list) => list.reduce((x, y) => x + y, 0);
  const halves = isDiverging ? [sum(lengths.slice(0, middle)), sum(lengths.slice(middle))] : [sum(lengths)];
  const found = [];
  for (let n = 0; n < SIZE; n += 1) {
    const part = n / (SIZE - 1);
    let first = 0;
    let way = part * halves[0];
    if (isDiverging) { // each half by itself, so that the middle stays in the middle
      first = part < 0.5 ? 0 : middle;
      way = part < 0.5 ? 2 * part * halves[0] : (2 * part - 1) * halves[1];
    }
    while (first < lengths.length - 1 && way > lengths[first]) { way -= lengths[first]; first += 1; }
    const t = Math.min(1, way / lengths[first]);
    found.push(toRgb(path[first].map((v, d) => v + t * (path[first + 1][d] - v))));
  }
  return isFlipped ? found.reverse() : found;
}

// The same as little-endian RGBA words, for ImageData.
export function words(name, isFlipped) {
  return Uint32Array.from(colours(name, isFlipped), ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
}

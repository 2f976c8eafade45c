// The state of a view, which is in the address behind #, so that a view is a link.

const KEYS = ['series', 'step', 'field', 'view', 'axis', 'index', 'low', 'high', 'range', 'map', 'flip', 'scale', 'contours', 'coast', 'arrows', 'each', 'x', 'y', 'zoom', 'minus', 'point', 'from', 'to', 'turn', 'tilt', 'opacity', 'iso', 'cut', 'with', 'follow'];
const NUMBERS = new Set(['axis', 'index', 'low', 'high', 'x', 'y', 'zoom', 'turn', 'tilt', 'opacity', 'iso', 'cut']);
const ROUNDED = new Set(['x', 'y', 'zoom', 'turn', 'tilt']); // of others all digits count: colours of 101325.01 to 101325.09
const LISTS = new Set(['point', 'from', 'to']);

export const DEFAULTS = { step: 'last', view: 'plane', axis: 0, range: '0.5', turn: 0.7, tilt: 0.5, opacity: 35, iso: 600, scale: 'linear' };

export function read(hash) {
  const state = { ...DEFAULTS };
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ''))) {
    if (!KEYS.includes(key)) continue;
    if (NUMBERS.has(key)) { if (value !== '' && Number.isFinite(Number(value))) state[key] = Number(value); }
    else if (LISTS.has(key)) { const list = value.split(',').map(Number); if (list.every(Number.isInteger)) state[key] = list; }
    else state[key] = value;
  }
  return state;
}

export function write(state) {
  const query = new URLSearchParams();
  for (const key of KEYS) {
    const value = state[key];
    if (value === undefined || value === null || value === '' || value === false || value === DEFAULTS[key]) continue;
    query.set(key, ROUNDED.has(key) && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value));
  }
  return `#${query}`;
}

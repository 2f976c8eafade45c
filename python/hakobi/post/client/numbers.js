// Numbers, bytes and times as text, and places for ticks.

export function text(value, digits = 5) {
  if (value === null || value === undefined || Number.isNaN(value)) return 'no value';
  if (typeof value === 'string') return value === 'Infinity' ? '∞' : value === '-Infinity' ? '−∞' : value;
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (value === 0) return '0';
  const size = Math.abs(value);
  const plain = size >= 1e-4 && size < 1e7;
  return (plain ? String(Number(value.toPrecision(digits))) : value.toExponential(digits - 1).replace(/\.?0+e/, 'e').replace('e+', 'e')).replace(/^-/, '−');
}

// One of several values within a span: with as many digits as tell them apart.
export function textWithin(value, span, digits = 4) {
  const more = Math.ceil(Math.log10(Math.abs(value) / span));
  return text(value, more > 0 && Number.isFinite(more) ? Math.min(17, digits + more) : digits);
}

// A value that may be wrong by `error`, with the digits that are right.
export function about(value, error) {
  if (!(error > 0) || !Number.isFinite(value)) return text(value, 8);
  if (error === Infinity) return `${value < 0 ? 'below' : 'above'} ${text(value, 3)}`;
  const last = Math.ceil(Math.log10(4 * error)); // the decimal place that rounding to it leaves right
  const digits = Math.floor(Math.log10(Math.abs(value))) - last + 1;
  return digits < 1 ? `within ${text(2 * 10 ** last, 1)} of 0` : `about ${text(value, Math.min(17, digits))}`;
}

// What a person typed: also with a minus sign of typography.
export function parse(typed) {
  const value = Number(typed.trim().replace('−', '-').replace(',', '.'));
  return typed.trim() === '' || !Number.isFinite(value) ? null : value;
}

export function bytes(count) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let at = 0;
  while (count >= 999.5 && at + 1 < units.length) { count /= 1000; at += 1; }
  return `${at === 0 ? count : count.toPrecision(3)} ${units[at]}`;
}

// Round values between low and high, about `wanted` of them.
export function ticks(low, high, wanted) {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const raw = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const found = [];
  const first = Math.ceil(low / step - 1e-9);
  for (let n = first; n * step <= high + step * 1e-9 && found.length < 100; n += 1) found.push(n * step);
  return found.map((v) => (Math.abs(v) < step * 1e-9 ? 0 : v));
}

const UNITS = { s: 1, sec: 1, second: 1, seconds: 1, min: 60, minute: 60, minutes: 60, h: 3600, hour: 3600, hours: 3600, d: 86400, day: 86400, days: 86400 };

// A time of CF ("seconds since 2011-03-11 05:46:24") as date and clock, else the number and its unit.
export function time(value, units) {
  if (typeof value !== 'number') return '';
  const found = /^\s*(\w+)\s+since\s+(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2}))?)?/.exec(units || '');
  if (found && UNITS[found[1].toLowerCase()]) {
    const [year, month, day, hour, minute, second] = found.slice(2).map((t) => Number(t || 0));
    const when = new Date(Date.UTC(year, month - 1, day, hour, minute, second) + 1000 * value * UNITS[found[1].toLowerCase()]);
    if (!Number.isNaN(when.getTime())) return `${when.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  }
  if (UNITS[(units || '').toLowerCase()] === 1 || !units) return `${text(value)} s`;
  return `${text(value)} ${units}`;
}

export function place(value, axis) {
  if (axis.kind === 'lat') return `${text(Math.abs(value), 4)}° ${value < 0 ? 'S' : 'N'}`;
  if (axis.kind === 'lon') {
    const east = ((value + 180) % 360 + 360) % 360 - 180;
    return `${text(Math.abs(east), 4)}° ${east < 0 ? 'W' : 'E'}`;
  }
  return `${text(value, 4)}${axis.units ? ` ${axis.units}` : ''}`;
}

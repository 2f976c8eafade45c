// Numbers, bytes and times as text, and places for ticks.

export function text(value, digits = 5) {
  if (value === null || value === undefined || Number.isNaN(value)) return 'no value';
  if (typeof value === 'string') return value === 'Infinity' ? '∞' : value === '-Infinity' ? '−∞' : value;
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (value === 0) return '0';
  const size = Math.abs(value);
  const plain = size >= 1e-4 && size < 1e7;
  const whole = Math.floor(Math.log10(size)) + 1; // no zero stands for a digit that was rounded away
  return (plain ? String(Number(value.toPrecision(Math.max(digits, whole)))) : value.toExponential(digits - 1).replace(/\.?0+e/, 'e').replace('e+', 'e')).replace(/^-/, '−');
}

// One of several values within a span: with as many digits as tell them apart.
export function textWithin(value, span, digits = 4) {
  const more = Math.ceil(Math.log10(Math.abs(value) / span));
  return text(value, more > 0 && Number.isFinite(more) ? Math.min(17, digits + more) : digits);
}

// A value that may be wrong by `error`, with the digits that are right whatever it is: all that lies within the error
// is rounded to them.
export function about(value, error) {
  if (!(error > 0) || !Number.isFinite(value)) return text(value, 8);
  if (error === Infinity) return `${value < 0 ? 'below' : 'above'} ${text(value, 3)}`;
  const [low, high] = [value - error, value + error];
  for (let digits = 15; digits > 0; digits -= 1) {
    if (low.toPrecision(digits) !== high.toPrecision(digits)) continue;
    const isWhole = Math.abs(low) < 10 ** digits;
    return `about ${isWhole ? text(low, digits) : low.toExponential(digits - 1).replace('e+', 'e').replace('-', '−')}`;
  }
  const place = 10 ** Math.floor(Math.log10(error));
  return `between ${text(place * Math.floor(low / place), 3)} and ${text(place * Math.ceil(high / place), 3)}`;
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

// Tells of boxes (left, top, right, bottom), one after the other, whether each is clear of those that were before.
export function apart(gap = 3) {
  const taken = [];
  return (left, top, right, bottom) => {
    const isFree = taken.every((box) => left >= box[2] + gap || right <= box[0] - gap || top >= box[3] || bottom <= box[1]);
    if (isFree) taken.push([left, top, right, bottom]);
    return isFree;
  };
}

const UNITS = { ms: 0.001, msec: 0.001, millisecond: 0.001, milliseconds: 0.001, s: 1, sec: 1, second: 1, seconds: 1, min: 60, minute: 60, minutes: 60, h: 3600, hour: 3600, hours: 3600, d: 86400, day: 86400, days: 86400 };

const MONTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

// Lengths of the months of a calendar whose years are alike, else nothing.
function monthsOf(calendar) {
  if (calendar === '360_day') return MONTHS.map(() => 30);
  if (calendar === 'noleap' || calendar === '365_day') return MONTHS;
  if (calendar === 'all_leap' || calendar === '366_day') return MONTHS.map((days, month) => (month === 1 ? 29 : days));
  return null;
}

const isGregorian = (calendar, isLate) => (calendar === 'julian' ? false : calendar === 'proleptic_gregorian' || isLate);

// The day's number in a calendar of CF: of a calendar with leap years the Julian day number (Richards, 2013).
function dayOf(year, month, day, calendar) {
  const months = monthsOf(calendar);
  if (months) return year * months.reduce((a, b) => a + b) + months.slice(0, month - 1).reduce((a, b) => a + b, 0) + day - 1;
  const isEarly = Math.floor((14 - month) / 12); // January and February end the year before
  const y = year + 4800 - isEarly;
  const count = day + Math.floor((153 * (month + 12 * isEarly - 3) + 2) / 5) + 365 * y + Math.floor(y / 4);
  const isLate = year * 10000 + month * 100 + day >= 15821015;
  return isGregorian(calendar, isLate) ? count - Math.floor(y / 100) + Math.floor(y / 400) - 32045 : count - 32083;
}

function dateOf(number, calendar) {
  const months = monthsOf(calendar);
  if (months) {
    const length = months.reduce((a, b) => a + b);
    let month = 0;
    let day = number - Math.floor(number / length) * length;
    for (; day >= months[month]; month += 1) day -= months[month];
    return [Math.floor(number / length), month + 1, day + 1];
  }
  const isNew = isGregorian(calendar, number >= 2299161);
  const centuries = isNew ? Math.floor((4 * (number + 32044) + 3) / 146097) : 0;
  const days = isNew ? number + 32044 - Math.floor(146097 * centuries / 4) : number + 32082;
  const year = Math.floor((4 * days + 3) / 1461);
  const rest = days - Math.floor(1461 * year / 4);
  const month = Math.floor((5 * rest + 2) / 153);
  return [100 * centuries + year - 4800 + Math.floor(month / 10), month + 3 - 12 * Math.floor(month / 10), rest - Math.floor((153 * month + 2) / 5) + 1];
}

const SINCE = /^\s*(\w+)\s+since\s+(\d{1,4})-(\d{1,2})-(\d{1,2})(?:[ T]+(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.\d*)?)?)?)?(?:\s*([+-]\d{1,2})(?::?(\d{2}))?)?(?!\d)/;

// A time of CF ("seconds since 2011-03-11 05:46:24") as date and clock in its calendar, else the number and its unit.
export function time(value, units, calendar) {
  if (typeof value !== 'number') return '';
  const found = SINCE.exec(units || '');
  const name = (calendar || 'standard').toLowerCase();
  const seconds = found && UNITS[found[1].toLowerCase()] ? Math.round(value * UNITS[found[1].toLowerCase()]) : NaN;
  if (Math.abs(seconds) < 1e14) {
    const [year, month, day, hour, minute, second, east, more] = found.slice(2).map((t) => Number(t || 0));
    const zone = 3600 * east + ((found[8] || '').startsWith('-') ? -60 : 60) * more;
    const clock = hour * 3600 + minute * 60 + second - zone + seconds;
    const days = Math.floor(clock / 86400);
    const two = (number) => String(number).padStart(2, '0');
    const [y, m, d] = dateOf(dayOf(year, month, day, name) + days, name);
    const rest = clock - days * 86400;
    const isUsual = ['standard', 'gregorian', 'proleptic_gregorian'].includes(name);
    return `${String(y).padStart(4, '0')}-${two(m)}-${two(d)} ${two(Math.floor(rest / 3600))}:${two(Math.floor(rest / 60) % 60)}:${two(rest % 60)} ${isUsual ? 'UTC' : name}`;
  }
  if (UNITS[(units || '').toLowerCase()] === 1 || !units) return `${text(value)} s`;
  return `${text(value)} ${units}`;
}

// A coordinate with its unit: as many digits as tell places within `span` apart, which is by default the whole axis.
export function place(value, axis, span = Math.abs(axis.last - axis.first)) {
  const told = (number) => (span > 0 ? textWithin(number, span) : text(number, 4));
  if (axis.kind === 'lat') return `${told(Math.abs(value))}° ${value < 0 ? 'S' : 'N'}`;
  if (axis.kind === 'lon') {
    const east = ((value + 180) % 360 + 360) % 360 - 180;
    return `${told(Math.abs(east))}° ${east < 0 ? 'W' : 'E'}`;
  }
  return `${told(value)}${axis.units ? ` ${axis.units}` : ''}`;
}

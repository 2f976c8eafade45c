// How values are placed among colours: evenly, by their logarithm, or by the logarithm on both sides of zero.

import { ticks } from './numbers.js';

export const SCALES = ['linear', 'log', 'symlog'];
const DECADES = 4; // of a logarithm on both sides: within a ten-thousandth of the larger end it is even

// A logarithm on both sides of zero.
export const curve = (value) => Math.sign(value) * Math.log1p(Math.abs(value));

// Where it begins to be a logarithm, for colours between two ends.
export const unitOf = ({ low, high }) => Math.max(Math.abs(low), Math.abs(high)) / 10 ** DECADES;

// The scale that a look has: a logarithm needs ends above zero.
export const scaleFor = (name, low) => (name === 'log' && !(low > 0) ? 'linear' : SCALES.includes(name) ? name : 'linear');

// A place from 0 to 1, and further, for each value: monotone.
export function placeOn({ scale, low, high }) {
  if (scale === 'log') {
    const [a, b] = [Math.log(low), Math.log(high)];
    return (value) => (value > 0 ? (Math.log(value) - a) / (b - a) : -Infinity);
  }
  if (scale === 'symlog') {
    const unit = unitOf({ low, high });
    const [a, b] = [curve(low / unit), curve(high / unit)];
    return (value) => (curve(value / unit) - a) / (b - a);
  }
  return (value) => (value - low) / (high - low);
}

// Numbers to write at a bar of colours, `wanted` of them at most about.
export function ticksOn(look, wanted) {
  const { scale, low, high } = look;
  if (scale !== 'log' && scale !== 'symlog') return ticks(low, high, wanted);
  const powers = (from, to) => { const found = []; for (let n = Math.ceil(Math.log10(from) - 1e-9); 10 ** n <= to * (1 + 1e-9); n += 1) found.push(10 ** n); return found; };
  let found;
  if (scale === 'log') found = powers(low, high);
  else {
    const unit = unitOf(look);
    found = [...(low < 0 ? powers(unit, -low).map((v) => -v).reverse() : []), ...(low <= 0 && high >= 0 ? [0] : []), ...(high > 0 ? powers(Math.max(unit, low), high) : [])];
  }
  if (found.length < 2) return ticks(low, high, wanted);
  const zero = Math.max(0, found.indexOf(0));
  const every = Math.ceil(found.length / Math.max(1, wanted));
  return found.filter((_, n) => (n - zero) % every === 0);
}

// The panel beside the picture: the bar of colours, statistics, the Python line, bytes.

import { colours } from './colours.js';
import { histogram } from './charts.js';
import { apart, bytes, text, textWithin } from './numbers.js';
import { placeOn, ticksOn } from './scales.js';

const $ = (id) => document.getElementById(id);

// A box is as wide as what stands in it.
export function widen(input) {
  input.style.width = `calc(${Math.max(6, input.value.length + 1)}ch + ${input.type === 'number' ? 34 : 16}px)`;
}

function list(holder, pairs) {
  holder.replaceChildren(...pairs.flatMap(([name, value]) => [
    Object.assign(document.createElement('dt'), { textContent: name }),
    Object.assign(document.createElement('dd'), { textContent: value }),
  ]));
}

// The bar with its ticks, on any context: the panel and exported pictures have the same.
export function drawBar(context, look, x, y, width, height, units, colour) {
  const line = colours(look.map, look.isFlipped);
  for (let n = 0; n < width; n += 1) {
    context.fillStyle = `rgb(${line[Math.min(255, Math.floor((n / width) * 256))]})`;
    context.fillRect(x + n, y, 1.5, height);
  }
  context.fillStyle = colour;
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.font = '12px system-ui, "DejaVu Sans", sans-serif';
  context.textBaseline = 'top';
  const place = placeOn(look);
  const isFree = apart();
  for (const tick of ticksOn(look, width / 60)) {
    const at = x + place(tick) * width;
    context.beginPath();
    context.moveTo(at, y + height);
    context.lineTo(at, y + height + 4);
    context.stroke();
    context.textAlign = 'center';
    const label = look.scale === 'linear' ? textWithin(tick, look.high - look.low) : text(tick);
    const half = context.measureText(label).width / 2;
    const middle = Math.min(Math.max(at, x + half), x + width - half);
    if (isFree(middle - half, 0, middle + half, 1)) context.fillText(label, middle, y + height + 6);
  }
  if (units) { context.textAlign = 'right'; context.textBaseline = 'bottom'; context.fillText(units, x + width, y - 2); }
}

export function showBar(look, units) {
  const canvas = $('bar');
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  Object.assign(canvas, { width: width * ratio, height: height * ratio });
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  drawBar(context, look, 1, units ? 16 : 4, width - 2, 12, units, getComputedStyle(document.body).color);
  canvas.style.height = units ? '54px' : '42px';
}

export function showStatistics(found) {
  const points = found.percentiles || {};
  const span = found.max - found.min;
  const told = (value) => (span > 0 && typeof value === 'number' ? textWithin(value, span, 5) : text(value));
  const rows = [['smallest', told(found.min)], ['largest', told(found.max)], ['mean', told(found.mean)], ['deviation', text(found.std)], ['median', told(points['50'])], ['1 % below', told(points['1'])], ['99 % below', told(points['99'])]];
  if (found.num_values) rows.push(['cells', found.num_values.toLocaleString('en')], ['without value', (found.num_nan || 0).toLocaleString('en')]);
  if (found.num_sampled) rows.push(['sampled', found.num_sampled.toLocaleString('en')]);
  if (found.is_sampled) rows.push(['', 'all of a sample: no overview yet']);
  list($('statistics'), rows);
  if (found.histogram) histogram($('histogram'), 'Histogram of the values', found.histogram);
  else $('histogram').replaceChildren();
}

const quoted = (string) => JSON.stringify(string).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

// The lines that give the same array in Python. Plain HDF5 opens in xarray too, where dimensions have made-up names.
export function pythonOf(step, field, time, axis, index) {
  if (step.kind === 'store') return `import xarray\ndata = xarray.open_dataset(${quoted(step.path)}, engine="hakobi")  # ${step.label.replace(/\s+/g, ' ')}: ${field.name.replace(/\s+/g, ' ')}`;
  if (step.kind === 'grib') {
    const box = field.shape.map((n, d) => (field.shape.length === 3 && d === axis ? `(${index}, ${index + 1})` : `(0, ${n})`));
    return `from hakobi.post.opening import open_step\nfrom hakobi.post.place import location_of\nwith open_step(location_of(${quoted(step.path)})) as step:\n    data = step.read(${quoted(field.name)}, ${time}, (${box.join(', ')}))`;
  }
  const scheme = /^([a-z0-9]+):\/\//.exec(step.path)?.[1];
  const remote = scheme ? `import fsspec\nimport obstore.fsspec\nobstore.fsspec.register("${scheme}")\n` : '';
  const file = scheme ? `fsspec.open(${quoted(step.path)}).open()` : quoted(step.path);
  if (step.kind === 'vtkhdf') {
    const [from, to] = field.rows ?? ['', ''];
    const column = field.width && field.component !== null ? `, ${field.component}` : '';
    const values = `h5py.File(${file})[${quoted(`VTKHDF/${field.dataset}`)}][${from}:${to}${column}]`;
    const isSize = field.component === null; // of vectors
    return `import h5py\n${isSize ? 'import numpy\n' : ''}${remote}data = ${isSize ? `numpy.linalg.norm(${values}, axis=1)` : values}`;
  }
  const selection = [];
  if (field.num_times) selection.push(`time=${time}`);
  if (field.shape.length === 3 && !(field.is_on_map && axis > 0)) selection.push(`${quoted(step.axes[field.axes[axis]].name).slice(1, -1)}=${index}`);
  const plain = selection.every((s) => /^[A-Za-z_]\w*=/.test(s));
  const isel = selection.length === 0 ? '' : plain ? `.isel(${selection.join(', ')})` : `.isel({${selection.map((s) => { const at = s.lastIndexOf('='); return `"${s.slice(0, at)}": ${s.slice(at + 1)}`; }).join(', ')}})`;
  const cut = field.name.lastIndexOf('/');
  const group = cut > 0 ? `, group=${quoted(field.name.slice(0, cut))}` : '';
  const engine = { classic: scheme ? ', engine="scipy"' : '', zarr: ', engine="zarr"' }[step.kind] ?? ', engine="h5netcdf"';
  return `import xarray\n${remote}data = xarray.open_dataset(${step.kind === 'zarr' ? quoted(step.path) : file}${group}${engine})[${quoted(field.name.slice(cut + 1))}]${isel}`;
}

export function showBytes(step, field, shown, sent) {
  const rows = [[['store', 'zarr'].includes(step.kind) ? 'this step' : 'step file', bytes(step.num_bytes)], ['this field', bytes(field.num_bytes)]];
  if (['hdf5', 'classic'].includes(step.kind)) rows.push(['overview', step.overview_bytes ? bytes(step.overview_bytes) : 'none: hakobi index makes it']);
  if (field.location) rows.push(['shown', shown ? `${shown.toLocaleString('en')} triangles` : '…']);
  else rows.push(['shown', shown === null || shown === undefined ? '…' : shown === 0 ? 'full resolution' : `1/${2 ** shown} of the resolution`]);
  rows.push(['sent to here', `${bytes(sent.bytes)} in ${sent.requests} requests`]);
  list($('bytes'), rows);
  $('wire').textContent = `${bytes(sent.bytes)} sent · ${bytes(step.num_bytes)} on disk`;
}

// The page: what is chosen, what that makes to be drawn. The state is one object; every change goes through `set`.

import * as meshes from './bodies.js';
import { NAMES, MAPS, words } from './colours.js';
import { csv, distances } from './along.js';
import { lineChart } from './charts.js';
import { hasCoast } from './geography.js';
import { onSent, sent, getJson } from './net.js';
import { about, bytes, parse, place, text, textWithin, time as timeText } from './numbers.js';
import { pythonOf, showBar, showBytes, showStatistics, widen } from './panel.js';
import { coordinate, Plane } from './plane.js';
import { scaleFor } from './scales.js';
import { Session } from './session.js';
import * as states from './state.js';

const $ = (id) => document.getElementById(id);
const session = new Session(JSON.parse($('start').textContent));
let state = states.read(location.hash);
let now = {}; // what is on the screen: series, place, step (meta), field, time, statistics, look
let generation = 0;
let playing = null;
let scene = null;
let mesh = null;

history.replaceState(null, '', location.pathname + location.hash); // the token is in the cookie by now

const plane = new Plane($('plane'), {
  onMove: (view) => remember({ x: view.x, y: view.y, zoom: view.zoom }),
  onHover: showReadout,
  onPick: (cell) => set({ point: fullCell(cell) }),
  onLine: (line) => set({ from: fullCell(line[0]), to: fullCell(line[1]) }),
  onFailure: fail,
});

// State

let rememberTimer = 0;
function remember(change) {
  state = { ...state, ...change };
  clearTimeout(rememberTimer);
  rememberTimer = setTimeout(() => history.replaceState(null, '', states.write(state)), 150);
}

function set(change) {
  remember(change);
  return update();
}

function fail(error) {
  if (error.name === 'AbortError') return;
  busy(null);
  const isNews = error.status === 410 && now.series;
  if (isNews) { session.forget(now.series, now.name); setTimeout(update, 300); return; }
  tell([error.message || 'Something went wrong.']);
}

function tell(sentences) {
  $('message').textContent = sentences.join(' ');
  $('message').hidden = !sentences.length;
}

// From the state to the screen

async function update() {
  const mine = (generation += 1);
  const isMine = () => mine === generation;
  try {
    const target = findTarget();
    if (!target) { fail(new Error('There is nothing here yet that can be shown: NetCDF, HDF5, VTKHDF, GRIB, field stores.')); return; }
    busy(target.series);
    const { notes } = target;
    let { series, at } = target;
    if (!state.series && /\.(hdf|vtkhdf|h5)$/.test(series.name)) {
      const number = series.number(at);
      series = await meshes.innermost(session, series, number);
      if (!isMine()) return;
      at = target.at = series.placeOf(number);
    }
    if (now.series !== series) leave({ series, at, file: series.number(at) }); // no picture stays under another's name
    let step = await stepAt(series, at).catch((error) => { if (isMine()) leave({ series, at, file: series.number(at) }); throw told(error, series, at); });
    // Of a series that is opened, the newest step that has something to be drawn.
    const newest = step;
    for (let tries = 0; isMine() && state.step === 'last' && !step.fields.length && at > 0 && tries < 10; tries += 1) step = await stepAt(series, at -= 1).catch(() => newest);
    if (!step.fields.length) [step, at] = [newest, target.at];
    if (!isMine()) return;
    if (at !== target.at) notes.push(`The newest step has nothing that can be drawn; this is step ${series.number(at)}.`);
    const file = series.number(at);
    const count = Math.max(1, ...step.fields.map((f) => f.num_times));
    if (series.count === 1) series.steps = [[count, 1]];
    else if (count > 1) await session.countSteps(series);
    const time = state.step === 'last' ? count - 1 : Math.min(target.time, count - 1);
    const name = `${file}.${time}`;
    step = await session.step(series, name);
    if (!isMine()) return;
    if (!step.fields.length) {
      leave({ series, at, file, time, count, name, step });
      tell([`${series.name}: there is no field in two or three dimensions, nor on a mesh, in this step.`, ...Object.entries(step.left_out).slice(0, 3).map(([what, why]) => `${what}: ${why}.`)]);
      return;
    }
    const field = step.fields.find((f) => f.name === state.field) || step.fields.find((f) => f.name === step.default) || step.fields[0];
    if (state.field && state.field !== field.name) notes.push(step.left_out[state.field] ? `${state.field} cannot be drawn: ${step.left_out[state.field]}. This is ${field.name}.` : `There is no field ${state.field} in this step. This is ${field.name}.`);
    const before = now;
    now = { series, at, file, time, count, name, step, field, look: before.look, statistics: before.statistics };
    if (before.field?.name !== field.name) { hidePictures(); now.look = undefined; }
    tell(notes);
    const axis = field.shape.length === 3 ? Math.min(2, Math.max(0, state.axis)) : 0;
    const index = field.shape.length === 3 ? Math.min(field.shape[axis] - 1, Math.max(0, state.index ?? Math.floor(field.shape[axis] / 2))) : 0;
    const fieldTime = Math.min(time, Math.max(0, field.num_times - 1));
    Object.assign(now, { axis, index, fieldTime, dataName: `${file}.${fieldTime}` });
    showControls(before);
    const isSame = before.field && before.field.name === field.name && before.series === series;
    const isOtherLevel = isSame && (before.index !== index || before.axis !== axis) && before.statistics?.planes && state.range !== 'held';
    if (isOtherLevel) remember({ low: undefined, high: undefined }); // levels of the atmosphere are not of one range
    const coming = session.statistics(series, now.dataName, field, step.version);
    if (isSame && now.look) { drawPlane(); coming.then((found) => { if (mine === generation) { now.statistics = found; refit(false); showValues(); } }, fail); return; }
    now.statistics = await coming;
    if (mine !== generation) return;
    refit(true);
    showValues();
  } catch (error) { if (mine === generation) fail(error); }
}

// Says that a step is being read, once that takes a while (style.css), until something of it is drawn.
function busy(series) {
  $('busy').hidden = !series;
  $('busy').textContent = series ? `Reading ${series.name.replace(/#+/, '…')} …` : '';
}

// Where the state points to, and what of it is not there.
function findTarget() {
  const all = [...session.series.values()];
  const series = session.series.get(state.series) || all.find((s) => s.count) || all[0];
  if (!series) return null;
  const notes = [];
  if (state.series && state.series !== series.id) notes.push(`The link's series is not here (any more). This is ${series.name.replace(/#+/, '…')}.`);
  const [number, time] = String(state.step).split('.').map(Number);
  let at = state.step === 'last' ? series.count - 1 : series.placeOf(number);
  if (at < 0) {
    at = series.count - 1;
    notes.push(`There is no step ${String(state.step).split('.')[0]} (any more). This is the last one.`);
  }
  const other = state.minus && !['first', 'before'].includes(state.minus) && !session.series.has(state.minus);
  if (other) notes.push('The series to be taken away is not here (any more): this is no difference.');
  return { series, at, time: time || 0, notes };
}

const stepAt = (series, at) => session.step(series, `${series.number(at)}.0`);

function told(error, series, at) {
  if (error.status === 404) error.message = `There is no step ${series.number(at)} of ${series.name.replace(/#+/, '…')} any more.`;
  return error;
}

// Nothing that was shown is right for `place`: the picture and all about it goes, series and steps can be chosen.
function leave(place) {
  if (place.step) busy(null);
  const before = now;
  now = { time: 0, count: 1, name: `${place.file}.0`, ...place };
  hidePictures();
  showChoice(before);
  $('field').replaceChildren(Object.assign(document.createElement('option'), { textContent: place.step ? 'no field' : '…' }));
  $('field').disabled = true;
  for (const id of ['field-title', 'field-about', 'python', 'iso-value', 'index-where']) $(id).textContent = '';
  for (const id of ['statistics', 'histogram', 'bytes', 'times', 'profile']) $(id).replaceChildren();
  for (const id of ['axes', 'index-box', 'volume-box', 'with-box']) $(id).hidden = true;
  $('point').textContent = '';
  $('wire').textContent = '';
  $('bar').getContext('2d').clearRect(0, 0, $('bar').width, $('bar').height);
  showLeftOut();
  document.title = `${place.series.name.replace(/#+/, '…')} · Hakobi`;
}

function hidePictures() {
  for (const id of ['plane', 'scene', 'mesh', 'labels', 'zoom']) $(id).hidden = true;
  $('readout').textContent = '';
  plane.drop();
  scene?.drop();
  mesh?.drop();
}

// The limits that the values of this step have by the chosen range.
function fittedRange() {
  const isLevel = now.axis === 0 && state.view === 'plane';
  const found = (isLevel && now.statistics?.planes?.[now.index]) || now.statistics || {};
  const points = found.percentiles || {};
  const share = Number(state.range);
  let [low, high] = points[share] !== undefined ? [points[share], points[100 - share]] : [found.min ?? found.histogram?.from, found.max ?? found.histogram?.to];
  if (now.minus) { const sorted = plane.sample(); const at = (part) => Math.abs(sorted[Math.round(part * (sorted.length - 1))]); high = (sorted.length && (Math.max(at(0.005), at(0.995)) || Math.max(at(0), at(1)))) || 1; low = -high; }
  else if (low < 0 && high > 0 && Math.min(-low, high) > 0.2 * Math.max(-low, high)) { high = Math.max(-low, high); low = -high; }
  return [low, high];
}

const RANGES = ['0.5', '2', '10', 'all', 'held'];

// Low and high of the colours. Held from step to step, so that steps can be compared, unless the state says otherwise.
function refit(isOther) {
  if (!now.field) return;
  let { low, high } = state;
  const isHeld = Number.isFinite(low) && Number.isFinite(high) && (isOther ? state.range === 'held' || state.field === now.field.name || !state.field : !state.each);
  const fitted = fittedRange();
  if (!isHeld) { [low, high] = fitted; remember({ low, high }); }
  const isFitted = !isHeld || fitted.every((end, n) => Math.abs(end - [low, high][n]) <= 1e-5 * Math.abs(fitted[1] - fitted[0]));
  $('range').value = isFitted && RANGES.includes(state.range) ? state.range : 'held';
  if (!Number.isFinite(low) || !Number.isFinite(high)) [low, high] = [0, 1];
  if (!(high > low)) { const pad = Math.abs(low) * 1e-3 || 1; [low, high] = [low - pad, high + pad]; }
  const isTwoSided = low < 0 && high > 0 && Math.abs(low + high) < 1e-6 * (high - low);
  const map = NAMES.includes(state.map) ? state.map : isTwoSided ? 'swell' : 'tide';
  const kinds = now.field.axes.map((key) => now.step.axes[key].kind);
  const isSlice = !isMesh() && (state.view === 'plane' || now.field.shape.length === 2);
  const scale = scaleFor(state.scale, low);
  now.look = { low, high, scale, hasContours: state.contours === 'true', hasCoastLines: state.coast !== 'false', hasArrows: state.arrows === 'true', map, isFlipped: state.flip === 'true', words: words(map, state.flip === 'true'), hasCoast: kinds.includes('lat') && kinds.includes('lon') };
  $('low').value = textWithin(low, high - low, 6);
  $('high').value = textWithin(high, high - low, 6);
  widen($('low'));
  widen($('high'));
  $('map').value = map;
  $('scale').value = scale;
  $('contours-box').hidden = !isSlice;
  const seen = isSlice ? inPlane().map((d) => now.step.axes[now.field.axes[d]]) : [];
  $('coast-box').hidden = !isSlice || !hasCoast(...seen);
  $('arrows-box').hidden = !isSlice || !windOf();
  for (const choice of $('scale').options) choice.disabled = choice.value === 'log' && !(low > 0);
  showBar(now.look, now.field.units);
  drawPlane();
}

function isMesh() { return Boolean(now.field?.location); }

// The components of the wind over a map that is seen from above.
function windOf() {
  if (!now.field.wind || (now.field.shape.length === 3 && now.axis !== 0)) return null;
  return now.field.wind.map((id) => now.step.fields.find((f) => f.id === id));
}

function inPlane() { return now.field.shape.length === 2 ? [0, 1] : [0, 1, 2].filter((d) => d !== now.axis); }

function fullCell([row, column]) {
  const cell = Array(now.field.shape.length).fill(0);
  const [r, c] = inPlane();
  if (cell.length === 3) cell[now.axis] = now.index;
  [cell[r], cell[c]] = [row, column];
  return cell;
}

function drawPlane() {
  const { series, step, field, dataName, axis, index } = now;
  if (!now.look || !field) return;
  if (now.minus === undefined) { hidePictures(); return; } // until the other step is known
  const isPlane = !isMesh() && (state.view === 'plane' || field.shape.length === 2);
  $('plane').hidden = !isPlane;
  $('scene').hidden = isPlane || isMesh();
  $('mesh').hidden = !isMesh();
  $('labels').hidden = isPlane;
  $('zoom').hidden = !isPlane;
  plane.setLook(now.look);
  if (!isPlane) { if (isMesh()) drawMesh(); else drawScene(); return; }
  const [r, c] = inPlane();
  const minus = now.minus;
  const across = (level) => (axis === 0 && step.axes[field.axes[0]].is_layered ? index : index >> level);
  const address = (level, row, column, isExact) => {
    const where = `${series.id}/${dataName}/${step.version}/${field.id}/${level}/${axis}/${across(level)}/${row}/${column}`;
    return `${isExact ? 'exact-' : ''}${minus ? `difference/${where}/${minus}` : `tile/${where}`}`;
  };
  const marks = {};
  const isHere = (cell) => cell && cell.length === field.shape.length && (cell.length === 2 || cell[axis] === index);
  if (isHere(state.point)) marks.point = [state.point[r], state.point[c]];
  if (isHere(state.from) && isHere(state.to)) marks.line = [[state.from[r], state.from[c]], [state.to[r], state.to[c]]];
  plane.marks = marks;
  // Across the unit-stride direction full resolution of a large field reads most of it: only where little is in sight.
  const isCostly = field.shape.length === 3 && axis === 2 && field.num_bytes > 4e9;
  const source = { address, shape: [field.shape[r], field.shape[c]], rowAxis: step.axes[field.axes[r]], columnAxis: step.axes[field.axes[c]], numLevels: field.num_levels, finest: 0 };
  const wind = windOf();
  if (wind) Object.assign(source, { windUnits: wind[0].units, wind: wind.map((part) => (level, row, column) => `tile/${series.id}/${dataName}/${step.version}/${part.id}/${level}/${axis}/${across(level)}/${row}/${column}`) });
  const isPlaced = state.zoom > 0 && Number.isFinite(state.x) && Number.isFinite(state.y);
  const view = isPlaced ? { x: Math.min(source.shape[1], Math.max(0, state.x)), y: Math.min(source.shape[0], Math.max(0, state.y)), zoom: Math.min(64, state.zoom) } : null;
  plane.show(source, view);
  if (isCostly && field.has_overview && plane.visible(0).length > 6) source.finest = 1;
  const label = `${field.long_name || field.name} ${whereText()}, ${whenText()}, colours from ${text(now.look.low)} to ${text(now.look.high)} ${field.units}`;
  $('plane').setAttribute('aria-label', label);
}

async function drawScene() {
  try {
    if (!scene) {
      const { Scene } = await import('./scene.js');
      scene ??= new Scene($('scene'), { onMove: remember, onFailure: fail });
    }
    scene.show({ series: now.series, name: now.dataName, step: now.step, field: now.field, look: now.look, state, isSurface: state.view === 'surface' });
    if (state.view === 'surface') $('iso-value').textContent = text(scene.isovalue(), 4);
  } catch (error) { fail(error); }
}

async function drawMesh() {
  const mine = now;
  try {
    const [{ MeshScene }, bodies] = await Promise.all([import('./mesh.js'), meshes.gather(state, session, now)]);
    if (mine !== now) return;
    meshes.tick(bodies);
    mesh ??= new MeshScene($('mesh'), { onMove: remember, onFailure: fail, onPick: pickOnMesh });
    mesh.show({ bodies, look: now.look, state });
    if (state.view === 'surface') $('iso-value').textContent = text(now.look.low + ((now.look.high - now.look.low) * state.iso) / 1000, 4);
  } catch (error) { if (mine === now) fail(error); }
}

// A point of another mesh than the chosen series' makes that the chosen one.
function pickOnMesh(body, at) {
  const isOther = body.series !== now.series;
  return set({ point: [at], ...(isOther ? { series: body.series.id, with: [now.series.id, ...meshes.chosen(state, session, now.series).map((s) => s.id)].filter((id) => id !== body.series.id).join('.') } : {}) });
}

// Text about what is shown

// A file of several steps has the number of its first.
const stepOf = (file, time) => Math.max(0, file) + time;

function whenText() {
  const number = stepOf(now.file, now.time);
  if (!now.step) return `step ${number}`;
  if (now.step.label && !now.step.times.length) return now.step.label;
  if (now.step.label) return `${timeText(now.step.times[0], now.step.time_units)} (${now.step.label})`;
  const { value, time_units, calendar } = timeNow();
  return value === undefined ? `step ${number}` : timeText(value, time_units, calendar);
}

// The time on the screen with its units: a field may be along others than the file's.
function timeNow() {
  const own = now.step.other_times?.[now.field?.other_times];
  return { ...(own ?? now.step), value: own ? own.times[now.fieldTime] : now.step.times[now.time] };
}

function whereText() {
  if (isMesh()) return meshes.whereText(state, now);
  if (now.field.shape.length === 2) return '';
  const axis = now.step.axes[now.field.axes[now.axis]];
  return `at ${axis.name} ${axis.first === undefined ? now.index : place(coordinate(axis, now.index + 0.5), axis)}`;
}

// Says of each series how many steps it has, as soon as that is known.
async function countAll() {
  for (const choice of [...$('series').options].slice(0, MOST_COUNTED)) {
    const series = session.series.get(choice.value);
    const before = series.numSteps;
    if (!(series === now.series && series.count === 1)) await session.countSteps(series).catch(() => {}); // else its step has told
    choice.textContent = `${series.name.replace(/#+/, '…')} (${series.numSteps})`;
    if (series === now.series && series.numSteps !== before) showChoice(now);
  }
}
const MOST_COUNTED = 50;
let countTimer = 0;

const option = (value, label) => Object.assign(document.createElement('option'), { value, textContent: label });

// Series and steps: what can be chosen whatever the step is.
function showChoice(before) {
  const { series } = now;
  if (before.series !== series || $('series').length !== session.series.size) {
    $('series').replaceChildren(...[...session.series.values()].map((s) => option(s.id, s.name.replace(/#+/, '…'))));
    $('minus').replaceChildren(option('', 'nothing'), option('first', 'its first step'), option('before', 'the step before'), ...[...session.series.values()].filter((s) => s !== series).map((s) => option(s.id, `the same step of ${s.name.replace(/#+/, '…')}`)));
  }
  $('series').value = series.id;
  clearTimeout(countTimer);
  countTimer = setTimeout(countAll, 200); // after what the picture needs
  $('minus').value = state.minus || '';
  const [at, total] = [position(), numSteps()];
  Object.assign($('time'), { max: total - 1, value: at });
  $('time').setAttribute('aria-valuetext', whenText());
  $('previous').disabled = at <= 0;
  $('next').disabled = at >= total - 1;
  $('when').textContent = `${at + 1} / ${total}  ·  ${whenText()}`;
  $('follow').checked = state.step === 'last';
}

// What of the file cannot be drawn, with the reasons.
function showLeftOut() {
  const reasons = Object.entries(now.step?.left_out ?? {});
  $('left-out-box').hidden = !reasons.length;
  $('left-out').replaceChildren(...reasons.slice(0, 50).flatMap(([name, reason]) => [
    Object.assign(document.createElement('dt'), { textContent: name }),
    Object.assign(document.createElement('dd'), { textContent: reason }),
  ]));
}

function showControls(before) {
  const { step, field } = now;
  showChoice(before);
  if (before.step !== step || before.field === undefined) $('field').replaceChildren(...step.fields.map((f) => option(f.name, f.name)));
  $('field').disabled = false;
  $('field').value = field.name;
  showLeftOut();
  const is3d = field.shape.length === 3;
  const view = isMesh() ? meshes.viewOf(state) : is3d && !['skin', 'cut'].includes(state.view) ? state.view : 'plane';
  for (const button of $('views').querySelectorAll('button')) {
    button.setAttribute('aria-pressed', button.dataset.view === view);
    button.hidden = isMesh() ? button.dataset.kind === 'grid' : button.dataset.kind === 'mesh';
    button.disabled = !isMesh() && !is3d && button.dataset.view !== 'plane';
  }
  $('axes').hidden = $('index-box').hidden = isMesh() ? view !== 'cut' : !is3d || view !== 'plane';
  $('minus-box').hidden = $('line').hidden = isMesh();
  $('with-box').hidden = true;
  if (isMesh()) meshes.showControls(state, session, now, set);
  if (is3d) {
    for (const button of $('axes').querySelectorAll('button')) {
      const axis = Number(button.dataset.axis);
      button.setAttribute('aria-pressed', axis === now.axis);
      button.textContent = step.axes[field.axes[axis]].name.slice(0, 12);
    }
    Object.assign($('index'), { value: now.index, min: 0, step: 1, max: field.shape[now.axis] - 1 });
    widen($('index'));
    $('index-where').textContent = step.axes[field.axes[now.axis]].first === undefined ? `of ${field.shape[now.axis]}` : whereText().replace(/^at \S+ /, '');
  }
  $('volume-box').hidden = !['volume', 'surface'].includes(view);
  $('opacity-box').hidden = isMesh();
  $('iso-box').hidden = view !== 'surface';
  $('opacity').value = state.opacity;
  $('iso').value = state.iso;
  $('each').checked = state.each === 'true';
  $('flip').checked = state.flip === 'true';
  $('contours').checked = state.contours === 'true';
  $('coast').checked = state.coast !== 'false';
  $('arrows').checked = state.arrows === 'true';
  now.minus = minusAddress();
  document.title = `${field.name} · ${series.name.replace(/#+/, '…')} · Hakobi`;
  $('field-title').textContent = field.name;
  $('field-about').textContent = [field.long_name, `${field.shape.join(' × ')}${field.location ? ` ${field.location}s` : ''} ${field.type}`, field.units && `in ${field.units}`, field.is_on_map && 'on a map by the nearest cell'].filter(Boolean).join(', ');
}

// The other step of a difference, as the address names it; undefined until its version is known, which is asked for once.
function minusAddress() {
  if (!state.minus || isMesh()) return null;
  const { series } = now;
  let [other, name] = [series, null];
  if (state.minus === 'first') name = series.nameOf(0);
  else if (state.minus === 'before') name = series.nameOf(Math.max(0, position() - 1));
  else {
    other = session.series.get(state.minus);
    if (!other) return null;
    const isAlone = other.number(0) < 0; // a file without a number: its steps are counted from 0, and so are others beside it
    name = isAlone ? `-1.${position()}` : now.file < 0 ? other.nameOf(position()) : other.nameOfStep(stepOf(now.file, now.time));
  }
  const isThere = (step) => Number(name.split('.')[1]) < Math.max(1, ...step.fields.map((f) => f.num_times));
  const none = () => fail(new Error(`${other.name.replace(/#+/, '…')} has no step ${stepOf(now.file, now.time)}.`));
  if (!name) { none(); return undefined; }
  const found = other === series && name.split('.')[0] === String(now.file) ? now.step : versions.get(`${other.id}/${name}`);
  if (found && !isThere(found)) { none(); return undefined; }
  if (found) return `${other.id}:${name}@${found.version}`;
  const asked = generation;
  session.step(other, name).then((told) => { versions.set(`${other.id}/${name}`, told); update(); }, (error) => { if (asked === generation) fail(error); });
  return undefined;
}
const versions = new Map();

let hover = null;
function showReadout(cell) {
  hover = cell;
  if (!cell || !now.field) { $('readout').textContent = ''; return; }
  const found = plane.peek(...cell);
  const [r, c] = inPlane();
  const where = [r, c].map((d, n) => { const axis = now.step.axes[now.field.axes[d]]; return axis.first === undefined ? `${axis.name} ${cell[n]}` : place(coordinate(axis, cell[n] + 0.5), axis); });
  $('readout').textContent = `${where.join(', ')}:  ${found ? `${found.level ? 'around here ' : ''}${about(found.value, found.error)} ${Number.isNaN(found.value) ? '' : now.field.units}` : '…'}`;
}

let askedPoint = ''; // that whose times are asked for
async function showPoint() {
  const { series, field, dataName, step } = now;
  const cell = state.point;
  if (!cell || cell.length !== field.shape.length) { $('point').textContent = 'Click in the picture.'; $('times').replaceChildren(); return; }
  const query = `at=${cell.join(',')}`;
  const { value } = await getJson(`api/${series.id}/${dataName}/${field.id}/point?${query}`);
  const where = cell.map((i, d) => { const axis = step.axes[field.axes[d]]; return axis.first === undefined ? `${axis.name} ${i}` : `${axis.kind ? '' : `${axis.name} `}${place(coordinate(axis, i + 0.5), axis)}`; });
  $('point').textContent = `${where.join(', ')}: ${text(value, 8)} ${value === null ? '' : field.units}`;
  const key = `${series.id}/${field.id}/${query}/${series.count}`;
  if (key !== timesShown.key && key !== askedPoint && numSteps() > 1) {
    askedPoint = key;
    const found = await getJson(`api/${series.id}/times/${field.id}?${query}`);
    if (key !== askedPoint) return;
    const hasTimes = found.points.some((point) => point[1] !== null); // steps that cannot be read have none
    const xs = new Map(found.points.map(([name, when]) => [name, hasTimes ? when : stepOf(...name.split('.').map(Number))]));
    const points = found.points.map(([name, , v]) => [xs.get(name), v === null ? NaN : Number(v)]).filter(([x]) => x !== null);
    timesShown = { key, points, xs, hasTimes, units: found.time_units, xUnits: hasTimes ? found.time_units || 'time' : 'steps' };
  }
  if (timesShown.key !== key) { $('times').replaceChildren(); return; }
  const known = timesShown.xs.get(`${now.file}.${now.time}`); // of very many steps not each is asked for
  const { value: time = NaN, time_units } = timeNow();
  const told = !timesShown.hasTimes ? stepOf(now.file, now.time) : time_units === timesShown.units ? time : NaN;
  lineChart($('times'), 'The point over the steps', timesShown.points, known ?? told, [timesShown.xUnits, field.units]);
  offerCsv($('times'), [timesShown.xUnits, called(field)], timesShown.points, 'times');
}
let timesShown = {}; // the points of the last point that was asked for, and which that is

const called = (field) => `${field.name}${field.units ? ` (${field.units})` : ''}`;

function offerCsv(holder, names, rows, what) {
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: 'CSV', title: 'Save these numbers' });
  button.addEventListener('click', async () => {
    const { save } = await import('./export.js');
    save(new Blob([csv(names, rows)], { type: 'text/csv' }), `${now.field.name}_${what}.csv`.replace(/[^\w.-]+/g, '_'));
  });
  holder.append(button);
}

async function showProfile() {
  const { series, step, field, dataName } = now;
  const isLine = state.from && state.to && state.from.length === field.shape.length && state.to.length === field.shape.length;
  if (!isLine || isMesh()) { $('profile').replaceChildren(); return; }
  const mine = generation;
  const found = await getJson(`api/${series.id}/${dataName}/${field.id}/line?from=${state.from.join(',')}&to=${state.to.join(',')}`);
  if (mine !== generation) return; // of another step by now
  const axes = field.axes.map((key) => step.axes[key]);
  const along = distances(found.cells, axes);
  const values = found.values.map((v) => (v === null ? NaN : Number(v)));
  lineChart($('profile'), 'Along the line', values.map((v, n) => [along.values[n], v]), undefined, [`${along.units} along the line`, field.units]);
  const rows = found.cells.map((cell, n) => [along.values[n], ...cell.map((i, d) => coordinate(axes[d], i + 0.5)), values[n]]);
  offerCsv($('profile'), [`distance (${along.units})`, ...axes.map((axis) => axis.name), called(field)], rows, 'line');
}

function showValues() {
  showStatistics(now.statistics || {});
  $('python').textContent = pythonOf(now.step, now.field, now.fieldTime, now.axis, now.index);
  showSent();
  showPoint().catch(fail);
  showProfile().catch(fail);
}

// Steps

function goTo(at) {
  return now.series ? set({ step: now.series.nameOf(Math.min(numSteps() - 1, Math.max(0, at))) }) : Promise.resolve();
}
const position = () => (now.series ? now.series.stepsBefore(now.at) + now.time : 0);
const numSteps = () => now.series?.numSteps ?? 1;

export function whenDrawn(most = 4000) {
  return new Promise((resolve) => {
    if (!now.look || !now.field) { resolve(); return; }
    const timer = setTimeout(resolve, most);
    const [canvas, view] = isMesh() ? [$('mesh'), mesh] : $('scene').hidden ? [$('plane'), plane] : [$('scene'), scene];
    const look = () => { if (view?.isComplete) { clearTimeout(timer); canvas.removeEventListener('drawn', look); resolve(); } };
    canvas.addEventListener('drawn', look);
    if (view) view.draw();
  });
}

async function play(isOn) {
  if (!isOn) { playing = null; }
  else if (!playing) {
    const mine = (playing = {});
    if (position() >= numSteps() - 1) await goTo(0);
    $('play').textContent = '❚❚ Pause';
    while (playing === mine && position() < numSteps() - 1) {
      const begin = performance.now();
      await goTo(position() + 1);
      await whenDrawn();
      await new Promise((r) => setTimeout(r, Math.max(30, 180 - (performance.now() - begin))));
    }
    if (playing === mine) playing = null;
  }
  if (!playing) $('play').textContent = '▶ Play';
}

// On a phone the header has room for what is chosen; the rest is below the picture.
const phone = window.matchMedia('(max-width: 760px)');
function arrange() {
  $('narrow').hidden = !phone.matches;
  (phone.matches ? $('narrow') : document.querySelector('header')).append($('axes'), $('index-box'), $('space'), $('tools'));
}
phone.addEventListener('change', arrange);
arrange();

// What a person does

const on = (id, type, action) => $(id).addEventListener(type, action);
on('series', 'change', (e) => set({ series: e.target.value, step: 'last', field: undefined, low: undefined, high: undefined, zoom: undefined, minus: undefined }));
on('field', 'change', (e) => { const range = state.range === 'held' ? '0.5' : state.range; set({ field: e.target.value, low: undefined, high: undefined, range, map: undefined }); });
on('views', 'click', (e) => e.target.dataset.view && set({ view: e.target.dataset.view }).then(() => refit(false)));
on('axes', 'click', (e) => e.target.dataset.axis && set({ axis: Number(e.target.dataset.axis), index: undefined, cut: undefined, zoom: undefined }));
on('index', 'input', (e) => { const v = parse(e.target.value); if (v !== null) set(isMesh() ? { cut: v } : { index: Math.round(v) }); });
on('time', 'input', (e) => goTo(Number(e.target.value)));
on('previous', 'click', () => goTo(position() - 1));
on('next', 'click', () => goTo(position() + 1));
on('play', 'click', () => play(!playing));
on('follow', 'change', (e) => set({ step: e.target.checked ? 'last' : now.name }));
for (const id of ['low', 'high', 'index']) on(id, 'input', (e) => widen(e.target));
for (const id of ['low', 'high']) on(id, 'change', (e) => { const v = parse(e.target.value); if (v !== null && now.look) { remember({ low: now.look.low, high: now.look.high, [id]: v, range: 'held' }); refit(false); showControls(now); } });
on('range', 'change', (e) => { remember({ range: e.target.value, ...(e.target.value === 'held' ? {} : { low: undefined, high: undefined }) }); refit(false); });
on('map', 'change', (e) => { remember({ map: e.target.value }); refit(false); });
on('flip', 'change', (e) => { remember({ flip: e.target.checked ? 'true' : undefined }); refit(false); });
on('scale', 'change', (e) => { remember({ scale: e.target.value }); refit(false); });
on('contours', 'change', (e) => { remember({ contours: e.target.checked ? 'true' : undefined }); refit(false); });
on('coast', 'change', (e) => { remember({ coast: e.target.checked ? undefined : 'false' }); refit(false); });
on('arrows', 'change', (e) => { remember({ arrows: e.target.checked ? 'true' : undefined }); refit(false); });
on('each', 'change', (e) => set({ each: e.target.checked ? 'true' : undefined }));
on('minus', 'change', (e) => setMinus(e.target.value));
on('opacity', 'input', (e) => { remember({ opacity: Number(e.target.value) }); drawPlane(); });
on('iso', 'input', (e) => { remember({ iso: Number(e.target.value) }); drawPlane(); });
on('line', 'click', () => toggleLine());
on('zoom-in', 'click', () => plane.zoomBy(1.5));
on('zoom-out', 'click', () => plane.zoomBy(1 / 1.5));
on('zoom-fit', 'click', fit);
on('help-open', 'click', () => $('help').showModal());
on('copy', 'click', () => copy($('python').textContent, $('copy')));
on('share', 'click', () => { history.replaceState(null, '', states.write(state)); copy(location.href, $('share')); });
on('png', 'click', savePicture);
on('film', 'click', saveFilm);
const showSent = () => now.field && showBytes(now.step, now.field, isMesh() ? mesh?.numTriangles : plane.shown, sent);
onSent(showSent);
on('mesh', 'drawn', () => { busy(null); showSent(); });
on('scene', 'drawn', () => busy(null));
on('plane', 'drawn', () => { if (plane.shown !== null) busy(null); if (now.field) { showSent(); if (hover) showReadout(hover); if (now.minus && plane.isComplete && now.minusFitted !== now.minus) { now.minusFitted = now.minus; remember({ low: undefined, high: undefined }); refit(false); } } });
window.addEventListener('hashchange', () => { state = states.read(location.hash); update(); });
window.addEventListener('resize', () => now.look && now.field && showBar(now.look, now.field.units));

function fit() {
  if (orbit()) { orbit().fitAgain(); return; }
  remember({ zoom: undefined, x: undefined, y: undefined }); plane.fit(); remember({ zoom: undefined, x: undefined, y: undefined });
}
function setMinus(value) { return set({ minus: value || undefined, low: undefined, high: undefined, range: '0.5', map: undefined }).then(() => { now.look = undefined; refit(true); }); }
function toggleLine() {
  plane.isLining = !plane.isLining;
  $('line').setAttribute('aria-pressed', plane.isLining);
  if (!plane.isLining) set({ from: undefined, to: undefined });
}

async function copy(string, button) {
  const label = button.textContent;
  try { await navigator.clipboard.writeText(string); button.textContent = 'Copied'; } catch { button.textContent = 'Not allowed'; }
  setTimeout(() => { button.textContent = label; }, 1200);
}

const subject = () => now.look && now.field && ({ plane, scene: isMesh() ? mesh : scene, isPlane: !$('plane').hidden, look: now.look, units: now.field.units, title: [now.minus ? `${now.field.name}, difference` : now.field.long_name || now.field.name, whereText(), whenText()].filter(Boolean).join(' · '), name: `${now.field.name}_${now.file < 0 ? now.time : now.file}`.replace(/[^\w.-]+/g, '_') });
async function savePicture() {
  if (!now.look) return;
  const { savePng } = await import('./export.js');
  await whenDrawn();
  await savePng(subject());
}
async function saveFilm() {
  if (film) { film.abort(); return; }
  if (!now.look) return;
  try {
    const { recordFilm } = await import('./export.js');
    film = new AbortController();
    const onStep = (done, count) => { $('film').textContent = `${done} / ${count} ✕`; };
    const left = await recordFilm({ subject, goTo, whenDrawn: () => whenDrawn(60000), numSteps: numSteps(), onStep, signal: film.signal });
    if (left) tell([`${left} steps that cannot be drawn are not in the film.`]);
  } catch (error) { fail(error); } finally { film = null; $('film').textContent = 'Film'; }
}
let film = null; // what ends the one that is being recorded

const orbit = () => (isMesh() ? mesh : $('scene').hidden ? null : scene);
const move = (x, y) => (orbit() ? orbit().turn(x, y) : plane.moveBy(x, y));
const zoom = (factor) => (orbit() ? orbit().zoom(1 / factor) : plane.zoomBy(factor));
const across = (axis) => set({ axis, view: isMesh() ? 'cut' : 'plane', index: undefined, cut: undefined, zoom: undefined });
function along(n) {
  if (!isMesh()) return alongAxis(n);
  const { at, low, high } = meshes.cutOf(state, now.step);
  return meshes.viewOf(state) === 'cut' && set({ cut: at + (n * (high - low)) / 100 });
}
const alongAxis = (n) => now.field.shape.length === 3 && set({ index: Math.min(now.field.shape[now.axis] - 1, Math.max(0, now.index + n)) });
const KEYS = {
  ArrowLeft: () => goTo(position() - 1), ArrowRight: () => goTo(position() + 1), ArrowUp: () => along(1), ArrowDown: () => along(-1),
  PageUp: () => along(10), PageDown: () => along(-10), Home: () => goTo(0), End: () => goTo(numSteps() - 1),
  z: () => across(0), y: () => across(1), x: () => across(2),
  v: () => set({ view: isMesh() ? 'skin' : 'volume' }), i: () => set({ view: 'surface' }), '+': () => zoom(1.3), '=': () => zoom(1.3), '-': () => zoom(1 / 1.3), 0: fit,
  h: () => move(60, 0), l: () => move(-60, 0), j: () => move(0, -60), k: () => move(0, 60),
  ' ': () => play(!playing), f: () => { remember({ low: undefined, high: undefined }); refit(false); }, d: () => setMinus(state.minus ? '' : 'first'), m: toggleLine, p: savePicture, '?': () => $('help').showModal(),
};
const WITHOUT_FIELD = new Set(['ArrowLeft', 'ArrowRight', 'Home', 'End', ' ', '?']);
const SHIFTED = { ArrowLeft: () => move(60, 0), ArrowRight: () => move(-60, 0), ArrowUp: () => move(0, 60), ArrowDown: () => move(0, -60) };
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA|DIALOG)$/.test(event.target.tagName) || $('help').open || (!now.field && !WITHOUT_FIELD.has(event.key))) return;
  if (event.target.tagName === 'BUTTON' && event.key === ' ') return;
  const action = (event.shiftKey && SHIFTED[event.key]) || KEYS[event.key] || KEYS[event.key.toLowerCase()];
  if (action) { event.preventDefault(); action(); }
});

$('map').replaceChildren(...NAMES.map((name) => Object.assign(document.createElement('option'), { value: name, textContent: `${name}${MAPS[name].diverging ? ' (two-sided)' : ''}` })));
session.listen((series, isNew) => {
  if (!now.series || series === now.series || isNew) update();
  if (series === now.series && state.step !== 'last') showChoice(now);
});
update();

// For tests: what is on the screen.
window.hakobi = { get state() { return state; }, get now() { return now; }, plane, showReadout, get scene() { return scene; }, get mesh() { return mesh; }, bytes, set, goTo, whenDrawn };

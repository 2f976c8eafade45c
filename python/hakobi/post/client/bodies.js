// Which meshes are drawn together, and which shape of them: what the page's state means for a mesh.

import { text } from './numbers.js';
import { widen } from './panel.js';

const $ = (id) => document.getElementById(id);
const VIEWS = ['skin', 'cut', 'surface'];

export const viewOf = (state) => (VIEWS.includes(state.view) ? state.view : 'skin');

// The state's axis counts z, y, x; a mesh's x, y, z.
const axisOf = (state) => 2 - Math.min(2, Math.max(0, state.axis));

export function cutOf(state, { mesh }) {
  const axis = axisOf(state);
  const [low, high] = [mesh.low[axis], mesh.high[axis]];
  return { axis, low, high, at: state.cut ?? (low + high) / 2 }; // of another part's place too
}

const short = (value) => String(Number(value.toPrecision(7)));

// The shape's name in addresses.
export function shapeOf(state, { step, field, look }) {
  const view = viewOf(state);
  if (view === 'skin') return 'surface';
  if (view === 'cut') { const { axis, at } = cutOf(state, step); return `cut:${axis}:${short(at)}`; }
  return `iso:${field.id}:${short(look.low + ((look.high - look.low) * state.iso) / 1000)}`;
}

export function whereText(state, { step, look }) {
  const view = viewOf(state);
  if (view === 'skin') return 'on the surface';
  if (view === 'cut') { const { axis, at } = cutOf(state, step); return `at ${'xyz'[axis]} ${text(at, 4)}`; }
  return look ? `where it is ${text(look.low + ((look.high - look.low) * state.iso) / 1000, 4)}` : '';
}

// run_rotor_######.hdf -> run: parts of one run have names that differ in the last word only.
const stem = (series) => series.name.replace(/_?#*\.\w+$/, '');
const group = (series) => stem(series).replace(/_[^_/]*$/, '');

export function companions(session, series) {
  const isMesh = (other) => /\.(hdf|vtkhdf|h5)$/.test(other.name);
  return [...session.series.values()].filter((other) => other !== series && isMesh(other) && other.name.includes('#') === series.name.includes('#'));
}

// Which of them may be drawn too: those that the state names, else those of the same run.
export function chosen(state, session, series) {
  const all = companions(session, series);
  if (state.with !== undefined) return all.filter((other) => state.with.split('.').includes(other.id));
  const isOneRun = stem(series).includes('_') ? (other) => group(other) === group(series) : () => false;
  return all.filter(isOneRun).slice(0, 7);
}

// Whether a mesh lies around another, and would hide it: a drum around blades.
function isAround(outer, inner) {
  const size = Math.max(...outer.high.map((v, d) => v - outer.low[d]));
  const holds = (slack) => [0, 1, 2].filter((d) => outer.low[d] <= inner.low[d] + slack && outer.high[d] >= inner.high[d] - slack);
  return holds(1e-6 * size).length === 3 && holds(-1e-3 * size).length >= 2;
}

// Of the parts of a run the one that all others that lie around something lie around: what a person comes to see.
export async function innermost(session, series, number) {
  const parts = [series, ...chosen({}, session, series)].filter((part) => number < 0 || part.placeOf(number) >= 0);
  const steps = await Promise.all(parts.map((part) => session.step(part, `${number < 0 ? part.number(0) : number}.0`).catch(() => null)));
  let found = 0;
  steps.forEach((step, n) => { if (step?.mesh && steps[found]?.mesh && isAround(steps[found].mesh, step.mesh)) found = n; });
  return parts[found];
}

// The bodies to draw; a companion that has no such step, mesh or field is left out, and one around the chosen mesh unless
// the state names it.
export async function gather(state, session, now) {
  const { series, step, field, dataName } = now;
  const shape = shapeOf(state, now);
  const bodies = [{ id: series.id, series, name: dataName, step, field, shape }];
  const number = Number(dataName.split('.')[0]);
  await Promise.all(chosen(state, session, series).map(async (other) => {
    if (number >= 0 && other.placeOf(number) < 0) return;
    try {
      const name = number >= 0 ? dataName : `${other.number(0)}.${dataName.split('.')[1]}`;
      const found = await session.step(other, name);
      const same = found.fields.find((f) => f.name === field.name && f.location);
      if (found.mesh && same && (state.with !== undefined || !isAround(found.mesh, step.mesh))) bodies.push({ id: other.id, series: other, name, step: found, field: same, shape });
    } catch { /* a part that cannot be read does not take the others away */ }
  }));
  return bodies;
}

// Which boxes of `showControls` are ticked: those of what is drawn.
export function tick(bodies) {
  for (const box of $('with').querySelectorAll('input')) box.checked = bodies.some((body) => body.id === box.value);
}

// The controls that only meshes have.
export function showControls(state, session, now, set) {
  const { series, step } = now;
  const all = companions(session, series);
  $('with-box').hidden = !all.length;
  const key = all.map((s) => s.id + s.name).join();
  if ($('with').dataset.key !== key) {
    $('with').dataset.key = key;
    $('with').replaceChildren(...all.map((other) => {
      const label = document.createElement('label');
      const box = Object.assign(document.createElement('input'), { type: 'checkbox', value: other.id });
      label.className = 'check';
      label.append(box, ` ${other.name.replace(/#+/, '…')}`);
      box.addEventListener('change', () => set({ with: [...$('with').querySelectorAll('input:checked')].map((i) => i.value).join('.') || 'none' }));
      return label;
    }));
  }
  const { axis, low, high, at } = cutOf(state, step);
  for (const button of $('axes').querySelectorAll('button')) {
    button.setAttribute('aria-pressed', 2 - Number(button.dataset.axis) === axis);
    button.textContent = 'zyx'[button.dataset.axis];
  }
  const isTyped = document.activeElement === $('index');
  if (!isTyped) Object.assign($('index'), { min: short(low), max: short(high), step: 'any', value: short(at) });
  widen($('index'));
  $('index-where').textContent = `of ${text(low, 3)} to ${text(high, 3)}`;
}

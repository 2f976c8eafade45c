// Pictures and films of what is shown: title, picture, bar of colours.

import { drawBar } from './panel.js';
import { Film } from './webm.js';

function compose({ plane, scene, isPlane, look, units, title }) {
  const source = isPlane ? plane.canvas : scene.canvas;
  if (!isPlane) scene.drawNow();
  const made = document.createElement('canvas');
  const [width, height] = [Math.max(480, source.width), source.height];
  Object.assign(made, { width: width + (width % 2), height: height + 96 + (height % 2) });
  const context = made.getContext('2d');
  const style = getComputedStyle(document.body);
  context.fillStyle = style.getPropertyValue('--panel');
  context.fillRect(0, 0, made.width, made.height);
  context.fillStyle = style.color;
  context.font = '600 15px system-ui, "DejaVu Sans", sans-serif';
  context.textBaseline = 'middle';
  context.fillText(title, 16, 20, made.width - 32);
  context.drawImage(source, 0, 38);
  if (!isPlane) context.drawImage(scene.labels, 0, 38, source.width, source.height);
  drawBar(context, look, 64, height + 56, Math.min(420, made.width - 128), 12, units, style.color);
  return made;
}

export function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export async function savePng(subject) {
  const made = compose(subject);
  const blob = await new Promise((resolve) => made.toBlob(resolve, 'image/png'));
  document.body.dataset.saved = blob.size;
  save(blob, `${subject.name}.png`);
}

// All steps from the first on as a WebM film, eight pictures a second. Calls back with how many are done; ends early with
// what there is where the signal says so. Returns how many steps had no picture.
export async function recordFilm({ subject, goTo, whenDrawn, numSteps, onStep, signal }) {
  const canvas = document.createElement('canvas');
  let film = null;
  let left = 0;
  const count = Math.min(numSteps, 2000);
  for (let at = 0; at < count && !signal.aborted; at += 1) {
    onStep(at, count);
    await goTo(at);
    await whenDrawn();
    const shown = subject();
    if (!shown) { left += 1; continue; }
    const made = compose(shown);
    if (!film) {
      Object.assign(canvas, { width: made.width, height: made.height });
      film = new Film(made.width, made.height, 8);
    }
    canvas.getContext('2d').drawImage(made, 0, 0);
    await film.add(canvas);
  }
  if (!film) return left;
  const blob = await film.end();
  document.body.dataset.saved = blob.size;
  save(blob, `${subject()?.name ?? 'film'}.webm`);
  return left;
}

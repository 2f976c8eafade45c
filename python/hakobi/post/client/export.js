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
  drawBar(context, look, 64, height + 56, Math.min(420, made.width - 128), 12, units, style.color);
  return made;
}

function save(blob, name) {
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

// All steps from the first on as a WebM film, eight pictures a second.
export async function recordFilm({ subject, goTo, whenDrawn, numSteps }) {
  await goTo(0);
  await whenDrawn();
  const first = compose(subject());
  const canvas = document.createElement('canvas');
  Object.assign(canvas, { width: first.width, height: first.height });
  const film = new Film(first.width, first.height, 8);
  for (let at = 0; at < Math.min(numSteps, 2000); at += 1) {
    if (at) { await goTo(at); await whenDrawn(); }
    canvas.getContext('2d').drawImage(compose(subject()), 0, 0);
    await film.add(canvas);
  }
  const blob = await film.end();
  document.body.dataset.saved = blob.size;
  save(blob, `${subject().name}.webm`);
}

// What volumes and meshes have in common: a canvas with WebGL2, and a point of view that a person turns and moves.

export function compile(gl, vertex, fragment) {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(`WebGL2: ${gl.getShaderInfoLog(shader)}`);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(`WebGL2: ${gl.getProgramInfoLog(program)}`);
  return program;
}

// Distance of the picture from the eye, its shorter side being 1.
export const FOCAL = 1.8;

export class Orbit {
  constructor(canvas, { onMove, onFailure, onPick }, options) {
    this.canvas = canvas;
    this.labels = document.getElementById('labels'); // a canvas over it: the axes
    this.onMove = onMove;
    this.onFailure = onFailure;
    this.onPick = onPick;
    this.gl = canvas.getContext('webgl2', { preserveDrawingBuffer: true, ...options });
    if (!this.gl) throw new Error('This browser has no WebGL2: volumes and meshes need it, slices do not.');
    this.quality = 0.5; // share of the canvas's pixels a direction, until drawing turns out to be fast
    this.listen();
  }

  // What is drawn lies in a sphere of that radius about the origin: another one is brought into view, whole however it is turned.
  fit(radius) {
    if (radius === this.radius) return;
    this.radius = radius;
    const share = 0.96; // of the picture's shorter side
    this.distance = radius * Math.hypot(1, (2 * FOCAL) / share);
  }

  fitAgain() { const { radius } = this; this.radius = undefined; this.fit(radius); this.move({}); }

  draw() {
    if (this.isDue || !this.isReady()) return;
    this.isDue = true;
    requestAnimationFrame(() => { this.isDue = false; this.drawNow(); });
  }

  // Sets the canvas's pixels; returns width and height.
  resize() {
    const { gl, canvas } = this;
    const quality = this.isTurning ? Math.min(this.quality, 0.4) : this.quality;
    const ratio = quality * (window.devicePixelRatio || 1);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((n) => Math.max(1, Math.round(n * ratio)));
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    gl.viewport(0, 0, width, height);
    return [width, height];
  }

  // The eye and the directions of the view in the data's coordinates: z is up, axes are right-handed.
  camera() {
    const { turn, tilt } = this.what.state;
    const forward = [-Math.cos(tilt) * Math.sin(turn), -Math.sin(tilt), -Math.cos(tilt) * Math.cos(turn)];
    const right = [Math.cos(turn), 0, -Math.sin(turn)];
    const up = [right[1] * forward[2] - right[2] * forward[1], right[2] * forward[0] - right[0] * forward[2], right[0] * forward[1] - right[1] * forward[0]];
    const swap = ([x, y, z]) => [x, -z, y];
    return { eye: swap(forward.map((v) => -v * this.distance)), forward: swap(forward), right: swap(right), up: swap(up) };
  }

  // What is on the canvas: whether it is all that comes, and whether it is of what is wanted now.
  mark(isComplete, isCurrent) {
    this.isComplete = isComplete;
    if (!isComplete) this.canvas.dataset.complete = false; // that it is, `finish` says when it is drawn
    this.canvas.dataset.stale = !isCurrent;
  }

  clear() {
    const { gl } = this;
    this.mark(false, true);
    gl.clearColor(...this.background(), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.labels.width = 0;
  }

  background() { return getComputedStyle(this.canvas.parentElement).backgroundColor.match(/\d+/g).slice(0, 3).map((n) => n / 255); }

  // After a picture: how long it took decides how fine the next ones are.
  finish(begin, isComplete) {
    const { gl, canvas } = this;
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // until it is drawn
    const took = performance.now() - begin;
    canvas.dataset.took = Math.round(took);
    canvas.dataset.complete = isComplete;
    if (!canvas.dataset.first) canvas.dataset.first = performance.now();
    if (isComplete && !canvas.dataset.refined) canvas.dataset.refined = performance.now();
    this.adapt(took);
    canvas.dispatchEvent(new CustomEvent('drawn'));
  }

  // As fine as can be drawn in about a fifth of a second while turning, in a second at rest.
  adapt(took) {
    const most = this.isTurning ? 150 : 900;
    const before = this.quality;
    if (took > 2 * most) this.quality = Math.max(0.15, this.quality * 0.7);
    else if (took < most / 4 && !this.isTurning && this.quality < 1) this.quality = Math.min(1, this.quality * 1.5);
    if (this.quality > before) this.draw();
  }

  move(change) {
    this.what.state = { ...this.what.state, ...change };
    this.onMove(change);
    this.isTurning = true;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => { this.isTurning = false; this.draw(); }, 200);
    this.draw();
  }

  listen() {
    const { canvas } = this;
    const pointers = new Map();
    let travelled = 0;
    canvas.addEventListener('pointerdown', (event) => { canvas.setPointerCapture(event.pointerId); pointers.set(event.pointerId, [event.clientX, event.clientY]); travelled = 0; });
    canvas.addEventListener('pointermove', (event) => {
      const before = pointers.get(event.pointerId);
      if (!before || !this.what) return;
      const after = [event.clientX, event.clientY];
      travelled += Math.hypot(after[0] - before[0], after[1] - before[1]);
      if (pointers.size === 2) {
        const other = [...pointers.entries()].find(([id]) => id !== event.pointerId)[1];
        const gap = (p) => Math.max(1, Math.hypot(p[0] - other[0], p[1] - other[1]));
        this.zoom(gap(before) / gap(after));
      } else if (travelled > 3) this.turn(after[0] - before[0], after[1] - before[1]);
      pointers.set(event.pointerId, after);
    });
    for (const type of ['pointerup', 'pointercancel']) {
      canvas.addEventListener(type, (event) => {
        const box = canvas.getBoundingClientRect();
        if (type === 'pointerup' && pointers.size === 1 && travelled <= 3 && this.onPick && this.what) this.pick(event.clientX - box.left, event.clientY - box.top);
        pointers.delete(event.pointerId);
      });
    }
    canvas.addEventListener('wheel', (event) => { event.preventDefault(); this.zoom(Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.0012))); }, { passive: false });
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  pick() {}

  turn(x, y) {
    const { turn, tilt } = this.what.state;
    this.move({ turn: turn - x * 0.008, tilt: Math.min(1.55, Math.max(-1.55, tilt + y * 0.008)) });
  }

  zoom(factor) { this.distance = Math.min(8, Math.max(0.3, this.distance * factor)); this.move({}); }
}

// Surfaces, cuts and isosurfaces of meshes by WebGL2 (hakobi/post/meshes.py has what comes over the wire): coarse ones
// first, finer ones as they come. Several meshes of one time are drawn together: a rotor in its stator.

import { drawBoxAxes } from './box.js';
import { colours } from './colours.js';
import { joinedPlanes } from './half.js';
import { getBytes, getJson } from './net.js';
import { normalsOf } from './normals.js';
import { compile, FOCAL, Orbit } from './orbit.js';
import { SCALES, unitOf } from './scales.js';

const VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
layout(location = 1) in float value;
layout(location = 2) in vec4 normal; // its fourth number is 0 where triangles have their own (normals.js)
uniform mat4 view;
out vec3 place;
out vec4 round;
out float colour;
void main() { place = position; round = normal; colour = value; gl_Position = view * vec4(position, 1.0); }`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec3 place;
in vec4 round;
in float colour;
uniform sampler2D colours;
uniform vec3 eye, light;
uniform float low, high, shading;
uniform int scale;          // 0: even; 1: by the logarithm; 2: on both sides of zero (scales.js)
uniform float gain, offset; // what makes of a code a value in parts of the larger end
uniform float unit;         // in the same parts
out vec4 result;
float curve(float v) { return sign(v) * log(1.0 + abs(v) / unit); }
float placed(float code) {
  if (scale == 0) return (code - low) / (high - low);
  vec3 v = vec3(code, low, high) * gain + offset;
  if (scale == 1) return v.x > 0.0 ? (log(v.x) - log(v.y)) / (log(v.z) - log(v.y)) : 0.0;
  return (curve(v.x) - curve(v.y)) / (curve(v.z) - curve(v.y));
}
void main() {
  vec3 way = normalize(place - eye);
  vec3 n = normalize(cross(dFdx(place), dFdy(place)) + 1e-12);
  if (dot(n, way) > 0.0) n = -n;
  n = normalize((dot(round.xyz, n) < 0.0 ? -round.xyz : round.xyz) + (1.0 - round.w) * n);
  vec3 c = colour > 1e32 ? vec3(0.784, 0.769, 0.737) : texture(colours, vec2(clamp(placed(colour), 0.0, 1.0) * 0.9961 + 0.00195, 0.5)).rgb;
  result = vec4(c * mix(1.0, 0.45 + 0.55 * max(0.0, dot(n, light)), shading), 1.0);
}`;

const LINES = `#version 300 es
layout(location = 0) in vec3 position;
uniform mat4 view;
void main() { gl_Position = view * vec4(position, 1.0); }`;
const GREY = `#version 300 es
precision highp float;
out vec4 result;
void main() { result = vec4(0.5, 0.5, 0.5, 1.0); }`;

const NO_VALUE = 1e38; // beyond what hakobi/post/meshes.py sends
const FINEST = 3;
const MOST_KEPT = 24;

function decodeGeometry(buffer) {
  const head = new DataView(buffer);
  const corner = [0, 1, 2, 3, 4, 5].map((n) => head.getFloat64(8 * n, true));
  const [numPoints, numTriangles] = [head.getUint32(48, true), head.getUint32(52, true)];
  const bytes = new Uint8Array(buffer, 64);
  const positions = new Float64Array(3 * numPoints);
  for (let axis = 0, at = 0; axis < 3; axis += 1, at += 2 * numPoints) {
    const scale = (corner[axis + 3] - corner[axis]) / 65535;
    for (let n = 0; n < numPoints; n += 1) positions[3 * n + axis] = corner[axis] + scale * (bytes[at + n] | (bytes[at + numPoints + n] << 8));
  }
  const count = 3 * numTriangles;
  const start = 6 * numPoints;
  const triangles = new Uint32Array(count);
  for (let n = 0, next = 0; n < count; n += 1) {
    const at = start + n;
    const below = (bytes[at] | (bytes[at + count] << 8) | (bytes[at + 2 * count] << 16) | (bytes[at + 3 * count] << 24)) >>> 0;
    triangles[n] = next - below;
    if (!below) next += 1;
  }
  return { positions, triangles, isWhole: head.getUint32(56, true) === 1 };
}

// Values as they came, so that large offsets lose nothing: the look's limits are brought to them.
function decodeValues(buffer) {
  const head = new DataView(buffer);
  const count = head.getUint32(16, true);
  const codes = new Float32Array(joinedPlanes(new Uint8Array(buffer, 24), 4, count));
  for (let n = 0; n < count; n += 1) if (Number.isNaN(codes[n])) codes[n] = NO_VALUE;
  return { codes, offset: head.getFloat64(0, true), scale: head.getFloat64(8, true), isOfCells: head.getUint32(20, true) === 1 };
}

export class MeshScene extends Orbit {
  constructor(canvas, on) {
    super(canvas, on, { antialias: true });
    const { gl } = this;
    this.program = compile(gl, VERTEX, FRAGMENT);
    this.lines = compile(gl, LINES, GREY);
    this.texture = gl.createTexture();
    this.kept = new Map(); // address -> what came, most recently used last
    this.extents = new Map();
    this.drawn = new Map(); // series -> what is in the buffers
    this.quality = 1;
    gl.enable(gl.DEPTH_TEST);
    gl.vertexAttrib4f(2, 0, 0, 0, 0); // of meshes without normals
  }

  // `bodies`: { id, series, name, step, field, shape } for each mesh.
  show({ bodies, look, state }) {
    this.what = { bodies, look, state };
    const ids = bodies.map((b) => b.id);
    const key = ids.join(' ');
    this.extent = this.extentOf(bodies, this.extents.get(key));
    this.extents.set(key, this.extent);
    this.frame = this.extent.frame;
    this.fit(this.frame.radius);
    for (const id of this.drawn.keys()) if (!ids.includes(id)) this.release(id);
    this.abort?.abort();
    this.abort = new AbortController();
    // What is drawn of another field goes at once, of another step when it is replaced or cannot be.
    for (const { id, field } of bodies) if (this.drawn.has(id) && this.drawn.get(id).body.field.name !== field.name) this.release(id);
    if (!this.drawn.size) this.clear();
    this.mark(false, this.isCurrent());
    const { signal } = this.abort;
    this.load(bodies, signal).catch((error) => {
      if (error.name === 'AbortError' || signal.aborted) return;
      if (!this.isCurrent()) this.drop();
      this.onFailure(error);
    });
    this.draw();
  }

  // Whether all that is drawn is of what is wanted now.
  isCurrent() {
    const isOf = (a, b) => a.step.version === b.step.version && a.name === b.name && a.shape === b.shape;
    return this.what.bodies.every((body) => !this.drawn.has(body.id) || isOf(this.drawn.get(body.id).body, body));
  }

  drop() {
    this.abort?.abort();
    for (const id of [...this.drawn.keys()]) this.release(id);
    this.clear();
  }

  // The box of all that was shown of these bodies, and the frame that it is seen in: a turning part does not move that, one
  // that goes away makes it larger.
  extentOf(bodies, before) {
    const boxes = [...bodies.map((b) => b.step.mesh), ...(before ? [before] : [])];
    const low = [0, 1, 2].map((d) => Math.min(...boxes.map((box) => box.low[d])));
    const high = [0, 1, 2].map((d) => Math.max(...boxes.map((box) => box.high[d])));
    const slack = 0.05 * before?.frame.size;
    const fits = before && low.every((v, d) => v >= before.frame.low[d] - slack && high[d] <= before.frame.high[d] + slack);
    if (fits) return { low, high, frame: before.frame };
    const lengths = low.map((v, d) => high[d] - v);
    const size = Math.max(...lengths) || 1;
    return { low, high, frame: { low, high, middle: low.map((v, d) => (v + high[d]) / 2), size, radius: Math.hypot(...lengths) / size / 2 || 0.5 } };
  }

  // Level after level for all bodies; where the last ones came fast, only the level that was whole.
  async load(bodies, signal) {
    let left = bodies;
    const begin = performance.now();
    const firstDetail = this.isFast ? this.lastDetail : 0;
    for (let detail = firstDetail; detail <= FINEST && left.length; detail += 1) {
      const found = await Promise.all(left.map((body) => this.fetch(body, detail, signal)));
      if (signal.aborted) return;
      left.forEach((body, n) => this.use(body, found[n]));
      left = left.filter((_, n) => !found[n].geometry.isWhole);
      this.lastDetail = detail;
      this.mark(!left.length || detail === FINEST, true);
      this.canvas.dataset.level = detail;
      this.draw();
    }
    this.isFast = performance.now() - begin < 500;
  }

  async fetch(body, detail, signal) {
    const address = `mesh/${body.series.id}/${body.name}/${body.step.version}/${body.shape}/${detail}`;
    const { keys } = body.step.mesh;
    const time = Number(body.name.split('.')[1]);
    const isOfMesh = !body.shape.startsWith('iso:');
    const key = isOfMesh ? `${body.id}/${keys[Math.min(time, keys.length - 1)]}/${body.shape}/${detail}` : address;
    const [geometry, values] = await Promise.all([
      this.keep(key, address, decodeGeometry, signal),
      this.keep(`${address}/${body.field.id}`, `${address}/${body.field.id}`, decodeValues, signal),
    ]);
    return { geometry, values, key, detail, address };
  }

  async keep(key, address, decode, signal) {
    const known = this.kept.get(key);
    const item = known ?? decode(await getBytes(address, signal));
    this.kept.delete(key);
    this.kept.set(key, item);
    while (this.kept.size > MOST_KEPT) this.kept.delete(this.kept.keys().next().value);
    return item;
  }

  release(id) {
    const { gl } = this;
    const drawn = this.drawn.get(id);
    for (const buffer of [drawn.positions, drawn.values, drawn.normals, drawn.triangles]) if (buffer) gl.deleteBuffer(buffer);
    gl.deleteVertexArray(drawn.array);
    this.drawn.delete(id);
  }

  // Puts a level of a body into buffers. Values of cells are one a triangle: its points are repeated.
  use(body, { geometry, values, key, detail }) {
    const { gl, frame } = this;
    const before = this.drawn.get(body.id);
    const isSame = before && before.key === key && before.isOfCells === values.isOfCells && before.frame === frame;
    if (before && !isSame) this.release(body.id);
    const drawn = isSame ? before : { array: gl.createVertexArray(), key, frame, isOfCells: values.isOfCells };
    gl.bindVertexArray(drawn.array);
    const fill = (name, slot, size, data, type = gl.FLOAT) => {
      drawn[name] ??= gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, drawn[name]);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(slot);
      gl.vertexAttribPointer(slot, size, type, type !== gl.FLOAT, 0, 0);
    };
    const { triangles, positions } = geometry;
    if (!isSame) {
      const placed = Float32Array.from(positions, (v, n) => (v - frame.middle[n % 3]) / frame.size);
      drawn.placed = placed;
      if (values.isOfCells) {
        const spread = new Float32Array(3 * triangles.length);
        for (let n = 0; n < triangles.length; n += 1) for (let d = 0; d < 3; d += 1) spread[3 * n + d] = placed[3 * triangles[n] + d];
        fill('positions', 0, 3, spread);
      } else {
        fill('positions', 0, 3, placed);
        fill('normals', 2, 4, normalsOf(placed, triangles), gl.BYTE);
        drawn.triangles = gl.createBuffer();
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, drawn.triangles);
        gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.STATIC_DRAW);
      }
    }
    fill('values', 1, 1, values.isOfCells ? Float32Array.from({ length: triangles.length }, (_, n) => values.codes[Math.floor(n / 3)]) : values.codes);
    gl.bindVertexArray(null);
    Object.assign(drawn, { count: triangles.length, offset: values.offset, scale: values.scale, geometry, detail, body, codes: values.codes });
    this.drawn.set(body.id, drawn);
  }

  isReady() { return this.drawn.size > 0; }

  get numTriangles() { return [...this.drawn.values()].reduce((sum, d) => sum + d.count / 3, 0); }

  // The matrix from the frame's coordinates to the screen.
  matrix({ eye, forward, right, up }, width, height) {
    const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    const [sx, sy] = [width, height].map((n) => (2 * FOCAL * Math.min(width, height)) / n);
    const [near, far] = [0.02, 20];
    const rows = [[...right.map((v) => sx * v), -sx * dot(right, eye)], [...up.map((v) => sy * v), -sy * dot(up, eye)]];
    const depth = [...forward, -dot(forward, eye)];
    rows.push(depth.map((v, n) => (v * (far + near) - (n === 3 ? 2 * far * near : 0)) / (far - near)), depth);
    return new Float32Array([0, 1, 2, 3].flatMap((column) => rows.map((row) => row[column])));
  }

  drawNow() {
    const { gl, canvas } = this;
    if (!this.isReady() || !canvas.clientWidth) return;
    const [width, height] = this.resize();
    const { look, bodies } = this.what;
    const camera = this.camera();
    const view = this.matrix(camera, width, height);
    const begin = performance.now();
    gl.clearColor(...this.background(), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.useProgram(this.program);
    const at = (name) => gl.getUniformLocation(this.program, name);
    gl.uniformMatrix4fv(at('view'), false, view);
    gl.uniform3fv(at('eye'), camera.eye);
    const light = camera.forward.map((v, d) => -v + 0.6 * camera.up[d] - 0.5 * camera.right[d]);
    gl.uniform3fv(at('light'), light.map((v) => v / Math.hypot(...light)));
    gl.uniform1f(at('shading'), bodies[0].shape.startsWith('cut:') ? 0.25 : 1);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB8, 256, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, Uint8Array.from(colours(look.map, look.isFlipped).flat()));
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.LINEAR);
    for (const drawn of this.drawn.values()) {
      const limit = (v) => Math.max(-1e30, Math.min(1e30, (v - drawn.offset) / drawn.scale));
      gl.uniform1f(at('low'), limit(look.low));
      gl.uniform1f(at('high'), limit(look.high));
      const end = Math.max(Math.abs(look.low), Math.abs(look.high)) || 1;
      gl.uniform1i(at('scale'), SCALES.indexOf(look.scale));
      gl.uniform1f(at('gain'), drawn.scale / end);
      gl.uniform1f(at('offset'), drawn.offset / end);
      gl.uniform1f(at('unit'), unitOf(look) / end);
      gl.bindVertexArray(drawn.array);
      if (drawn.isOfCells) gl.drawArrays(gl.TRIANGLES, 0, drawn.count);
      else gl.drawElements(gl.TRIANGLES, drawn.count, gl.UNSIGNED_INT, 0);
    }
    this.drawBox(view);
    const { low, high } = this.extent;
    const shown = ['x', 'y', 'z'].map((name, d) => ({ name, units: '', low: low[d], high: high[d], part: (number) => (number - low[d]) / (high[d] - low[d] || 1) }));
    drawBoxAxes(this.labels, camera, this.corner(0), this.corner(7), shown);
    const { field } = bodies[0];
    canvas.setAttribute('aria-label', `${field.name} on ${bodies[0].shape.split(':')[0]} of ${bodies.map((b) => b.series.name).join(', ')}, ${this.numTriangles} triangles`);
    this.finish(begin, Boolean(this.isComplete));
  }

  // One of the box's eight corners, where it is seen: by a bit a direction, high or low.
  corner(n) {
    const { low, high, frame } = this.extent;
    return [0, 1, 2].map((d) => (((n >> d) & 1 ? high : low)[d] - frame.middle[d]) / frame.size);
  }

  drawBox(view) {
    const { gl } = this;
    const ends = [];
    for (let n = 0; n < 8; n += 1) for (let d = 0; d < 3; d += 1) if (!((n >> d) & 1)) ends.push(...this.corner(n), ...this.corner(n | (1 << d)));
    this.box ??= { array: gl.createVertexArray(), buffer: gl.createBuffer() };
    gl.bindVertexArray(this.box.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.box.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(ends), gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    gl.useProgram(this.lines);
    gl.uniformMatrix4fv(gl.getUniformLocation(this.lines, 'view'), false, view);
    gl.drawArrays(gl.LINES, 0, ends.length / 3);
    gl.bindVertexArray(null);
  }

  // The nearest to the eye of the points (or middles of triangles) near a place on the screen.
  nearest(x, y) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const m = this.matrix(this.camera(), width, height);
    let best = null;
    for (const drawn of this.drawn.values()) {
      const { placed, isOfCells, geometry: { triangles } } = drawn;
      const count = isOfCells ? triangles.length / 3 : placed.length / 3;
      for (let n = 0; n < count; n += 1) {
        const p = isOfCells ? [0, 1, 2].map((d) => (placed[3 * triangles[3 * n] + d] + placed[3 * triangles[3 * n + 1] + d] + placed[3 * triangles[3 * n + 2] + d]) / 3) : placed.subarray(3 * n, 3 * n + 3);
        const w = m[3] * p[0] + m[7] * p[1] + m[11] * p[2] + m[15];
        const px = (0.5 + (0.5 * (m[0] * p[0] + m[4] * p[1] + m[8] * p[2] + m[12])) / w) * width;
        const py = (0.5 - (0.5 * (m[1] * p[0] + m[5] * p[1] + m[9] * p[2] + m[13])) / w) * height;
        const away = Math.hypot(px - x, py - y);
        const cost = away + 400 * w; // a point behind another is farther away than one beside it
        if (w > 0 && away < 24 && (!best || cost < best.cost)) best = { cost, number: n, drawn, position: Array.from(p, (v, d) => v * this.frame.size + this.frame.middle[d]) };
      }
    }
    return best;
  }

  async pick(x, y) {
    const found = this.nearest(x, y);
    if (!found) return;
    try {
      const { body, detail } = found.drawn;
      const query = `shape=${encodeURIComponent(body.shape)}&detail=${detail}&number=${found.number}`;
      const { at } = await getJson(`api/${body.series.id}/${body.name}/${body.field.id}/source?${query}`);
      this.onPick(body, at, found.position);
    } catch (error) { this.onFailure(error); }
  }
}

// A volume or an isosurface by WebGL2: rays through a texture of 8-bit values (hakobi/post/volume.py has their layout).

import { drawBoxAxes } from './box.js';
import { colours } from './colours.js';
import { getBytes } from './net.js';
import { compile, FOCAL, Orbit } from './orbit.js';
import { cellOf, coordinate } from './plane.js';
import { curve, placeOn } from './scales.js';

// Where a bent volume begins to be a logarithm (hakobi/post/volume.py has the same).
const bendOf = ({ low, high }) => (Math.max(Math.abs(low), Math.abs(high)) || 1) / 1e6;

const VERTEX = `#version 300 es
void main() { gl_Position = vec4(vec2(gl_VertexID == 1, gl_VertexID == 2) * 4.0 - 1.0, 0.0, 1.0); }`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp sampler3D;
uniform sampler3D values;
uniform sampler2D colours;
uniform vec2 size;
uniform vec3 eye, right, up, forward, extent, cells;
uniform vec3 background;
uniform float low, high, opacity, iso;
uniform bool isSurface, isTwoSided;
uniform bool isBent; // colours has an entry a code, its alpha the place among the colours; else an entry a place
out vec4 result;

// Value and share of cells that have one; a cell without a value weighs nothing.
vec2 at(vec3 p) { vec2 t = texture(values, p / extent + 0.5).rg; return vec2(t.r / max(t.g, 1e-4), t.g); }
vec4 entry(float v) { return texture(colours, vec2((v * 255.0 + 0.5) / 256.0, 0.5)); }
float placed(float v) { return isBent ? entry(v).a : clamp((v - low) / (high - low), 0.0, 1.0); }
vec3 colour(float v) { if (isBent) return entry(v).rgb; return texture(colours, vec2(clamp((v - low) / (high - low), 0.0, 1.0) * 0.9961 + 0.00195, 0.5)).rgb; }
float field(vec3 p) { vec2 t = at(p); return t.y < 0.5 ? -1.0 : t.x - iso; }

vec3 shade(vec3 p, vec3 way) {
  vec3 h = extent / cells;
  vec3 g = vec3(at(p + vec3(h.x, 0, 0)).x - at(p - vec3(h.x, 0, 0)).x, at(p + vec3(0, h.y, 0)).x - at(p - vec3(0, h.y, 0)).x, at(p + vec3(0, 0, h.z)).x - at(p - vec3(0, 0, h.z)).x) / h;
  vec3 n = normalize(g + 1e-9);
  if (dot(n, way) > 0.0) n = -n;
  vec3 light = normalize(-forward + 0.6 * up - 0.5 * right);
  float shine = pow(max(0.0, dot(reflect(-light, n), -way)), 24.0);
  return colour(iso) * (0.35 + 0.65 * max(0.0, dot(n, light))) + 0.22 * shine;
}

void main() {
  vec2 uv = (gl_FragCoord.xy - 0.5 * size) / min(size.x, size.y);
  vec3 way = normalize(forward * ${FOCAL.toFixed(3)} + right * uv.x + up * uv.y);
  vec3 a = (-0.5 * extent - eye) / way, b = (0.5 * extent - eye) / way;
  vec3 near3 = min(a, b), far3 = max(a, b);
  float near = max(max(near3.x, near3.y), max(near3.z, 0.0)), far = min(far3.x, min(far3.y, far3.z));
  if (near >= far) { result = vec4(background, 1.0); return; }
  // The edges of the box.
  vec3 entry = eye + way * near, leave = eye + way * far;
  float line = 0.0;
  for (int k = 0; k < 2; k += 1) {
    vec3 edge = step(0.5 * extent - 0.006, abs(k == 0 ? entry : leave));
    if (edge.x + edge.y + edge.z > 1.5) line = max(line, k == 0 ? 0.65 : 0.35);
  }
  float stride = 0.8 * min(extent.x / cells.x, min(extent.y / cells.y, extent.z / cells.z));
  stride = max(stride, (far - near) / 500.0);
  float noise = fract(sin(dot(gl_FragCoord.xy, vec2(12.9898, 78.233))) * 43758.5453);
  vec4 sum = vec4(0.0);
  float before = 0.0;
  bool hasBefore = false;
  for (float t = near + stride * (isSurface ? 0.01 : noise); t < far && sum.a < 0.98; t += stride) {
    vec3 p = eye + way * t;
    vec2 v = at(p);
    if (isSurface) {
      float f = v.y < 0.5 ? -1.0 : v.x - iso;
      if (hasBefore && (f > 0.0) != (before > 0.0)) {
        float x0 = t - stride, x1 = t;
        for (int k = 0; k < 5; k += 1) { float m = 0.5 * (x0 + x1); if ((field(eye + way * m) > 0.0) == (before > 0.0)) x0 = m; else x1 = m; }
        sum = vec4(shade(eye + way * x1, way), 1.0);
        break;
      }
      before = f;
      hasBefore = true;
    } else if (v.y > 0.5) {
      float x = placed(v.x);
      float weight = isTwoSided ? abs(2.0 * x - 1.0) : x;
      float alpha = 1.0 - exp(-opacity * weight * weight * stride * 14.0);
      sum += (1.0 - sum.a) * vec4(colour(v.x) * alpha, alpha);
    }
  }
  vec3 behind = mix(background, vec3(0.5), line);
  result = vec4(sum.rgb + (1.0 - sum.a) * behind, 1.0);
}`;

export class Scene extends Orbit {
  constructor(canvas, on) {
    super(canvas, on, { antialias: false });
    this.program = compile(this.gl, VERTEX, FRAGMENT);
    this.gl.useProgram(this.program);
    this.gl.bindVertexArray(this.gl.createVertexArray());
    this.textures = [this.gl.createTexture(), this.gl.createTexture()];
    this.kept = new Map();
  }

  show(what) {
    this.what = what;
    const { series, name, step, field } = what;
    const shapeAt = (level) => field.shape.map((n) => Math.ceil(n / 2 ** level));
    const most = (level) => Math.max(...shapeAt(level));
    let fine = 0;
    while (fine < field.num_levels && most(fine) > 128) fine += 1;
    const levels = fine < field.num_levels && most(fine) > 48 ? [fine + 1, fine] : [fine];
    const kind = what.look.scale === 'linear' ? 'volume' : 'bent-volume'; // 254 even steps hold few decades
    const address = (level) => `${kind}/${series.id}/${name}/${step.version}/${field.id}/${level}`;
    this.wanted = address(fine);
    this.addresses = levels.map(address);
    this.mark(this.shown === this.wanted, this.addresses.includes(this.shown));
    for (const level of levels) this.fetch(address(level), level);
    this.draw();
  }

  async fetch(address, level) {
    if (this.kept.has(address)) { this.use(address, level); return; }
    if (this.coming?.has(address)) return;
    (this.coming ??= new Set()).add(address);
    try {
      const buffer = await getBytes(address);
      const head = new DataView(buffer);
      const shape = [16, 20, 24].map((at) => head.getUint32(at, true));
      this.kept.set(address, { low: head.getFloat64(0, true), high: head.getFloat64(8, true), shape, data: new Uint8Array(buffer, 32), isBent: address.startsWith('bent-') });
      while (this.kept.size > 6) this.kept.delete(this.kept.keys().next().value);
      this.use(address, level);
    } catch (error) {
      if (address === this.wanted && !this.addresses.includes(this.shown)) this.drop(); // nothing of another step stays
      this.onFailure(error);
    } finally { this.coming.delete(address); }
  }

  drop() { this.volume = this.shown = undefined; this.clear(); }

  // Puts a volume into the texture, unless a finer one of the same field is there.
  use(address, level) {
    const isLate = !this.addresses.includes(address); // of what was shown before
    if (isLate || this.shown === address || (this.shown === this.wanted && address !== this.wanted)) return;
    const volume = this.kept.get(address);
    const { gl } = this;
    const pairs = new Uint8Array(volume.data.length * 2);
    for (let i = 0; i < volume.data.length; i += 1) if (volume.data[i]) { pairs[2 * i] = volume.data[i]; pairs[2 * i + 1] = 255; }
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_3D, this.textures[0]);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    const [nz, ny, nx] = volume.shape;
    gl.texImage3D(gl.TEXTURE_3D, 0, gl.RG8, nx, ny, nz, 0, gl.RG, gl.UNSIGNED_BYTE, pairs);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_3D, name, gl.LINEAR);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T, gl.TEXTURE_WRAP_R]) gl.texParameteri(gl.TEXTURE_3D, name, gl.CLAMP_TO_EDGE);
    this.shown = address;
    this.volume = volume;
    this.canvas.dataset.level = level;
    this.mark(this.shown === this.wanted, true);
    this.draw();
  }

  // The bytes 1 to 255 stand for low to high; as a texture's value 1/255 to 1.
  scaled(value) {
    const { low, high, isBent } = this.volume;
    const [v, a, b] = isBent ? [value, low, high].map((number) => curve(number / bendOf(this.volume))) : [value, low, high];
    return (1 + (254 * (v - a)) / (b - a || 1)) / 255;
  }

  // The value that a byte stands for.
  valueOf(code) {
    const { low, high } = this.volume;
    const unit = bendOf(this.volume);
    const [a, b] = [low, high].map((number) => curve(number / unit));
    const bent = a + ((b - a) * (code - 1)) / 254;
    return Math.sign(bent) * Math.expm1(Math.abs(bent)) * unit;
  }

  // Colours an entry a place, or an entry a code with its place.
  colourTable(look) {
    const table = colours(look.map, look.isFlipped);
    if (!this.volume.isBent) return Uint8Array.from(table.flatMap((c) => [...c, 255]));
    const placed = placeOn(look);
    return Uint8Array.from({ length: 1024 }, (_, n) => {
      const part = Math.max(0, Math.min(1, placed(this.valueOf(Math.floor(n / 4)))));
      return n % 4 === 3 ? Math.round(255 * part) : table[Math.round(255 * part)][n % 4];
    });
  }

  isovalue() { const { look, state } = this.what; return look.low + ((look.high - look.low) * state.iso) / 1000; }

  isReady() { return Boolean(this.volume); }

  drawNow() {
    const { gl, canvas } = this;
    if (!this.volume || !canvas.clientWidth) return;
    const [width, height] = this.resize();
    const { look, state, isSurface, step, field } = this.what;
    const set = (name, kind, ...values) => gl[`uniform${kind}`](gl.getUniformLocation(this.program, name), ...values);
    const spacing = (axis) => (axis.first !== undefined && axis.size > 1 && !axis.kind ? Math.abs(axis.last - axis.first) / (axis.size - 1) : 1);
    const axes = field.axes.map((key) => step.axes[key]);
    const isEven = axes.every((axis) => axis.units === axes[0].units);
    const lengths = axes.map((axis) => axis.size * (isEven ? spacing(axis) : 1)).reverse();
    const longest = Math.max(...lengths);
    const extent = lengths.map((n) => Math.max(0.05, n / longest));
    this.fit(Math.hypot(...extent) / 2);
    const { eye, forward, right, up } = this.camera();
    set('size', '2f', width, height);
    set('eye', '3fv', eye);
    set('right', '3fv', right);
    set('up', '3fv', up);
    set('forward', '3fv', forward);
    set('extent', '3fv', extent);
    set('cells', '3f', this.volume.shape[2], this.volume.shape[1], this.volume.shape[0]);
    const isTwoSided = Math.abs(look.low + look.high) < 1e-6 * (look.high - look.low);
    set('background', '3f', ...this.background());
    set('isTwoSided', '1i', isTwoSided ? 1 : 0);
    set('low', '1f', this.scaled(look.low));
    set('high', '1f', this.scaled(look.high));
    set('opacity', '1f', (state.opacity / 35) ** 2 * 2);
    set('iso', '1f', this.scaled(this.isovalue()));
    set('isSurface', '1i', isSurface ? 1 : 0);
    set('values', '1i', 0);
    set('colours', '1i', 1);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.textures[1]);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, this.colourTable(look));
    set('isBent', '1i', this.volume.isBent ? 1 : 0);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.LINEAR);
    const begin = performance.now();
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    canvas.setAttribute('aria-label', `${isSurface ? `Surface where ${field.name} is ${this.isovalue().toPrecision(4)}` : `Volume of ${field.name}`} ${field.units}`);
    const shown = axes.map((axis) => ({ ...axis, low: coordinate(axis, 0), high: coordinate(axis, axis.size), part: (number) => cellOf(axis, number) / axis.size })).reverse();
    drawBoxAxes(this.labels, this.camera(), extent.map((n) => -n / 2), extent.map((n) => n / 2), shown);
    this.finish(begin, this.shown === this.wanted);
  }
}

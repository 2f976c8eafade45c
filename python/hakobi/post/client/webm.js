// A WebM film from pictures, one after the other (WebCodecs' VP8, EBML by RFC 8794): none is lost, however busy the machine is.

const bytesOf = (number, width) => Array.from({ length: width }, (_, n) => Math.floor(number / 256 ** (width - 1 - n)) % 256);
const text = (value) => Array.from(value, (c) => c.charCodeAt(0));

function idBytes(id) { return bytesOf(id, id > 0xffffff ? 4 : id > 0xffff ? 3 : id > 0xff ? 2 : 1); }

// An element: its identifier, its size in eight bytes, its content: parts of bytes.
function element(id, ...parts) {
  const size = parts.reduce((n, part) => n + part.length, 0);
  return [idBytes(id), [0x01, ...bytesOf(size, 7)], ...parts];
}
const unsigned = (id, value) => element(id, bytesOf(value, 4));
// ISO/IEC 23091-2's numbers of what WebCodecs has names for.
const MATRICES = { rgb: 0, bt709: 1, bt470bg: 5, smpte170m: 6 };
const TRANSFERS = { bt709: 1, smpte170m: 6, linear: 8, 'iec61966-2-1': 13 };
const colour = ({ fullRange, matrix, primaries, transfer }) => element(0x55b0, ...flat(unsigned(0x55b1, MATRICES[matrix] ?? 2), unsigned(0x55b9, fullRange ? 2 : 1), unsigned(0x55ba, TRANSFERS[transfer] ?? 2), unsigned(0x55bb, MATRICES[primaries] ?? 2)));
const flat = (...elements) => elements.flat();

export class Film {
  // `rate`: pictures a second.
  constructor(width, height, rate) {
    if (!window.VideoEncoder) throw new Error('This browser does not make films (it has no WebCodecs here).');
    Object.assign(this, { width, height, rate, blocks: [], count: 0, failure: null });
    this.encoder = new VideoEncoder({ output: (chunk, about) => this.keep(chunk, about), error: (error) => { this.failure = error; } });
    this.encoder.configure({ codec: 'vp8', width, height, bitrate: 6e6, framerate: rate });
  }

  async add(canvas) {
    if (this.failure) throw this.failure;
    const frame = new VideoFrame(canvas, { timestamp: Math.round((1e6 * this.count) / this.rate) });
    this.encoder.encode(frame, { keyFrame: this.count % 50 === 0 });
    frame.close();
    this.count += 1;
    while (this.encoder.encodeQueueSize > 4) await new Promise((r) => setTimeout(r, 5));
  }

  keep(chunk, about) {
    this.space ??= about?.decoderConfig?.colorSpace;
    const data = new Uint8Array(chunk.byteLength);
    chunk.copyTo(data);
    this.blocks.push({ data, isKey: chunk.type === 'key', ms: Math.round(chunk.timestamp / 1000) });
  }

  // The film as a blob.
  async end() {
    await this.encoder.flush();
    this.encoder.close();
    if (this.failure) throw this.failure;
    const head = element(0x1a45dfa3, ...flat(unsigned(0x4286, 1), unsigned(0x42f7, 1), unsigned(0x42f2, 4), unsigned(0x42f3, 8), element(0x4282, text('webm')), unsigned(0x4287, 2), unsigned(0x4285, 2)));
    const length = new Uint8Array(new Float64Array([(1000 * this.count) / this.rate]).buffer).reverse();
    const info = element(0x1549a966, ...flat(unsigned(0x2ad7b1, 1e6), element(0x4489, length), element(0x4d80, text('Hakobi')), element(0x5741, text('Hakobi'))));
    const video = element(0xe0, ...flat(unsigned(0xb0, this.width), unsigned(0xba, this.height), this.space ? colour(this.space) : []));
    const tracks = element(0x1654ae6b, ...element(0xae, ...flat(unsigned(0xd7, 1), unsigned(0x73c5, 1), unsigned(0x83, 1), element(0x86, text('V_VP8')), video)));
    const clusters = [];
    for (let at = 0; at < this.blocks.length;) { // a cluster from each key picture on
      const start = this.blocks[at].ms;
      const inside = [];
      do {
        const { data, isKey, ms } = this.blocks[at];
        inside.push(...element(0xa3, [0x81, ...bytesOf(ms - start, 2), isKey ? 0x80 : 0], data));
        at += 1;
      } while (at < this.blocks.length && !this.blocks[at].isKey);
      clusters.push(...element(0x1f43b675, ...unsigned(0xe7, start), ...inside));
    }
    const parts = [...head, ...element(0x18538067, ...info, ...tracks, ...clusters)];
    return new Blob(parts.map((part) => (part instanceof Uint8Array ? part : new Uint8Array(part))), { type: 'video/webm' });
  }
}

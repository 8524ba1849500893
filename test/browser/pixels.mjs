// Reads PNG pictures as the browser and encode write them: 8 bits a sample, not interlaced.

import { crc32, deflateSync, inflateSync } from 'node:zlib';

// decode returns { width, height, at(x, y) }, where at returns a color as a number 0xRRGGBB.
export function decode(png) {
  let offset = 8, width = 0, height = 0, samples = 0, palette = null;
  const parts = [];
  while (offset < png.length) {
    const length = png.readUInt32BE(offset), type = png.toString('latin1', offset + 4, offset + 8);
    const body = png.subarray(offset + 8, offset + 8 + length);
    if (type === 'IHDR') {
      width = body.readUInt32BE(0);
      height = body.readUInt32BE(4);
      samples = { 2: 3, 3: 1, 6: 4 }[body[9]];
      if (body[8] !== 8 || !samples || body[12] !== 0) throw new Error('a PNG of another kind');
    } else if (type === 'PLTE') {
      palette = body;
    } else if (type === 'IDAT') {
      parts.push(body);
    }
    offset += 12 + length;
  }
  const raw = inflateSync(Buffer.concat(parts)), stride = width * samples;
  const pixels = Buffer.alloc(height * stride);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)], line = y * stride;
    if (filter === 0) {
      raw.copy(pixels, line, y * (stride + 1) + 1, (y + 1) * (stride + 1));
      continue;
    }
    for (let x = 0; x < stride; x++) {
      const left = x < samples ? 0 : pixels[line + x - samples];
      const up = y === 0 ? 0 : pixels[line + x - stride];
      const corner = x < samples || y === 0 ? 0 : pixels[line + x - stride - samples];
      let guess = 0;
      if (filter === 1) guess = left;
      else if (filter === 2) guess = up;
      else if (filter === 3) guess = (left + up) >> 1;
      else if (filter === 4) {
        const p = left + up - corner, a = Math.abs(p - left), b = Math.abs(p - up), c = Math.abs(p - corner);
        guess = a <= b && a <= c ? left : b <= c ? up : corner;
      }
      pixels[line + x] = raw[y * (stride + 1) + 1 + x] + guess;
    }
  }
  return {
    width, height,
    at: palette ? (x, y) => palette.readUIntBE(3 * pixels[y * stride + x], 3) : (x, y) => pixels.readUIntBE(y * stride + x * samples, 3),
  };
}

// encode returns a picture as a PNG of at most 256 colors: its most frequent ones, and for the others the nearest
// of them.
export function encode({ width, height, at }) {
  const counts = new Map();
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) counts.set(at(x, y), (counts.get(at(x, y)) || 0) + 1);
  const kept = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 256).map(([c]) => c);
  const index = new Map();
  for (const c of counts.keys()) {
    let best = 0;
    kept.forEach((k, i) => { if (distance(c, k) < distance(c, kept[best])) best = i; });
    index.set(c, best);
  }
  const raw = Buffer.alloc(height * (width + 1)); // each line begins with its filter, 0
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) raw[y * (width + 1) + 1 + x] = index.get(at(x, y));
  const head = Buffer.alloc(13), palette = Buffer.alloc(3 * kept.length);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 8;
  head[9] = 3;
  kept.forEach((c, i) => palette.writeUIntBE(c, 3 * i, 3));
  const chunk = (type, body) => {
    const whole = Buffer.concat([Buffer.alloc(4), Buffer.from(type, 'latin1'), body, Buffer.alloc(4)]);
    whole.writeUInt32BE(body.length, 0);
    whole.writeUInt32BE(crc32(whole.subarray(4, 8 + body.length)), 8 + body.length);
    return whole;
  };
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), chunk('IHDR', head), chunk('PLTE', palette),
    chunk('IDAT', deflateSync(raw, { level: 9 })), chunk('IEND', Buffer.alloc(0))]);
}

// distance returns the sum of the squared differences of two colors.
function distance(a, b) {
  let sum = 0;
  for (const shift of [0, 8, 16]) sum += (((a >> shift) & 255) - ((b >> shift) & 255)) ** 2;
  return sum;
}

// different returns the share of squares of 16 pixels whose mean color differs between two pictures of the same size by
// more than 16 of 255 in any part. Text that is drawn a little differently does not count, other content does.
export function different(a, b) {
  if (a.width !== b.width || a.height !== b.height) return 1;
  const side = 16;
  let all = 0, other = 0;
  for (let y = 0; y < a.height; y += side) {
    for (let x = 0; x < a.width; x += side) {
      const sums = [0, 0, 0];
      let n = 0;
      for (let j = y; j < Math.min(y + side, a.height); j++) {
        for (let i = x; i < Math.min(x + side, a.width); i++, n++) {
          const c = a.at(i, j), d = b.at(i, j);
          [0, 8, 16].forEach((shift, k) => { sums[k] += ((c >> shift) & 255) - ((d >> shift) & 255); });
        }
      }
      all++;
      if (sums.some((s) => Math.abs(s / n) > 16)) other++;
    }
  }
  return other / all;
}

// marks counts the pixels of a part of a picture that differ from the most frequent color, which is the
// background, and the colors among them. It looks at every second pixel of every second line.
export function marks(picture, { x, y, width, height } = { x: 0, y: 0, width: picture.width, height: picture.height }) {
  const counts = new Map();
  let total = 0;
  for (let j = Math.max(0, Math.ceil(y)); j < Math.min(picture.height, Math.floor(y + height)); j += 2) {
    for (let i = Math.max(0, Math.ceil(x)); i < Math.min(picture.width, Math.floor(x + width)); i += 2) {
      const c = picture.at(i, j);
      counts.set(c, (counts.get(c) || 0) + 1);
      total++;
    }
  }
  return { pixels: total - Math.max(0, ...counts.values()), colors: counts.size };
}

// Reads PNG pictures as the browser writes them: 8 bits a sample, not interlaced.

import { inflateSync } from 'node:zlib';

// decode returns { width, height, at(x, y) }, where at returns a color as a number 0xRRGGBB.
export function decode(png) {
  let offset = 8, width = 0, height = 0, samples = 0;
  const parts = [];
  while (offset < png.length) {
    const length = png.readUInt32BE(offset), type = png.toString('latin1', offset + 4, offset + 8);
    const body = png.subarray(offset + 8, offset + 8 + length);
    if (type === 'IHDR') {
      width = body.readUInt32BE(0);
      height = body.readUInt32BE(4);
      samples = { 2: 3, 6: 4 }[body[9]];
      if (body[8] !== 8 || !samples || body[12] !== 0) throw new Error('a PNG of another kind');
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
    at: (x, y) => pixels.readUIntBE(y * stride + x * samples, 3),
  };
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

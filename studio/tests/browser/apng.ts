// Puts screenshots together into one animated PNG: only what changed is stored, and nothing is lost.
import { crc32, deflateSync, inflateSync } from "node:zlib";

/** Pixels of three bytes. */
export type Pixels = { width: number; height: number; data: Uint8Array };
type Rect = { x: number; y: number; width: number; height: number };

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const BYTES = 3;

/** Reads a PNG with 8 bits per channel, as browsers write it. */
export function decode(png: Buffer): Pixels {
  const parts: Buffer[] = [];
  let [width, height, channels] = [0, 0, 0];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const long = png.readUInt32BE(at);
    const kind = png.toString("latin1", at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + long);
    if (kind === "IHDR") {
      [width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)];
      if (body[8] !== 8 || (body[9] !== 2 && body[9] !== 6) || body[12] !== 0) throw new Error("an unusual PNG");
      channels = body[9] === 2 ? 3 : 4;
    } else if (kind === "IDAT") parts.push(body);
    at += long + 12;
  }
  const raw = inflateSync(Buffer.concat(parts));
  const line = width * channels;
  const rows = unfiltered(raw, line, height, channels);
  if (channels === BYTES) return { width, height, data: rows };
  const data = new Uint8Array(width * height * BYTES);
  for (let pixel = 0; pixel < width * height; pixel++) data.set(rows.subarray(pixel * 4, pixel * 4 + BYTES), pixel * BYTES);
  return { width, height, data };
}

function unfiltered(raw: Buffer, line: number, height: number, step: number): Uint8Array {
  const rows = new Uint8Array(line * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (line + 1)]!;
    for (let x = 0; x < line; x++) {
      const left = x >= step ? rows[y * line + x - step]! : 0;
      const up = y > 0 ? rows[(y - 1) * line + x]! : 0;
      const corner = x >= step && y > 0 ? rows[(y - 1) * line + x - step]! : 0;
      rows[y * line + x] = raw[y * (line + 1) + 1 + x]! + predicted(filter, left, up, corner);
    }
  }
  return rows;
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  if (filter !== 4) return 0;
  const [toLeft, toUp, toCorner] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  return toLeft <= toUp && toLeft <= toCorner ? left : toUp <= toCorner ? up : corner;
}

/** One picture above the other; both have the same width. */
export function stacked(upper: Pixels, lower: Pixels): Pixels {
  if (upper.width !== lower.width) throw new Error("the widths differ");
  const data = new Uint8Array(upper.data.length + lower.data.length);
  data.set(upper.data);
  data.set(lower.data, upper.data.length);
  return { width: upper.width, height: upper.height + lower.height, data };
}

/** The smallest rectangle in which two pictures differ. */
export function difference(before: Pixels, after: Pixels): Rect | undefined {
  const line = after.width * BYTES;
  let [top, bottom, left, right] = [-1, -1, after.width, -1];
  for (let y = 0; y < after.height; y++) {
    for (let at = y * line; at < (y + 1) * line; at++) {
      if (before.data[at] === after.data[at]) continue;
      const x = Math.floor((at - y * line) / BYTES);
      if (top < 0) top = y;
      bottom = y;
      left = Math.min(left, x);
      right = Math.max(right, x);
    }
  }
  return top < 0 ? undefined : { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
}

/** The compressed pixels of a rectangle: each line is stored as the difference to the one above. */
function packed(of: Pixels, { x, y, width, height }: Rect): Buffer {
  const line = width * BYTES;
  const raw = Buffer.alloc((line + 1) * height);
  for (let row = 0; row < height; row++) {
    const from = ((y + row) * of.width + x) * BYTES;
    raw[row * (line + 1)] = row === 0 ? 0 : 2;
    for (let at = 0; at < line; at++) raw[row * (line + 1) + 1 + at] = of.data[from + at]! - (row === 0 ? 0 : of.data[from + at - of.width * BYTES]!);
  }
  return deflateSync(raw, { level: 9 });
}

function chunk(kind: string, body: Buffer): Buffer {
  const made = Buffer.alloc(body.length + 12);
  made.writeUInt32BE(body.length, 0);
  made.write(kind, 4, "latin1");
  body.copy(made, 8);
  made.writeUInt32BE(crc32(made.subarray(4, body.length + 8)), body.length + 8);
  return made;
}

function numbers(...given: [value: number, bytes: 1 | 2 | 4][]): Buffer {
  const made = Buffer.alloc(given.reduce((sum, [, bytes]) => sum + bytes, 0));
  let at = 0;
  for (const [value, bytes] of given) at = made.writeUIntBE(value, at, bytes);
  return made;
}

/** The animation of pictures, each shown for its time; it is repeated for ever. */
export function animated(frames: { pixels: Pixels; ms: number }[]): Buffer {
  const shown: { rect: Rect; pixels: Pixels; ms: number }[] = [];
  for (const { pixels, ms } of frames) {
    const last = shown[shown.length - 1];
    const rect = last ? difference(last.pixels, pixels) : { x: 0, y: 0, width: pixels.width, height: pixels.height };
    if (rect) shown.push({ rect, pixels, ms });
    else last!.ms += ms;
  }
  const first = shown[0];
  if (!first) throw new Error("no pictures");
  let turn = 0;
  const parts = shown.flatMap(({ rect, pixels, ms }, at) => {
    const control = numbers([turn++, 4], [rect.width, 4], [rect.height, 4], [rect.x, 4], [rect.y, 4], [Math.min(65_535, Math.round(ms)), 2], [1_000, 2], [0, 1], [0, 1]);
    const data = packed(pixels, rect);
    return [chunk("fcTL", control), at === 0 ? chunk("IDAT", data) : chunk("fdAT", Buffer.concat([numbers([turn++, 4]), data]))];
  });
  const header = numbers([first.pixels.width, 4], [first.pixels.height, 4], [8, 1], [2, 1], [0, 1], [0, 1], [0, 1]);
  return Buffer.concat([SIGNATURE, chunk("IHDR", header), chunk("acTL", numbers([shown.length, 4], [0, 4])), ...parts, chunk("IEND", Buffer.alloc(0))]);
}

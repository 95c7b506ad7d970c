// The animation of the README is put together without loss.
import { expect, test } from "vitest";
import { animated, decode, difference, stacked, type Pixels } from "./browser/apng";

function picture(width: number, height: number, dot?: [number, number]): Pixels {
  const data = new Uint8Array(width * height * 3).map((_, at) => (at * 7) % 251);
  if (dot) data[(dot[1] * width + dot[0]) * 3 + 1]! ^= 0xff;
  return { width, height, data };
}

test("the first picture of an animation is read back as it was", () => {
  const one = picture(17, 9);
  expect(decode(animated([{ pixels: one, ms: 40 }, { pixels: picture(17, 9, [3, 4]), ms: 40 }]))).toEqual(one);
});

test("only what changed is stored, and a picture that stays is shown longer", () => {
  expect(difference(picture(17, 9), picture(17, 9, [3, 4]))).toEqual({ x: 3, y: 4, width: 1, height: 1 });
  const made = animated([picture(17, 9), picture(17, 9), picture(17, 9, [3, 4])].map((pixels) => ({ pixels, ms: 40 })));
  const control = (at: number) => made.subarray(made.indexOf("fcTL", at));
  expect(made.readUInt32BE(made.indexOf("acTL") + 4)).toBe(2);
  expect(control(0).readUInt16BE(24)).toBe(80);
  const second = control(made.indexOf("IDAT"));
  expect([second.readUInt32BE(8), second.readUInt32BE(12), second.readUInt32BE(16), second.readUInt32BE(20)]).toEqual([1, 1, 3, 4]);
});

test("pictures are put above each other", () => {
  expect(stacked(picture(4, 2), picture(4, 3)).height).toBe(5);
  expect(() => stacked(picture(4, 2), picture(5, 2))).toThrow("widths");
});

// Writes a compressed copy of each larger file, so that the binary need not compress.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import type { Plugin } from "vite";

/** Below this size a compressed copy saves nothing. */
const BYTES_MIN = 1024;
const KINDS = /\.(js|css|html|svg)$/;

function walk(folder: string): string[] {
  return readdirSync(folder)
    .sort()
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? walk(path) : [path]));
}

/** Compresses the output after everything was written. */
export function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    enforce: "post",
    writeBundle(options) {
      if (!options.dir) return;
      for (const path of walk(options.dir)) {
        const bytes = readFileSync(path);
        if (!KINDS.test(path) || bytes.length < BYTES_MIN) continue;
        const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
        writeFileSync(path + ".br", brotliCompressSync(bytes, { params }));
      }
    },
  };
}

// Builds the page again and reports where it differs from the committed one.
//
// Compressed copies are compared by content: a newer compressor may produce different bytes.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const kept = join(here, "../crates/tramline-web/assets");
const fresh = mkdtempSync(join(tmpdir(), "studio-"));

function files(folder) {
  const found = new Map();
  const walk = (at) => {
    for (const name of readdirSync(at)) {
      const path = join(at, name);
      if (statSync(path).isDirectory()) walk(path);
      else {
        const bytes = readFileSync(path);
        found.set(relative(folder, path), name.endsWith(".br") ? brotliDecompressSync(bytes) : bytes);
      }
    }
  };
  walk(folder);
  return found;
}

try {
  const env = { ...process.env, STUDIO_OUT: fresh };
  const built = spawnSync("npm", ["run", "--silent", "build", "--", "--logLevel", "warn"], { cwd: here, env, stdio: "inherit" });
  if (built.status !== 0) process.exit(1);
  const [old, now] = [files(kept), files(fresh)];
  const names = [...new Set([...old.keys(), ...now.keys()])].sort();
  const differ = names.filter((name) => !old.get(name) || !now.get(name) || !old.get(name).equals(now.get(name)));
  for (const name of differ) {
    const how = !old.has(name) ? "is not there" : !now.has(name) ? "is left over" : "differs";
    console.error(`crates/tramline-web/assets/${name} ${how}`);
  }
  if (differ.length) {
    console.error("the committed page is not what its source gives: `cargo xtask studio` builds it");
    process.exitCode = 1;
  }
} finally {
  rmSync(fresh, { recursive: true, force: true });
}

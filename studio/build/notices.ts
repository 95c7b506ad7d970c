// Collects the licences of bundled packages into one text file next to the page.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

const NAME = "THIRD-PARTY.txt";

/** The folder of the package that a module belongs to, if it is third-party. */
function packageOf(module: string): string | undefined {
  const path = module.replace(/^\0/, "").split("?")[0] ?? "";
  const at = path.lastIndexOf("/node_modules/");
  if (at < 0) return undefined;
  const rest = path.slice(at + "/node_modules/".length).split("/");
  const name = rest[0]?.startsWith("@") ? rest.slice(0, 2).join("/") : rest[0];
  return name && path.slice(0, at) + "/node_modules/" + name;
}

function notice(folder: string): string {
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).sort().find((name) => /^licen[cs]e/i.test(name));
  const text = file ? readFileSync(join(folder, file), "utf8").trim() : "(the package holds no licence text)";
  return `${about.name} ${about.version}: ${about.license}\n\n${text.replace(/\r\n/g, "\n")}\n`;
}

/** Records every bundled package, and writes their notices. */
export function notices(): Plugin {
  const folders = new Map<string, string>();
  const moduleParsed = (module: { id: string }) => {
    const folder = packageOf(module.id);
    if (folder && existsSync(join(folder, "package.json"))) {
      folders.set(folder.slice(folder.lastIndexOf("/node_modules/")), folder);
    }
  };
  return {
    name: "notices",
    apply: "build",
    moduleParsed,
    generateBundle() {
      const sorted = [...folders].sort(([a], [b]) => (a < b ? -1 : 1));
      const source = sorted.map(([, folder]) => notice(folder)).join("\n" + "-".repeat(80) + "\n\n");
      this.emitFile({ type: "asset", fileName: NAME, source });
    },
  };
}

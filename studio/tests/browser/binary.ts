// Starts the real binary: `tramline studio` on a free port, with its own documents and data.
import { spawn, type ChildProcess } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Json, Run } from "../../src/api/types";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
export const BINARY = process.env["TRAMLINE_BIN"] ?? join(ROOT, "target/debug/tramline");
/** A busy machine needs a while; a server that never responds is a failure. */
const START_MS_MAX = 30_000;
/** A scriptable server, for documents that call one. */
const UNRULY = join(dirname(BINARY), "unruly");

/** The credentials of studios that were given no token, by origin: a URL fragment, as typed by hand. */
export const KEYS = new Map<string, string>();

export type Studio = {
  /** The URL of the page. */
  url: string;
  /** The studio's key as a URL fragment, as typed by hand: whoever opens it answers as a person. */
  key: string;
  /** The folder with the copies of the documents. */
  folder: string;
  /** Sends one request to the API. */
  ask: <R = Json>(method: string, path: string, body?: Json) => Promise<R>;
  /** Starts a run without the page. */
  start: (tool: string, given: { [name: string]: Json }) => Promise<string>;
  /** Waits until a run has the given status. */
  until: (run: string, status: string) => Promise<Run>;
  stop: () => Promise<void>;
};

/** Starts the studio with copies of documents, whose paths are relative to the repository. With a token it accepts that too. */
export async function studio(documents: string[], token?: string): Promise<Studio> {
  const { own, given } = await startStudio(documents, token);
  return given(await exchanged(own));
}

/** The same for tests of the URL itself: `own` is what the operator opens, and `given` accepts the key from it. */
export async function startStudio(documents: string[], token?: string): Promise<{ own: string; given: (key: string) => Studio; stop: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "studio-test-"));
  const copies = documents.map((path) => {
    cpSync(join(ROOT, path), join(folder, basename(path)));
    return basename(path);
  });
  mkdirSync(join(folder, "data"));
  const child = spawn(BINARY, ["--data-dir", join(folder, "data"), "--json", "studio", "--no-open", "--trust", ...copies], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, RUST_BACKTRACE: "0", UNRULY, ...(token ? { TRAMLINE_TOKEN: token } : {}) },
  });
  const own = await address(child);
  const stop = () => ended(child, folder);
  return { own, stop, given: (key) => served(own, key, folder, stop, token) };
}

/** The key for the one-time code in a URL. */
async function exchanged(own: string): Promise<string> {
  const body = JSON.stringify({ code: new URL(own).hash.replace("#code=", "") });
  const reply = await fetch(new URL("/api/studio/key", own), { method: "POST", headers: { "content-type": "application/json" }, body });
  if (!reply.ok) throw new Error(`${own}: ${reply.status} ${await reply.text()}`);
  return ((await reply.json()) as { key: string }).key;
}

function served(own: string, shownKey: string, folder: string, stop: () => Promise<void>, token?: string): Studio {
  const url = own.split("#")[0]!;
  const key = `#token=${shownKey}`;
  if (!token) KEYS.set(new URL(url).origin, key);
  const shown = token ?? shownKey;
  const ask = async <R,>(method: string, path: string, body?: Json): Promise<R> => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${shown}` };
    const reply = await fetch(new URL(path, url), { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${await reply.text()}`);
    return (await reply.json()) as R;
  };
  return {
    url,
    key,
    folder,
    ask,
    start: async (tool, given) => (await ask<{ run_id: string }>("POST", `/api/tools/${tool}/runs`, given)).run_id,
    until: async (run, status) => {
      for (const end = Date.now() + START_MS_MAX; ; ) {
        const now = await ask<Run>("GET", `/api/runs/${run}`);
        if (now.status === status) return now;
        if (Date.now() > end) throw new Error(`${run} is ${now.status}, not ${status}`);
        await new Promise((done) => setTimeout(done, 50));
      }
    },
    stop,
  };
}

/** The operator's URL, as printed. */
function address(child: ChildProcess): Promise<string> {
  const said: string[] = [];
  return new Promise((done, failed) => {
    const give = (why: string) => failed(new Error(`${BINARY}: ${why}\n${said.join("\n")}`));
    const timer = setTimeout(() => give("did not say where it serves"), START_MS_MAX);
    child.on("error", (error) => give(error.message));
    child.on("exit", (code) => give(`ended with ${code}`));
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue;
      createInterface(stream).on("line", (line) => {
        said.push(line);
        const found = /http:\/\/[\w.:[\]]+\/studio#code=[0-9a-f]+/.exec(line);
        if (!found) return;
        clearTimeout(timer);
        done(found[0]);
      });
    }
  });
}

async function ended(child: ChildProcess, folder: string): Promise<void> {
  child.removeAllListeners("exit");
  if (child.exitCode === null) {
    const over = new Promise((done) => child.once("exit", done));
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), 5_000);
    await over;
    clearTimeout(late);
  }
  rmSync(folder, { recursive: true, force: true });
}

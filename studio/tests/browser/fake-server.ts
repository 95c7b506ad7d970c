// Serves the built page with a fake API, for data that is too large to create by real runs.
import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LayoutRequest } from "../../src/graph/layout-types";
import { layered } from "../layered";

export const ASSETS = fileURLToPath(new URL("../../../crates/tramline-web/assets", import.meta.url));

const KINDS: { [end: string]: string } = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml", txt: "text/plain" };

/** The built file for a path: every route of the page is the same file. */
export function fileOf(path: string): string {
  const inside = path.replace(/^\/studio\/?/, "");
  return inside && existsSync(join(ASSETS, inside)) ? inside : "index.html";
}

/** The body of a request as JSON. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return JSON.parse(Buffer.concat(parts).toString("utf8"));
}

type Answer = (path: string, query: URLSearchParams) => unknown;

/** Serves the page and answers its requests from `answer`; unknown requests get 404. */
export async function serve(answer: Answer): Promise<{ url: string; close: () => void }> {
  const server: Server = createServer(async (request, response) => {
    const at = new URL(request.url ?? "/", "http://localhost");
    if (at.pathname.startsWith("/api/")) {
      const said = at.pathname === "/api/layout" ? layered((await bodyOf(request)) as LayoutRequest) : answer(at.pathname, at.searchParams);
      response.writeHead(said === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(said ?? { error: { kind: "not_found", message: `nothing at ${at.pathname}` } }));
      return;
    }
    const name = fileOf(at.pathname);
    response.writeHead(200, { "content-type": KINDS[name.split(".").pop() ?? ""] ?? "application/octet-stream" });
    response.end(readFileSync(join(ASSETS, name)));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/studio`, close: () => server.close() };
}

// An agent over stdio, next to the studio and on the same data.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Json } from "../../src/api/types";
import { BINARY, ROOT } from "./binary";

export type Agent = {
  /** Calls a tool and returns its reply as data. */
  call: (tool: string, given: { [name: string]: Json }) => Promise<{ [name: string]: Json }>;
  stop: () => Promise<void>;
};

type Reply = { id?: number; result?: { structuredContent?: { [name: string]: Json } }; error?: { message: string } };

/** Starts a server with these toolsets and initializes the connection. */
export async function agent(data: string, toolsets: string): Promise<Agent> {
  const words = ["--data-dir", data, "serve", "--toolsets", toolsets, "--root", ROOT];
  const child = spawn(BINARY, words, { cwd: ROOT, stdio: ["pipe", "pipe", "ignore"], env: { ...process.env, RUST_BACKTRACE: "0" } });
  const waiting = new Map<number, { done: (reply: Reply) => void; failed: (wrong: Error) => void }>();
  child.on("exit", (code) => waiting.forEach(({ failed }) => failed(new Error(`the agent's server ended with ${code}`))));
  createInterface(child.stdout).on("line", (line) => {
    const reply = JSON.parse(line) as Reply;
    if (reply.id !== undefined) waiting.get(reply.id)?.done(reply);
  });
  const send = (message: { [name: string]: Json }) => child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  let turn = 0;
  const ask = (method: string, params: Json) =>
    new Promise<Reply>((done, failed) => {
      waiting.set(++turn, { done, failed });
      send({ id: turn, method, params });
    });
  await ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "studio-test", version: "1" } });
  send({ method: "notifications/initialized" });
  return {
    call: async (tool, given) => {
      const { result, error } = await ask("tools/call", { name: tool, arguments: given });
      if (error) throw new Error(error.message);
      return result?.structuredContent ?? {};
    },
    stop: async () => {
      const over = new Promise((done) => child.once("exit", done));
      waiting.clear();
      child.stdin.end();
      const late = setTimeout(() => child.kill("SIGKILL"), 5_000);
      await over;
      clearTimeout(late);
    },
  };
}

// A run as a command, a request or an MCP call that does the same again. Pure.
import type { Json } from "../api/types";

/** A text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`;
}

export function asCommand(workflow: string, input: Json, file: string | undefined): string {
  return ["tramline", "run", file ?? "FILE", workflow, "--input", JSON.stringify(input)].map(shellWord).join(" ");
}

export function asCurl(workflow: string, input: Json, origin: string): string {
  const url = `${origin}/api/tools/${encodeURIComponent(workflow)}/runs`;
  return `curl -s -H "authorization: Bearer $TRAMLINE_TOKEN" -H 'content-type: application/json' -d ${shellWord(JSON.stringify({ input }))} ${shellWord(url)}`;
}

export function asMcpCall(workflow: string, input: Json): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: workflow, arguments: input } }, null, 2);
}

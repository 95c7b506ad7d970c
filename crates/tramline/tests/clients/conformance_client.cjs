// The client of the protocol's conformance suite: runs tramline as the client of the server whose URL is the last
// argument, in the way that the scenario in the environment asks for. Prints what each command said.

const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const url = process.argv[process.argv.length - 1];
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT || "{}");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tramline-conformance-"));
const config = path.join(folder, "mcp.json");
fs.writeFileSync(config, JSON.stringify({ mcpServers: { suite: { type: "http", url } } }));

function tramline(...words) {
  const args = [...words, "--mcp-config", config, "--data-dir", path.join(folder, "data"), "--json"];
  const done = spawnSync(process.env.TRAMLINE_BIN, args, { cwd: folder, encoding: "utf8" });
  process.stdout.write(`${words.join(" ")}: ${done.status}\n${done.stdout}\n${done.stderr}\n`);
  try {
    return JSON.parse(done.stdout);
  } catch {
    return {};
  }
}

const list = () => tramline("registry", "refresh", "--trust");
const call = (tool, args) => tramline("registry", "run", `suite:${tool}`, "--input", JSON.stringify(args));

/** The names of the suite's tools that the registry shows. */
function tools() {
  const listed = JSON.stringify(list());
  const found = [...listed.matchAll(/"suite:([^"]+)"/g)].map((match) => match[1]);
  return [...new Set(found)];
}

const scenarios = {
  initialize: list,
  "request-metadata": () => tools().forEach((tool) => call(tool, {})),
  "json-schema-ref-no-deref": list,
  tools_call: () => call("add_numbers", { a: 2, b: 3 }),
  "sse-retry": () => call("test_reconnection", {}),
  "http-standard-headers": () => tools().forEach((tool) => call(tool, {})),
  "http-custom-headers": () => {
    list();
    // A parameter that is null is left out: its schema does not allow null.
    const given = (args) => Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
    context.toolCalls.forEach(({ name, arguments: args }) => call(name, given(args)));
  },
  "json-schema-2020-12-preservation": () => {
    const shown = tramline("registry", "show", "suite:json_schema_2020_12_tool", "--trust");
    call("json_schema_echo", { schema: shown.nodes[0].inputs });
  },
  "http-invalid-tool-headers": () => tools().forEach((tool) => call(tool, { region: "x" })),
};

const run = scenarios[scenario];
if (run === undefined) throw new Error(`no such scenario here: ${scenario}`);
run();
fs.rmSync(folder, { recursive: true });

// Runs a workflow that lasts longer than the time limit of a call, through the first TypeScript SDK: started with
// run_start, and called directly.

const { installed } = require("./talk.cjs");
const { Client } = installed("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = installed("@modelcontextprotocol/sdk/client/stdio.js");

const { command, args, limit_ms: timeout } = JSON.parse(process.argv[2]);

async function main() {
  const client = new Client({ name: "patient", version: "1.0.0" }, { capabilities: {} });
  await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
  const call = async (name, given) => {
    const result = await client.callTool({ name, arguments: given }, undefined, { timeout });
    return result.structuredContent;
  };
  const ended = async (run) => {
    for (let waits = 1; ; waits += 1) {
      const state = await call("run_await", { run_id: run });
      if (state.status !== "running") return { status: state.status, result: state.result, waits };
    }
  };
  const run = await call("run_start", { workflow: "slow", arguments: { n: 1 }, key: "patient" });
  const started = await ended(run.run_id);
  const handed = await call("slow", { n: 1 });
  const called = await ended(handed.run_id);
  await client.close();
  process.stdout.write(JSON.stringify({ started, called }));
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});

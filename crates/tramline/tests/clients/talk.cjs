// What the two TypeScript SDKs have in common: calls are made one by one and what came back is printed.
//
// The argument is a JSON list of talks: {"stdio": {"command", "args", "cwd"}} or {"http": URL, "token"}, with "mode" and "calls".
// With "decide" the user who is asked decides so; with "fill" they fill in a form with these fields.

const { createRequire } = require("node:module");
const path = require("node:path");

/** Finds packages where the tests' tools are installed. */
exports.installed = createRequire(path.join(process.env.TRAMLINE_TOOLS, "package.json"));

/** The options of an HTTP transport. */
const http = (spec) => (spec.token ? { requestInit: { headers: { Authorization: `Bearer ${spec.token}` } } } : {});

/** What a client says of itself. */
exports.can = (spec) => (spec.decide || spec.fill ? { capabilities: { elicitation: { form: {} } } } : {});

/** What the user answers. */
exports.answer = (spec) => async () => ({ action: "accept", content: spec.fill ?? { decision: spec.decide } });

/**
 * Connects, lists and calls.
 *
 * `kit` has the SDK's own `client(spec)`, `Stdio`, `Http`, and `protocol(client)`; `callTool(client, params, options)`
 * where the SDKs differ.
 */
const one = async (kit, spec) => {
  const transport = spec.stdio
    ? new kit.Stdio({ ...spec.stdio, stderr: "ignore" })
    : new kit.Http(new URL(spec.http), http(spec));
  const client = kit.client(spec);
  await client.connect(transport);
  const { tools } = await client.listTools();
  const results = [];
  for (const wanted of spec.calls) {
    const progress = [];
    const onprogress = (told) => progress.push({ done: told.progress, message: told.message });
    const params = { name: wanted.tool, arguments: wanted.arguments };
    const result = await kit.callTool(client, params, { onprogress });
    results.push({
      is_error: result.isError ?? false,
      structured: result.structuredContent,
      text: result.content.map((block) => block.text),
      progress,
    });
  }
  const protocol = kit.protocol(client, transport);
  await client.close();
  return { protocol, tools, results };
};

exports.talk = async (kit) => {
  const said = [];
  for (const spec of JSON.parse(process.argv[2])) said.push(await one(kit, spec));
  console.log(JSON.stringify(said));
};

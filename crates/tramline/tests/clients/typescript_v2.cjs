// Talks to a server through the second TypeScript SDK, which knows the protocol of both eras.

const { answer, can, installed, talk } = require("./talk.cjs");
const { Client, StreamableHTTPClientTransport } = installed("@modelcontextprotocol/client");
const { StdioClientTransport } = installed("@modelcontextprotocol/client/stdio");

talk({
  client: (spec) => {
    const mode = spec.mode === "legacy" ? "legacy" : { pin: spec.mode };
    const options = { ...can(spec), versionNegotiation: { mode } };
    const client = new Client({ name: "typescript-v2", version: "1.0.0" }, options);
    if (spec.decide || spec.fill) client.setRequestHandler("elicitation/create", answer(spec));
    return client;
  },
  Stdio: StdioClientTransport,
  Http: StreamableHTTPClientTransport,
  callTool: (client, params, options) => client.callTool(params, options),
  protocol: (client) => client.getNegotiatedProtocolVersion(),
});

// Talks to a server through the first TypeScript SDK, which knows the protocol up to 2025-11-25.

const { answer, can, installed, talk } = require("./talk.cjs");
const { Client } = installed("@modelcontextprotocol/sdk/client/index.js");
const { ElicitRequestSchema } = installed("@modelcontextprotocol/sdk/types.js");
const { StdioClientTransport } = installed("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = installed("@modelcontextprotocol/sdk/client/streamableHttp.js");

/** The transport that remembers which protocol was agreed on. */
const noting = (Base) =>
  class extends Base {
    setProtocolVersion(version) {
      this.agreed = version;
      super.setProtocolVersion?.(version);
    }
  };

talk({
  client: (spec) => {
    const client = new Client({ name: "typescript-v1", version: "1.0.0" }, can(spec));
    if (spec.decide || spec.fill) client.setRequestHandler(ElicitRequestSchema, answer(spec));
    return client;
  },
  Stdio: noting(StdioClientTransport),
  Http: noting(StreamableHTTPClientTransport),
  callTool: (client, params, options) => client.callTool(params, undefined, options),
  protocol: (_, transport) => transport.agreed,
});

// Talks to a server through the second TypeScript SDK, which knows the protocol of both eras.

const { installed, talk } = require("./talk.cjs");
const { Client, StreamableHTTPClientTransport } = installed("@modelcontextprotocol/client");
const { StdioClientTransport } = installed("@modelcontextprotocol/client/stdio");

talk({
  client: ({ mode }) =>
    new Client(
      { name: "typescript-v2", version: "1.0.0" },
      { versionNegotiation: { mode: mode === "legacy" ? "legacy" : { pin: mode } } },
    ),
  Stdio: StdioClientTransport,
  Http: StreamableHTTPClientTransport,
  callTool: (client, params, options) => client.callTool(params, options),
  protocol: (client) => client.getNegotiatedProtocolVersion(),
});

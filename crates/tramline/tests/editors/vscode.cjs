// Runs the VS Code extension with the editor's two modules replaced, and prints what it would start.
"use strict";

const Module = require("node:module");
const load = Module._load;
const values = { path: "/opt/tramline", config: process.argv[3], files: ["**/*.sop.md"] };
const started = {};
const replaced = {
  vscode: {
    workspace: { getConfiguration: () => ({ get: (key) => values[key] }) },
    window: { showErrorMessage: (message) => { started.message = message; } },
  },
  "vscode-languageclient/node": {
    LanguageClient: class {
      constructor(id, _name, server, options) {
        Object.assign(started, { id, server, options });
      }
      async start() {
        throw new Error("spawn ENOENT");
      }
      async stop() {
        started.stopped = true;
      }
    },
  },
};
Module._load = (name, ...rest) => replaced[name] ?? load(name, ...rest);
const extension = require(process.argv[2]);
extension
  .activate()
  .then(() => extension.deactivate())
  .then(() => console.log(JSON.stringify(started)));

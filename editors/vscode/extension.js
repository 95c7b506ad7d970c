// Starts `tramline lsp` for the documents that the settings name. Everything else is in the server.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

/** The command of the server, from the settings. */
function server(settings) {
  const config = settings.get("config");
  return {
    command: settings.get("path") || "tramline",
    args: config ? ["lsp", "--config", config] : ["lsp"],
  };
}

/** Which documents the server sees. */
function documents(settings) {
  return settings.get("files").map((pattern) => ({ scheme: "file", pattern }));
}

async function activate() {
  const settings = vscode.workspace.getConfiguration("tramline");
  const options = { documentSelector: documents(settings) };
  client = new LanguageClient("tramline", "Tramline", server(settings), options);
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `Tramline cannot be started (${error.message}). Install it, or set tramline.path in the user settings.`,
    );
  }
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };

#!/usr/bin/env node
// Starts the binary of the platform package with the same arguments, streams, signals and exit code.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

/** The platform packages, by `process.platform` and `process.arch`. */
const PACKAGES = { "linux x64": "tramline-linux-x64" };

function fail(message) {
  process.stderr.write(`tramline: ${message}\n`);
  process.exit(1);
}

function binary() {
  const platform = `${process.platform} ${process.arch}`;
  const name = PACKAGES[platform];
  if (name === undefined) {
    fail(`there is no package for ${platform}; build from source with cargo instead`);
  }
  try {
    return require.resolve(`${name}/bin/tramline`);
  } catch {
    return fail(`the package ${name} is missing; install again without --omit=optional or --no-optional`);
  }
}

const child = spawn(binary(), process.argv.slice(2), { stdio: "inherit" });

// A terminal sends these to the whole process group: to forward them would send them twice.
const fromTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
for (const signal of ["SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM", "SIGUSR2"]) {
  const isSentToGroup = ["SIGINT", "SIGQUIT"].includes(signal) && fromTerminal;
  process.on(signal, () => {
    if (!isSentToGroup) child.kill(signal);
  });
}

child.on("error", (error) => fail(`cannot start the binary: ${error.message}`));
child.on("exit", (code, signal) => {
  process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
});

//! The inspector's command line, which is started for each request.

use super::{TOKEN, TestedServer, calls, check, output, serving, serving_http};
use crate::test_servers::{installed, node};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str =
    "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";

struct Inspector {
    node: PathBuf,
    program: PathBuf,
}

impl Inspector {
    /// The result of one request.
    fn ask(&self, server: &TestedServer<'_>, era: &str, words: &[&str]) -> Value {
        let mut command = Command::new(&self.node);
        command.arg(&self.program).arg("--cli");
        match server {
            TestedServer::Stdio(data) => {
                let serve = serving(data);
                command.arg(serve.get_program()).args(serve.get_args());
            }
            TestedServer::Http(url) => {
                let token = format!("Authorization: Bearer {TOKEN}");
                command.args([url, "--transport", "http", "--header", &token]);
            }
        }
        command.args(["--format", "json", "--quiet", "--protocol-era", era]);
        output(command.args(words))["result"].clone()
    }

    fn call(&self, server: &TestedServer<'_>, era: &str, call: &Value) -> Value {
        let arguments = call["arguments"].to_string();
        let tool = call["tool"].as_str().unwrap();
        let words = ["--method", "tools/call", "--tool-name", tool];
        let words = [&words[..], &["--tool-args-json", &arguments]].concat();
        let result = self.ask(server, era, &words);
        let content = result["content"].as_array().unwrap();
        let text: Vec<_> = content.iter().map(|block| &block["text"]).collect();
        let structured = &result["structuredContent"];
        json!({"is_error": result["isError"], "structured": structured, "text": text})
    }

    /// Everything that every client does.
    fn talk(&self, server: &TestedServer<'_>, era: &str) -> Value {
        let calls = calls();
        let calls = calls.as_array().unwrap().iter();
        let results: Vec<_> = calls.map(|call| self.call(server, era, call)).collect();
        let listed = self.ask(server, era, &["--method", "tools/list"]);
        json!({"tools": listed["tools"], "results": results})
    }
}

/// Runs the inspector in an era.
fn talks(era: &str) {
    let (Some(node), Some(program)) = (node(), installed(PROGRAM)) else {
        return;
    };
    let inspector = Inspector { node, program };
    let data = tempfile::tempdir().unwrap();
    let folder: &Path = data.path();
    let http = serving_http(folder);
    check(&inspector.talk(&TestedServer::Http(&http.url()), era));
    check(&inspector.talk(&TestedServer::Stdio(folder), era));
}

#[test]
fn the_inspector_in_the_era_of_2025() {
    talks("legacy");
}

#[test]
fn the_inspector_in_the_era_of_2026() {
    talks("modern");
}

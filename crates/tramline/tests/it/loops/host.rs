//! `tramline serve` with servers that people use and a model behind HTTP, as an agent meets it.

use super::stub::{Says, Stub};
use crate::served::{Talk, installed, serve};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Stdio;

/// A folder, and servers that reach it: the protocol's own `everything` and `files`.
pub(crate) struct Host {
    _folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

impl Host {
    /// Nothing where the servers are not installed.
    pub(crate) fn new() -> Option<Self> {
        let program = |name: &str| installed(&format!("node_modules/.bin/mcp-server-{name}"));
        let (everything, files) = (program("everything")?, program("filesystem")?);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let servers = json!({"mcpServers": {"all": {"command": everything, "args": ["stdio"]},
            "files": {"command": files, "args": [path]}}});
        std::fs::write(path.join("mcp.json"), servers.to_string()).unwrap();
        let _folder = folder;
        Some(Self { _folder, path })
    }

    /// A client of a server over it. Another one after it finds the same data.
    pub(crate) fn serve(&self, model: Option<&str>) -> Talk {
        let config = self.path.join("tramline.yaml");
        let model = model.map_or_else(String::new, |model| format!("model: {model}\n"));
        std::fs::write(&config, format!("{model}mcp_config: mcp.json\n")).unwrap();
        let mut command = serve(&[], &self.path.join("data"));
        command.args(["--toolsets", "control,loop,library"]);
        command.args(["--root", ".", "--config"]);
        let child = command
            .arg(&config)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Talk::start(child)
    }

    /// What `run_loop` answers where the model says this, and what the model heard.
    pub(crate) fn told(&self, script: Vec<Says>, mut request: Value) -> (Value, Vec<String>) {
        let stub = Stub::start(script);
        let model = format!("{{ name: m, url: '{}', timeout: 4s }}", stub.url);
        let mut client = self.serve(Some(&model));
        request["messages"] = json!([{"role": "user", "content": "wake everybody"}]);
        let told = client.call("run_loop", &request);
        client.close();
        (told["structuredContent"].clone(), stub.heard())
    }
}

/// The plan as a model says it.
pub(crate) fn plan(steps: &Value) -> Says {
    Says::Stream(json!({"plan": steps}).to_string())
}

//! `tramline serve` with servers that people use and a model behind HTTP, as an agent meets it.

use super::stub::{StubModel, StubReply};
use crate::test_servers::{StdioClient, installed, serve};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Stdio;

/// A folder, and servers that reach it: the protocol's own `everything` and `files`.
pub(crate) struct Host {
    _folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

impl Host {
    /// `None` if the servers are not installed.
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

    /// A client of a server on it. A later one finds the same data.
    pub(crate) fn serve(&self, model: Option<&str>) -> StdioClient {
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
        StdioClient::start(child)
    }

    /// The reply of `run_loop` if the model says this, and the model's requests.
    pub(crate) fn told(&self, script: Vec<StubReply>, mut request: Value) -> (Value, Vec<String>) {
        let stub = StubModel::start(script);
        let model = format!("{{ name: m, url: '{}', timeout: 4s }}", stub.url);
        let mut client = self.serve(Some(&model));
        request["messages"] = json!([{"role": "user", "content": "wake everybody"}]);
        let told = client.call("run_loop", &request);
        client.close();
        (told["structuredContent"].clone(), stub.requests())
    }
}

/// The plan as a model writes it.
pub(crate) fn plan(steps: &Value) -> StubReply {
    StubReply::Stream(json!({"plan": steps}).to_string())
}

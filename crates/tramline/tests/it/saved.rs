//! The library and the registry for an agent: from a request to a workflow that is found again,
//! with a real server.

use crate::support::{CommandResult, Tramline};
use crate::test_servers::{StdioClient, installed, node, serve};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

mod hostile;
mod many;

/// A folder that the real server may read, with a configuration that starts it.
pub(crate) struct FilesServer {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) mcp_config: PathBuf,
}

impl FilesServer {
    /// `None` if the server is not installed.
    pub(crate) fn new() -> Option<Self> {
        let node = node()?;
        let server = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
        let server = installed(server)?;
        let dir = tempfile::tempdir().unwrap();
        let docs = dir.path().join("docs");
        std::fs::create_dir(&docs).unwrap();
        for name in ["a.txt", "b.txt", "c.txt"] {
            std::fs::write(docs.join(name), format!("this is {name}\n")).unwrap();
        }
        let mcp_config = dir.path().join("mcp.json");
        let config = json!({"mcpServers": {"fs": {"command": node, "args": [server, docs]}}});
        std::fs::write(&mcp_config, config.to_string()).unwrap();
        Some(Self { dir, mcp_config })
    }

    pub(crate) fn docs(&self) -> PathBuf {
        self.dir.path().join("docs").canonicalize().unwrap()
    }

    /// A server with the library toolset on this folder.
    pub(crate) fn agent(&self, data: &Path, more: &[&str]) -> StdioClient {
        let mut command = serve(&[], data);
        command
            .args(["--toolsets", "library,graphs", "--root"])
            .arg(self.dir.path())
            .arg("--mcp-config")
            .arg(&self.mcp_config)
            .args(more);
        StdioClient::start(piped(&mut command))
    }
}

pub(crate) fn piped(command: &mut std::process::Command) -> Child {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The reply of a library tool.
pub(crate) fn said(talk: &mut StdioClient, tool: &str, arguments: Value) -> Value {
    talk.call(tool, &arguments)["structuredContent"].clone()
}

/// A workflow that counts the lines of a listing of the real server.
fn counting() -> String {
    "version: '1.0'
server: { name: counting, version: '1' }
tools:
  - name: count_entries
    description: Counts what is in a directory.
    inputSchema:
      type: object
      properties: { directory: { type: string } }
      required: [directory]
    nodes:
      - { id: entry, type: entry, next: list }
      - { id: list, type: mcp, server: fs, tool: list_directory, args: { path: $.entry.directory }, next: count }
      - { id: count, type: transform, transform: { expr: '{\"count\": $count($split($string(list.content), \"\\n\"))}' }, next: exit }
      - { id: exit, type: exit }
"
    .to_owned()
}

#[test]
fn from_a_wish_to_a_workflow_that_is_found_again() {
    let Some(files) = FilesServer::new() else {
        return;
    };
    let data = tempfile::tempdir().unwrap();
    let mut talk = files.agent(data.path(), &[]);
    let wish = "count how many entries a directory has";

    let none = said(&mut talk, "workflow_discover", json!({"query": wish}));
    assert_eq!(none["data"]["matches"], json!([]), "{none}");
    let nodes = said(
        &mut talk,
        "registry_discover",
        json!({"task": "list the entries of a directory"}),
    );
    let types: Vec<_> = nodes["data"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| &node["node_type"])
        .collect();
    assert!(types.contains(&&json!("fs:list_directory")), "{types:?}");
    let described = said(
        &mut talk,
        "registry_describe",
        json!({"nodes": ["mcp-fs-list_directory"]}),
    );
    assert_eq!(
        described["data"]["nodes"][0]["inputs"]["required"],
        json!(["path"]),
        "{described}"
    );
    let tried = said(
        &mut talk,
        "registry_run",
        json!({"node_type": "fs:list_directory", "parameters": {"path": files.docs()}}),
    );
    let structure = tried["data"]["structure"].as_array().unwrap();
    let content = structure
        .iter()
        .find(|path| path["path"] == "content")
        .unwrap();
    assert_eq!(content["type"], "string", "{tried}");

    let flawed = counting()
        .replace("tool: list_directory", "tool: list_directry")
        .replace("next: count", "next: conut")
        .replace("$string(list.content)", "$string(list.content");
    let told = said(&mut talk, "workflow_validate", json!({"workflow": flawed}));
    let codes: Vec<_> = told["data"]["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["code"].as_str().unwrap())
        .collect();
    for code in ["T0017", "T0008", "T0014"] {
        assert!(codes.contains(&code), "{code}: {told}");
    }
    let sound = said(
        &mut talk,
        "workflow_validate",
        json!({"workflow": counting()}),
    );
    assert_eq!(sound["data"]["valid"], true, "{sound}");

    let run = json!({"workflow": counting(), "parameters": {"directory": files.docs()}});
    let done = said(&mut talk, "workflow_execute", run);
    assert_eq!(done["data"]["outputs"], json!({"count": 3}), "{done}");
    let file = files.dir.path().join("counting.yaml");
    std::fs::write(&file, counting()).unwrap();
    let save = json!({"workflow_file": file, "name": "count-entries", "description": wish});
    let saved = said(&mut talk, "workflow_save", save);
    assert_eq!(saved["success"], true, "{saved}");
    let found = said(&mut talk, "workflow_discover", json!({"query": wish}));
    let first = &found["data"]["matches"][0];
    assert_eq!(first["name"], "count-entries", "{found}");
    assert!(first["confidence"].as_f64().unwrap() >= 0.95, "{found}");
    talk.close();

    // Another process has it too, and lists the server's tools without starting it.
    let mut talk = files.agent(data.path(), &[]);
    let run = json!({"workflow": "count-entries", "parameters": {"directory": files.docs()}});
    let done = said(&mut talk, "workflow_execute", run);
    assert_eq!(done["data"]["outputs"], json!({"count": 3}), "{done}");
    let found = said(&mut talk, "workflow_discover", json!({"query": wish}));
    assert!(
        found["data"]["matches"][0]["confidence"].as_f64().unwrap() >= 0.95,
        "{found}"
    );
    talk.close();
}

#[test]
fn saved_workflows_are_tools_and_change_while_they_are_served() {
    let Some(files) = FilesServer::new() else {
        return;
    };
    let data = tempfile::tempdir().unwrap();
    let mut talk = files.agent(data.path(), &["--library"]);
    let before = talk.tools();
    assert!(!before.contains(&"count-entries".to_owned()));
    let save = json!({"workflow_file": counting(), "name": "count-entries", "description": "d"});
    assert_eq!(said(&mut talk, "workflow_save", save)["success"], true);
    let began = std::time::Instant::now();
    while !talk.tools().contains(&"count-entries".to_owned()) {
        assert!(began.elapsed().as_secs() < 20, "not offered");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let done = talk.call("count-entries", &json!({"directory": files.docs()}));
    assert_eq!(done["structuredContent"], json!({"count": 3}), "{done}");
    talk.close();
}

#[test]
fn a_cold_start_lists_without_starting_servers() {
    let Some(files) = FilesServer::new() else {
        return;
    };
    let tramline = Tramline::new();
    let config = files.mcp_config.to_str().unwrap();
    let first = tramline.run(&["registry", "list", "--mcp-config", config, "--json"]);
    let listed = |done: &CommandResult| serde_json::from_str::<Value>(&done.out()).unwrap();
    let first = listed(&first);
    assert!(first["count"].as_u64().unwrap() > 10, "{first}");
    // The same configuration, but its program is gone: only the cached list is available.
    let gone = "registry.log";
    let text = std::fs::read_to_string(&files.mcp_config).unwrap();
    let marked = files.dir.path().join(gone);
    let wrapper = files.dir.path().join("node-wrapper.sh");
    let real = text
        .split('"')
        .find(|part| part.ends_with("/bin/node"))
        .unwrap();
    std::fs::write(
        &wrapper,
        format!(
            "#!/bin/sh\necho started >> {}\nexec {real} \"$@\"\n",
            marked.display()
        ),
    )
    .unwrap();
    make_executable(&wrapper);
    std::fs::write(
        &files.mcp_config,
        text.replace(real, wrapper.to_str().unwrap()),
    )
    .unwrap();
    let list = || listed(&tramline.run(&["registry", "list", "--mcp-config", config, "--json"]));
    assert_eq!(list()["count"], first["count"]);
    let starts = || {
        std::fs::read_to_string(&marked)
            .unwrap_or_default()
            .lines()
            .count()
    };
    assert_eq!(starts(), 1, "another configuration is listed again");
    assert_eq!(list()["count"], first["count"]);
    assert_eq!(starts(), 1, "the same one is not");
    tramline.run(&["registry", "refresh", "--mcp-config", config, "--json"]);
    assert_eq!(starts(), 2, "unless a refresh is requested");
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_command_line_saves_lists_shows_and_removes() {
    let tramline = Tramline::new();
    let file = "examples/graphs/file_utils.yaml";
    let save = |more: &[&str]| {
        let words = [
            "library",
            "save",
            file,
            "--name",
            "count-files",
            "--tool",
            "count_files",
        ];
        tramline.run(&[&words[..], more].concat())
    };
    assert_eq!(save(&[]).code(), 0, "{}", save(&[]).err());
    assert_eq!(
        save(&["--json"]).out().trim(),
        r#"{"name":"count-files","version":1,"new":false}"#
    );
    let other = save(&["--description", "another"]);
    assert_eq!(other.code(), 2);
    assert!(other.err().contains("force"), "{}", other.err());
    assert_eq!(save(&["--description", "another", "--force"]).code(), 0);
    let versions = tramline.run(&["library", "versions", "count-files"]);
    // With the header.
    assert_eq!(versions.out().lines().count(), 3, "{}", versions.out());
    let run = tramline.run(&[
        "registry",
        "run",
        "count-files",
        "directory=examples/data",
        "--json",
    ]);
    assert_eq!(run.code(), 0, "{}{}", run.out(), run.err());
    let list = tramline.run(&["library", "list", "another", "--json"]);
    let list: Value = serde_json::from_str(&list.out()).unwrap();
    assert_eq!(list["workflows"][0]["runs"], 1, "{list}");
    let folder = tramline.data.path().join("exported");
    let folder = folder.to_str().unwrap();
    assert_eq!(tramline.run(&["library", "export", folder]).code(), 0);
    assert_eq!(tramline.run(&["library", "rm", "count-files"]).code(), 0);
    let gone = tramline.run(&["library", "show", "count-files"]);
    assert_eq!(gone.code(), 2, "{}", gone.err());
    let back = tramline.run(&["library", "import", folder, "--json"]);
    assert_eq!(
        back.out().trim(),
        r#"{"saved":["count-files"],"same":[],"refused":[]}"#
    );
    let shown = tramline.run(&["library", "show", "count-files"]);
    let text = std::fs::read_to_string(crate::support::root().join(file)).unwrap();
    assert_eq!(shown.out().trim_end(), text.trim_end());
    let search = tramline.run(&["registry", "search", "count", "files"]);
    assert!(
        search.out().contains("workflow:count-files"),
        "{}",
        search.out()
    );
    let show = tramline.run(&["registry", "show", "read-file", "--json"]);
    assert!(show.out().contains("builtin:read-file"), "{}", show.out());
}

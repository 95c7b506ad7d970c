//! Agents and the files that a server is started from: nothing that they write changes what is
//! started.

use crate::support::Tramline;
use crate::test_servers::{Http, StdioClient};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const TOKEN: &str = "0123456789abcdef0123";

/// An operator's project: documents, servers, tokens, a procedure and the data directory.
struct Project {
    place: Tramline,
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self {
            place: Tramline::new(),
            folder: tempfile::tempdir().unwrap(),
        };
        let at = |name: &str| project.at(name);
        std::fs::write(at("graphs.yaml"), project.document(&[])).unwrap();
        std::fs::write(at("mcp.json"), r#"{"mcpServers":{}}"#).unwrap();
        // The agent may approve everything: even then nothing changes what is started.
        std::fs::write(at("tramline.yaml"), "approvals: { agents: all }\n").unwrap();
        std::fs::write(at("tokens"), format!("ann={TOKEN}\n")).unwrap();
        std::fs::write(at("note.txt"), "note").unwrap();
        project
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A document with these servers, each of which leaves a mark, and a tool that calls each.
    fn document(&self, servers: &[&str]) -> String {
        let mut text = String::from("version: '1'\nserver: { name: s, version: '1' }\n");
        if !servers.is_empty() {
            text.push_str("mcpServers:\n");
        }
        for name in servers {
            let mark = self.at(&format!("{name}-started"));
            text.push_str(&format!(
                "  {name}: {{ command: sh, args: [-c, \"touch '{}'; exit 1\"] }}\n",
                mark.display()
            ));
        }
        text.push_str("tools:\n");
        text.push_str(
            "  - name: plain\n    description: d\n    inputSchema: { type: object }\n    nodes:\n\
             \x20     - { id: in, type: entry, next: act }\n\
             \x20     - { id: act, type: transform, transform: { expr: '1' }, next: out }\n\
             \x20     - { id: out, type: exit }\n",
        );
        for name in servers {
            text.push_str(&format!(
                "  - name: go_{name}\n    description: d\n    inputSchema: {{ type: object }}\n    nodes:\n\
                 \x20     - {{ id: in, type: entry, next: act }}\n\
                 \x20     - {{ id: act, type: mcp, server: {name}, tool: echo, args: {{}}, next: out }}\n\
                 \x20     - {{ id: out, type: exit }}\n"
            ));
        }
        text
    }

    /// A document whose tool reads a file.
    fn reading(&self, path: &str) -> String {
        self.document(&[]).replace(
            "{ id: act, type: transform, transform: { expr: '1' }, next: out }",
            &format!(
                "{{ id: act, type: mcp, server: builtin, tool: read-file, args: {{ path: {path} }}, next: out }}"
            ),
        )
    }

    /// `serve` in the project's folder, its data directory inside it.
    fn serve(&self, words: &[&str]) -> (StdioClient, Receiver<String>) {
        let mut command = self.place.command(&["serve", "graphs.yaml"]);
        command
            .args(["--mcp-config", "mcp.json", "--config", "tramline.yaml"])
            .args(words)
            .current_dir(self.folder.path())
            .env("TRAMLINE_DATA_DIR", self.at("data"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child: Child = command.spawn().unwrap();
        let (show, shown) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = show.send(line);
            }
        });
        (StdioClient::start(child), shown)
    }
}

/// The outcome of a workflow with one file tool.
fn tried(talk: &mut StdioClient, tool: &str, params: Value) -> Value {
    let ir = json!({"nodes": [{"id": "a", "type": tool, "params": params}]});
    let told = talk.call("workflow_execute", &json!({ "workflow": ir }));
    let told = told["structuredContent"].clone();
    let text = told.to_string();
    let Some(at) = text.find("chk_") else {
        return told;
    };
    let asked: String = text[at..]
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "_-".contains(*c))
        .collect();
    let answer = json!({"checkpoint_id": asked, "answer": "proceed"});
    talk.call("run_answer", &answer)["structuredContent"].clone()
}

#[test]
fn agents_get_no_directory_that_nobody_named() {
    let project = Project::new();
    std::fs::write(
        project.at("flow.json"),
        r#"{"tasks":[{"id":"a","tool":"builtin:read-file","arguments":{"path":"note.txt"}}]}"#,
    )
    .unwrap();
    for toolsets in [
        "graphs,library,debug",
        "library,sop,debug",
        "library,control,debug",
        "loop,library,debug",
    ] {
        let (mut talk, _) = project.serve(&["--toolsets", toolsets]);
        for (tool, params) in [
            ("write-file", json!({"path": "graphs.yaml", "content": "x"})),
            ("read-file", json!({"path": "note.txt"})),
            ("list-directory", json!({"path": "."})),
        ] {
            let told = tried(&mut talk, tool, params).to_string();
            assert!(told.contains("--root"), "{toolsets} {tool}: {told}");
        }
        // A document is still found where the server was started.
        let valid = talk.call("workflow_validate", &json!({"workflow": "flow.json"}));
        assert_eq!(valid["structuredContent"]["data"]["valid"], true, "{valid}");
    }
    // If agents cannot submit documents, the working directory is the default root.
    std::fs::write(project.at("graphs.yaml"), project.reading("note.txt")).unwrap();
    let (mut talk, _) = project.serve(&[]);
    let read = talk.call("plain", &json!({}));
    assert_eq!(read["structuredContent"]["content"], "note", "{read}");
}

#[test]
fn what_a_server_is_started_from_is_left_alone() {
    let project = Project::new();
    std::fs::create_dir(project.at("sub")).unwrap();
    std::fs::hard_link(project.at("mcp.json"), project.at("sub/hard.json")).unwrap();
    std::fs::write(project.at("server.sh"), "exit 1\n").unwrap();
    std::fs::write(
        project.at("mcp.json"),
        r#"{"mcpServers":{"own":{"command":"sh","args":["server.sh"]}}}"#,
    )
    .unwrap();
    let before = std::fs::read_to_string(project.at("mcp.json")).unwrap();
    let words = ["--toolsets", "graphs,library,debug", "--root", "."];
    let (mut talk, _) = project.serve(&words);
    talk.call(
        "settings_set",
        &json!({"key": "TOKEN", "value": "k7Qp-92xvLmR4-tZw8Bd"}),
    );
    for path in [
        "graphs.yaml",
        "mcp.json",
        "sub/hard.json",
        "tramline.yaml",
        "server.sh",
        "data/tramline.db",
        "data/tramline.db-wal",
        "data/settings.key",
        "data/trusted",
    ] {
        let written = tried(
            &mut talk,
            "write-file",
            json!({"path": path, "content": "x"}),
        );
        let written = written.to_string();
        assert!(
            written.contains("forbidden") || written.contains("T0508"),
            "{path}: {written}"
        );
        assert!(written.contains("file tools"), "{path}: {written}");
    }
    for path in ["data/tramline.db", "data/settings.key"] {
        let read = tried(&mut talk, "read-file", json!({"path": path})).to_string();
        assert!(read.contains("neither read nor change"), "{path}: {read}");
    }
    assert_eq!(
        std::fs::read_to_string(project.at("mcp.json")).unwrap(),
        before
    );
}

#[test]
fn the_configuration_of_mcp_clients_is_left_alone() {
    let project = Project::new();
    std::fs::create_dir_all(project.at(".vscode")).unwrap();
    std::fs::create_dir_all(project.at(".tramline/imports")).unwrap();
    std::fs::write(project.at(".mcp.json"), "{}").unwrap();
    std::fs::write(project.at(".tramline/mcp.json"), "{}").unwrap();
    let words = ["--toolsets", "graphs,library,debug", "--root", "."];
    let (mut talk, _) = project.serve(&words);
    for path in [
        ".mcp.json",
        ".cursor/mcp.json",
        ".vscode/mcp.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        "opencode.json",
        "opencode.jsonc",
        ".zed/settings.json",
        ".continue/mcpServers/other.yaml",
        ".tramline/mcp.json",
        ".tramline/imports/cursor.json",
    ] {
        let file = json!({"path": path, "content": "x"});
        let written = tried(&mut talk, "write-file", file).to_string();
        assert!(written.contains("file tools"), "{path}: {written}");
        let text = std::fs::read_to_string(project.at(path)).unwrap_or_default();
        assert_ne!(text, "x", "{path}");
    }
    // Other files beside them can be written, and they can be read.
    let file = json!({"path": ".vscode/tasks.json", "content": "x"});
    tried(&mut talk, "write-file", file);
    assert!(project.at(".vscode/tasks.json").is_file());
    let read = tried(
        &mut talk,
        "read-file",
        json!({"path": ".tramline/mcp.json"}),
    );
    assert!(!read.to_string().contains("file tools"), "{read}");
}

/// A request with a token: the whole response.
fn request(served: &Http, verb: &str, path: &str) -> String {
    let request = format!(
        "{verb} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}",
        served.address
    );
    let mut stream = TcpStream::connect(&served.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_token_file_is_not_read() {
    let project = Project::new();
    std::fs::write(project.at("graphs.yaml"), project.reading("tokens")).unwrap();
    let mut command = project.place.command(&["serve", "graphs.yaml"]);
    command
        .args(["--token-file", "tokens"])
        .current_dir(project.folder.path());
    let served = Http::start(command);
    let begun = request(&served, "POST", "/api/tools/plain/runs");
    let body = begun.split_once("\r\n\r\n").unwrap().1;
    let begun: Value = serde_json::from_str(body).unwrap();
    let run = begun["run_id"].as_str().unwrap();
    loop {
        let told = request(&served, "GET", &format!("/api/runs/{run}"));
        assert!(!told.contains(TOKEN), "{told}");
        if !told.contains(r#""status":"running""#) {
            assert!(told.contains("the token file"), "{told}");
            return;
        }
    }
}

#[test]
fn the_files_of_another_process_on_the_data_directory_are_left_alone() {
    let project = Project::new();
    std::fs::write(project.at("other.yaml"), project.document(&[])).unwrap();
    let mut command = project.place.command(&["serve", "other.yaml"]);
    command
        .args(["--token-file", "tokens"])
        .current_dir(project.folder.path())
        .env("TRAMLINE_DATA_DIR", project.at("data"));
    let served = Http::start(command);
    let words = ["--toolsets", "graphs,library,debug", "--root", "."];
    let (mut talk, _) = project.serve(&words);
    let read = tried(&mut talk, "read-file", json!({"path": "tokens"})).to_string();
    assert!(read.contains("in use by another process"), "{read}");
    assert!(!read.contains(TOKEN), "{read}");
    let content = json!({"path": "other.yaml", "content": "x"});
    let written = tried(&mut talk, "write-file", content.clone()).to_string();
    assert!(written.contains("in use by another process"), "{written}");
    drop(served);
    let written = tried(&mut talk, "write-file", content).to_string();
    assert!(written.contains("completed"), "{written}");
}

/// Waits for a line.
fn shows(shown: &Receiver<String>, text: &str) -> String {
    loop {
        let line = shown.recv_timeout(PATIENCE).unwrap();
        if line.contains(text) {
            return line;
        }
    }
}

#[test]
fn an_edit_starts_no_server_that_was_not_there() {
    let project = Project::new();
    std::fs::write(project.at("graphs.yaml"), project.document(&["old"])).unwrap();
    let (mut talk, shown) = project.serve(&[]);
    // The document changes, and one of its servers; another is new.
    let edited = project
        .document(&["old", "new"])
        .replace("old-started", "changed-started");
    std::fs::write(project.at("graphs.yaml"), edited).unwrap();
    let line = shows(&shown, "servers unchanged");
    for part in [
        "`old` differs in its arguments",
        "`new` is new",
        "--reload-servers",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let called = talk.call("go_new", &json!({})).to_string();
    assert!(
        called.contains("was added or changed by an edit"),
        "{called}"
    );
    talk.call("go_old", &json!({}));
    assert!(project.at("old-started").exists(), "the old one stays");
    assert!(!project.at("new-started").exists());
    assert!(!project.at("changed-started").exists());
    // The same through the file of servers.
    let text = format!(
        r#"{{"mcpServers":{{"more":{{"command":"touch","args":["{}"]}}}}}}"#,
        project.at("more-started").display()
    );
    std::fs::write(project.at("mcp.json"), text).unwrap();
    let line = shows(&shown, "servers unchanged");
    assert!(line.contains("`more` is new"), "{line}");
    assert!(!project.at("more-started").exists());
}

#[test]
fn reload_servers_takes_such_an_edit() {
    let project = Project::new();
    let (mut talk, shown) = project.serve(&["--reload-servers"]);
    std::fs::write(project.at("graphs.yaml"), project.document(&["new"])).unwrap();
    shows(&shown, "the edited files are now served");
    talk.call("go_new", &json!({}));
    assert!(project.at("new-started").exists());
}

#[test]
fn the_policy_about_reading_files_holds_for_documents_by_path() {
    let project = Project::new();
    std::fs::write(project.at("secret.yaml"), "PASSWORD_hunter4: 1\n").unwrap();
    for rule in ["deny", "ask"] {
        let policy = format!("policy: {{ {rule}: ['builtin:read-file'] }}\n");
        std::fs::write(project.at("tramline.yaml"), policy).unwrap();
        let (mut talk, _) = project.serve(&["--toolsets", "graphs,library,sop", "--root", "."]);
        for (tool, arguments) in [
            ("workflow_validate", json!({"workflow": "secret.yaml"})),
            ("workflow_execute", json!({"workflow": "secret.yaml"})),
            (
                "workflow_save",
                json!({"workflow_file": "secret.yaml", "name": "x", "description": "d"}),
            ),
            ("load_graph", json!({"sop_file": "secret.yaml"})),
            ("trace_read", json!({"trace_file": "secret.yaml"})),
        ] {
            let told = talk.call(tool, &arguments).to_string();
            assert!(told.contains("builtin:read-file"), "{rule} {tool}: {told}");
            assert!(!told.contains("hunter4"), "{rule} {tool}: {told}");
        }
    }
}

/// What a call would change in a file is a way to read it. People see it, agents whose policy keeps them from reading do
/// not.
#[test]
fn a_preview_of_a_file_shows_nothing_that_the_policy_keeps_from_agents() {
    for (rule, may_read) in [("deny", false), ("ask", false), ("", true)] {
        let project = Project::new();
        std::fs::write(project.at("secret.txt"), "PASSWORD_hunter4: 1\n").unwrap();
        let policy = match rule {
            "" => "policy: {}\n".to_owned(),
            rule => format!("policy: {{ {rule}: ['builtin:read-file'] }}\n"),
        };
        std::fs::write(project.at("tramline.yaml"), policy).unwrap();
        let (mut talk, _) = project.serve(&["--toolsets", "library,control,debug", "--root", "."]);
        let write = json!({"nodes": [{"id": "w", "type": "write-file",
            "params": {"path": "secret.txt", "content": "new"}}]});
        let save = json!({"workflow_file": write, "name": "over-write", "description": "d"});
        talk.call("workflow_save", &save);
        let child = json!({"nodes": [{"id": "c", "type": "workflow", "params": {"workflow": "over-write"}}]});
        let task = json!({"id": "a", "tool": "workflow:over-write", "arguments": {}});
        let direct = json!({"id": "a", "tool": "builtin:write-file",
            "arguments": {"path": "secret.txt", "content": "new"}});
        let mut shown = Vec::new();
        for (tool, arguments) in [
            ("workflow_execute", json!({"workflow": child})),
            ("execute_dag", json!({"workflow": {"tasks": [task]}})),
            ("execute_dag", json!({"workflow": {"tasks": [direct]}})),
        ] {
            let told = talk.call(tool, &arguments);
            shown.push((tool, told.to_string()));
            let run = told.to_string();
            let run = run
                .find("run_")
                .map(|at| run[at..].chars().take(30).collect::<String>());
            let run = run.unwrap();
            let read = talk.call("run_read", &json!({"run_id": run}));
            shown.push(("run_read", read.to_string()));
        }
        let leaks = shown.iter().any(|(_, told)| told.contains("hunter4"));
        assert_eq!(leaks, may_read, "{rule}: {shown:?}");
    }
}

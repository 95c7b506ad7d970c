//! `tramline lsp`, spoken to as an editor does.

use crate::support::{Tramline, root};
use crate::test_servers::installed;
use serde_json::{Value as Json, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const DOCUMENT: &str = "version: '1'
server: {name: s, version: '1'}
tools:
  - name: t
    description: d
    inputSchema: {type: object}
    nodes:
      - id: in
        type: entry
        next: list
      - id: list
        type: mcp
        server: builtin
        tool: list-directory
        args:
          path: .
        next: shape
      - id: shape
        type: transform
        transform:
          expr: '\"🦀\" & list.entries[0].name'
        next: out
      - id: out
        type: exit
";

/// An editor with one server.
struct Editor {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl Editor {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            next_id: 1,
        }
    }

    fn initialized(tramline: &Tramline) -> Self {
        let mut editor = Self::start(&mut tramline.command(&["lsp", "--stdio"]));
        let params = json!({"processId": null, "rootUri": null, "capabilities": {}});
        let answer = editor.request("initialize", &params);
        assert_eq!(answer["result"]["serverInfo"]["name"], "tramline");
        editor.notify("initialized", &json!({}));
        editor
    }

    fn send(&mut self, message: &Json) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.input.flush().unwrap();
    }

    fn receive(&mut self) -> Json {
        let mut length = None;
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "it ended");
            if line == "\r\n" {
                break;
            }
            let value = line.trim_end().strip_prefix("Content-Length: ");
            length = value.map(|value| value.parse().unwrap()).or(length);
        }
        let mut body = vec![0; length.unwrap()];
        self.output.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    fn notify(&mut self, method: &str, params: &Json) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn request(&mut self, method: &str, params: &Json) -> Json {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Opens a document and returns its diagnostics.
    fn open(&mut self, path: &Path, text: &str) -> Vec<Json> {
        let item = json!({"uri": uri(path), "languageId": "yaml", "version": 1, "text": text});
        self.notify("textDocument/didOpen", &json!({ "textDocument": item }));
        self.diagnostics(path)
    }

    /// Replaces the text and returns the diagnostics.
    fn change(&mut self, path: &Path, text: &str) -> Vec<Json> {
        let params = json!({
            "textDocument": {"uri": uri(path), "version": 2},
            "contentChanges": [{ "text": text }],
        });
        self.notify("textDocument/didChange", &params);
        self.diagnostics(path)
    }

    fn diagnostics(&mut self, path: &Path) -> Vec<Json> {
        let told = self.receive();
        assert_eq!(told["method"], "textDocument/publishDiagnostics", "{told}");
        assert_eq!(told["params"]["uri"], uri(path));
        told["params"]["diagnostics"].as_array().unwrap().clone()
    }

    /// Asks at the position of `|` in a text, which the document is changed to.
    fn at_bar(&mut self, method: &str, path: &Path, text: &str) -> Json {
        let at = text.find('|').unwrap();
        self.change(path, &text.replacen('|', "", 1));
        let line = text[..at].matches('\n').count();
        let before = text[..at].rsplit('\n').next().unwrap();
        let position = json!({"line": line, "character": before.encode_utf16().count()});
        let document = json!({ "uri": uri(path) });
        let params = json!({"textDocument": document, "position": position, "newName": "renamed"});
        self.request(method, &params)
    }

    fn labels(&mut self, path: &Path, text: &str) -> Vec<String> {
        let answer = self.at_bar("textDocument/completion", path, text);
        let items = answer["result"]
            .as_array()
            .unwrap_or_else(|| panic!("{answer}"));
        let labels = items
            .iter()
            .map(|item| item["label"].as_str().unwrap().to_owned());
        labels.collect()
    }

    /// Ends the server in the order that the protocol asks for.
    fn finish(mut self) {
        assert_eq!(self.request("shutdown", &Json::Null)["result"], Json::Null);
        self.notify("exit", &Json::Null);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }

    /// Closes the connection; the exit code and standard error.
    fn hang_up(self) -> (Option<i32>, String) {
        drop(self.input);
        let done = self.child.wait_with_output().unwrap();
        let message = String::from_utf8_lossy(&done.stderr).into_owned();
        (done.status.code(), message)
    }
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// A document's path in the test's folder; there is no such file.
fn unsaved(tramline: &Tramline, name: &str) -> PathBuf {
    tramline.data.path().join(name)
}

#[test]
fn flaws_are_shown_where_they_are_while_the_text_changes() {
    let tramline = Tramline::new();
    let path = unsaved(&tramline, "w.yaml");
    let mut editor = Editor::initialized(&tramline);
    assert_eq!(editor.open(&path, DOCUMENT), Vec::<Json>::new());
    let flaws = editor.change(&path, &DOCUMENT.replace("next: shape", "next: shap"));
    let flaw = flaws
        .iter()
        .find(|flaw| flaw["range"]["start"]["line"] == 16);
    let flaw = flaw.unwrap_or_else(|| panic!("{flaws:?}"));
    assert_eq!(flaw["range"]["start"]["character"], 14);
    assert_eq!(flaw["range"]["end"]["character"], 18);
    assert_eq!(
        (&flaw["severity"], &flaw["source"]),
        (&json!(1), &json!("tramline"))
    );
    assert!(
        flaw["message"].as_str().unwrap().contains("shape"),
        "{flaw}"
    );
    // Columns count UTF-16 units: the crab has two.
    let flaws = editor.change(&path, &DOCUMENT.replace("& list.", "& lst."));
    let range = &flaws[0]["range"];
    assert_eq!(
        (&range["start"]["line"], &range["start"]["character"]),
        (&json!(20), &json!(24))
    );
    assert!(!editor.change(&path, "tools: [").is_empty());
    assert_eq!(editor.change(&path, DOCUMENT), Vec::<Json>::new());
    let closed = json!({"textDocument": {"uri": uri(&path)}});
    editor.notify("textDocument/didClose", &closed);
    assert_eq!(editor.diagnostics(&path), Vec::<Json>::new());
    editor.finish();
}

#[test]
fn nodes_tools_fields_and_arguments_are_completed() {
    let tramline = Tramline::new();
    let path = unsaved(&tramline, "w.yaml");
    let mut editor = Editor::initialized(&tramline);
    editor.open(&path, DOCUMENT);
    let nodes = editor.labels(&path, &DOCUMENT.replace("next: shape", "next: |"));
    assert_eq!(nodes, ["in", "shape", "out"]);
    let tools = editor.labels(&path, &DOCUMENT.replace("tool: list-directory", "tool: |"));
    assert!(tools.contains(&"read-file".to_owned()), "{tools:?}");
    let servers = editor.labels(&path, &DOCUMENT.replace("server: builtin", "server: |"));
    assert_eq!(servers, ["builtin"]);
    let fields = editor.labels(&path, &DOCUMENT.replace("        next: shape", "        |"));
    assert!(fields.contains(&"approval".to_owned()), "{fields:?}");
    assert!(!fields.contains(&"tool".to_owned()), "{fields:?}");
    let kinds = editor.labels(&path, &DOCUMENT.replace("type: transform", "type: |"));
    assert!(kinds.contains(&"switch".to_owned()), "{kinds:?}");
    let arguments = DOCUMENT.replace("          path: .", "          |");
    let arguments = editor.labels(&path, &arguments);
    assert!(arguments.contains(&"path".to_owned()), "{arguments:?}");
    editor.finish();
}

#[test]
fn json_documents_are_completed_too() {
    let tramline = Tramline::new();
    let path = unsaved(&tramline, "dag.json");
    let text = fs::read_to_string(root().join("examples/dags/reading.json")).unwrap();
    let mut editor = Editor::initialized(&tramline);
    assert_eq!(editor.open(&path, &text), Vec::<Json>::new());
    let tree: Json = serde_json::from_str(&text).unwrap();
    let tasks = [&tree["tasks"], &tree["workflow"]["tasks"]];
    let tasks = tasks.into_iter().find_map(Json::as_array).unwrap();
    let first = tasks[0]["id"].as_str().unwrap();
    let text = text.replacen("\"depends_on\": [\"", "\"depends_on\": [\"|", 1);
    let nodes = editor.labels(&path, &text);
    assert!(nodes.contains(&first.to_owned()), "{nodes:?}");
    editor.finish();
}

#[test]
fn nodes_are_described_found_and_renamed() {
    let tramline = Tramline::new();
    let path = unsaved(&tramline, "w.yaml");
    let mut editor = Editor::initialized(&tramline);
    editor.open(&path, DOCUMENT);
    let node = DOCUMENT.replace("next: shape", "next: sh|ape");
    let described = editor.at_bar("textDocument/hover", &path, &node);
    let words = described["result"]["contents"]["value"].as_str().unwrap();
    assert!(words.contains("leads to `out`"), "{words}");
    let field = DOCUMENT.replace("        tool: list", "        to|ol: list");
    let described = editor.at_bar("textDocument/hover", &path, &field);
    let words = described["result"]["contents"]["value"].as_str().unwrap();
    assert!(words.starts_with("**tool**"), "{words}");
    let place = editor.at_bar("textDocument/definition", &path, &node);
    assert_eq!(
        place["result"]["range"]["start"],
        json!({"line": 17, "character": 12})
    );
    let asked = editor.at_bar("textDocument/prepareRename", &path, &node);
    assert_eq!(asked["result"]["placeholder"], "shape");
    let inside = DOCUMENT.replace("& list.", "& li|st.");
    let renamed = editor.at_bar("textDocument/rename", &path, &inside);
    let edits = renamed["result"]["changes"][uri(&path)].as_array().unwrap();
    let lines: Vec<_> = edits
        .iter()
        .map(|edit| edit["range"]["start"]["line"].as_u64())
        .collect();
    assert_eq!(lines, [Some(9), Some(10), Some(20)], "{edits:?}");
    let nothing = editor.at_bar(
        "textDocument/rename",
        &path,
        &DOCUMENT.replace("version", "ver|sion"),
    );
    assert_eq!(nothing["error"]["code"], -32_803, "{nothing}");
    editor.finish();
}

#[test]
fn procedures_are_checked_and_their_nodes_renamed() {
    let tramline = Tramline::new();
    let folder = root().join("examples/sop/incident");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let path = files
        .into_iter()
        .find(|file| file.extension().is_some_and(|it| it == "md"));
    let path = path.unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let mut editor = Editor::initialized(&tramline);
    assert_eq!(editor.open(&path, &text), Vec::<Json>::new());
    let chart = text.find("flowchart").unwrap();
    let id_start = chart + text[chart..].find('\n').unwrap();
    let id_start = id_start
        + text[id_start..]
            .find(|c: char| c.is_alphanumeric())
            .unwrap();
    let with_bar = format!("{}|{}", &text[..id_start], &text[id_start..]);
    let place = editor.at_bar("textDocument/definition", &path, &with_bar);
    assert!(place["result"]["range"].is_object(), "{place}");
    let renamed = editor.at_bar("textDocument/rename", &path, &with_bar);
    assert!(renamed["result"]["changes"].is_object(), "{renamed}");
    editor.finish();
}

/// What the editor shows is what `tramline check --offline` says, line by line.
#[test]
fn an_editor_shows_what_check_says() {
    let tramline = Tramline::new();
    let mut editor = Editor::initialized(&tramline);
    let mut checked = 0;
    for folder in ["graphs", "dags", "ir", "pflow"] {
        for file in fs::read_dir(root().join("examples").join(folder)).unwrap() {
            let source = file.unwrap().path();
            let Ok(text) = fs::read_to_string(&source) else {
                continue;
            };
            let path = unsaved(&tramline, source.file_name().unwrap().to_str().unwrap());
            let broken =
                text.replacen("next: ", "next: no-", 1)
                    .replacen("read-file", "raed-file", 1);
            let broken = broken.replacen("\"depends_on\": [\"", "\"depends_on\": [\"no", 1);
            fs::write(&path, &broken).unwrap();
            let said = tramline.run(&["check", "--offline", "--json", path.to_str().unwrap()]);
            let said: Json = serde_json::from_str(&said.out()).unwrap();
            let said: Vec<_> = said["flaws"]
                .as_array()
                .unwrap()
                .iter()
                .map(|flaw| {
                    (
                        flaw["code"].clone(),
                        flaw["line"].as_u64().unwrap().max(1) - 1,
                    )
                })
                .collect();
            let shown = editor.open(&path, &broken);
            let shown: Vec<_> = shown
                .iter()
                .map(|flaw| {
                    let line = flaw["range"]["start"]["line"].as_u64().unwrap();
                    (flaw["code"].clone(), line)
                })
                .collect();
            assert_eq!(shown, said, "{}", path.display());
            checked += said.len();
        }
    }
    assert!(checked > 10, "{checked}");
    editor.finish();
}

#[test]
fn nothing_that_a_document_names_is_started() {
    let tramline = Tramline::new();
    let witness = unsaved(&tramline, "started");
    let path = unsaved(&tramline, "w.yaml");
    let own = format!(
        "mcpServers:\n  own: {{command: touch, args: ['{}']}}\n",
        witness.display()
    );
    let text = DOCUMENT.replace("server: builtin", "server: own") + &own;
    let mut editor = Editor::initialized(&tramline);
    editor.open(&path, &text);
    editor.at_bar(
        "textDocument/hover",
        &path,
        &text.replace("list-dir", "list|-dir"),
    );
    let servers = editor.labels(&path, &text.replace("server: own", "server: |"));
    assert_eq!(servers, ["builtin", "own"]);
    let tools = editor.labels(&path, &text.replace("tool: list-directory", "tool: |"));
    assert!(!tools.contains(&"read-file".to_owned()), "{tools:?}");
    editor.finish();
    assert!(!witness.exists());
    assert!(!tramline.data_dir().exists(), "an editor leaves no data");
}

#[test]
fn messages_and_documents_have_limits() {
    let tramline = Tramline::new();
    let path = unsaved(&tramline, "w.yaml");
    let mut editor = Editor::initialized(&tramline);
    let flaws = editor.open(&path, &"# much\n".repeat(700_000));
    assert_eq!(flaws.len(), 1);
    assert!(
        flaws[0]["message"].as_str().unwrap().contains("limit"),
        "{flaws:?}"
    );
    let unknown = editor.request("workspace/symbol", &json!({"query": ""}));
    assert_eq!(unknown["error"]["code"], -32_601);
    let nowhere =
        json!({"textDocument": {"uri": "file:///none"}, "position": {"line": 0, "character": 0}});
    assert_eq!(
        editor.request("textDocument/hover", &nowhere)["error"]["code"],
        -32_602
    );
    write!(editor.input, "Content-Length: 99999999999\r\n\r\n").unwrap();
    let (code, message) = editor.hang_up();
    assert_eq!(code, Some(1));
    assert!(message.contains("too large"), "{message}");
}

#[test]
fn the_order_of_the_protocol_is_kept() {
    let tramline = Tramline::new();
    let mut early = Editor::start(&mut tramline.command(&["lsp"]));
    let answer = early.request("textDocument/hover", &json!({}));
    assert_eq!(answer["error"]["code"], -32_002);
    assert_eq!(early.hang_up().0, Some(1));
    let mut editor = Editor::initialized(&tramline);
    assert!(editor.request("shutdown", &Json::Null)["error"].is_null());
    let answer = editor.request("textDocument/hover", &json!({}));
    assert_eq!(answer["error"]["code"], -32_600);
    assert_eq!(editor.hang_up().0, Some(0));
}

/// Runs a script of another program against the server.
fn with_other_client(command: &mut Command) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("flow.yaml"), DOCUMENT).unwrap();
    let done = command
        .current_dir(folder.path())
        .env("TRAMLINE", env!("CARGO_BIN_EXE_tramline"))
        .env("TRAMLINE_DATA_DIR", folder.path().join("runs"))
        .env("HOME", folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(done.status.success(), "{said}");
}

#[test]
fn neovim_shows_completes_and_renames() {
    let Some(editor) = crate::test_servers::on_path("nvim") else {
        return;
    };
    let script = root().join("crates/tramline/tests/editors/neovim.lua");
    with_other_client(
        Command::new(editor)
            .args(["--headless", "--clean", "-u", "NONE", "-n", "-c"])
            .arg(format!("luafile {}", script.display())),
    );
}

#[test]
fn pytest_lsp_accepts_every_message() {
    let Some(python) = installed("lsp-venv/bin/python") else {
        return;
    };
    let script = root().join("crates/tramline/tests/editors/test_server.py");
    with_other_client(
        Command::new(python)
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
            .arg(script),
    );
}

#[test]
fn the_vscode_extension_starts_the_server() {
    let Some(node) = crate::test_servers::node() else {
        return;
    };
    let script = root().join("crates/tramline/tests/editors/vscode.cjs");
    let started = |config: &str| -> Json {
        let extension = root().join("editors/vscode/extension.js");
        let mut command = Command::new(&node);
        let done = command.arg(&script).arg(extension).arg(config).output();
        serde_json::from_slice(&done.unwrap().stdout).unwrap()
    };
    let plain = started("");
    let server = json!({"command": "/opt/tramline", "args": ["lsp"]});
    assert_eq!(plain["server"], server);
    let patterns = &plain["options"]["documentSelector"];
    assert_eq!(
        *patterns,
        json!([{"scheme": "file", "pattern": "**/*.sop.md"}])
    );
    assert!(plain["message"].as_str().unwrap().contains("tramline.path"));
    assert_eq!(plain["stopped"], true);
    let configured = started("c.yaml");
    assert_eq!(
        configured["server"]["args"],
        json!(["lsp", "--config", "c.yaml"])
    );
}

#[test]
fn the_vscode_extension_can_be_packaged() {
    let (Some(node), Some(tools)) = (
        crate::test_servers::node(),
        installed("vscode/node_modules"),
    ) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for name in ["package.json", "extension.js", "README.md", "LICENSE"] {
        let file = root().join("editors/vscode").join(name);
        fs::copy(file, folder.path().join(name)).unwrap();
    }

    let manifest = fs::read(folder.path().join("package.json")).unwrap();
    let manifest: Json = serde_json::from_slice(&manifest).unwrap();
    let packages = tools.join("vscode-languageclient/package.json");
    let client: Json = serde_json::from_slice(&fs::read(packages).unwrap()).unwrap();
    assert_eq!(
        manifest["dependencies"]["vscode-languageclient"],
        client["version"]
    );
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    let done = Command::new(node)
        .arg(tools.join("@vscode/vsce/vsce"))
        .args(["package", "--no-dependencies", "--out", "tramline.vsix"])
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    assert!(done.status.success(), "{said}");
    assert!(folder.path().join("tramline.vsix").exists(), "{said}");
}

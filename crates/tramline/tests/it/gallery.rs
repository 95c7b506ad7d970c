//! The gallery: every template is written by `init`, runs, and gives what its description expects.

use crate::support::{CommandResult, Tramline};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Templates that the gallery has at least.
const TEMPLATES_MIN: usize = 20;

fn templates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("templates")
}

fn names() -> Vec<String> {
    let listed = parsed(&Tramline::new().run(&["init", "--list", "--json"]));
    let listed = listed["templates"].as_array().unwrap().clone();
    let name = |template: &Value| template["name"].as_str().unwrap().to_owned();
    listed.iter().map(name).collect()
}

fn parsed(done: &CommandResult) -> Value {
    serde_json::from_str(&done.out())
        .unwrap_or_else(|error| panic!("{error}: {} {}", done.out(), done.err()))
}

/// Whether everything expected is in what was found; lists may have more items.
fn assert_contains(found: &Value, expected: &Value, place: &str) {
    match expected {
        Value::Object(fields) => {
            for (key, expected) in fields {
                assert_contains(&found[key], expected, &format!("{place}.{key}"));
            }
        }
        Value::Array(items) => {
            for (at, expected) in items.iter().enumerate() {
                assert_contains(&found[at], expected, &format!("{place}[{at}]"));
            }
        }
        other => assert_eq!(found, other, "{place}"),
    }
}

/// A directory made by `init`, and the binary in it.
struct NewDirectory {
    tramline: Tramline,
    folder: PathBuf,
}

impl NewDirectory {
    fn of(template: &str) -> Self {
        let tramline = Tramline::new();
        let folder = tramline.data.path().join("new");
        let done = tramline.run(&["init", template, folder.to_str().unwrap(), "--json"]);
        assert_eq!(done.code(), 0, "{template}: {}", done.err());
        Self { tramline, folder }
    }

    fn run(&self, words: &[String]) -> CommandResult {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = self.tramline.command(&words);
        let binary = Path::new(env!("CARGO_BIN_EXE_tramline"));
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", binary.parent().unwrap().display());
        command.current_dir(&self.folder).env("PATH", path);
        CommandResult(command.output().unwrap())
    }
}

/// Serves the files of a folder over HTTP and returns the address.
fn serve_files(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let folder = folder.clone();
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let head = lines.next().unwrap().unwrap();
                for line in lines {
                    if line.unwrap().is_empty() {
                        break;
                    }
                }
                let path = head.split(' ').nth(1).unwrap().trim_start_matches('/');
                let (status, body) = match fs::read(folder.join(path)) {
                    Ok(body) => ("200 OK", body),
                    Err(_) => ("404 Not Found", Vec::new()),
                };
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
                );
                stream.write_all(head.as_bytes()).unwrap();
                stream.write_all(&body).unwrap();
            });
        }
    });
    address
}

/// The values that later commands refer to: the latest run, its question, a run that was kept.
#[derive(Default)]
struct Known {
    run: String,
    checkpoint: String,
    kept: String,
    address: String,
}

impl Known {
    fn fill(&self, word: &str) -> String {
        let filled = word.replace("{run}", &self.run);
        let filled = filled.replace("{checkpoint}", &self.checkpoint);
        let filled = filled.replace("{kept}", &self.kept);
        filled.replace("{address}", &self.address)
    }

    fn learn(&mut self, said: &Value) {
        let run = said["run_id"].as_str().or_else(|| said["runId"].as_str());
        if let Some(run) = run {
            run.clone_into(&mut self.run);
        }
        if let Some(asked) = said["waiting"][0]["checkpoint_id"].as_str() {
            asked.clone_into(&mut self.checkpoint);
        }
    }
}

/// Carries out one entry of `try`.
fn attempt(template: &str, place: &NewDirectory, step: &Value, known: &mut Known) {
    if let Some(script) = step["sh"].as_str() {
        let mut command = Command::new("sh");
        command
            .arg(script)
            .current_dir(&place.folder)
            .stdin(Stdio::null());
        let done = command.output().unwrap();
        assert!(done.status.success(), "{template}: {done:?}");
        return;
    }
    if let Some(folder) = step["serve"].as_str() {
        known.address = serve_files(place.folder.join(folder));
    }
    let words = step["run"].as_array().unwrap().iter();
    let mut words: Vec<String> = words
        .map(|word| known.fill(word.as_str().unwrap()))
        .collect();
    words.push("--json".to_owned());
    let done = place.run(&words);
    let what = format!("{template}: tramline {}", words.join(" "));
    let exit = step["exit"].as_i64().unwrap();
    let shown = format!("{what}: {} {}", done.out(), done.err());
    assert_eq!(i64::from(done.code()), exit, "{shown}");
    let said: Value = serde_json::from_str(&done.out()).unwrap_or_default();
    known.learn(&said);
    if step["keep"] == true {
        known.kept.clone_from(&known.run);
    }
    if let Some(expected) = step.get("result") {
        assert_contains(&said["result"], expected, &what);
    }
    if let Some(expected) = step.get("json") {
        assert_contains(&said, expected, &what);
    }
    for (path, text) in step["files"].as_object().into_iter().flatten() {
        let found = fs::read_to_string(place.folder.join(path)).unwrap_or_default();
        assert!(
            found.contains(text.as_str().unwrap()),
            "{what}: {path}: {found}"
        );
    }
    for path in step["absent"].as_array().into_iter().flatten() {
        let path = place.folder.join(path.as_str().unwrap());
        assert!(!path.exists(), "{what}: {} exists", path.display());
    }
}

fn description(template: &str) -> Value {
    let path = templates().join(template).join("template.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn every_template_runs_and_gives_what_its_description_expects() {
    let names = names();
    assert!(names.len() >= TEMPLATES_MIN, "only {}", names.len());
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(move || {
                let place = NewDirectory::of(name);
                let mut known = Known::default();
                let about = description(name);
                let steps = about["try"].as_array().unwrap();
                assert!(!steps.is_empty(), "{name}");
                for step in steps {
                    attempt(name, &place, step, &mut known);
                }
            });
        }
    });
}

#[test]
fn every_template_has_a_page_and_a_current_picture() {
    for name in names() {
        let about = description(&name);
        let document = about["document"].as_str().unwrap();
        let place = NewDirectory::of(&name);
        assert!(!place.folder.join("template.json").exists(), "{name}");
        let page = fs::read_to_string(place.folder.join("README.md")).unwrap();
        for part in [
            "# ",
            "## Run it",
            "## Change it",
            "## Connect it to an agent",
            "tramline mcp install",
        ] {
            assert!(page.contains(part), "{name} has no {part}");
        }
        let run = about["run"].as_str().unwrap();
        for command in run.split(" && ") {
            assert!(
                page.contains(command),
                "{name}: its page has no `{command}`"
            );
        }
        let words = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        if document.ends_with(".md") && !document.ends_with(".pflow.md") {
            let drawn = place.run(&words(&["sop", "check", document, "--mermaid"]));
            assert!(
                page.contains(drawn.out().trim_end()),
                "{name}: its picture is old"
            );
            continue;
        }
        let mut graph = words(&["graph", document]);
        graph.extend(about["tool"].as_str().map(str::to_owned));
        graph.push("--svg".to_owned());
        let drawn = place.run(&graph);
        assert_eq!(drawn.code(), 0, "{name}: {}", drawn.err());
        let kept = fs::read_to_string(place.folder.join("workflow.svg")).unwrap();
        assert_eq!(
            kept.trim_end(),
            drawn.out().trim_end(),
            "{name}: its picture is old"
        );
        let checked = place.run(&words(&["check", "--offline", document, "--json"]));
        assert_eq!(checked.code(), 0, "{name}: {}", checked.out());
        assert!(
            checked.out().contains("\"warnings\":0"),
            "{name}: {}",
            checked.out()
        );
    }
}

#[test]
fn init_names_what_it_wrote_and_the_next_command() {
    let tramline = Tramline::new();
    let folder = tramline.data.path().join("my first");
    let done = tramline.run(&["init", "hello", folder.to_str().unwrap()]);
    assert_eq!(done.code(), 0, "{}", done.err());
    assert!(done.err().contains("wrote "), "{}", done.err());
    let next: Vec<_> = done.out().lines().map(str::to_owned).collect();
    assert_eq!(
        next,
        [
            format!("cd '{}'", folder.display()),
            "tramline run hello.yaml name=Ada".to_owned()
        ]
    );
    let again = tramline
        .command(&["new", "hello", "--json"])
        .current_dir(tramline.data.path())
        .output();
    let again = CommandResult(again.unwrap());
    assert_eq!(parsed(&again)["dir"], "hello");
    assert!(tramline.data.path().join("hello/hello.yaml").is_file());
}

#[test]
fn init_replaces_files_only_when_forced_and_never_half() {
    let tramline = Tramline::new();
    let folder = tramline.data.path().join("there");
    let dir = folder.to_str().unwrap();
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("hello.yaml"), "mine").unwrap();
    fs::write(folder.join("other.txt"), "other").unwrap();
    let refused = tramline.run(&["init", "hello", dir]);
    assert_eq!(refused.code(), 2);
    assert!(
        refused.err().contains("hello.yaml") && refused.err().contains("--force"),
        "{}",
        refused.err()
    );
    assert_eq!(
        fs::read_to_string(folder.join("hello.yaml")).unwrap(),
        "mine"
    );
    assert!(!folder.join("README.md").exists());
    let forced = tramline.run(&["init", "hello", dir, "--force"]);
    assert_eq!(forced.code(), 0, "{}", forced.err());
    assert!(
        fs::read_to_string(folder.join("hello.yaml"))
            .unwrap()
            .contains("server:")
    );
    assert_eq!(
        fs::read_to_string(folder.join("other.txt")).unwrap(),
        "other"
    );
    // A directory is where a file should be: nothing is written, even with --force.
    let blocked = tramline.data.path().join("blocked");
    fs::create_dir_all(blocked.join("workflow.svg")).unwrap();
    let refused = tramline.run(&["init", "hello", blocked.to_str().unwrap(), "--force"]);
    assert_eq!(refused.code(), 2);
    assert_eq!(fs::read_dir(&blocked).unwrap().count(), 1);
    // The directory cannot be made.
    let inside = folder.join("other.txt/new");
    let refused = tramline.run(&["init", "hello", inside.to_str().unwrap()]);
    assert_ne!(refused.code(), 0);
}

#[test]
fn a_wrong_template_gets_a_suggestion_and_no_template_a_hint() {
    let tramline = Tramline::new();
    let wrong = tramline.run(&["init", "file-reprot"]);
    assert_eq!(wrong.code(), 2);
    assert!(
        wrong.err().contains("did you mean `file-report`?"),
        "{}",
        wrong.err()
    );
    let none = tramline.run(&["init"]);
    assert_eq!(none.code(), 2);
    assert!(none.err().contains("init --list"), "{}", none.err());
    let list = tramline.run(&["init", "--list"]);
    assert!(
        list.out().lines().next().unwrap().starts_with("hello "),
        "{}",
        list.out()
    );
    assert!(
        list.out().lines().all(|line| line.chars().count() <= 100),
        "{}",
        list.out()
    );
}

/// A server over stdio, asked one thing after the other.
struct StdioServer {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    id: u64,
}

impl StdioServer {
    /// Starts it in another directory, as clients do.
    fn start(tramline: &Tramline, words: &[&str]) -> Self {
        let mut command = tramline.command(words);
        command.current_dir("/").stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut server = Self {
            child,
            stdin,
            lines,
            id: 0,
        };
        let client = json!({ "name": "test", "version": "1" });
        let hello =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        server.request("initialize", &hello);
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        writeln!(server.stdin, "{ready}").unwrap();
        server
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let message =
            json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        writeln!(self.stdin, "{message}").unwrap();
        loop {
            let line = self.lines.next().unwrap().unwrap();
            let reply: Value = serde_json::from_str(&line).unwrap();
            if reply["id"] == self.id {
                return reply;
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let reply = self.request(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        );
        reply["result"]["structuredContent"].clone()
    }

    fn stop(mut self) {
        drop(self.stdin);
        self.child.wait().unwrap();
    }
}

#[test]
fn procedures_and_their_servers_work_from_any_directory() {
    for (template, file, tool, arguments, expected) in [
        (
            "incident-sop",
            "incident.md",
            "get_alert",
            json!({}),
            json!({ "service": "checkout" }),
        ),
        (
            "retail-sop",
            "returns.md",
            "find_order",
            json!({ "order_id": "W1" }),
            json!({ "paid": 40 }),
        ),
        (
            "onboarding-sop",
            "onboarding.md",
            "find_colleague",
            json!({ "name": "Bob" }),
            json!({ "team": "maps" }),
        ),
    ] {
        let place = NewDirectory::of(template);
        let path = |name: &str| place.folder.join(name).to_str().unwrap().to_owned();
        let (file, servers, root) = (path(file), path("servers.json"), path("."));
        let words = [
            "serve",
            "--toolsets",
            "sop",
            "--sop",
            &file,
            "--mcp-config",
            &servers,
            "--root",
            &root,
        ];
        let mut server = StdioServer::start(&place.tramline, &words);
        assert!(
            server.call("load_graph", &json!({}))["session_id"].is_string(),
            "{template}"
        );
        let moved = server.call("advance", &json!({}));
        assert_eq!(moved["valid"], true, "{template}: {moved}");
        let called = server.call("sop_call", &json!({ "tool": tool, "arguments": arguments }));
        assert_contains(&called, &expected, template);
        server.stop();
    }
    let place = NewDirectory::of("three-servers");
    let desk = place.folder.join("desk.yaml");
    let mut server = StdioServer::start(&place.tramline, &["serve", desk.to_str().unwrap()]);
    let trip = server.call("plan_trip", &json!({ "city": "Riga" }));
    assert_eq!(trip["hotel"], "Amber", "{trip}");
    server.stop();
}

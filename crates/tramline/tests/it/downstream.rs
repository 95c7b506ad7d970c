//! Widely used servers behind graphs: each test does something real through one and reads it back,
//! with `tramline run` or through `tramline serve`.

use crate::support::root;
use crate::test_servers::{StdioClient, installed, serve};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tramline_test_server::processes::wait_until;

/// Longer than anything here takes on a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// The documents next to these tests, and a working folder.
struct DownstreamProject {
    folder: tempfile::TempDir,
    env: Vec<(&'static str, PathBuf)>,
}

impl DownstreamProject {
    fn new() -> Self {
        let place = Self {
            folder: tempfile::tempdir().unwrap(),
            env: Vec::new(),
        };
        std::fs::create_dir(place.here()).unwrap();
        place
    }

    /// The variables that the document uses, in addition to `FOLDER`.
    fn with(mut self, name: &'static str, value: impl Into<PathBuf>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// Where everything is started.
    fn here(&self) -> PathBuf {
        self.path().join("here")
    }

    fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .current_dir(self.here())
            .env("FOLDER", self.path())
            .envs(self.env.iter().map(|(name, value)| (name, value)))
    }

    /// Runs a graph to its end and returns its result.
    fn run(&self, document: &Path, tool: &str, input: &Value) -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tramline"));
        command
            .args(["run", "--json", "--input", &input.to_string(), "--data-dir"])
            .arg(self.data())
            .arg(document)
            .arg(tool)
            .stdin(Stdio::null());
        let output = self.prepare(&mut command).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        let said: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{told}"));
        assert_eq!(said["status"], "completed", "{said}\n{told}");
        said["result"].clone()
    }

    /// A client of a server of a document.
    fn serve(&self, document: &Path) -> StdioClient {
        let mut command = serve(&[document.to_owned()], &self.data());
        self.prepare(&mut command);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        StdioClient::start(piped.stderr(Stdio::null()).spawn().unwrap())
    }
}

fn document(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/downstream");
    folder.join(name).with_extension("yaml")
}

/// The result of a served tool.
fn given(result: &Value) -> &Value {
    assert_eq!(result["isError"], false, "{result}");
    &result["structuredContent"]
}

#[test]
fn a_commit_is_made_and_read_back() {
    let Some(program) = installed("venv/bin/mcp-server-git") else {
        return;
    };
    let place = DownstreamProject::new().with("GIT_SERVER", program);
    let repository = place.path().join("repository");
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(&repository).args(words);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    std::fs::create_dir(&repository).unwrap();
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["config", "user.name", "Tester"]);
    git(&["config", "user.email", "tester@example.com"]);
    std::fs::write(repository.join("line.txt"), "tram 7\n").unwrap();
    let input = json!({"repository": repository, "file": "line.txt", "message": "Line 7"});
    let given = place.run(&document("git"), "commit", &input);
    let hash = git(&["rev-parse", "HEAD"]);
    assert_eq!(git(&["log", "-1", "--format=%s"]).trim(), "Line 7");
    assert_eq!(given["hash"], json!(hash.trim()), "{given}");
    assert_eq!(given["message"], "Line 7", "{given}");
    assert_eq!(given["clean"], true, "{given}");
}

#[test]
fn a_table_is_made_filled_and_read() {
    let Some(program) = installed("old-venv/bin/mcp-server-sqlite") else {
        return;
    };
    let place = DownstreamProject::new().with("SQLITE_SERVER", program);
    let stops = json!(["Baixa", "Alfama", "Graça"]);
    let mut client = place.serve(&document("sqlite"));
    let filled = client.call("stops", &json!({"names": stops}));
    assert_eq!(given(&filled), &json!({"names": stops, "longest": 6}));
    client.close();
    // The table exists for another process too.
    let named = place.run(&document("sqlite"), "stop", &json!({"id": 2}));
    assert_eq!(named, json!({"name": "Alfama"}));
}

#[test]
fn files_are_written_listed_and_read() {
    let Some(program) = installed("node_modules/.bin/mcp-server-filesystem") else {
        return;
    };
    let place = DownstreamProject::new().with("FILESYSTEM_SERVER", program);
    let input = json!({"folder": place.path(), "names": ["a.txt", "b.txt"], "content": "seven"});
    let said = place.run(&document("filesystem"), "write_both", &input);
    assert_eq!(said, json!({"files": 2, "same": true}));
    let written = std::fs::read_to_string(place.path().join("b.txt")).unwrap();
    assert_eq!(written, "seven");
    let mut client = place.serve(&document("filesystem"));
    let outside = json!({"folder": "/", "names": ["a.txt", "b.txt"], "content": "x"});
    let refused = client.call("write_both", &outside);
    assert_eq!(refused["isError"], true, "{refused}");
    client.close();
}

#[test]
fn what_is_remembered_is_found_by_the_next_run() {
    let Some(program) = installed("node_modules/.bin/mcp-server-memory") else {
        return;
    };
    let place = DownstreamProject::new().with("MEMORY_SERVER", program);
    place.run(
        &document("memory"),
        "remember",
        &json!({"name": "tram", "fact": "It is yellow."}),
    );
    let mut client = place.serve(&document("memory"));
    let found = client.call("recall", &json!({"query": "yellow"}));
    assert_eq!(given(&found), &json!({"names": ["tram"]}));
    client.close();
}

#[test]
fn a_time_is_told_in_two_places() {
    let Some(program) = installed("venv/bin/mcp-server-time") else {
        return;
    };
    let place = DownstreamProject::new().with("TIME_SERVER", program);
    let input = json!({"time": "12:00", "from": "Asia/Tokyo", "to": "Asia/Kolkata"});
    let told = place.run(&document("time"), "convert", &input);
    assert_eq!(told, json!({"there": "08:30", "difference": "-3.5h"}));
}

/// The everything server over HTTP, ended when dropped.
struct Everything(Child);

impl Everything {
    fn start(program: &Path) -> (Self, String) {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let child = Command::new(program)
            .arg("streamableHttp")
            .env("PORT", address.port().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self(child);
        wait_until(SOON, || std::net::TcpStream::connect(address).is_ok()).unwrap();
        (server, format!("http://{address}/mcp"))
    }
}

impl Drop for Everything {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn everything_over_streamable_http() {
    let Some(program) = installed("node_modules/.bin/mcp-server-everything") else {
        return;
    };
    let (_server, url) = Everything::start(&program);
    let place = DownstreamProject::new().with("EVERYTHING_URL", url);
    let mut client = place.serve(&document("everything"));
    let added = client.call("add", &json!({"a": 40, "b": 2}));
    assert_eq!(
        given(&added)["said"],
        "The sum of 40 and 2 is 42.",
        "{added}"
    );
    // An image from downstream reaches the caller as an image.
    let image = client.call("image", &json!({}));
    let kinds = image["content"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds.map(|block| block["type"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"image"), "{image}");
    client.close();
}

/// The folder of the documents that came with the design, and a folder as they expect it: the files
/// to count next to the working directory, and in it the packages that `npx` starts.
fn shared() -> Option<(PathBuf, DownstreamProject)> {
    let shared = std::env::var_os("TRAMLINE_SHARED");
    let shared = shared.map_or_else(|| root().join("../shared"), PathBuf::from);
    let folder = shared.join("data/mcpgraph");
    if !folder.exists() {
        let missing = format!("{} is missing", folder.display());
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        println!("not run: {missing}");
        return None;
    }
    let packages = installed("node_modules")?;
    let place = DownstreamProject::new();
    let here = place.here();
    std::os::unix::fs::symlink(packages, here.join("node_modules")).unwrap();
    // A missing package fails, and is not downloaded.
    std::fs::write(here.join(".npmrc"), "offline=true\n").unwrap();
    let place = place.with("HOME", here);
    let counting = place.path().join("mcpGraph/tests/counting");
    std::fs::create_dir_all(&counting).unwrap();
    for entry in std::fs::read_dir(folder.join("counting")).unwrap() {
        let file = entry.unwrap().path();
        std::fs::copy(&file, counting.join(file.file_name().unwrap())).unwrap();
    }
    Some((folder, place))
}

#[test]
fn the_documents_of_the_design_give_what_they_say() {
    let Some((folder, place)) = shared() else {
        return;
    };
    let counting = place.path().join("mcpGraph/tests/counting");
    let bytes: u64 = std::fs::read_dir(&counting)
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    let cases = [
        (
            "file_utils",
            "count_files",
            json!({"directory": counting}),
            json!({"count": 7}),
        ),
        (
            "file_utils",
            "sum_file_sizes",
            json!({"directory": counting}),
            json!({"totalSize": bytes}),
        ),
        (
            "loop_example",
            "sum_to_n",
            json!({"n": 5}),
            json!({"sum": 15}),
        ),
        (
            "loop_example",
            "sum_to_n",
            json!({"n": 100}),
            json!({"sum": 5050}),
        ),
        (
            "switch_example",
            "test_switch",
            json!({"value": 15}),
            json!({"result": "high"}),
        ),
        (
            "switch_example",
            "test_switch",
            json!({"value": 5}),
            json!({"result": "low"}),
        ),
        (
            "switch_example",
            "test_switch",
            json!({"value": -5}),
            json!({"result": "zero_or_negative"}),
        ),
        (
            "test_minimal",
            "test_tool",
            json!({"a": [1, null]}),
            json!({"a": [1, null]}),
        ),
    ];
    for (name, tool, input, expected) in cases {
        let document = folder.join(name).with_extension("yaml");
        assert_eq!(
            place.run(&document, tool, &input),
            expected,
            "{tool} {input}"
        );
        let mut client = place.serve(&document);
        assert_eq!(
            given(&client.call(tool, &input)),
            &expected,
            "{tool} {input}"
        );
        client.close();
    }
}

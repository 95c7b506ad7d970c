//! Settings as operators use them: encrypted, referred to by name, used by real servers, and never
//! leaked.

use crate::support::{CommandResult, Tramline, root};
use crate::test_servers::{StdioClient, installed, serve};
use serde_json::json;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tramline::expr::Value;
use tramline::workflow::schema::Checker;

const SECRET: &str = "sk-live-0123456789abcdefXYZ";
/// Parts of the secret in base64 and hexadecimal, at any alignment.
const CODED: [&str; 4] = [
    "LWxpdmUtMDEyMzQ1Njc4OWFiY2RlZlhZ",
    "saXZlLTAxMjM0NTY3ODlhYmNkZWZYW",
    "bGl2ZS0wMTIzNDU2Nzg5YWJjZGVmWF",
    "736b2d6c6976652d",
];

/// A folder with a document that gives its secrets to a server which repeats everything.
fn document(folder: &Path) -> Option<PathBuf> {
    let server = installed("node_modules/.bin/mcp-server-everything")?;
    let path = folder.join("leak.yaml");
    let text = format!(
        "version: '1.0'
server: {{ name: s, version: '1' }}
mcpServers:
  everything:
    command: {}
    env: {{ API_TOKEN: '${{settings.API_TOKEN}}', FOLDER: '${{HOME}}' }}
tools:
  - name: leak
    description: d
    inputSchema: {{ type: object }}
    nodes:
      - {{ id: entry, type: entry, next: echo }}
      - {{ id: echo, type: mcp, server: everything, tool: echo, args: {{ message: 'Bearer ${{settings.API_TOKEN}}' }}, next: env }}
      - {{ id: env, type: mcp, server: everything, tool: get-env, args: {{}}, next: join }}
      - {{ id: join, type: transform, transform: {{ expr: '{{\"echo\": echo, \"env\": env.API_TOKEN}}' }}, next: exit }}
      - {{ id: exit, type: exit }}
",
        server.display()
    );
    fs::write(&path, text).unwrap();
    Some(path)
}

impl Tramline {
    fn set(&self, key: &str, value: &str) -> CommandResult {
        let mut child = self
            .command(&["settings", "set", key])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{value}").unwrap();
        drop(input);
        CommandResult(child.wait_with_output().unwrap())
    }

    fn key_file(&self) -> PathBuf {
        self.data_dir().join("settings.key")
    }
}

fn said(done: &CommandResult) -> String {
    done.out() + &done.err()
}

/// Everything in a folder, as text.
fn everything_in(folder: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.push_str(&everything_in(&path));
        } else {
            all.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap()));
        }
    }
    all
}

fn assert_hidden(text: &str) {
    for part in ["0123456789abcdef", "live-01"].iter().chain(&CODED) {
        assert!(!text.contains(part), "{part} is in {text}");
    }
}

#[test]
fn a_secret_that_a_real_server_tells_is_found_nowhere() {
    let place = Tramline::new();
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = document(folder.path()) else {
        return;
    };
    let path = path.to_str().unwrap();
    let mut heard = said(&place.set("API_TOKEN", SECRET));
    let run = place.run(&["run", path, "leak", "--json"]);
    heard += &said(&run);
    let json = run.json();
    let result = json.get("result").unwrap();
    let wanted = r#"{"echo":"Echo: Bearer [redacted:API_TOKEN]","env":"[redacted:API_TOKEN]"}"#;
    assert_eq!(result.to_json(), wanted, "{}", run.err());
    let id = run.text("run_id");
    for words in [
        vec!["run", path, "leak"],
        vec!["trace", &id],
        vec!["runs", "show", &id, "--full"],
        vec!["settings", "list"],
        vec!["settings", "get", "API_TOKEN", "--json"],
        vec!["replay", &id],
        vec!["audit"],
        vec!["check", path],
        vec!["doctor", path],
    ] {
        let done = place.run(&words);
        assert_eq!(done.code(), 0, "{words:?} {}", said(&done));
        heard += &said(&done);
    }
    let out = folder.path().join("trace.json");
    place.run(&["trace", "latest", "--out", out.to_str().unwrap()]);
    heard += &fs::read_to_string(&out).unwrap();
    assert!(heard.contains("Bearer ${settings.API_TOKEN}"), "{heard}");
    assert_hidden(&heard);
    assert_hidden(&everything_in(place.data.path()));
}

#[test]
fn an_agent_sets_uses_and_reads_over_mcp_and_hears_no_secret() {
    let place = Tramline::new();
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = document(folder.path()) else {
        return;
    };
    let log = folder.path().join("log");
    let mut command = serve(&[path], &place.data_dir());
    command
        .args(["--toolsets", "graphs,library,debug", "--root"])
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(fs::File::create(&log).unwrap());
    let mut talk = StdioClient::start(command.spawn().unwrap());
    let set = json!({"key": "API_TOKEN", "value": SECRET});
    let mut heard = talk.call("settings_set", &set).to_string();
    let mut call = |tool: &str, arguments: serde_json::Value| {
        let answer = talk.call(tool, &arguments);
        heard += &answer.to_string();
        answer["structuredContent"].clone()
    };
    assert_eq!(call("leak", json!({}))["env"], "[redacted:API_TOKEN]");
    let shown = call("settings_get", json!({"key": "API_TOKEN"}));
    let users = shown["data"]["used_by"].to_string();
    assert!(
        users.contains("server everything") && users.contains("node echo"),
        "{users}"
    );
    let trace = call("trace_read", json!({}));
    let id = trace["data"]["run_id"].as_str().unwrap().to_owned();
    let out = folder.path().join("trace.json");
    let written = place.run(&["trace", &id, "--out", out.to_str().unwrap()]);
    assert_eq!(written.code(), 0, "{}", written.err());
    let again = call("trace_read", json!({"trace_file": out}));
    assert_eq!(again["data"]["run_id"], id.as_str(), "{again}");
    let outside = call("trace_read", json!({"trace_file": "/etc/hostname"}));
    assert_eq!(outside["success"], false);
    talk.close();
    heard += &fs::read_to_string(&log).unwrap();
    assert_hidden(&heard);
    assert_hidden(&everything_in(place.data.path()));
    let audit = place.run(&["audit", "--since", "2026-01-01"]);
    assert!(audit.out().contains("key API_TOKEN"), "{}", audit.out());
    let later = place.run(&["audit", "--since", "2999-01-01T00:00:00Z"]);
    assert_eq!(later.out(), "");
    assert_eq!(place.run(&["audit", "--since", "yesterday"]).code(), 2);
}

#[test]
fn a_key_that_others_can_read_is_refused_with_what_to_run() {
    let place = Tramline::new();
    assert_eq!(place.set("TOKEN", SECRET).code(), 0);
    let file = place.key_file();
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let command = format!("chmod 600 {}", file.display());
    let refused = place.set("OTHER", "another-secret");
    assert_eq!(refused.code(), 1);
    assert!(refused.err().contains(&command), "{}", refused.err());
    let shown = place.run(&["settings", "get", "TOKEN"]);
    assert!(shown.out().contains(&command), "{}", shown.out());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(
        place
            .run(&["settings", "get", "TOKEN"])
            .out()
            .contains("sk-…fXYZ")
    );
}

#[test]
fn a_lost_or_other_key_overwrites_nothing() {
    let place = Tramline::new();
    assert_eq!(place.set("TOKEN", SECRET).code(), 0);
    let right = fs::read(place.key_file()).unwrap();
    let other = Tramline::new();
    assert_eq!(other.set("X", "makes a key").code(), 0);
    for key in [
        None,
        Some(fs::read(other.key_file()).unwrap()),
        Some(b"junk".to_vec()),
    ] {
        fs::remove_file(place.key_file()).unwrap();
        if let Some(key) = &key {
            fs::write(place.key_file(), key).unwrap();
            fs::set_permissions(place.key_file(), fs::Permissions::from_mode(0o600)).unwrap();
        }
        for (name, value) in [("TOKEN", "new-value-1"), ("OTHER", "new-value-2")] {
            let refused = place.set(name, value);
            assert_eq!(refused.code(), 1, "{}", said(&refused));
            assert!(
                refused.err().contains("nothing is written"),
                "{}",
                refused.err()
            );
            assert!(refused.err().contains("settings.key"), "{}", refused.err());
        }
        assert_eq!(place.key_file().exists(), key.is_some(), "no key is made");
        assert_eq!(fs::read(place.key_file()).ok(), key);
        // `doctor` reports it, and deleting needs no key.
        assert_eq!(place.run(&["doctor"]).code(), 1);
        fs::write(place.key_file(), &right).unwrap();
        fs::set_permissions(place.key_file(), fs::Permissions::from_mode(0o600)).unwrap();
        let back = place.run(&["settings", "get", "TOKEN"]);
        assert!(back.out().contains("sk-…fXYZ"), "{}", back.out());
    }
    fs::remove_file(place.key_file()).unwrap();
    assert_eq!(place.run(&["settings", "rm", "TOKEN"]).code(), 0);
    assert_eq!(place.set("TOKEN", "a new beginning").code(), 0);
}

#[test]
fn a_command_that_is_killed_leaves_the_old_or_the_new() {
    let place = Tramline::new();
    for round in 0..12 {
        let value = format!("value-number-{round:04}-of-many");
        let mut child = place
            .command(&["settings", "set", "TOKEN", &value])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // From before the key is created to after everything is written.
        let until = std::time::Instant::now() + std::time::Duration::from_millis(round * 3);
        while std::time::Instant::now() < until {
            std::hint::spin_loop();
        }
        let _ = child.kill();
        child.wait().unwrap();
        let shown = place.run(&["settings", "list", "--json"]);
        assert_eq!(shown.code(), 0, "{}", shown.err());
        for one in shown.json().get("settings").unwrap().as_array().unwrap() {
            assert!(one.get("error").unwrap().is_null(), "{one}");
        }
    }
    assert_eq!(place.set("TOKEN", SECRET).code(), 0);
    assert!(
        place
            .run(&["settings", "get", "TOKEN"])
            .out()
            .contains("sk-…fXYZ")
    );
}

#[test]
fn the_environment_wins_and_values_come_without_their_line_end() {
    let place = Tramline::new();
    let set = place.run(&["settings", "set", "region", "eu-west", "--plain"]);
    assert_eq!(set.code(), 0, "{}", set.err());
    let got = place.run(&["settings", "get", "region", "--json"]);
    assert_eq!(got.text("value"), "eu-west");
    let mut outside = place.command(&["settings", "get", "region", "--json"]);
    outside.env("TRAMLINE_SETTING_REGION", "somewhere-else-entirely");
    let got = CommandResult(outside.output().unwrap());
    assert_eq!(got.text("value"), "som…rely");
    assert_eq!(got.text("source"), "TRAMLINE_SETTING_REGION");
    for (key, value) in [("a b", "value"), ("A", "abc")] {
        assert_eq!(place.set(key, value).code(), 2);
    }
    assert_eq!(place.run(&["settings", "get", "nothing"]).code(), 2);
    assert_eq!(place.run(&["settings", "rm", "nothing"]).code(), 2);
    // A key elsewhere: none is created next to the runs.
    let elsewhere = Tramline::new();
    let file = elsewhere.data.path().join("own.key");
    let mut command = elsewhere.command(&["settings", "set", "A", "some-secret"]);
    let done = CommandResult(command.env("TRAMLINE_KEY_FILE", &file).output().unwrap());
    assert_eq!(done.code(), 0, "{}", done.err());
    assert!(file.exists() && !elsewhere.key_file().exists());
}

#[test]
fn traces_fit_their_schema() {
    let place = Tramline::new();
    let schema = fs::read_to_string(root().join("schemas/trace.schema.json")).unwrap();
    let checker = Checker::new(&Value::from_json(&schema).unwrap()).unwrap();
    for (document, tool, input) in [
        ("loop", "sum_to_n", r#"{"n":3}"#),
        (
            "approval",
            "write_note",
            r#"{"path":"target/x","text":"t"}"#,
        ),
        (
            "errors",
            "read_or_default",
            r#"{"path":"examples/data/absent.txt","default":"x"}"#,
        ),
        (
            "errors",
            "read_lines",
            r#"{"path":"examples/data/absent.txt"}"#,
        ),
    ] {
        let document = format!("examples/graphs/{document}.yaml");
        place.run(&["run", &document, tool, "--input", input, "--json"]);
    }
    let runs = place.run(&["runs", "--json"]).json();
    let runs = runs.get("runs").unwrap().as_array().unwrap().to_vec();
    assert_eq!(runs.len(), 4);
    for run in runs {
        let id = run.get("run_id").unwrap().as_str().unwrap();
        for name in [id.to_owned(), format!("tramline://runs/{id}/trace")] {
            let trace = place.run(&["trace", &name, "--json"]).json();
            assert_eq!(trace.get("status"), run.get("status"));
            checker
                .check(&trace)
                .unwrap_or_else(|faults| panic!("{faults:?} {trace}"));
        }
    }
    assert_eq!(place.run(&["trace", "nonsense"]).code(), 2);
}

#[test]
fn runs_are_pruned_by_flags_and_by_the_configuration() {
    let place = Tramline::new();
    let folder = tempfile::tempdir().unwrap();
    let document = folder.path().join("d.yaml");
    let text = "version: '1.0'\nserver: { name: s, version: '1' }\ntools:\n  - name: w\n    description: d\n    \
        inputSchema: { type: object }\n    nodes:\n      - { id: entry, type: entry, next: exit }\n      \
        - { id: exit, type: exit }\n";
    fs::write(&document, text).unwrap();
    for _ in 0..3 {
        let run = place.run(&["run", document.to_str().unwrap(), "w"]);
        assert_eq!(run.code(), 0, "{}", run.err());
    }
    assert_eq!(place.run(&["runs", "prune"]).code(), 2);
    let removed = |words: &[&str]| {
        let done = place.run(words);
        assert_eq!(done.code(), 0, "{}", done.err());
        let json = done.json();
        let count = json.get("removed").and_then(Value::as_u64).unwrap();
        (count, json.get("runs").unwrap().as_array().unwrap().len())
    };
    let dry = removed(&["runs", "prune", "--older", "0s", "--dry-run", "--json"]);
    assert_eq!(dry, (0, 3));
    assert_eq!(
        removed(&["runs", "prune", "--older", "1h", "--json"]),
        (0, 0)
    );
    let config = folder.path().join("tramline.yaml");
    fs::write(&config, "retention: { days: 30, bytes: 1 }\n").unwrap();
    let config = config.to_str().unwrap();
    assert_eq!(
        removed(&["runs", "prune", "--config", config, "--json"]),
        (3, 3)
    );
}

#[test]
fn what_a_server_says_of_its_tools_holds_no_secret() {
    let place = Tramline::new();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("mcp.json");
    let config = config.to_str().unwrap();
    let unruly = tramline_test_server::program::test_server().unwrap();
    let servers = json!({"mcpServers": {
        "u": {"command": unruly, "env": {"UNRULY_SAYS": "it is ${settings.API_TOKEN}"}},
    }});
    fs::write(config, servers.to_string()).unwrap();
    assert_eq!(place.set("API_TOKEN", SECRET).code(), 0);
    let mut heard = String::new();
    for words in [
        vec!["registry", "list", "--mcp-config", config],
        vec!["registry", "list", "--json", "--mcp-config", config],
        vec!["registry", "show", "u:says", "--mcp-config", config],
        vec![
            "registry",
            "search",
            "says",
            "--json",
            "--mcp-config",
            config,
        ],
    ] {
        let done = place.run(&words);
        assert_eq!(done.code(), 0, "{words:?} {}", said(&done));
        heard += &said(&done);
    }
    assert!(heard.contains("it is [redacted:API_TOKEN]"), "{heard}");
    assert_hidden(&heard);
    assert_hidden(&everything_in(place.data.path()));
}

#[test]
fn what_was_kept_of_tools_is_cleaned_when_it_is_read() {
    let place = Tramline::new();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("mcp.json");
    let config = config.to_str().unwrap();
    let unruly = tramline_test_server::program::test_server().unwrap();
    let servers = json!({"mcpServers": {"u": {"command": unruly, "env": {"UNRULY_SAYS": SECRET}}}});
    fs::write(config, servers.to_string()).unwrap();
    // Stored before it is known to be a secret.
    let list = ["registry", "list", "--json", "--mcp-config", config];
    assert!(place.run(&list).out().contains(SECRET));
    assert_eq!(place.set("API_TOKEN", SECRET).code(), 0);
    let again = place.run(&list);
    assert_hidden(&said(&again));
    assert!(
        again.out().contains("[redacted:API_TOKEN]"),
        "{}",
        said(&again)
    );
}

/// A server that rejects every request and repeats all that it was sent.
fn echoing() -> std::net::SocketAddr {
    use std::io::{BufRead as _, BufReader};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head: Vec<String> = lines
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty())
                .collect();
            let body = format!("refused: {}", head.join(" | "));
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 403 Forbidden\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
        }
    });
    address
}

#[test]
fn what_a_refusing_server_echoes_holds_no_credential() {
    let place = Tramline::new();
    let folder = tempfile::tempdir().unwrap();
    let address = echoing();
    let config = folder.path().join("mcp.json");
    let config = config.to_str().unwrap();
    let path = folder.path().join("t.yaml");
    let path = path.to_str().unwrap();
    fs::write(
        path,
        "version: '1.0'
server: { name: s, version: '1' }
tools:
  - name: t
    description: d
    inputSchema: { type: object }
    nodes:
      - { id: entry, type: entry, next: a }
      - { id: a, type: mcp, server: h, tool: x, args: {}, next: exit }
      - { id: exit, type: exit }
",
    )
    .unwrap();
    assert_eq!(place.set("API_TOKEN", SECRET).code(), 0);
    for text in [
        "Bearer ${settings.API_TOKEN}",
        "Bearer ${OUR_TEST_KEY}",
        SECRET,
    ] {
        let server =
            json!({"url": format!("http://{address}/mcp"), "headers": {"X-Api-Key": text}});
        fs::write(config, json!({"mcpServers": {"h": server}}).to_string()).unwrap();
        for words in [
            vec!["registry", "list", "--mcp-config", config],
            vec!["run", path, "--mcp-config", config],
            vec![
                "run",
                path,
                "--json",
                "--log",
                "trace",
                "--mcp-config",
                config,
            ],
            vec!["doctor", "--mcp-config", config],
        ] {
            let mut command = place.command(&words);
            let done = CommandResult(command.env("OUR_TEST_KEY", SECRET).output().unwrap());
            assert_hidden(&said(&done));
        }
    }
    let model = format!(
        "model: {{ dialect: openai, name: m, url: 'http://{address}/v1', key: '${{OUR_TEST_KEY}}' }}"
    );
    let file = folder.path().join("tramline.yaml");
    fs::write(&file, model).unwrap();
    let words = [
        "registry",
        "run",
        "builtin:llm",
        "--input",
        r#"{"prompt":"hi"}"#,
    ];
    let mut command = place.command(&words);
    command
        .env("OUR_TEST_KEY", SECRET)
        .arg("--config")
        .arg(&file);
    let done = CommandResult(command.output().unwrap());
    assert!(said(&done).contains("403"), "{}", said(&done));
    assert_hidden(&said(&done));
    assert_hidden(&everything_in(place.data.path()));
}

#[test]
fn the_operator_is_warned_of_secrets_that_are_hidden_badly() {
    let place = Tramline::new();
    for (value, says) in [
        ("swordfish", "can be guessed"),
        ("48213377", "can be guessed"),
        ("password", "too common to redact"),
    ] {
        let done = place.set("PIN", value);
        assert_eq!(done.code(), 0, "{}", said(&done));
        assert!(
            done.err().contains("warning") && done.err().contains(says),
            "{}",
            done.err()
        );
    }
    let listed = place.run(&["settings", "list"]);
    assert!(
        listed.out().contains("too common to redact"),
        "{}",
        listed.out()
    );
    assert_eq!(place.set("PIN", "abc").code(), 2);
    let strong = place.set("KEY", SECRET);
    assert!(!strong.err().contains("warning"), "{}", strong.err());
}

//! The studio opened on documents: runs over the API, wire messages, and no secret anywhere.

use crate::http_auth::{at_a_terminal, exchanged};
use crate::support::Tramline;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const SECRET: &str = "sk-live-0123456789abcdefXYZ";
/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// An open studio.
struct Studio {
    child: Child,
    address: String,
    /// The end of the operator's own address; it is used up.
    code: String,
    key: String,
}

impl Studio {
    fn open(place: &Tramline, files: &[&str]) -> Self {
        Self::opened(place, &[&["--trust"], files].concat())
    }

    fn opened(place: &Tramline, words: &[&str]) -> Self {
        let words = [&["studio", "--no-open", "--json"], words].concat();
        let mut command = place.command(&words);
        let command = command.env("TRAMLINE_SETTING_API_TOKEN", SECRET);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let own = told["own_url"].as_str().unwrap();
        let (url, code) = own.split_once("/studio#code=").unwrap();
        let address = url.trim_start_matches("http://").to_owned();
        let (status, reply) = exchanged(&address, code);
        assert_eq!(status, 200, "{reply}");
        Self {
            child,
            address,
            code: code.to_owned(),
            key: reply["key"].as_str().unwrap().to_owned(),
        }
    }

    /// A request with the studio's key and these headers in addition to the usual ones: the whole
    /// response.
    fn asked(&self, verb: &str, path: &str, more: &str, body: &str) -> String {
        let request = format!(
            "{verb} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{more}\
             Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            self.key,
            body.len()
        );
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn api(&self, verb: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let body = body.map(Value::to_string).unwrap_or_default();
        let answer = self.asked(verb, path, "Content-Type: application/json\r\n", &body);
        assert!(!answer.contains("0123456789abcdef"), "{answer}");
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    fn rested(&self, run: &str) -> Value {
        loop {
            let (_, one) = self.api("GET", &format!("/api/runs/{run}"), None);
            if one["status"] != "running" {
                return one;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn document(folder: &std::path::Path) -> String {
    let path = folder.join("wire.yaml");
    let text = format!(
        "version: '1'
server: {{ name: s, version: '1' }}
mcpServers:
  u:
    command: {}
tools:
  - name: wire
    description: d
    inputSchema: {{ type: object }}
    nodes:
      - {{ id: in, type: entry, next: complain }}
      - {{ id: complain, type: mcp, server: u, tool: stderr, args: {{ lines: 2 }}, next: echo }}
      # The name stays in the document.
      - {{ id: echo, type: mcp, server: u, tool: echo, args: {{ say: 'Bearer ${{settings.API_TOKEN}}' }}, next: out }}
      - {{ id: out, type: exit }}
",
        tramline_test_server::program::test_server().unwrap().display()
    );
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_went_over_the_wire_is_shown_without_secrets() {
    let place = Tramline::new();
    let folder = tempfile::tempdir().unwrap();
    let path = document(folder.path());
    let studio = Studio::open(&place, &[&path]);
    let (status, told) = studio.api("POST", "/api/tools/wire/runs", Some(&json!({})));
    assert_eq!(status, 201, "{told}");
    let run = told["run_id"].as_str().unwrap().to_owned();
    let one = studio.rested(&run);
    assert_eq!(one["status"], "completed", "{one}");
    let (_, step) = studio.api("GET", &format!("/api/runs/{run}/steps/2"), None);
    assert_eq!(
        step["stderr"],
        json!(["unruly: complaint 0", "unruly: complaint 1"])
    );
    let (_, step) = studio.api("GET", &format!("/api/runs/{run}/steps/3"), None);
    let request = &step["request"];
    assert_eq!(
        (&request["kept"], &request["message"]["method"]),
        (&json!(true), &json!("tools/call"))
    );
    let params = &request["message"]["params"];
    assert_eq!(
        params["arguments"]["say"], "Bearer [redacted:API_TOKEN]",
        "{step}"
    );
    assert_eq!(
        params["_meta"]["tramline/idempotency-key"],
        format!("{run}/3")
    );
    assert!(step["response"]["message"]["content"].is_array(), "{step}");
    for path in ["trace", "export", "at/5", "timeline", "graph", "events"] {
        assert_eq!(
            studio
                .api("GET", &format!("/api/runs/{run}/{path}"), None)
                .0,
            200,
            "{path}"
        );
    }
    let eval = json!({"language": "jsonata", "expression": "echo", "run_id": run});
    assert_eq!(studio.api("POST", "/api/eval", Some(&eval)).0, 200);
    drop(studio);
    // After a restart the request is shown from the journal, and marked as such.
    let studio = Studio::open(&place, &[&path]);
    let (_, step) = studio.api("GET", &format!("/api/runs/{run}/steps/3"), None);
    assert_eq!(step["request"]["kept"], false, "{step}");
    assert!(step.get("response").is_none());
}

#[test]
fn documents_are_edited_in_place_and_run_as_they_are_now() {
    let place = Tramline::new();
    let folder = tempfile::tempdir().unwrap();
    let path = document(folder.path());
    let studio = Studio::open(&place, &[&path]);
    let (_, read) = studio.api("GET", "/api/documents/wire.yaml", None);
    let edits = json!({"text": read["text"], "edits": [{"op": "remove_node", "id": "complain"}]});
    let (_, edited) = studio.api("POST", "/api/edit", Some(&edits));
    assert_eq!(edited["flaws"], json!([]), "{edited}");
    let body = json!({"text": edited["text"], "hash": read["hash"]});
    assert_eq!(
        studio.api("PUT", "/api/documents/wire.yaml", Some(&body)).0,
        200
    );
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .contains("# The name stays")
    );
    loop {
        let (_, told) = studio.api("POST", "/api/tools/wire/runs", Some(&json!({})));
        let one = studio.rested(told["run_id"].as_str().unwrap());
        assert_eq!(one["status"], "completed", "{one}");
        if one["steps"] == 3 {
            break;
        }
    }
}

#[test]
fn what_pages_from_elsewhere_ask_is_refused() {
    let place = Tramline::new();
    let studio = Studio::open(&place, &[]);
    let refused = |verb: &str, more: &str| {
        let answer = studio.asked(verb, "/api/check", more, "{\"text\": \"x\"}");
        answer.split(' ').nth(1).map(str::to_owned)
    };
    let json = "Content-Type: application/json\r\n";
    assert_eq!(refused("POST", json).as_deref(), Some("200"));
    let foreign = format!("{json}Origin: http://evil.example\r\n");
    assert_eq!(refused("POST", &foreign).as_deref(), Some("403"));
    assert_eq!(
        refused("POST", "Content-Type: text/plain\r\n").as_deref(),
        Some("403")
    );
    assert_eq!(refused("PUT", "").as_deref(), Some("403"));
    let shown = place.run(&["studio", "--no-open", "--http", "0.0.0.0:0"]);
    assert_eq!(shown.code(), 2, "{}", shown.err());
    assert!(shown.err().contains("needs a token"), "{}", shown.err());
}

#[test]
fn a_code_is_exchanged_once_by_the_studio_s_own_page() {
    let place = Tramline::new();
    let studio = Studio::open(&place, &[]);
    let (status, reply) = exchanged(&studio.address, &studio.code);
    assert_eq!(status, 403, "{reply}");
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(message.contains("`tramline studio`"), "{message}");
    // The code of another studio only works for a request that is admitted.
    let mut child = place
        .command(&["studio", "--no-open"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let (_, own) = line.trim_end().split_once("http://").unwrap();
    let (address, code) = own.split_once("/studio#code=").unwrap();
    let other = Studio {
        child,
        address: address.to_owned(),
        code: code.to_owned(),
        key: String::new(),
    };
    let body = json!({ "code": code }).to_string();
    let json = "Content-Type: application/json\r\n";
    let foreign = format!("{json}Origin: http://evil.example\r\n");
    let answer = other.asked("POST", "/api/studio/key", &foreign, &body);
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("foreign_origin"));
    let rebound = answer_for(&other.address, "evil.example", &body);
    assert!(rebound.starts_with("HTTP/1.1 403") && rebound.contains("foreign_host"));
    let (status, reply) = exchanged(&other.address, &other.code);
    assert_eq!(status, 200, "{reply}");
    assert_ne!(reply["key"], studio.key.as_str());
}

#[test]
fn neither_key_nor_code_is_in_a_log() {
    let place = Tramline::new();
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut child = place
        .command(&["--log", "trace", "studio", "--no-open"])
        .stdout(Stdio::piped())
        .stderr(log.reopen().unwrap())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let (_, own) = line.trim_end().split_once("http://").unwrap();
    let (address, code) = own.split_once("/studio#code=").unwrap();
    let (_, reply) = exchanged(address, code);
    let key = reply["key"].as_str().unwrap().to_owned();
    let mut studio = Studio {
        child,
        address: address.to_owned(),
        code: code.to_owned(),
        key,
    };
    assert_eq!(studio.api("GET", "/api/about", None).0, 200);
    // A used code yields no further one here: this is not a terminal.
    assert_eq!(exchanged(&studio.address, &studio.code).0, 403);
    studio.child.kill().unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    let logged = std::fs::read_to_string(log.path()).unwrap();
    assert!(!line.contains(&studio.key));
    assert!(!logged.contains(&studio.key) && !logged.contains(&studio.code));
}

#[test]
fn a_service_prints_no_code() {
    let place = Tramline::new();
    let mut child = place
        .command(&["serve", "examples/graphs/switch.yaml", "--http"])
        .arg("127.0.0.1:0")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = String::new();
    for line in lines.map_while(Result::ok) {
        said.push_str(&line);
        said.push('\n');
        if line.contains("`tramline studio`") {
            break;
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    assert!(
        said.contains("the studio is at http://127.0.0.1:"),
        "{said}"
    );
    assert!(said.contains("/studio\n") && !said.contains('#'), "{said}");
}

/// The response to a key request that names this host.
fn answer_for(address: &str, host: &str, body: &str) -> String {
    let request = format!(
        "POST /api/studio/key HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_studio_starts_nothing_until_it_is_trusted() {
    let place = Tramline::new();
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("started");
    let file = folder.path().join("g.yaml");
    let text = format!(
        "version: '1'
server: {{ name: s, version: '1' }}
mcpServers:
  pwn: {{ command: sh, args: [-c, \"touch '{}'; exit 1\"] }}
tools:
  - name: go
    description: d
    inputSchema: {{ type: object }}
    nodes:
      - {{ id: in, type: entry, next: act }}
      - {{ id: act, type: mcp, server: pwn, tool: echo, args: {{}}, next: out }}
      - {{ id: out, type: exit }}
",
        mark.display()
    );
    std::fs::write(&file, &text).unwrap();
    let file = file.to_str().unwrap();
    let studio = Studio::opened(&place, &[file]);
    let (_, listed) = studio.api("GET", "/api/registry", None);
    let silent = listed["silent"].to_string();
    assert!(silent.contains("tramline trust"), "{listed}");
    let go = || {
        let (_, begun) = studio.api("POST", "/api/tools/go/runs", Some(&json!({"input": {}})));
        studio.rested(
            begun["run_id"]
                .as_str()
                .unwrap_or_else(|| panic!("{begun}")),
        )
    };
    let told = go().to_string();
    assert!(told.contains("is not trusted yet"), "{told}");
    assert!(!mark.exists());
    // It takes effect at once, in the open studio.
    assert_eq!(place.run(&["trust", file]).code(), 0);
    go();
    assert!(mark.exists());
    // An edit in the editor also changes what is started.
    std::fs::remove_file(&mark).unwrap();
    let (_, listed) = studio.api("GET", "/api/documents/g.yaml", None);
    let edited = text.replace("exit 1", "exit 2");
    let draft = json!({"text": edited, "hash": listed["hash"]});
    let (status, _) = studio.api("PUT", "/api/documents/g.yaml", Some(&draft));
    assert_eq!(status, 200);
    assert_eq!(place.run(&["check", file]).code(), 0);
    assert!(!mark.exists());
}

/// The first line of a studio's output.
fn first_line(mut command: Command) -> (Child, String) {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let out = child.stdout.as_mut().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    (child, line)
}

/// Its one-time code gives the right to answer, so a program must not read it from a pipe.
#[test]
fn a_studio_needs_a_terminal_where_answers_need_one() {
    let place = Tramline::new();
    let config = place.data_dir().with_extension("yaml");
    std::fs::write(&config, "approvals: {terminal: true}\n").unwrap();
    let config = config.to_str().unwrap();
    // The first one stores the rule, and it holds for the others.
    for more in [&["--config", config][..], &[], &["--json"]] {
        let words = [&["studio", "--no-open"], more].concat();
        let (mut child, line) = first_line(place.command(&words));
        if line.contains("code=") {
            let _ = child.kill();
        }
        let output = child.wait_with_output().unwrap();
        assert!(!line.contains("code="), "{line}");
        let said = line + &String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("approvals.terminal: true"), "{said}");
        assert!(!output.status.success());
    }
    if cfg!(target_os = "linux") {
        let (mut child, line) = first_line(at_a_terminal(&place.command(&["studio", "--no-open"])));
        let _ = child.kill();
        let _ = child.wait();
        assert!(line.contains("/studio#code="), "{line}");
    }
}

//! Tokens as operators set them, with warnings; a server that is ended by a signal.

use crate::support::{CommandResult, Tramline};
use crate::test_servers::serve;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
const DOCUMENT: &str = "examples/graphs/approval.yaml";

/// A command that is expected to end at once.
fn refused(command: &mut Command) -> CommandResult {
    CommandResult(command.output().unwrap())
}

#[test]
fn beyond_loopback_a_blank_or_short_token_is_refused() {
    let place = Tramline::new();
    for verb in ["serve", "studio"] {
        for token in ["", " ", "\t \n", "a", "fifteen bytes !"] {
            let words = [verb, DOCUMENT, "--http", "0.0.0.0:0"];
            let by_variable = refused(place.command(&words).env("TRAMLINE_TOKEN", token));
            let by_flag = refused(place.command(&words).args(["--token", token]));
            for done in [by_variable, by_flag] {
                assert_eq!(done.code(), 2, "{verb} {token:?}: {}", done.err());
                let says = match token.trim().is_empty() {
                    true => "needs a token",
                    false => "fewer than 16 bytes",
                };
                assert!(
                    done.err().contains(says),
                    "{verb} {token:?}: {}",
                    done.err()
                );
            }
        }
    }
    let file = place.data.path().join("tokens");
    for (text, says) in [
        ("ann=short", "fewer than 16 bytes"),
        ("ann=", "the token is empty"),
        ("ann= \t", "the token is empty"),
        ("# none", "no name=token"),
    ] {
        std::fs::write(&file, text).unwrap();
        let words = ["serve", DOCUMENT, "--http", "0.0.0.0:0", "--token-file"];
        let done = refused(place.command(&words).arg(&file));
        assert_eq!(done.code(), 2, "{text}: {}", done.err());
        assert!(done.err().contains(says), "{text}: {}", done.err());
    }
}

/// A running server, with its output so far.
struct StartedServer {
    child: Child,
    address: String,
    said: String,
    /// Its later output; closed when it ends.
    lines: Receiver<String>,
}

impl StartedServer {
    fn start(mut command: Command) -> Self {
        let mut child = command
            .args(["--http", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let (tell, told) = channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        std::thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .for_each(|it| drop(tell.send(it)))
        });
        let mut said = String::new();
        let url = loop {
            let line = told
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("{said}"));
            said.push_str(&line);
            said.push('\n');
            if let Some((_, url)) = line.split_once("the studio is at http://") {
                break url.to_owned();
            }
        };
        let address = url.split('/').next().unwrap().to_owned();
        Self {
            child,
            address,
            said,
            lines: told,
        }
    }

    /// Waits for its end.
    fn ended(&mut self) -> ExitStatus {
        while self.child_still_speaks() {}
        self.child.wait().unwrap()
    }

    fn child_still_speaks(&self) -> bool {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(_) => true,
            Err(RecvTimeoutError::Disconnected) => false,
            Err(RecvTimeoutError::Timeout) => panic!("it still runs"),
        }
    }

    fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// A complete request, and its response until a text has arrived.
    fn asked(&self, method: &str, path: &str, body: &str, until: &str) -> (TcpStream, String) {
        let length = body.len();
        let mut stream = self.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}",
            self.address
        ));
        let mut answer = Vec::new();
        while !String::from_utf8_lossy(&answer).contains(until) {
            let mut more = [0; 4096];
            let read = stream.read(&mut more).unwrap();
            assert!(read > 0, "{}", String::from_utf8_lossy(&answer));
            answer.extend_from_slice(&more[..read]);
        }
        (stream, String::from_utf8_lossy(&answer).into_owned())
    }
}

impl Drop for StartedServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serving(data: &Path) -> Command {
    serve(&[DOCUMENT.into()], data)
}

#[test]
fn operators_are_warned_of_what_others_can_read_or_change() {
    let place = Tramline::new();
    let tokens = place.data.path().join("tokens");
    std::fs::write(&tokens, "ann=a-token-of-ann").unwrap();
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let data = place.data.path().join("data");
    std::fs::create_dir(&data).unwrap();
    mode(&tokens, 0o600);
    mode(&data, 0o700);
    let start = |more: &[&str]| {
        let mut command = serving(&data);
        command.arg("--token-file").arg(&tokens).args(more);
        StartedServer::start(command).said.clone()
    };
    let quiet = start(&[]);
    assert!(!quiet.contains("warning"), "{quiet}");
    let flag = start(&["--token", "a-token-in-the-open"]);
    assert!(flag.contains("list of processes"), "{flag}");
    assert!(!flag.contains("a-token-in-the-open"), "{flag}");
    mode(&tokens, 0o644);
    let read = start(&[]);
    assert!(read.contains("can read the token file"), "{read}");
    mode(&tokens, 0o600);
    mode(&data, 0o755);
    let read = start(&[]);
    assert!(read.contains("can read the data directory"), "{read}");
    mode(&data, 0o777);
    let change = start(&[]);
    assert!(change.contains("can change the data directory"), "{change}");
    let mut blank = serving(&place.data.path().join("other"));
    blank.env("TRAMLINE_TOKEN", " ");
    let blank = StartedServer::start(blank);
    assert!(blank.said.contains("the token is blank"), "{}", blank.said);
}

#[test]
fn a_signal_ends_the_server_whatever_is_open() {
    let place = Tramline::new();
    let mut server = StartedServer::start(serving(place.data.path()));
    let started = r#"{"input": {"path": "target/never-written.txt", "text": "x"}}"#;
    let (_keep, answer) = server.asked("POST", "/api/tools/write_note/runs", started, "run_id");
    let run = answer.split("\"run_id\":\"").nth(1).unwrap();
    let run = run.split('"').next().unwrap();
    let path = format!("/api/runs/{run}/events");
    let (mut events, _) = server.asked("GET", &path, "", "paused");
    let _half_head = server.send("GET /hea");
    let _half_body = server.send(&format!(
        "POST /api/check HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{{",
        server.address
    ));
    let _silent = server.send("");
    kill(
        Pid::from_raw(server.child.id().try_into().unwrap()),
        Signal::SIGTERM,
    )
    .unwrap();
    let ended = server.ended();
    assert!(ended.success(), "{ended}");
    let mut rest = String::new();
    events.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
}

#[test]
fn without_a_token_questions_for_a_person_stay_open() {
    let place = Tramline::new();
    let server = StartedServer::start(serving(place.data.path()));
    let started = r#"{"input": {"path": "target/never-written.txt", "text": "x"}}"#;
    let (_keep, answer) = server.asked("POST", "/api/tools/write_note/runs", started, "run_id");
    let run = answer.split("\"run_id\":\"").nth(1).unwrap();
    let run = run.split('"').next().unwrap();
    let path = format!("/api/runs/{run}/events");
    server.asked("GET", &path, "", "paused");
    let (_, listed) = server.asked("GET", "/api/approvals", "", "checkpoint_id");
    let point = listed.split("\"checkpoint_id\":\"").nth(1).unwrap();
    let path = format!("/api/approvals/{}", point.split('"').next().unwrap());
    let (_, told) = server.asked("POST", &path, r#"{"answer": "proceed"}"#, "}}");
    assert!(told.starts_with("HTTP/1.1 403"), "{told}");
    assert!(
        told.contains("person_needed") && told.contains("without a token"),
        "{told}"
    );
}

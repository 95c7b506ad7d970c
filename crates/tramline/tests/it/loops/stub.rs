//! A model behind HTTP with scripted responses and failures.

use serde_json::json;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How one request is answered.
#[derive(Clone, Debug)]
pub(crate) enum StubReply {
    /// With this text.
    Text(String),
    /// With this text, streamed and ended properly.
    Stream(String),
    /// With the start of this text, then the connection is closed.
    Torn(String),
    /// With a rate limit error.
    Busy,
    /// Not at all.
    Nothing,
}

/// A model, and the requests it received.
pub(crate) struct StubModel {
    pub(crate) url: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl StubModel {
    /// Answers requests in this order; the last answer is repeated.
    pub(crate) fn start(script: Vec<StubReply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = request(&mut stream);
                let mut kept = kept.lock().unwrap();
                let says = script[kept.len().min(script.len() - 1)].clone();
                kept.push(request);
                std::thread::spawn(move || answer(stream, &says));
            }
        });
        Self { url, heard }
    }

    /// The requests so far, headers and bodies.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut part = [0; 65_536];
    loop {
        let count = stream.read(&mut part).unwrap();
        bytes.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&bytes);
        let ended = text.split_once("\r\n\r\n").is_some_and(|(head, rest)| {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.parse::<usize>().unwrap())
            });
            rest.len() >= length.unwrap_or(0)
        });
        if ended || count == 0 {
            return text.into_owned();
        }
    }
}

fn answer(mut stream: TcpStream, says: &StubReply) {
    let whole = |status: &str, body: String| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nretry-after: 0\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\
                transfer-encoding: chunked\r\n\r\n";
    let piece = |data: &str| {
        let line = format!("data: {data}\n\n");
        format!("{:x}\r\n{line}\r\n", line.len())
    };
    let word = |text: &str| piece(&json!({"choices": [{"delta": {"content": text}}]}).to_string());
    let text = match says {
        StubReply::Text(text) => {
            let body = json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}],
                "usage": {"total_tokens": 9}});
            whole("200 OK", body.to_string())
        }
        StubReply::Stream(text) => {
            let (first, second) = text.split_at(text.len() / 2);
            let usage = json!({"choices": [], "usage": {"total_tokens": 9}}).to_string();
            let (first, second) = (word(first), word(second));
            let end = [piece(&usage), piece("[DONE]"), "0\r\n\r\n".to_owned()].concat();
            format!("{head}{first}{second}{end}")
        }
        StubReply::Torn(text) => format!("{head}{}", word(text)),
        StubReply::Busy => {
            let body = json!({"error": {"message": "slow down"}});
            whole("429 Too Many Requests", body.to_string())
        }
        StubReply::Nothing => {
            // Longer than any timeout here.
            std::thread::sleep(Duration::from_secs(60));
            return;
        }
    };
    let _ = stream.write_all(text.as_bytes());
}

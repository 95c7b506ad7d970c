//! A loopback server that plays a script, one reply per connection, and stores the requests.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with one connection.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Answers with a status, extra headers and a body.
    Whole(u16, &'static str, String),
    /// Streams these, a line each, and ends properly.
    Stream(Vec<String>),
    /// Streams these and closes the connection without an end.
    Torn(Vec<String>),
    /// Sends nothing at all.
    Silent,
    /// Streams these and then sends nothing more.
    Stuck(Vec<String>),
}

pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) async fn start(script: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        tokio::spawn(async move {
            for reply in script {
                let (stream, _) = listener.accept().await.unwrap();
                let kept = Arc::clone(&kept);
                tokio::spawn(async move { play(stream, reply, &kept).await });
            }
        });
        Self { url, asked }
    }

    /// The requests so far, head and body.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn play(mut stream: TcpStream, reply: Reply, kept: &Mutex<Vec<String>>) {
    let request = request(&mut stream).await;
    kept.lock().unwrap().push(request);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\
                transfer-encoding: chunked\r\n\r\n";
    match reply {
        Reply::Whole(status, headers, body) => {
            let text = format!(
                "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(text.as_bytes()).await;
        }
        Reply::Stream(lines) => {
            let _ = stream.write_all(head.as_bytes()).await;
            chunks(&mut stream, &lines).await;
            let _ = stream.write_all(b"0\r\n\r\n").await;
        }
        Reply::Torn(lines) => {
            let _ = stream.write_all(head.as_bytes()).await;
            chunks(&mut stream, &lines).await;
        }
        Reply::Silent => tokio::time::sleep(Duration::from_secs(60)).await,
        Reply::Stuck(lines) => {
            let _ = stream.write_all(head.as_bytes()).await;
            chunks(&mut stream, &lines).await;
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
    }
    let _ = stream.shutdown().await;
}

async fn chunks(stream: &mut TcpStream, lines: &[String]) {
    for line in lines {
        let data = format!("data: {line}\n\n");
        let chunk = format!("{:x}\r\n{data}\r\n", data.len());
        let _ = stream.write_all(chunk.as_bytes()).await;
    }
}

async fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let count = stream.read(&mut part).await.unwrap();
        bytes.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let named = name.eq_ignore_ascii_case("content-length");
            named.then(|| value.trim().parse::<usize>().unwrap())
        });
        if count == 0 || body.len() >= length.unwrap_or(0) {
            return text;
        }
    }
}

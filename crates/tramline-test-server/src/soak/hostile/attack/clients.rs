//! Malicious HTTP clients: slow, numerous, incomplete, malformed.

use super::super::super::seeded_rng::SeededRng;
use super::super::HostileContext;
use super::super::http::{self, HttpRequest};
use super::Attack;
use anyhow::{Context, Result};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const ANSWER_MAX: Duration = Duration::from_secs(4);

/// Connections that one attack holds open: more than a server may have descriptors.
const CONNECTIONS: usize = 600;

/// How long they are held open.
const HOLD: Duration = Duration::from_secs(2);

/// Sessions that one attack opens.
const SESSIONS: usize = 150;

/// Concurrent evaluations.
const EVALUATIONS: usize = 40;

/// The attacks.
pub(super) const ALL: &[Attack] = &[
    Attack {
        kind: "client: slow heads",
        run: |arena, _| hold_connections(arena, b"GET /hea"),
    },
    Attack {
        kind: "client: slow bodies",
        run: |arena, _| {
            hold_connections(arena, b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{")
        },
    },
    Attack {
        kind: "client: drips a head",
        run: drips,
    },
    Attack {
        kind: "client: more connections than descriptors",
        run: connections,
    },
    Attack {
        kind: "client: flood of sessions",
        run: sessions,
    },
    Attack {
        kind: "client: events left open",
        run: events,
    },
    Attack {
        kind: "client: huge headers",
        run: |arena, _| {
            raw(
                arena,
                &[
                    b"GET /healthz HTTP/1.1\r\nx: ".as_slice(),
                    &vec![b'h'; 2_000_000],
                ]
                .concat(),
            )
        },
    },
    Attack {
        kind: "client: thousands of headers",
        run: |arena, _| {
            raw(
                arena,
                format!("GET /healthz HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(5_000)).as_bytes(),
            )
        },
    },
    Attack {
        kind: "client: HTTP/2 preface, then garbage",
        run: |arena, _| {
            raw(
                arena,
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff rubbish",
            )
        },
    },
    Attack {
        kind: "client: HTTP/2 with an empty token",
        run: empty_token,
    },
    Attack {
        kind: "client: two lengths",
        run: |arena, _| {
            raw(arena, b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 5\r\ncontent-length: 50\r\n\r\nhello")
        },
    },
    Attack {
        kind: "client: chunk size overflow",
        run: |arena, _| {
            raw(arena, b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\nhello")
        },
    },
    Attack {
        kind: "client: random bytes",
        run: noise,
    },
    Attack {
        kind: "client: malformed JSON",
        run: malformed,
    },
    Attack {
        kind: "client: body beyond the limit",
        run: large,
    },
    Attack {
        kind: "client: 40 evaluations that double",
        run: |arena, _| {
            evaluations(
                arena,
                "($f:=function($s,$n){$n=0?$s:$f($s&$s,$n-1)};$f(\"aaaaaaaa\",22))",
            )
        },
    },
    Attack {
        kind: "client: 40 evaluations over a range",
        run: |arena, _| evaluations(arena, "$map([1..900000], function($x){{\"a\": $x}})"),
    },
    Attack {
        kind: "client: flowchart drawn repeatedly",
        run: render_flowchart,
    },
];

/// Opens many connections, sends these bytes on each, and holds them for a while.
fn hold_connections(arena: &HostileContext, said: &[u8]) -> Result<&'static str> {
    let address = arena.open.address().context("down")?;
    let _alone = arena.exclusive();
    let mut streams: Vec<TcpStream> = Vec::new();
    for _ in 0..100 {
        if let Ok(mut stream) = http::connect(address) {
            let _ = stream.write_all(said);
            streams.push(stream);
        }
    }
    arena.pause(HOLD);
    Ok("held")
}

fn connections(arena: &HostileContext, _: &mut SeededRng) -> Result<&'static str> {
    let address = arena.open.address().context("down")?;
    let _alone = arena.exclusive();
    let streams: Vec<_> = (0..CONNECTIONS)
        .map_while(|_| http::connect(address).ok())
        .collect();
    arena.pause(HOLD);
    Ok(if streams.len() == CONNECTIONS {
        "held"
    } else {
        "rejected"
    })
}

fn drips(arena: &HostileContext, _: &mut SeededRng) -> Result<&'static str> {
    let mut stream = http::connect(arena.open.address().context("down")?)?;
    let begun = Instant::now();
    for byte in b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx-drip: 1\r\n"
        .iter()
        .cycle()
    {
        if begun.elapsed() > HOLD || arena.is_over() {
            return Ok("held");
        }
        if stream.write_all(&[*byte]).is_err() {
            break;
        }
        arena.pause(Duration::from_millis(20));
    }
    Ok("rejected")
}

fn sessions(arena: &HostileContext, _: &mut SeededRng) -> Result<&'static str> {
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "flood", "version": "1"}}});
    let request = HttpRequest::json("POST", "/mcp", &hello)
        .with("accept", "application/json, text/event-stream");
    let mut outcome = "answered";
    for _ in 0..SESSIONS {
        let reply = arena.send(&arena.open, &request, ANSWER_MAX)?;
        if reply.status != 200 {
            outcome = "rejected";
        }
    }
    Ok(outcome)
}

/// Follows a waiting run, and disconnects only when enough others have been opened.
fn events(arena: &HostileContext, _: &mut SeededRng) -> Result<&'static str> {
    let body = json!({"input": {}});
    let request = HttpRequest::json("POST", "/api/tools/waits/runs", &body);
    let begun = arena.send(&arena.open, &request, ANSWER_MAX)?;
    let run = begun.json()["run_id"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let path = format!("/api/runs/{run}/events");
    for subject in [&arena.open, &arena.named] {
        let Some(address) = subject.address() else {
            continue;
        };
        let token = (subject.name == arena.named.name).then_some(arena.world.boss.as_str());
        if let Ok(stream) = HttpRequest::new("GET", &path).bearer(token).open(address) {
            arena.leave_open(stream);
        }
    }
    arena.abort_run_in(&run);
    Ok("held")
}

/// Sends raw bytes and reads the reply.
fn raw(arena: &HostileContext, bytes: &[u8]) -> Result<&'static str> {
    let mut stream = http::connect(arena.open.address().context("down")?)?;
    let _ = stream.write_all(bytes);
    let reply = http::read(stream, HOLD)?;
    Ok(reply.outcome())
}

fn noise(arena: &HostileContext, chance: &mut SeededRng) -> Result<&'static str> {
    let length = chance.between(1, 20_000);
    let bytes: Vec<u8> = (0..length).map(|_| chance.between(0, 255) as u8).collect();
    raw(arena, &bytes)
}

/// Sends the empty token over HTTP/2 with prior knowledge, where headers are not trimmed.
fn empty_token(arena: &HostileContext, _: &mut SeededRng) -> Result<&'static str> {
    let address = arena.named.address().context("down")?;
    let mut stream = http::connect(address)?;
    let authority = address.to_string();
    let mut block = vec![0x82];
    for (name, value) in [
        (":path", "/api/runs"),
        (":scheme", "http"),
        (":authority", &authority),
        ("authorization", "Bearer "),
    ] {
        block.push(0);
        for text in [name, value] {
            block.push(text.len() as u8);
            block.extend_from_slice(text.as_bytes());
        }
    }
    let mut bytes =
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00".to_vec();
    bytes.extend([0, 0, block.len() as u8, 1, 5, 0, 0, 0, 1]);
    bytes.extend(block);
    stream.write_all(&bytes)?;
    stream.set_read_timeout(Some(HOLD))?;
    let mut answer = vec![0; 8_192];
    let count = stream.read(&mut answer).unwrap_or(0);
    let answer = answer.get(..count).unwrap_or_default();
    // `:status: 200` is one byte of the HPACK static table.
    let mut frames = answer;
    while let Some((head, rest)) = frames.split_at_checked(9) {
        let length = head
            .iter()
            .take(3)
            .fold(0usize, |sum, byte| sum << 8 | usize::from(*byte));
        if head.get(3) == Some(&1) && rest.first() == Some(&0x88) {
            let what = "the empty token was accepted over HTTP/2";
            arena
                .witness
                .record_violation(super::super::witness::ViolationKind::Intrusion, what);
        }
        frames = rest.get(length..).unwrap_or_default();
    }
    Ok(if count == 0 { "no answer" } else { "rejected" })
}

fn malformed(arena: &HostileContext, chance: &mut SeededRng) -> Result<&'static str> {
    let texts: [&[u8]; 8] = [
        b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\":",
        b"\xff\xfe\x00",
        b"{\"jsonrpc\":\"2.0\",\"id\":1e999,\"method\":\"tools/list\"}",
        b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
        b"{\"jsonrpc\":\"2.0\",\"id\":\"\\ud800\",\"method\":\"ping\"}",
        b"{\"jsonrpc\":\"2.0\",\"jsonrpc\":\"1.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}",
        b"null",
        b"",
    ];
    let text = chance.pick(&texts).copied().unwrap_or_default();
    let deep = [b"{\"a\":".repeat(100_000), b"1".to_vec()].concat();
    for body in [text.to_vec(), deep] {
        let mut request = HttpRequest::call("echo_it", &json!({})).body(body.clone());
        arena.send(&arena.open, &request, ANSWER_MAX)?;
        request = HttpRequest::json("POST", "/api/eval", &json!({})).body(body);
        arena.send(&arena.open, &request, ANSWER_MAX)?;
    }
    Ok("rejected")
}

fn large(arena: &HostileContext, _: &mut SeededRng) -> Result<&'static str> {
    let mut stream = http::connect(arena.open.address().context("down")?)?;
    let head = "POST /api/check HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 1000000000\r\n\r\n";
    stream.write_all(head.as_bytes())?;
    let chunk = vec![b'a'; 1 << 20];
    for _ in 0..64 {
        if stream.write_all(&chunk).is_err() {
            return Ok("rejected");
        }
    }
    Ok(http::read(stream, HOLD)?.outcome())
}

fn evaluations(arena: &HostileContext, expression: &str) -> Result<&'static str> {
    let _alone = arena.exclusive();
    let body = json!({"language": "jsonata", "expression": expression, "data": {}});
    let request = HttpRequest::json("POST", "/api/eval", &body);
    std::thread::scope(|scope| {
        for _ in 0..EVALUATIONS {
            scope.spawn(|| {
                let _ = arena.send(&arena.open, &request, ANSWER_MAX);
            });
        }
    });
    Ok("answered")
}

fn render_flowchart(arena: &HostileContext, _: &mut SeededRng) -> Result<&'static str> {
    let nodes: Vec<_> = (0..1_500)
        .map(|number| json!({"id": format!("n{number}"), "tool": "u:echo", "arguments": {}, "depends_on": if number == 0 { vec![] } else { vec![format!("n{}", number / 2)] }}))
        .collect();
    let text = json!({"tasks": nodes}).to_string();
    let body = json!({"text": text, "as": "svg"});
    let request = HttpRequest::json("POST", "/api/render", &body);
    Ok(arena.send(&arena.open, &request, ANSWER_MAX)?.outcome())
}

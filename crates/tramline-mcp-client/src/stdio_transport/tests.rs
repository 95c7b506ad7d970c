//! A wire with a scripted child at the other end.

use super::*;
use std::time::Duration;
use tokio::io::{AsyncWriteExt, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::sync::mpsc;

struct Child {
    says: WriteHalf<DuplexStream>,
    hears: Lines<BufReader<ReadHalf<DuplexStream>>>,
    /// Messages that reached the library.
    library: mpsc::UnboundedReceiver<String>,
}

impl Child {
    async fn say(&mut self, line: &str) {
        self.says
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
    }

    async fn hear(&mut self) -> serde_json::Value {
        let line = self.hears.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

/// A wire whose pipes hold `room` bytes; the library only receives.
fn wired(room: usize, routes: &Arc<ProgressRoutes>) -> (Arc<StdioTransport>, Child) {
    let (ours, theirs) = tokio::io::duplex(room);
    let (read, write) = tokio::io::split(ours);
    let lines = BoundedReader::new(read, 2 * LIBRARY_BYTES_MAX);
    let (wire, mut ear) = StdioTransport::new(lines, write, Arc::clone(routes));
    let (heard, library) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(message) = ear.receive().await {
            let _ = heard.send(serde_json::to_string(&message).unwrap());
        }
    });
    let (read, says) = tokio::io::split(theirs);
    let child = Child {
        says,
        hears: BufReader::new(read).lines(),
        library,
    };
    (wire, child)
}

async fn answer(asked: &mut PendingCall<'_>) -> Option<CallAnswer> {
    let waiting = tokio::time::timeout(Duration::from_secs(10), &mut asked.answer);
    waiting.await.unwrap().ok()
}

#[tokio::test]
async fn answers_find_their_calls_and_the_rest_is_the_librarys() {
    let (wire, mut child) = wired(1 << 16, &Arc::default());
    let (first, second, third) = (wire.next_id(), wire.next_id(), wire.next_id());
    let mut one = wire.send_call(first, r#"{"method":"m"}"#).unwrap();
    let mut two = wire.send_call(second, r#"{"method":"m"}"#).unwrap();
    let mut odd = wire.send_call(third, r#"{"method":"m"}"#).unwrap();
    let heard = child.hear().await;
    let wanted = serde_json::json!({"jsonrpc": "2.0", "id": first, "method": "m"});
    assert_eq!(heard, wanted);
    child.say("no message at all").await;
    child
        .say(&format!(r#"{{"id":{second},"result":{{"a":1}}}}"#))
        .await;
    child
        .say(&format!(
            r#"{{"error":{{"code":-32602,"message":"no"}},"id":{first}}}"#
        ))
        .await;
    child
        .say(&format!(r#"{{"jsonrpc":"2.0","id":{third}}}"#))
        .await;
    child
        .say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .await;
    child
        .say(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#)
        .await;
    assert!(
        matches!(answer(&mut two).await, Some(CallAnswer::Result(text)) if text == r#"{"a":1}"#)
    );
    assert!(
        matches!(answer(&mut one).await, Some(CallAnswer::Error(error)) if error.message == "no")
    );
    assert!(matches!(answer(&mut odd).await, Some(CallAnswer::Invalid)));
    assert!(child.library.recv().await.unwrap().contains("list_changed"));
    assert!(child.library.recv().await.unwrap().contains("ping"));
}

#[tokio::test]
async fn progress_is_told_before_the_answer_that_follows_it() {
    let routes: Arc<ProgressRoutes> = Arc::default();
    let (wire, mut child) = wired(1 << 16, &routes);
    let id = wire.next_id();
    let told: Arc<Mutex<Vec<f64>>> = Arc::default();
    let ours = Arc::clone(&told);
    let token = rmcp::model::ProgressToken(rmcp::model::NumberOrString::Number(id));
    let listener: crate::handler::ProgressListener =
        Arc::new(move |progress| ours.lock().unwrap().push(progress.done));
    let _routed = routes.add(token, Some(listener));
    let mut asked = wire.send_call(id, r#"{"method":"m"}"#).unwrap();
    let mut lines = String::new();
    for done in 0..3 {
        let params = format!(r#"{{"progressToken":{id},"progress":{done}}}"#);
        lines += &format!(r#"{{"method":"notifications/progress","params":{params}}}"#);
        lines += "\n";
    }
    child
        .say(&format!(r#"{lines}{{"id":{id},"result":{{}}}}"#))
        .await;
    assert!(matches!(
        answer(&mut asked).await,
        Some(CallAnswer::Result(_))
    ));
    assert_eq!(*told.lock().unwrap(), [0.0, 1.0, 2.0]);
}

#[tokio::test]
async fn lines_stay_whole_and_in_order_where_the_child_reads_slowly() {
    let (wire, mut child) = wired(64, &Arc::default());
    let mut ids = Vec::new();
    for length in [10, 1000, 5, 70_000, 1] {
        let id = wire.next_id();
        let body = format!(r#"{{"method":"{}"}}"#, "m".repeat(length));
        // A caller that stops waiting does not take back half a line.
        drop(wire.send_call(id, &body).unwrap());
        ids.push((id, length));
    }
    for (id, length) in ids {
        let heard = child.hear().await;
        assert_eq!(heard["id"], id);
        assert_eq!(heard["method"].as_str().unwrap().len(), length);
    }
    // The pipe is free again.
    let id = wire.next_id();
    let _asked = wire.send_call(id, r#"{"method":"m"}"#).unwrap();
    assert_eq!(child.hear().await["id"], id);
}

#[tokio::test]
async fn whoever_waits_is_told_of_the_end_and_nothing_leaves_after_it() {
    let (wire, child) = wired(1 << 16, &Arc::default());
    let mut asked = wire.send_call(wire.next_id(), r#"{"method":"m"}"#).unwrap();
    drop(child);
    assert!(answer(&mut asked).await.is_none());
    assert!(wire.send_call(wire.next_id(), r#"{"method":"m"}"#).is_err());
}

#[tokio::test]
async fn ids_come_round_and_stay_ours() {
    let (wire, _child) = wired(64, &Arc::default());
    wire.next.store(2 * FIRST_ID - 1, Ordering::Relaxed);
    assert_eq!(wire.next_id(), 2 * FIRST_ID - 1);
    assert_eq!(wire.next_id(), FIRST_ID);
    assert!(2 * FIRST_ID - 1 <= i64::from(i32::MAX));
}

#[tokio::test]
async fn the_library_reads_no_long_messages_but_calls_have_their_answers() {
    let (wire, mut child) = wired(1 << 16, &Arc::default());
    let id = wire.next_id();
    let mut asked = wire.send_call(id, r#"{"method":"m"}"#).unwrap();
    let long = "[],".repeat(LIBRARY_BYTES_MAX / 3) + "[]";
    child
        .say(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":[{long}]}}}}"#
        ))
        .await;
    child
        .say(&format!(
            r#"{{"jsonrpc":"2.0","id":7,"result":{{"tools":[{long}]}}}}"#
        ))
        .await;
    child
        .say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":[{long}]}}}}"#
        ))
        .await;
    let heard: serde_json::Value =
        serde_json::from_str(&child.library.recv().await.unwrap()).unwrap();
    assert_eq!(heard["id"], 7);
    assert_eq!(heard["error"]["code"], TOO_LONG_CODE);
    let Some(CallAnswer::Result(result)) = answer(&mut asked).await else {
        panic!("no result");
    };
    assert!(result.len() > LIBRARY_BYTES_MAX);
}

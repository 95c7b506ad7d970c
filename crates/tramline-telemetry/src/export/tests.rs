//! A full queue, and a receiver that comes back.

use super::*;
use crate::otlp::SpanKind;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

fn span() -> OtlpSpan {
    let mut span = OtlpSpan::new(1, 1, None, None).with_times(1, 2);
    span.set_name(SpanKind::Internal, "x", "y");
    span
}

fn settings(port: u16, queue: &str) -> TelemetrySettings {
    let read = TelemetrySettings::read(|name| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(format!("http://127.0.0.1:{port}")),
        "OTEL_BSP_MAX_QUEUE_SIZE" => Some(queue.to_owned()),
        "OTEL_BSP_SCHEDULE_DELAY" => Some("3600000".to_owned()),
        _ => None,
    });
    read.unwrap()
}

/// Collects the messages to the operator.
fn counted() -> (Notify, Arc<Mutex<Vec<String>>>) {
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&said);
    let say: Notify = Arc::new(move |text| heard.lock().unwrap().push(text.to_owned()));
    (say, said)
}

fn dropped(metrics: &Metrics) -> u64 {
    metrics.dropped.read()[0].1.count
}

#[tokio::test]
async fn a_full_queue_drops_and_counts() {
    let metrics = Arc::new(Metrics::new());
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let (say, said) = counted();
    let mut settings = settings(port, "4");
    if let Some(traces) = &mut settings.traces {
        // Never enough for a batch: nothing is sent before the end.
        traces.batch = 100;
    }
    let exporter = Exporter::open(&settings, &metrics, say).unwrap();
    for _ in 0..10 {
        exporter.push(&span());
    }
    assert_eq!(dropped(&metrics), 6);
    exporter.close().await;
    assert_eq!(dropped(&metrics), 10);
    assert_eq!(said.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_receiver_that_is_busy_is_asked_again() {
    let metrics = Arc::new(Metrics::new());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answers = std::thread::spawn(move || {
        for answer in ["503 Service Unavailable", "200 OK"] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap();
            assert!(request[..read].starts_with(b"POST /v1/traces"));
            let head =
                format!("HTTP/1.1 {answer}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
        }
    });
    let (say, said) = counted();
    let mut settings = settings(port, "4");
    if let Some(traces) = &mut settings.traces {
        traces.batch = 1;
    }
    let exporter = Exporter::open(&settings, &metrics, say).unwrap();
    exporter.push(&span());
    tokio::task::spawn_blocking(|| answers.join().unwrap())
        .await
        .unwrap();
    exporter.close().await;
    assert_eq!((dropped(&metrics), said.lock().unwrap().len()), (0, 1));
}

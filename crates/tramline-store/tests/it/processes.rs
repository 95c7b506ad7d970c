//! Real processes: killed while they write, and writing to the same journal together.

use crate::{chunk, run};
use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tempfile::tempdir;
use tramline_engine::ports::{AppendError, Claim, Epoch, JournalStore, RunFilter};
use tramline_store::Sqlite;
use tramline_workflow::ids::Seq;

const ROLE: &str = "TRAMLINE_TEST_ROLE";
const DIR: &str = "TRAMLINE_TEST_DIR";

/// Runs that one child writes to concurrently.
const CHILD_RUNS: u64 = 8;

/// Processes on one data directory.
const PROCESSES: usize = 4;

/// Events that two processes write to one journal.
const SHARED_EVENTS: Seq = 300;

/// How often each of several processes opens and closes the database.
const VISITS: Seq = 100;

/// Starts this test binary as another process in a role.
pub(crate) fn child(role: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "processes::plays_a_role", "--nocapture"])
        .env(ROLE, role)
        .env(DIR, dir)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// What a child acknowledged, line by line, until it ends: `ack RUN SEQ`.
pub(crate) fn acks(child: &mut Child) -> impl Iterator<Item = (u64, Seq)> + use<> {
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    lines.map_while(Result::ok).filter_map(|line| {
        let mut words = line.split(' ');
        if words.next() != Some("ack") {
            eprintln!("child: {line}");
            return None;
        }
        let mut number = || words.next()?.parse().ok();
        Some((number()?, number()?))
    })
}

/// Not a test by itself: what the children do.
#[tokio::test(flavor = "multi_thread")]
async fn plays_a_role() {
    let Some(dir) = std::env::var_os(DIR) else {
        return;
    };
    let store = Arc::new(Sqlite::open(Path::new(&dir)).unwrap());
    match std::env::var(ROLE).unwrap().as_str() {
        "writes until killed" => write_for_ever(store).await,
        "shares a journal" => share(&store).await,
        "comes and goes" => come_and_go(store).await,
        "writes until it fails" => write_until_fault(&store).await,
        role => panic!("no such role: {role}"),
    }
}

async fn write_for_ever(store: Arc<Sqlite>) {
    let tasks: Vec<_> = (0..CHILD_RUNS)
        .map(|n| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                assert_eq!(
                    store.claim(&run(n)).await.unwrap(),
                    Claim::Held(Epoch::default())
                );
                for seen in 0.. {
                    let body = format!("{n} {}", seen + 1).into_bytes();
                    store.append(chunk(&run(n), seen, body)).await.unwrap();
                    eprintln!("ack {n} {}", seen + 1);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

async fn share(store: &Sqlite) {
    let mut seen = 0;
    while seen < SHARED_EVENTS {
        let body = std::process::id().to_string().into_bytes();
        match store.append(chunk(&run(0), seen, body)).await {
            Ok(_) => {
                seen += 1;
                eprintln!("ack 0 {seen}");
            }
            Err(AppendError::Conflict { last }) => seen = last,
            Err(other) => panic!("{other}"),
        }
    }
}

/// As the command line does: open, do one thing, close.
async fn come_and_go(store: Arc<Sqlite>) {
    drop(store);
    let own = run(std::process::id().into());
    for seen in 0..VISITS {
        let dir = std::env::var_os(DIR).unwrap();
        let store = Sqlite::open(Path::new(&dir)).unwrap();
        assert_eq!(
            store.claim(&own).await.unwrap(),
            Claim::Held(Epoch::default())
        );
        store.append(chunk(&own, seen, vec![0; 100])).await.unwrap();
        assert_eq!(store.read(&own, 0).await.unwrap().len() as Seq, seen + 1);
        eprintln!("ack 0 {}", seen + 1);
    }
}

async fn write_until_fault(store: &Sqlite) {
    for seen in 0.. {
        match store.append(chunk(&run(0), seen, vec![7; 50_000])).await {
            Ok(_) => eprintln!("ack 0 {}", seen + 1),
            Err(fault) => {
                eprintln!("fault {fault}");
                // The store still reads what it acknowledged.
                assert_eq!(store.read(&run(0), 0).await.unwrap().len() as Seq, seen);
                return;
            }
        }
    }
}

#[tokio::test]
async fn what_was_acknowledged_outlives_a_kill() {
    let dir = tempdir().unwrap();
    let mut counts = vec![0; CHILD_RUNS as usize];
    let mut child = child("writes until killed", dir.path()).spawn().unwrap();
    let mut acked = 0;
    for (n, seq) in acks(&mut child) {
        assert_eq!(counts[n as usize] + 1, seq, "in order");
        counts[n as usize] = seq;
        acked += 1;
        if acked == 500 {
            let store = Sqlite::open(dir.path()).unwrap();
            let claim = store.claim(&run(0)).await.unwrap();
            let owner = format!("process {}", child.id());
            assert!(
                matches!(&claim, Claim::Elsewhere { owner: name } if name.starts_with(&owner)),
                "{claim:?}"
            );
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(acked >= 500);
    let store = Sqlite::open(dir.path()).unwrap();
    for (n, count) in counts.into_iter().enumerate() {
        let row = store.row(&run(n as u64)).await.unwrap().unwrap();
        assert!(!row.driven);
        assert_eq!(
            store.claim(&row.run).await.unwrap(),
            Claim::Held(Epoch::default()),
            "free at once"
        );
        // One more than was reported may exist: killed between the disk and the report.
        assert!(
            row.last == count || row.last == count + 1,
            "{} {count}",
            row.last
        );
        let chunks = store.read(&row.run, 0).await.unwrap();
        for (chunk, seq) in chunks.iter().zip(1..) {
            assert_eq!(chunk.body, format!("{n} {seq}").into_bytes());
        }
        assert_eq!(chunks.len() as Seq, row.last);
    }
    let owners = std::fs::read_dir(dir.path().join("owners")).unwrap();
    assert_eq!(
        owners.count(),
        1,
        "the lock file of the dead process is removed"
    );
}

/// Starts several processes in one role; returns all they acknowledged once they have ended
/// successfully.
fn together(role: &str, dir: &Path) -> Vec<Seq> {
    let mut children: Vec<_> = (0..PROCESSES)
        .map(|_| child(role, dir).spawn().unwrap())
        .collect();
    let heard: Vec<_> = children
        .iter_mut()
        .map(|child| {
            let acks = acks(child);
            std::thread::spawn(move || acks.map(|(_, seq)| seq).collect::<Vec<_>>())
        })
        .collect();
    let mut won = Vec::new();
    for (child, heard) in children.iter_mut().zip(heard) {
        won.extend(heard.join().unwrap());
        assert!(child.wait().unwrap().success());
    }
    won
}

#[tokio::test]
async fn processes_never_both_write_an_event() {
    let dir = tempdir().unwrap();
    let won = together("shares a journal", dir.path());
    assert_eq!(won.len() as Seq, SHARED_EVENTS);
    assert_eq!(won.iter().collect::<HashSet<_>>().len(), won.len());
    let store = Sqlite::open(dir.path()).unwrap();
    assert_eq!(
        store.read(&run(0), 0).await.unwrap().len() as Seq,
        SHARED_EVENTS
    );
}

/// The last to close checkpoints the log while the next opens.
#[tokio::test]
async fn processes_come_and_go() {
    let dir = tempdir().unwrap();
    let acks = together("comes and goes", dir.path());
    assert_eq!(acks.len(), PROCESSES * VISITS as usize);
    let store = Sqlite::open(dir.path()).unwrap();
    let page = store.runs(RunFilter::default()).await.unwrap();
    assert_eq!(page.rows.len(), PROCESSES);
    assert!(
        page.rows
            .iter()
            .all(|row| row.last == VISITS && !row.driven)
    );
}

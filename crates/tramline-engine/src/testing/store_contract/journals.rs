//! Journals: appended events are there, in order, once; and the documents next to them.

use super::{StoreRig, chunk, run};
use crate::ports::{AppendError, JournalChunk};
use std::sync::Arc;
use tramline_workflow::ids::Seq;

/// How many writers race for each event.
const RACERS: usize = 64;

/// How many events they race for.
const RACES: Seq = 10;

/// The size of a chunk in bytes: a tool may return megabytes.
const BIG_BYTES: usize = 8 * 1024 * 1024;

pub(super) async fn starts_empty(rig: StoreRig) {
    let store = rig.store;
    assert!(store.read(&run(1), 0).await.unwrap().is_empty());
    assert_eq!(store.row(&run(1)).await.unwrap(), None);
    let page = store.runs(Default::default()).await.unwrap();
    assert!(page.rows.is_empty() && !page.more);
}

pub(super) async fn appends_after_what_was_seen(rig: StoreRig) {
    let (store, one) = (rig.store, run(1));
    let early = store.append(chunk(&one, 3, 4)).await;
    assert!(
        matches!(early, Err(AppendError::Conflict { last: 0 })),
        "{early:?}"
    );
    assert_eq!(store.row(&one).await.unwrap(), None, "nothing was written");
    store.append(chunk(&one, 0, 3)).await.unwrap();
    for stale in [chunk(&one, 0, 1), chunk(&one, 2, 4), chunk(&one, 4, 5)] {
        let moved = store.append(stale).await;
        assert!(
            matches!(moved, Err(AppendError::Conflict { last: 3 })),
            "{moved:?}"
        );
    }
    store.append(chunk(&one, 3, 4)).await.unwrap();
    store.append(chunk(&run(2), 0, 1)).await.unwrap();
    let chunks = store.read(&one, 0).await.unwrap();
    assert_eq!(
        chunks,
        [(0, 3), (3, 4)].map(|(seen, last)| written(seen, last))
    );
    let row = store.row(&one).await.unwrap().unwrap();
    let bytes: usize = chunks.iter().map(|chunk| chunk.body.len()).sum();
    assert_eq!((row.last, row.bytes), (4, bytes as u64));
}

pub(super) async fn reads_from_the_middle(rig: StoreRig) {
    let (store, one) = (rig.store, run(1));
    for (seen, last) in [(0, 1), (1, 5), (5, 6), (6, 9)] {
        store.append(chunk(&one, seen, last)).await.unwrap();
        // Chunks of other runs in between.
        store.append(chunk(&run(2), seen, last)).await.unwrap();
    }
    let last = async |after| {
        let chunks = store.read(&one, after).await.unwrap();
        chunks.iter().map(|chunk| chunk.last).collect::<Vec<_>>()
    };
    assert_eq!(last(0).await, [1, 5, 6, 9]);
    assert_eq!(last(1).await, [5, 6, 9]);
    assert_eq!(last(3).await, [5, 6, 9], "a chunk is returned whole");
    assert_eq!(last(5).await, [6, 9]);
    assert_eq!(last(8).await, [9]);
    assert!(last(9).await.is_empty() && last(100).await.is_empty());
    if let Some(other) = rig.other {
        assert_eq!(other.read(&one, 0).await.unwrap().len(), 4);
    }
}

pub(super) async fn lets_one_of_many_racers_win(rig: StoreRig) {
    for seen in 0..RACES {
        let racers: Vec<_> = (0..RACERS)
            .map(|racer| {
                let store = Arc::clone(&rig.store);
                let mut mine = chunk(&run(1), seen, seen + 1);
                mine.body = format!("{racer}").into_bytes();
                tokio::spawn(async move { (racer, store.append(mine).await) })
            })
            .collect();
        let mut winners = Vec::new();
        for racer in racers {
            match racer.await.unwrap() {
                (racer, Ok(_)) => winners.push(racer),
                (_, Err(AppendError::Conflict { last })) => assert_eq!(last, seen + 1),
                (_, Err(other)) => panic!("{other}"),
            }
        }
        assert_eq!(winners.len(), 1, "event {}", seen + 1);
        let kept = rig.store.read(&run(1), seen).await.unwrap();
        assert_eq!(kept[0].body, format!("{}", winners[0]).into_bytes());
    }
}

/// Two processes append to one journal; each reads and retries when the other was faster.
pub(super) async fn lets_one_of_two_processes_win(rig: StoreRig) {
    let Some(other) = rig.other else {
        return;
    };
    let mut tasks = Vec::new();
    for store in [Arc::clone(&rig.store), other] {
        tasks.push(tokio::spawn(async move {
            let mut won = Vec::new();
            let mut seen = 0;
            while seen < 50 {
                match store.append(chunk(&run(1), seen, seen + 1)).await {
                    Ok(_) => {
                        seen += 1;
                        won.push(seen);
                    }
                    Err(AppendError::Conflict { last }) => {
                        assert!(last > seen);
                        seen = last;
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            won
        }));
    }
    let mut won = Vec::new();
    for task in tasks {
        won.extend(task.await.unwrap());
    }
    won.sort_unstable();
    assert_eq!(
        won,
        (1..=50).collect::<Vec<_>>(),
        "each event has one winner"
    );
}

pub(super) async fn refuses_an_empty_chunk(rig: StoreRig) {
    let (store, one) = (rig.store, run(1));
    let empty = store.append(chunk(&one, 0, 0)).await;
    assert!(matches!(empty, Err(AppendError::Store(_))), "{empty:?}");
    assert_eq!(store.row(&one).await.unwrap(), None);
}

pub(super) async fn keeps_big_chunks(rig: StoreRig) {
    let (store, one) = (rig.store, run(1));
    let body: Vec<u8> = (0..BIG_BYTES).map(|at| (at * 31 / 7) as u8).collect();
    for seen in 0..3 {
        let mut big = chunk(&one, seen, seen + 1);
        big.body.clone_from(&body);
        store.append(big).await.unwrap();
    }
    let chunks = store.read(&one, 1).await.unwrap();
    assert_eq!(chunks.len(), 2);
    assert!(chunks.iter().all(|chunk| chunk.body == body));
    let row = store.row(&one).await.unwrap().unwrap();
    assert_eq!(row.bytes, 3 * BIG_BYTES as u64);
}

pub(super) async fn removes_runs(rig: StoreRig) {
    let store = rig.store;
    for n in 1..=3 {
        store.append(chunk(&run(n), 0, 1)).await.unwrap();
        store.append(chunk(&run(n), 1, 2)).await.unwrap();
    }
    assert_eq!(store.remove(&[]).await.unwrap(), 0);
    let gone = [run(1), run(9), run(3), run(1)];
    assert_eq!(
        store.remove(&gone).await.unwrap(),
        2,
        "unknown runs are skipped"
    );
    assert!(store.read(&run(1), 0).await.unwrap().is_empty());
    assert_eq!(store.row(&run(3)).await.unwrap(), None);
    assert_eq!(store.read(&run(2), 0).await.unwrap().len(), 2);
    let late = store.append(chunk(&run(1), 2, 3)).await;
    assert!(
        matches!(late, Err(AppendError::Conflict { last: 0 })),
        "{late:?}"
    );
    store.append(chunk(&run(3), 0, 1)).await.unwrap();
    assert_eq!(store.read(&run(3), 0).await.unwrap().len(), 1);
}

pub(super) async fn keeps_documents(rig: StoreRig) {
    let store = rig.store;
    assert_eq!(store.get("workflow", "b").await.unwrap(), None);
    for (kind, key, body) in [
        ("workflow", "b", "1"),
        ("workflow", "a", "2"),
        ("workflow", "ä/ö '%", "3"),
        ("tools", "b", "4"),
        ("workflow", "b", "5"),
    ] {
        store.put(kind, key, body.into()).await.unwrap();
    }
    let get = async |kind, key| store.get(kind, key).await.unwrap();
    assert_eq!(get("workflow", "b").await, Some(b"5".to_vec()));
    assert_eq!(get("tools", "b").await, Some(b"4".to_vec()));
    assert_eq!(get("workflow", "ä/ö '%").await, Some(b"3".to_vec()));
    assert_eq!(store.list("workflow").await.unwrap(), ["a", "b", "ä/ö '%"]);
    assert!(store.list("nothing").await.unwrap().is_empty());
    store.put("workflow", "empty", Vec::new()).await.unwrap();
    assert_eq!(get("workflow", "empty").await, Some(Vec::new()));
    let gone = ["b", "empty", "never"].map(str::to_owned);
    store.delete("workflow", &gone).await.unwrap();
    assert_eq!(store.list("workflow").await.unwrap(), ["a", "ä/ö '%"]);
    assert_eq!(get("workflow", "b").await, None);
    assert_eq!(get("tools", "b").await, Some(b"4".to_vec()));
}

fn written(seen: Seq, last: Seq) -> JournalChunk {
    JournalChunk {
        first: seen + 1,
        last,
        body: chunk(&run(1), seen, last).body,
    }
}

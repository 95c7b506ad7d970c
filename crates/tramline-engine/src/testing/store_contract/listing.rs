//! The list of runs: newest first, filtered, paged, and always as in the last append.

use super::{StoreRig, chunk, head, run};
use crate::ports::{Append, RunFilter, RunRow, RunStatus, Store, StoreUsage};
use std::sync::Arc;
use tramline_workflow::ids::RunId;

/// As many runs as a busy directory has.
const MANY_RUNS: u64 = 10_000;

/// Tasks that write them.
const MANY_WRITERS: u64 = 100;

/// A page size that does not divide their number.
const PAGE: usize = 777;

pub(super) async fn lists_newest_first(rig: StoreRig) {
    let store = rig.store;
    for n in [3, 1, 2] {
        store.append(chunk(&run(n), 0, 1)).await.unwrap();
    }
    store.append(chunk(&run(1), 1, 2)).await.unwrap();
    assert_eq!(
        listed(&store, RunFilter::default()).await,
        [3, 2, 1].map(run)
    );
}

pub(super) async fn adds_up(rig: StoreRig) {
    let store = rig.store;
    assert_eq!(store.usage().await.unwrap(), StoreUsage::default());
    for n in 0..240 {
        store.append(sample(n)).await.unwrap();
    }
    let (mut open, mut bytes) = (0, 0);
    for n in 0..240 {
        let row = store.row(&run(n)).await.unwrap().unwrap();
        open += u64::from(!row.index_row.status.is_over());
        bytes += row.bytes;
    }
    assert_eq!(store.usage().await.unwrap(), StoreUsage { open, bytes });
    assert_eq!(open, 90);
}

pub(super) async fn filters(rig: StoreRig) {
    let store = rig.store;
    for n in 0..24 {
        store.append(sample(n)).await.unwrap();
    }
    let numbers = |fits: fn(u64) -> bool| (0..24).rev().filter(move |n| fits(*n)).map(run);
    let check = async |filter: RunFilter, fits: fn(u64) -> bool| {
        let says = format!("{filter:?}");
        let expected: Vec<_> = numbers(fits).collect();
        assert_eq!(listed(&store, filter).await, expected, "{says}");
    };
    let any = RunFilter::default;
    let of = |status: &[RunStatus]| RunFilter {
        status: status.to_vec(),
        ..any()
    };
    check(of(&[RunStatus::Running]), |n| n % 8 == 0).await;
    check(of(&[RunStatus::Aborted, RunStatus::Paused]), |n| {
        matches!(n % 8, 1 | 5)
    })
    .await;
    check(of(&[RunStatus::Paused, RunStatus::Paused]), |n| n % 8 == 1).await;
    check(of(&RunStatus::ALL), |_| true).await;
    let workflow = Some("w1".into());
    check(RunFilter { workflow, ..any() }, |n| n % 2 == 1).await;
    let session = Some("s2".into());
    check(RunFilter { session, ..any() }, |n| n % 3 == 2).await;
    let updated_before_ms = Some(1_010);
    check(
        RunFilter {
            updated_before_ms,
            ..any()
        },
        |n| n < 10,
    )
    .await;
    let after = Some(run(5));
    check(RunFilter { after, ..any() }, |n| n < 5).await;
    let all = RunFilter {
        status: vec![RunStatus::Running, RunStatus::Rejected],
        workflow: Some("w0".into()),
        session: Some("s0".into()),
        updated_before_ms: Some(1_020),
        after: Some(run(13)),
        limit: 0,
    };
    check(all, |n| n == 0 || n == 12).await;
}

pub(super) async fn follows_the_head(rig: StoreRig) {
    let (store, one) = (rig.store, run(1));
    for (seen, status) in RunStatus::ALL.into_iter().enumerate() {
        let seen = seen as u64;
        let mut next = chunk(&one, seen, seen + 1);
        next.index_row = head(status);
        next.index_row.workflow = format!("w{seen}").into();
        next.index_row.session = (seen % 2 == 1).then(|| format!("s{seen}").into());
        next.index_row.updated_ms += seen as i64;
        let expected = next.index_row.clone();
        store.append(next).await.unwrap();
        assert_eq!(store.row(&one).await.unwrap().unwrap().index_row, expected);
        for asked in RunStatus::ALL {
            let filter = RunFilter {
                status: vec![asked],
                ..RunFilter::default()
            };
            assert_eq!(
                listed(&store, filter).await.len(),
                usize::from(asked == status)
            );
        }
    }
}

pub(super) async fn pages_through_many_runs(rig: StoreRig) {
    let tasks: Vec<_> = (0..MANY_WRITERS)
        .map(|writer| {
            let store = Arc::clone(&rig.store);
            tokio::spawn(async move {
                for n in (writer..MANY_RUNS).step_by(MANY_WRITERS as usize) {
                    store.append(sample(n)).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let first = rig.store.runs(RunFilter::default()).await.unwrap();
    assert!(first.rows.len() == 100 && first.more, "0 means 100");
    let all = through(&rig.store, Vec::new()).await;
    assert!(
        all.iter()
            .eq((0..MANY_RUNS).rev().map(run).collect::<Vec<_>>().iter())
    );
    let some = through(&rig.store, vec![RunStatus::Running, RunStatus::Paused]).await;
    let expected = (0..MANY_RUNS).rev().filter(|n| n % 8 < 2).map(run);
    assert!(some.iter().eq(expected.collect::<Vec<_>>().iter()));
}

async fn through(store: &Arc<dyn Store>, status: Vec<RunStatus>) -> Vec<RunId> {
    let mut all: Vec<RunId> = Vec::new();
    loop {
        let filter = RunFilter {
            status: status.clone(),
            after: all.last().cloned(),
            limit: PAGE,
            ..RunFilter::default()
        };
        let page = store.runs(filter).await.unwrap();
        assert!(page.rows.len() <= PAGE);
        all.extend(page.rows.into_iter().map(|row| row.run));
        if !page.more {
            return all;
        }
    }
}

fn sample(n: u64) -> Append {
    let mut append = chunk(&run(n), 0, 1);
    append.index_row = head(RunStatus::ALL[n as usize % RunStatus::ALL.len()]);
    append.index_row.workflow = format!("w{}", n % 2).into();
    append.index_row.session = Some(format!("s{}", n % 3).into());
    append.index_row.updated_ms = 1_000 + n as i64;
    append
}

async fn listed(store: &Arc<dyn Store>, filter: RunFilter) -> Vec<RunId> {
    let page = store.runs(filter).await.unwrap();
    assert!(!page.more);
    let name = |row: RunRow| row.run;
    page.rows.into_iter().map(name).collect()
}

//! Workflows and procedures are stored once by content, on disk and in memory, and old journals
//! with inline documents still work.

use crate::support::{dag, engine, tools};
use std::sync::Arc;
use tramline_engine::ports::{Append, ClaimChange, JournalStore, RunIndexRow, RunStatus};
use tramline_engine::testing::{CountingStore, FakeTools, MemoryStore};
use tramline_engine::{
    DriveOutcome, Engine, EngineOptions, ForkRequest, JournalPoint, Retention, RunOwner, RunStart,
    SopStart, clock,
};
use tramline_expr::{Map, Value};
use tramline_formats::sop_markdown;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{
    self, Entry, Event, Outcome, RunEvent, RunStarted, SchedulePolicy,
};
use tramline_workflow::sop::Sop;

const RUNS: usize = 100;

/// A workflow of two layers with this many bytes of text, parsed again each time.
fn large(bytes: usize) -> Arc<Graph> {
    let text = "x".repeat(bytes);
    dag(&format!(
        r#"[{{"id": "a", "tool": "t:look", "arguments": {{"task": "a"}}}},
            {{"id": "b", "tool": "t:work", "arguments": {{"task": "{text}"}}, "depends_on": ["a"]}}]"#
    ))
}

fn layered(graph: Arc<Graph>) -> RunStart {
    let mut start = RunStart::new(graph, Map::new().into());
    start.policy = SchedulePolicy::Layered;
    start
}

async fn paused(engine: &Engine, start: RunStart) -> RunId {
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    assert!(matches!(
        handle.wait().await.unwrap(),
        DriveOutcome::Paused(_)
    ));
    run
}

/// A procedure of this many nodes with instructions, parsed again each time.
fn procedure(nodes: usize) -> Arc<Sop> {
    let mut text =
        String::from("---\nagent: long\n---\n## SOP Flowchart\n```mermaid\nflowchart TD\n");
    for at in 1..nodes {
        text.push_str(&format!("    N{}[Step] --> N{at}[Step]\n", at - 1));
    }
    text.push_str("```\n\n## Node Prompts\n");
    for at in 0..nodes {
        let words = "Read this before you go on. ".repeat(5);
        text.push_str(&format!("### N{at}\n{words}\n\n"));
    }
    let read = sop_markdown::read(text.as_bytes(), "long.md");
    Arc::new(read.unwrap_or_else(|flaws| panic!("{flaws:?}")).sop)
}

fn guide(sop: Arc<Sop>) -> SopStart {
    SopStart {
        sops: vec![sop],
        files: Vec::new(),
        session: None,
        origin: Value::Null,
        owner: None,
        by: None,
        ttl_ms: None,
        pinned: None,
    }
}

#[tokio::test]
async fn runs_of_one_workflow_keep_and_hold_it_once() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        runs.push(paused(&engine, layered(large(50_000))).await);
    }
    let each = store.row(&runs[0]).await.unwrap().unwrap().bytes;
    assert!(each < 1_000, "{each}");
    let all = store.usage().await.unwrap().bytes;
    assert!(all < RUNS as u64 * 1_000 + 60_000, "{all}");
    let first = engine.load(&runs[0]).await.unwrap().run;
    for run in &runs {
        let loaded = engine.load(run).await.unwrap().run;
        assert!(Arc::ptr_eq(&loaded.graph, &first.graph));
        assert!(Arc::ptr_eq(
            &loaded.started.workflow,
            &first.started.workflow
        ));
    }
    // Another process reads the same.
    let other = Engine::new(
        Arc::new(store.process()),
        tools as _,
        EngineOptions::default(),
    );
    let loaded = other.load(&runs[1]).await.unwrap().run;
    assert_eq!(loaded.started.workflow, first.started.workflow);
}

#[tokio::test]
async fn conversations_share_their_procedure() {
    let store = MemoryStore::new();
    let engine = engine(&store, &tools());
    let sop = procedure(1_000);
    let bytes = serde_json::to_vec(&sop).unwrap().len() as u64;
    assert!(bytes > 200_000, "{bytes}");
    let mut first = None;
    for _ in 0..RUNS {
        // Every front end parses it again.
        let own = Arc::new(Sop::clone(&sop));
        let id = engine.start_sop_session(guide(own)).await.unwrap();
        let begun = engine.sop_session_start(&id).await.unwrap();
        let shared = first.get_or_insert_with(|| Arc::clone(&begun.sops[0]));
        assert!(Arc::ptr_eq(shared, &begun.sops[0]));
    }
    let used = store.usage().await.unwrap().bytes;
    assert!(
        used < bytes + RUNS as u64 * 500,
        "{used} bytes used, {bytes} expected"
    );
}

#[tokio::test]
async fn a_document_costs_no_sync_of_its_own() {
    let store = CountingStore::new(MemoryStore::new());
    let engine = Engine::new(Arc::new(store.clone()), tools(), EngineOptions::default());
    engine
        .start_sop_session(guide(procedure(10)))
        .await
        .unwrap();
    assert_eq!((store.synced(), store.relaxed()), (1, 0));
    paused(&engine, layered(large(10))).await;
    assert_eq!((store.synced(), store.relaxed()), (2, 0));
}

/// The journal of a run as version 0.1 wrote it.
async fn old_journal(store: &MemoryStore, graph: &Graph) -> RunId {
    let id = RunId::new(1, 1);
    let started = RunStarted {
        agent: None,
        start_key: None,
        workflow: Arc::clone(&graph.workflow),
        input: Map::new().into(),
        policy: SchedulePolicy::Layered,
        session: None,
        by: "version 0.1".into(),
        origin: Value::Null,
        parent: None,
        fork: None,
        watch: None,
        budget: None,
        operator_budget: None,
        ttl_ms: None,
        owner: None,
        upstream: None,
        intent: None,
    };
    let entry = Entry {
        seq: 1,
        at_ms: 1,
        event: Event::Run(RunEvent::Started(Box::new(started))),
    };
    let mut body = Vec::new();
    journal::encode(&entry, &mut body).unwrap();
    let append = Append {
        run: id.clone(),
        seen: 0,
        last: 1,
        body,
        index_row: RunIndexRow {
            status: RunStatus::Running,
            workflow: "w".into(),
            session: None,
            started_ms: 1,
            updated_ms: 1,
        },
        claim: ClaimChange::Keep,
        documents: Vec::new(),
    };
    store.append(append).await.unwrap();
    id
}

#[tokio::test]
async fn a_journal_that_holds_its_workflow_goes_on() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let id = old_journal(&store, &large(100)).await;
    let ended = engine.resume(&id).await.unwrap().wait().await.unwrap();
    assert!(matches!(ended, DriveOutcome::Paused(_)));
    // A new run of the same workflow shares it.
    let new = paused(&engine, layered(large(100))).await;
    let graphs = [&id, &new].map(|run| engine.load(run));
    let [old, new] = futures_util::future::join_all(graphs)
        .await
        .try_into()
        .ok()
        .unwrap();
    assert!(Arc::ptr_eq(
        &old.unwrap().run.graph,
        &new.unwrap().run.graph
    ));
}

#[tokio::test]
async fn forks_and_files_bring_their_documents() {
    let (store, tools) = (MemoryStore::new(), tools());
    let here = engine(&store, &tools);
    let run = paused(&here, layered(large(1_000))).await;
    let forked = here
        .fork(&run, ForkRequest::at(JournalPoint::Event(1)))
        .await
        .unwrap();
    let fork = forked.handle.run.clone();
    forked.handle.wait().await.unwrap();
    let talk = here.start_sop_session(guide(procedure(20))).await.unwrap();

    let there = engine(&MemoryStore::new(), &tools);
    for id in [&run, &fork, &talk] {
        let file = String::from_utf8(here.export(id).await.unwrap()).unwrap();
        let (brought, _) = there.import(&file, RunOwner::default()).await.unwrap();
        let entries = there.entries(&brought).await.unwrap();
        let before = here.entries(id).await.unwrap();
        assert_eq!(entries.len(), before.len() + 1, "the import adds the end");
    }
    // The fork keeps its document when the original run is removed.
    here.abort(&run, "test".into(), None).await.unwrap();
    store.remove(std::slice::from_ref(&run)).await.unwrap();
    let elsewhere = engine(&store.process(), &Arc::new(FakeTools::new()));
    let loaded = elsewhere.load(&fork).await.unwrap();
    assert_eq!(loaded.run.graph.workflow, large(1_000).workflow);
}

#[tokio::test]
async fn what_no_run_refers_to_is_forgotten_with_the_last() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    for bytes in [1_000, 1_000, 2_000] {
        let run = paused(&engine, layered(large(bytes))).await;
        engine.abort(&run, "test".into(), None).await.unwrap();
    }
    let now = clock::now_ms();
    while clock::now_ms() <= now + 1 {
        std::hint::spin_loop();
    }
    let keep = Retention {
        age_ms_max: Some(0),
        bytes_max: None,
    };
    let pruned = engine.prune(keep, false).await.unwrap();
    assert_eq!(pruned.runs.len(), 3);
    assert_eq!(store.usage().await.unwrap().bytes, 0);
    // It may still be in memory: it is stored again with the next run.
    let run = paused(&engine, layered(large(1_000))).await;
    let elsewhere = Engine::new(
        Arc::new(store.process()),
        tools as _,
        EngineOptions::default(),
    );
    let loaded = elsewhere.load(&run).await.unwrap();
    assert!(!matches!(loaded.run.outcome, Some(Outcome::Failed { .. })));
}

//! Workflows and procedures are kept once by content, on disk and in memory, and old journals that
//! hold theirs whole go on.

use crate::support::{dag, engine, tools};
use std::sync::Arc;
use tramline_core::formats::sop_markdown;
use tramline_core::graph::Graph;
use tramline_core::ids::RunId;
use tramline_core::journal::{self, Entry, Event, Outcome, Policy, Started};
use tramline_core::sop::Sop;
use tramline_core::{Map, Value};
use tramline_engine::seams::{Append, Head, Hold, Status, Store};
use tramline_engine::testing::{Counted, FakeTools, MemoryStore};
use tramline_engine::{At, Branch, Ended, Engine, Guide, Options, Owner, Retention, Start, clock};

const RUNS: usize = 100;

/// A workflow of two layers, with so many bytes of text in it, read anew each time.
fn large(bytes: usize) -> Arc<Graph> {
    let text = "x".repeat(bytes);
    dag(&format!(
        r#"[{{"id": "a", "tool": "t:look", "arguments": {{"task": "a"}}}},
            {{"id": "b", "tool": "t:work", "arguments": {{"task": "{text}"}}, "depends_on": ["a"]}}]"#
    ))
}

fn layered(graph: Arc<Graph>) -> Start {
    let mut start = Start::new(graph, Map::new().into());
    start.policy = Policy::Layered;
    start
}

async fn paused(engine: &Engine, start: Start) -> RunId {
    let handle = engine.start(start).await.unwrap();
    let run = handle.run.clone();
    assert!(matches!(handle.ended().await.unwrap(), Ended::Paused(_)));
    run
}

/// A procedure of so many nodes with instructions, read anew each time.
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

fn guide(sop: Arc<Sop>) -> Guide {
    Guide {
        sops: vec![sop],
        files: Vec::new(),
        session: None,
        origin: Value::Null,
        owner: None,
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
    let other = Engine::new(Arc::new(store.process()), tools as _, Options::default());
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
        // As a front end reads it, every time.
        let own = Arc::new(Sop::clone(&sop));
        let id = engine.guide(guide(own)).await.unwrap();
        let begun = engine.guided(&id).await.unwrap();
        let shared = first.get_or_insert_with(|| Arc::clone(&begun.sops[0]));
        assert!(Arc::ptr_eq(shared, &begun.sops[0]));
    }
    let used = store.usage().await.unwrap().bytes;
    assert!(used < bytes + RUNS as u64 * 500, "{used} beside {bytes}");
}

#[tokio::test]
async fn a_document_costs_no_sync_of_its_own() {
    let store = Counted::new(MemoryStore::new());
    let engine = Engine::new(Arc::new(store.clone()), tools(), Options::default());
    engine.guide(guide(procedure(10))).await.unwrap();
    assert_eq!((store.synced(), store.noted()), (1, 0));
    paused(&engine, layered(large(10))).await;
    assert_eq!((store.synced(), store.noted()), (2, 0));
}

/// The journal of a run as version 0.1 wrote it.
async fn old_journal(store: &MemoryStore, graph: &Graph) -> RunId {
    let id = RunId::new(1, 1);
    let started = Started {
        agent: None,
        workflow: Arc::clone(&graph.workflow),
        input: Map::new().into(),
        policy: Policy::Layered,
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
        event: Event::Started(Box::new(started)),
    };
    let mut body = Vec::new();
    journal::encode(&entry, &mut body).unwrap();
    let append = Append {
        run: id.clone(),
        seen: 0,
        last: 1,
        body,
        head: Head {
            status: Status::Running,
            workflow: "w".into(),
            session: None,
            started_ms: 1,
            updated_ms: 1,
        },
        hold: Hold::Keep,
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
    let ended = engine.resume(&id).await.unwrap().ended().await.unwrap();
    assert!(matches!(ended, Ended::Paused(_)));
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
    let forked = here.fork(&run, Branch::at(At::Event(1))).await.unwrap();
    let fork = forked.handle.run.clone();
    forked.handle.ended().await.unwrap();
    let talk = here.guide(guide(procedure(20))).await.unwrap();

    let there = engine(&MemoryStore::new(), &tools);
    for id in [&run, &fork, &talk] {
        let file = String::from_utf8(here.export(id).await.unwrap()).unwrap();
        let (brought, _) = there.import(&file, Owner::default()).await.unwrap();
        let entries = there.entries(&brought).await.unwrap();
        let before = here.entries(id).await.unwrap();
        assert_eq!(entries.len(), before.len() + 1, "and its end");
    }
    // The fork has its document when the run that it branched off from is gone.
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
    // In memory it may still be: it comes back with the next run.
    let run = paused(&engine, layered(large(1_000))).await;
    let elsewhere = Engine::new(Arc::new(store.process()), tools as _, Options::default());
    let loaded = elsewhere.load(&run).await.unwrap();
    assert!(!matches!(loaded.run.outcome, Some(Outcome::Failed { .. })));
}

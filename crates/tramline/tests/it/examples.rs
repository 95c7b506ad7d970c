//! Every example runs, gives the expected result, and gives the same after a crash anywhere.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline::builtin::{Builtin, BuiltinAccess, SERVER};
use tramline::engine::ports::Callable;
use tramline::engine::testing::{FakeTools, MemoryStore};
use tramline::engine::{
    DriveOutcome, Engine, EngineOptions, Fault, Respondent, RunStart, ToolRouter, WorkflowMap,
};
use tramline::expr::Value;
use tramline::formats::{self, Format, ReadOptions};
use tramline::linked_documents;
use tramline::workflow::graph::Graph;
use tramline::workflow::ids::{Checkpoint, RunId};
use tramline::workflow::journal::{Answer, Outcome};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

struct ExampleCase {
    name: String,
    graph: Arc<Graph>,
    /// What its nodes can call by name.
    document: Vec<Arc<Graph>>,
    input: Value,
    expected: Value,
}

/// Every example, in every format.
fn documents() -> Vec<PathBuf> {
    let folders = ["graphs", "dags", "ir", "pflow"].map(|name| root().join("examples").join(name));
    let entries = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The file with the expected results of an example.
fn expected_file(document: &Path) -> PathBuf {
    let within = document.strip_prefix(root().join("examples")).unwrap();
    let expected = root().join("crates/tramline/tests/expected").join(within);
    expected.with_extension("expected.json")
}

/// Every line of every `*.expected.json`.
fn cases() -> Vec<ExampleCase> {
    let mut cases = Vec::new();
    for path in documents() {
        let file = path.file_name().unwrap().to_string_lossy();
        let (format, name) = Format::of_file(&file);
        let hint = ReadOptions {
            format,
            name,
            ..ReadOptions::default()
        };
        let mut document = formats::read(&std::fs::read(&path).unwrap(), hint)
            .unwrap_or_else(|flaws| panic!("{}: {flaws:#?}", path.display()))
            .document;
        linked_documents::read(&path, &mut document, hint.known_servers).unwrap();
        assert_eq!(document.warnings, [], "{}", path.display());
        let beside = std::fs::read_to_string(expected_file(&path)).unwrap();
        let expected = Value::from_json(&beside).unwrap();
        for case in expected.as_array().unwrap() {
            let tool = case.get("tool").unwrap().as_str().unwrap();
            let graph = document
                .workflows
                .iter()
                .find(|graph| graph.workflow.name == tool);
            cases.push(ExampleCase {
                name: format!(
                    "{} {tool} {}",
                    path.file_name().unwrap().display(),
                    case.get("input").unwrap()
                ),
                graph: Arc::clone(graph.unwrap()),
                document: [&*document.workflows, &*document.linked_workflows].concat(),
                input: case.get("input").unwrap().clone(),
                expected: case.clone(),
            });
        }
    }
    assert!(cases.len() >= 34, "only {} cases", cases.len());
    cases
}

fn engine(store: MemoryStore, case: &ExampleCase) -> Engine {
    let allowed = BuiltinAccess {
        roots: vec![root()],
        ..BuiltinAccess::default()
    };
    let builtin = Arc::new(Builtin::new(allowed).unwrap());
    let tools = ToolRouter::new(Arc::new(FakeTools::new())).with(SERVER, builtin);
    let shelf = WorkflowMap::new(case.document.iter().map(|graph| Callable {
        graph: Arc::clone(graph),
        origin: Value::Null,
    }));
    let (store, tools) = (Arc::new(store), Arc::new(tools));
    Engine::with_workflows(store, tools, Arc::new(shelf), EngineOptions::default())
}

/// Continues a run to its end, answering as the case says, until the process dies or the run ends.
async fn to_the_end(
    engine: &Engine,
    case: &ExampleCase,
    known: Option<&RunId>,
) -> (Option<RunId>, Result<Option<Outcome>, Fault>) {
    let begun = match known {
        Some(run) => engine.resume(run).await,
        None => {
            engine
                .start(RunStart::new(Arc::clone(&case.graph), case.input.clone()))
                .await
        }
    };
    let mut handle = match begun {
        Ok(handle) => handle,
        Err(Fault::NotFound(_)) => return (None, Ok(None)),
        Err(Fault::Ended { run, .. }) => {
            let outcome = engine.load(&run).await.map(|loaded| loaded.run.outcome);
            return (Some(run), outcome);
        }
        Err(fault) => return (known.cloned(), Err(fault)),
    };
    let run = handle.run.clone();
    loop {
        let pauses = match handle.wait().await {
            Ok(DriveOutcome::Finished(outcome)) => return (Some(run), Ok(Some(outcome))),
            Ok(DriveOutcome::Stopped) => unreachable!("it is never stopped"),
            Err(fault) => return (Some(run), Err(fault)),
            Ok(DriveOutcome::Paused(pauses)) => pauses,
        };
        let answer = match case.expected.get("answer") {
            None => return (Some(run), Ok(None)),
            Some(content @ Value::Object(_)) => Answer::Submit {
                content: content.clone(),
            },
            Some(word) => match word.as_str() {
                Some("approve") => Answer::Proceed,
                Some("decline") => Answer::Decline,
                _ => Answer::Reject,
            },
        };
        for (seq, _) in pauses {
            let asked = Checkpoint {
                run: run.clone(),
                seq,
            };
            let by = Respondent::program("tester");
            if let Err(fault) = engine.answer(&asked, answer.clone(), by, None).await {
                return (Some(run), Err(fault));
            }
        }
        handle = match engine.resume(&run).await {
            Ok(handle) => handle,
            Err(fault) => return (Some(run), Err(fault)),
        };
    }
}

/// Compares an outcome with the expectation of a case.
fn check(case: &ExampleCase, outcome: Option<&Outcome>) {
    let expected = |name: &str| case.expected.get(name).cloned().unwrap_or_default();
    let name = &case.name;
    match (expected("status").as_str().unwrap(), outcome) {
        ("completed", Some(Outcome::Completed { result })) => {
            assert_eq!(*result, expected("result"), "{name}");
        }
        ("failed", Some(Outcome::Failed { failure, node })) => {
            let id = node
                .map(|at| Value::from(case.graph.node(at).id.clone()))
                .unwrap_or_default();
            assert_eq!(
                expected("error").get("code"),
                Some(&failure.kind.code().into()),
                "{name}"
            );
            assert_eq!(expected("error").get("node"), Some(&id), "{name}");
        }
        ("rejected", Some(Outcome::Rejected { .. })) | ("paused", None) => {}
        (status, outcome) => panic!("{name}: {status} was expected, not {outcome:?}"),
    }
}

#[tokio::test]
async fn every_example_gives_what_stands_beside_it() {
    for case in cases() {
        let (_, outcome) = to_the_end(&engine(MemoryStore::new(), &case), &case, None).await;
        check(&case, outcome.unwrap().as_ref());
    }
}

#[tokio::test]
async fn a_crash_after_any_append_changes_nothing() {
    for case in cases() {
        let whole = MemoryStore::new();
        let (_, outcome) = to_the_end(&engine(whole.clone(), &case), &case, None).await;
        let outcome = outcome.unwrap();
        for appends in 0..=whole.appends() {
            for answered in [true, false] {
                let store = MemoryStore::new();
                if answered {
                    store.crash_after(appends);
                } else {
                    store.crash_unanswered(appends);
                }
                let (run, _) = to_the_end(&engine(store.clone(), &case), &case, None).await;
                let (_, again) =
                    to_the_end(&engine(store.process(), &case), &case, run.as_ref()).await;
                let again = match again.unwrap() {
                    // Nothing was durable, so there is nothing to continue.
                    None if appends == 0 => continue,
                    again => again,
                };
                assert_eq!(again, outcome, "{} after {appends} ({answered})", case.name);
            }
        }
    }
}

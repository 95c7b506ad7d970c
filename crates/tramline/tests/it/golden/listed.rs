//! Every run of a golden directory is listed, shown and exported, and the data next to the runs is
//! still there.

use super::{GoldenCopy, manifest, versions};
use serde_json::{Value, json};
use std::sync::Arc;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{Engine, EngineOptions, RunOwner};
use tramline_store::Sqlite;
use tramline_workflow::journal::{Entry, Event, RunEvent, SopEvent};

/// An engine on a copy, without tools: it only reads.
pub(super) fn engine(copy: &GoldenCopy) -> Engine {
    let store = Arc::new(Sqlite::open(&copy.data()).unwrap());
    Engine::new(store, Arc::new(FakeTools::new()), EngineOptions::default())
}

#[test]
fn every_run_is_listed_and_shown() {
    for version in versions() {
        let (copy, manifest) = (GoldenCopy::of(&version), manifest(&version));
        let rows = copy.listed();
        assert_eq!(rows.len(), manifest.runs);
        for case in &manifest.cases {
            let row = rows.iter().find(|row| row["run_id"] == case.run).unwrap();
            assert_eq!(row["status"], case.status, "{}", case.name);
            if case.is_guided() {
                let (exit, told) = copy.say(&["sop", "show", &case.run]);
                assert_eq!(exit, 0, "{}: {told}", case.name);
                continue;
            }
            let kinds = copy.pauses(&case.run).into_iter().map(|(_, kind)| kind);
            let kinds: Vec<String> = kinds.filter(|_| case.status == "paused").collect();
            assert_eq!(kinds, case.pauses, "{}", case.name);
            let (exit, told) = copy.say(&["runs", "show", &case.run, "--at", "event:1"]);
            assert_eq!(exit, 0, "{}: {told}", case.name);
        }
    }
}

/// What an import changes on purpose: the owner, the origin, and that it is over.
fn portable(mut entries: Vec<Entry>) -> Vec<Entry> {
    match &mut entries[0].event {
        Event::Run(RunEvent::Started(started)) => {
            started.owner = None;
            started.origin = tramline_expr::Value::Null;
            started.parent = None;
        }
        Event::Sop(SopEvent::SopStarted(begun)) => {
            begun.owner = None;
            begun.origin = tramline_expr::Value::Null;
        }
        other => panic!("{other:?}"),
    }
    if let Some(Event::Run(RunEvent::Finished { .. })) = entries.last().map(|entry| &entry.event) {
        entries.pop();
    }
    entries
}

#[tokio::test]
async fn every_run_is_exported_and_imported_elsewhere() {
    for version in versions() {
        let (copy, manifest) = (GoldenCopy::of(&version), manifest(&version));
        let here = engine(&copy);
        let store = Arc::new(MemoryStore::new());
        let there = Engine::new(store, Arc::new(FakeTools::new()), EngineOptions::default());
        for case in &manifest.cases {
            let run = case.run.parse().unwrap();
            let file = here.export(&run).await.unwrap();
            let file = String::from_utf8(file).unwrap();
            let (brought, _) = there.import(&file, RunOwner::default()).await.unwrap();
            let before = portable(here.entries(&run).await.unwrap());
            let after = portable(there.entries(&brought).await.unwrap());
            assert_eq!(before, after, "{}", case.name);
        }
    }
}

#[test]
fn what_lies_beside_the_runs_is_there() {
    for version in versions() {
        let copy = GoldenCopy::of(&version);
        let told = |words: &[&str]| {
            let (exit, told) = copy.say(words);
            assert_eq!(exit, 0, "{words:?}: {told}");
            told.to_string()
        };
        let settings = told(&["settings", "list"]);
        assert!(
            settings.contains("COLOUR") && settings.contains("round"),
            "{settings}"
        );
        assert!(!settings.contains("golden secret"), "{settings}");
        // The secret can be decrypted: a run puts it into its call, and nothing shows it.
        let (exit, said) = copy.say(&["run", "golden.yaml", "names-a-setting"]);
        assert_eq!(exit, 0, "{said}");
        let colour = said["result"]["colour"].as_str().unwrap_or_default();
        assert!(
            !colour.is_empty() && !colour.contains("settings."),
            "{said}"
        );
        let versions = told(&["library", "versions", "asks"]);
        assert!(
            versions.contains("Computes, chooses and calls."),
            "{versions}"
        );
        let learnt = told(&["learn", "show"]);
        assert!(learnt.contains("u:add"), "{learnt}");
        let mut audit = copy.command(&["audit".to_owned(), "--json".to_owned()]);
        let audit = audit.output().unwrap();
        let audit = String::from_utf8_lossy(&audit.stdout).into_owned();
        assert!(audit.lines().count() > 20, "{audit}");
        for line in audit.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_ne!(line["command"], json!(null), "{line}");
        }
        let listed = told(&["library", "list"]);
        assert!(listed.contains("\"spreads\""), "{listed}");
    }
}

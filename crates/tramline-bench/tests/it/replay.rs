//! The recorded sessions through the gate, with the figures that docs/sop.md states.

use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use tramline_bench::replay::{GateOutcome, Replay, ReplaySummary, WriteKind, WriteScope};

/// The shared data. If it is missing, the test is skipped, but never in continuous integration.
fn data() -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TRAMLINE_SHARED").map_or(default, PathBuf::from);
    let folder = shared.join("data/sop");
    if folder.is_dir() {
        return Some(folder);
    }
    let missing = folder.display();
    assert!(std::env::var_os("CI").is_none(), "{missing} is missing");
    eprintln!("skipped: {missing} is missing");
    None
}

/// Replays the recording with the rules of a file, after a change to that file's text.
fn replayed(data: &Path, place: WriteScope, change: impl Fn(String) -> String) -> ReplaySummary {
    replayed_from(data, place, change, |recording| recording)
}

/// The same after a change to the recording.
fn replayed_from(
    data: &Path,
    place: WriteScope,
    change: impl Fn(String) -> String,
    record: impl Fn(String) -> String,
) -> ReplaySummary {
    let read = |path: &str| std::fs::read_to_string(data.join(path)).unwrap();
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sop/retail/retail.md");
    let replay = Replay::new(
        &read("policy_mermaid_mcp.md"),
        &change(std::fs::read_to_string(rules).unwrap()),
        &read("tau2-retail/db.json"),
        &read("tau2-retail/gold_actions.json"),
        place,
    );
    let replay = replay.unwrap_or_else(|says| panic!("{says}"));
    replay
        .run(&record(read("traces/gemini-3-flash.jsonl")))
        .unwrap()
}

/// A recording with every event of every session changed or removed.
fn each_event(recording: String, change: impl Fn(usize, Json) -> Option<Json>) -> String {
    let line = |line: &str| {
        let mut told: Json = serde_json::from_str(line).unwrap();
        let events = told["events"].as_array_mut().unwrap();
        let all = std::mem::take(events).into_iter().enumerate();
        events.extend(all.filter_map(|(at, event)| change(at, event)));
        told.to_string()
    };
    let lines: Vec<String> = recording.lines().map(line).collect();
    lines.join("\n")
}

fn tool(event: &Json) -> &str {
    event["tool"].as_str().unwrap_or_default()
}

fn is_look_up(event: &Json) -> bool {
    tool(event).starts_with("get_")
}

/// The same session as messages, with results as LLM clients record them.
fn as_messages(recording: String) -> String {
    let line = |line: &str| {
        let told: Json = serde_json::from_str(line).unwrap();
        let mut messages = Vec::new();
        for (at, event) in told["events"].as_array().unwrap().iter().enumerate() {
            if event.get("tool").is_none() {
                messages.push(json!({"role": "user", "content": event["user"]}));
                continue;
            }
            let id = format!("call_{at}");
            let name = format!("mcp__shop__{}", tool(event));
            let arguments = event["args"].to_string();
            let call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
            messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
            let says = match event["error"] == true {
                true => "Error: it was rejected",
                false => "done",
            };
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": says}));
        }
        json!({"task_id": told["task"], "id": "b1f2", "messages": messages}).to_string()
    };
    let lines: Vec<String> = recording.lines().map(line).collect();
    lines.join("\n")
}

/// No right write is rejected for good, and nothing that the shop would reject is sent, however the
/// agent got there and however that was recorded.
#[test]
fn other_recordings_of_the_same_conversations_come_to_the_same() {
    let Some(data) = data() else { return };
    type ChangeRecording = fn(String) -> String;
    let changes: [(&str, ChangeRecording); 6] = [
        ("as it is", |it| it),
        ("without moves", |it| {
            each_event(it, |_, event| {
                (tool(&event) != "goto_node").then_some(event)
            })
        }),
        ("without look-ups", |it| {
            each_event(it, |_, event| (!is_look_up(&event)).then_some(event))
        }),
        ("with look-ups made twice as late", |it| {
            each_event(it, |at, event| {
                (!is_look_up(&event) || at % 2 == 0).then_some(event)
            })
        }),
        ("as messages", as_messages),
        ("with arguments as text and marks of errors as text", |it| {
            each_event(it, |_, mut event| {
                if event.get("args").is_some() {
                    event["arguments"] = event["args"].to_string().into();
                    event.as_object_mut()?.remove("args");
                    let says = if event["error"] == true {
                        "rejected"
                    } else {
                        ""
                    };
                    event["error"] = says.into();
                }
                Some(event)
            })
        }),
    ];
    for place in [WriteScope::AfterAuth, WriteScope::OwnBranch] {
        for (name, record) in changes {
            let sums = replayed_from(&data, place, |rules| rules, record);
            let (right, rejected) = (sums.of(WriteKind::Right), sums.of(WriteKind::Rejected));
            let stopped = sums.writes.iter().filter(|it| {
                it.kind == WriteKind::Right
                    && !matches!(it.last, GateOutcome::Made | GateOutcome::Asked)
            });
            let stopped: Vec<_> = stopped.map(|it| (&it.session, &it.message)).collect();
            assert_eq!(right.all, 149, "{name} {place:?}");
            assert_eq!(right.rejected, 0, "{name} {place:?}: {stopped:?}");
            assert_eq!(
                rejected.rejected, rejected.all,
                "{name} {place:?}: {rejected:?}"
            );
            assert_eq!(rejected.all, 7, "{name} {place:?}");
        }
    }
}

/// If a recording has no outcomes of calls, the simulated shop decides what is rejected.
#[test]
fn a_recording_without_outcomes_is_judged_by_the_stand_in() {
    let Some(data) = data() else { return };
    let sums = replayed_from(
        &data,
        WriteScope::AfterAuth,
        |rules| rules,
        |it| {
            each_event(it, |_, mut event| {
                let fields = event.as_object_mut()?;
                fields.remove("error");
                fields.remove("result");
                Some(event)
            })
        },
    );
    let rejected = sums.of(WriteKind::Rejected);
    assert_eq!((rejected.all, rejected.rejected), (7, 7), "{rejected:?}");
    assert_eq!(sums.of(WriteKind::Right).rejected, 0);
}

/// Unknown tools, unknown order ids and missing arguments are rejected, and stop nothing else.
#[test]
fn nonsense_in_a_recording_is_refused_and_stops_nothing_else() {
    let Some(data) = data() else { return };
    let sums = replayed_from(
        &data,
        WriteScope::AfterAuth,
        |rules| rules,
        |it| {
            let lines = it.lines().map(|line| {
                let mut told: Json = serde_json::from_str(line).unwrap();
                let events = told["events"].as_array_mut().unwrap();
                events.push(json!({"tool": "delete_everything", "args": {}, "error": false}));
                for order in [json!("W2378156"), json!("#W0000000"), json!(7), Json::Null] {
                    let args = json!({"order_id": order, "reason": "no longer needed"});
                    events.push(
                        json!({"tool": "cancel_pending_order", "args": args, "error": false}),
                    );
                }
                events.push(json!({"tool": "modify_pending_order_items", "error": false}));
                events.push(json!({"odd": true}));
                told.to_string()
            });
            lines.collect::<Vec<_>>().join("\n")
        },
    );
    let wrong = sums.of(WriteKind::Wrong);
    assert_eq!(wrong.rejected, 114 * 5, "{wrong:?}");
    assert_eq!(sums.of(WriteKind::Right).rejected, 0);
}

#[test]
fn rules_stop_what_the_shop_would_reject_and_no_right_write() {
    let Some(data) = data() else { return };
    let sums = replayed(&data, WriteScope::AfterAuth, |rules| rules);
    assert_eq!(sums.sessions, 114);
    // The simulated shop answers as the shop did when the sessions were recorded.
    assert_eq!(sums.disagreeing, 0);
    let right = sums.of(WriteKind::Right);
    let stopped = sums
        .writes
        .iter()
        .filter(|it| it.kind == WriteKind::Right && it.last != GateOutcome::Made);
    let stopped: Vec<&str> = stopped.map(|it| it.message.as_str()).collect();
    assert_eq!(right.rejected, 0, "{stopped:?}");
    let at_first = right.first_out_of_place + right.first_look_up + right.first_rule;
    assert!(at_first * 50 <= right.all, "{right:?}");
    let rejected = sums.of(WriteKind::Rejected);
    assert!(rejected.rejected * 7 >= rejected.all * 6, "{rejected:?}");
    assert!(
        sums.extra_moves_each() <= 1.5,
        "{}",
        sums.extra_moves_each()
    );
    // These figures are in docs/sop.md.
    let wrong = sums.of(WriteKind::Wrong);
    assert_eq!((right.all, right.asked, right.let_through), (149, 12, 137));
    assert_eq!(
        (wrong.all, wrong.rejected, wrong.asked, wrong.let_through),
        (20, 0, 4, 16)
    );
    assert_eq!((rejected.all, rejected.rejected), (7, 7));
    assert_eq!(at_first, 0);
    let asked = sums
        .writes
        .iter()
        .filter(|it| it.last == GateOutcome::Asked);
    for write in asked {
        assert!(write.message.contains("args."), "{}", write.message);
    }
}

/// The position alone stops nothing for good: a cooperative agent moves there.
#[test]
fn place_alone_lets_everything_through() {
    let Some(data) = data() else { return };
    let sums = replayed(&data, WriteScope::OwnBranch, |rules| {
        let begin = rules.find("\nrules:\n").unwrap();
        let end = begin + rules[begin..].find("\n---\n").unwrap();
        format!("{}{}", &rules[..begin], &rules[end..])
    });
    for kind in WriteKind::ALL {
        let of = sums.of(kind);
        assert_eq!(
            (of.rejected, of.asked, of.let_through),
            (0, 0, of.all),
            "{of:?}"
        );
    }
}

/// Restricted to their own branch, the same writes are made after some moves.
#[test]
fn a_narrower_place_costs_moves_and_stops_no_more() {
    let Some(data) = data() else { return };
    let wide = replayed(&data, WriteScope::AfterAuth, |rules| rules);
    let narrow = replayed(&data, WriteScope::OwnBranch, |rules| rules);
    for kind in WriteKind::ALL {
        let (wide, narrow) = (wide.of(kind), narrow.of(kind));
        assert_eq!((wide.rejected, wide.asked), (narrow.rejected, narrow.asked));
    }
    // These figures are in docs/sop.md.
    assert_eq!(narrow.of(WriteKind::Right).first_out_of_place, 8);
    assert!(wide.extra_moves < narrow.extra_moves);
    assert!(narrow.extra_moves_each() <= 1.5);
}

//! What has happened in a run: its steps in numbers, one of them whole, the run at any moment.

use crate::Desk;
use crate::asked::{Given, Named};
use crate::told::{self, Wrong, plain};
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value as Told, json};
use std::time::Instant;
use tramline_core::compare::{differ, forked, pairs};
use tramline_core::explained::{Explained, trial_limits};
use tramline_core::ids::{RunId, Seq, StepNo, ToolName};
use tramline_core::journal::{Entry, Event};
use tramline_core::look::Look;
use tramline_core::scope::Moment;
use tramline_core::stood::Stood;
use tramline_core::timeline::Timeline;
use tramline_core::trace::{self, Trace};
use tramline_core::why::{Weighed, why};
use tramline_engine::seams::Status;
use tramline_engine::{Owner, status, try_aside};

/// So many steps come at once at most.
const STEPS_MAX: usize = 100_000;
/// So many pairs of steps are told of two runs.
const PAIRS_MAX: usize = 10_000;

/// Which steps are asked for.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Stretch {
    #[serde(default)]
    after: StepNo,
    most: Option<usize>,
}

pub(crate) async fn timeline(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Path(run): Path<String>,
    Given(stretch): Given<Stretch>,
) -> Result<impl IntoResponse, Wrong> {
    let run: RunId = run.parse()?;
    told::begun(&desk, &owner, &run).await?;
    let entries = desk.engine.entries(&run).await?;
    let most = stretch.most.unwrap_or(5_000).clamp(1, STEPS_MAX);
    let timeline = Timeline::of(&entries, stretch.after, most);
    let body = serde_json::to_vec(&timeline).unwrap_or_default();
    Ok(([(CONTENT_TYPE, "application/json")], body))
}

pub(crate) async fn at(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Named((run, seq)): Named<(String, Seq)>,
) -> Result<Json<Told>, Wrong> {
    let run: RunId = run.parse()?;
    told::begun(&desk, &owner, &run).await?;
    let entries = desk.engine.entries(&run).await?;
    let past = up_to(&run, &entries, seq)?;
    if let Some(Event::Guided(begun)) = past.first().map(|entry| &entry.event) {
        let Some(sop) = begun.sops.first() else {
            return Err(Wrong::missing("the run has no procedure"));
        };
        let mut told = serde_json::to_value(Stood::guided(sop, past)).unwrap_or_default();
        let ended = past.last().and_then(|entry| match &entry.event {
            Event::Finished { outcome } => Some(outcome.word()),
            Event::Started(_)
            | Event::Resumed { .. }
            | Event::StepStarted { .. }
            | Event::Spread { .. }
            | Event::Gathered { .. }
            | Event::Waiting { .. }
            | Event::AttemptFailed { .. }
            | Event::StepFinished { .. }
            | Event::StepFailed { .. }
            | Event::Paused { .. }
            | Event::Answered { .. }
            | Event::Watched { .. }
            | Event::Amended { .. }
            | Event::Guided(_)
            | Event::Moved(_)
            | Event::Noted(_)
            | Event::ToolCalled(_)
            | Event::ToolAnswered(_)
            | Event::Refused(_) => None,
        });
        told["status"] = json!(ended.unwrap_or(Status::Guided.as_str()));
        told["questions"] = json!([]);
        return Ok(Json(told));
    }
    let look = looked(&run, past)?;
    let mut told = serde_json::to_value(Stood::of(look.run(), past)).unwrap_or_default();
    told["status"] = json!(status(look.run()).as_str());
    told["questions"] = json!(told::questions(look.run()));
    Ok(Json(told))
}

/// The journal up to an event.
pub(crate) fn up_to<'e>(run: &RunId, entries: &'e [Entry], seq: Seq) -> Result<&'e [Entry], Wrong> {
    let last = entries.len();
    let past = entries.get(..seq as usize).filter(|past| !past.is_empty());
    past.ok_or_else(|| Wrong::missing(format!("{run} has no event {seq}; its journal has {last}")))
}

/// A look at a run as its journal tells it.
pub(crate) fn looked(run: &RunId, past: &[Entry]) -> Result<Look, Wrong> {
    Look::at(run.clone(), past).map_err(|illegal| Wrong::request(illegal.to_string()))
}

pub(crate) async fn step(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Named((run, number)): Named<(String, StepNo)>,
) -> Result<Json<Told>, Wrong> {
    let run: RunId = run.parse()?;
    let loaded = told::load(&desk.engine, &owner, &run).await?;
    let (graph, entries) = (&loaded.run.graph, &loaded.entries);
    let trace = Trace::of(&run, graph, entries);
    let Some(step) = trace.steps.iter().find(|step| step.step == number) else {
        return Err(Wrong::missing(format!("{run} has no step {number}")));
    };
    let mut told = serde_json::to_value(step).unwrap_or_default();
    if step.retried.is_empty() {
        told["retried"] = json!([]);
    }
    let (started, finished) = trace::seqs(entries, number);
    told["seqs"] = json!({"started": started, "finished": finished});
    if let Some(tool) = step.tool.as_deref() {
        wire(&desk, &run, step, tool, &mut told);
    }
    if step.kind == "choose"
        && let (Some(node), Some(finished)) = (graph.find(&step.node), finished)
    {
        let past = up_to(&run, entries, finished - 1)?;
        let moment = Moment {
            now_ms: entries[finished as usize - 1].at_ms,
            seed: 0,
        };
        let look = looked(&run, past)?;
        let weighed = try_aside(move || why(&look, node, moment, &trial_limits(Instant::now())));
        let weighed = weighed.await.flatten();
        if let Some(weighed) = weighed {
            let rules: Vec<_> = weighed.iter().map(rule).collect();
            told["why"] = json!({"rules": rules, "picked": step.label});
        }
    }
    Ok(Json(told))
}

/// Adds what went over the wire for a call: as it was kept, or the request as the journal tells it.
fn wire(desk: &Desk, run: &RunId, step: &trace::Step, tool: &str, told: &mut Told) {
    let Some((server, name)) = tool.split_once(':') else {
        return;
    };
    let called = ToolName {
        server: server.into(),
        tool: name.into(),
    };
    let kept = desk.engine.exchange(run, step.step, &called);
    let kept = kept.unwrap_or_default();
    told["request"] = match &kept.request {
        Some(request) => json!({"kept": true, "message": plain(request)}),
        None => {
            let arguments = step.input.as_ref().map(plain);
            let params = json!({"name": name, "arguments": arguments});
            json!({"kept": false, "message": {"method": "tools/call", "params": params}})
        }
    };
    if let Some(response) = &kept.response {
        told["response"] = json!({"kept": true, "message": plain(response)});
    }
    if !kept.stderr.is_empty() {
        told["stderr"] = json!(kept.stderr);
    }
}

fn rule(weighed: &Weighed) -> Told {
    json!({
        "index": weighed.index,
        "rule": plain(&weighed.rule),
        "language": "jsonlogic",
        "label": weighed.label,
        "held": weighed.held,
        "tree": tree(&weighed.tree),
    })
}

/// How a value came about, as a tree.
pub(crate) fn tree(explained: &Explained) -> Told {
    let below: Vec<_> = explained.below.iter().map(tree).collect();
    let mut told = json!({
        "text": explained.what,
        "value": explained.value.as_ref().map(plain),
        "children": below,
    });
    if explained.value.is_none() {
        told["undefined"] = json!(true);
    }
    told
}

/// Which runs are to be compared.
#[derive(Debug, Deserialize)]
pub(crate) struct Both {
    left: String,
    right: String,
}

pub(crate) async fn compare(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Given(both): Given<Both>,
) -> Result<Json<Told>, Wrong> {
    let (left, right): (RunId, RunId) = (both.left.parse()?, both.right.parse()?);
    let first = told::load(&desk.engine, &owner, &left).await?;
    let second = told::load(&desk.engine, &owner, &right).await?;
    let first = Trace::of(&left, &first.run.graph, &first.entries);
    let second = Trace::of(&right, &second.run.graph, &second.entries);
    let mut steps = pairs(&first, &second);
    let same = steps.iter().all(|pair| pair.same);
    let more = steps.len() > PAIRS_MAX;
    steps.truncate(PAIRS_MAX);
    let input = differ(Some(&first.input), Some(&second.input));
    let outcome = differ(first.outcome.as_ref(), second.outcome.as_ref());
    let mut told = json!({
        "left": left,
        "right": right,
        "same": same && input.is_empty() && outcome.is_empty(),
        "input": input,
        "outcome": outcome,
        "steps": steps,
        "more": more,
    });
    if let Some(forked) = forked(&first, &second) {
        let fork = if forked.which == "first" {
            "left"
        } else {
            "right"
        };
        told["forked"] = json!({"fork": fork, "seq": forked.seq});
    }
    Ok(Json(told))
}

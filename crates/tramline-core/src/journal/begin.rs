//! How a run begins: what it runs, with what, for whom, and where it is to halt.

use super::{Budget, Entry, Event};
use crate::ids::{RunId, Seq, StepNo};
use crate::upstream::Upstream;
use crate::workflow::Workflow;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tramline_expr::{Str, Value};

/// How a run begins. In memory the workflow is whole; a journal's line refers to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started<W = Arc<Workflow>> {
    /// What it runs.
    pub workflow: W,
    /// What it was given.
    pub input: Value,
    /// How it goes on from step to step.
    #[serde(default)]
    pub policy: Policy,
    /// The caller's label that groups runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Str>,
    /// Who began it.
    pub by: Str,
    /// Where its document and its servers are to be found again: the front end's own words.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub origin: Value,
    /// The step of another run that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The run it branched off from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<Fork>,
    /// Where it is to halt from its first step on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
    /// What it may use before it asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// What the operator lets every run use before a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_budget: Option<Budget>,
    /// How long it waits for an answer before it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Whose it is, in the front end's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Str>,
    /// The span of its caller's that it belongs to, if the caller named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Box<Upstream>>,
    /// What it was planned for, in the words of whoever wanted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Str>,
    /// That an agent began it at a server; nothing where the operator did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentRun>>,
}

/// A run that an agent began at a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRun {
    /// Whether procedures were pinned there: then its calls pass the gate, wherever it is driven.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gated: bool,
    /// The conversations of its caller when it began: the gate of one of them must let a call pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversations: Vec<RunId>,
    /// Whether it asks a person about one call of its conversation, which passed the gate before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// Patterns of the tools that the operator had listed as free.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free: Vec<Str>,
}

impl<W> Started<W> {
    /// The same with the workflow in another form.
    pub fn with<V>(self, workflow: V) -> Started<V> {
        let Self {
            workflow: _,
            input,
            policy,
            session,
            by,
            origin,
            parent,
            fork,
            watch,
            budget,
            ttl_ms,
            owner,
            upstream,
            intent,
            operator_budget,
            agent,
        } = self;
        Started {
            workflow,
            input,
            policy,
            session,
            by,
            origin,
            parent,
            fork,
            watch,
            budget,
            ttl_ms,
            owner,
            upstream,
            intent,
            operator_budget,
            agent,
        }
    }
}

/// One item of a step that is spread.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The step that is spread.
    pub step: StepNo,
    /// The item's place, from 0.
    pub index: u32,
}

/// The step of another run that a run is a part of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// Which run.
    pub run: RunId,
    /// Which of its steps.
    pub step: StepNo,
    /// How many runs are above this one.
    pub depth: u32,
}

/// Where a run branched off from another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// From which run.
    pub run: RunId,
    /// After which of its events.
    pub seq: Seq,
    /// The nodes whose calls that run has made and which may not be repeated unasked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Str>,
}

/// Where a run is to halt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Watch {
    /// At these nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaks: Vec<Break>,
    /// Before every step.
    #[serde(default)]
    pub stepping: bool,
}

impl Watch {
    /// What was said last in a journal about where its run is to halt.
    pub fn current(entries: &[Entry]) -> Self {
        let said = entries.iter().rev().find_map(|entry| {
            if let Event::Watched { watch, .. } = &entry.event {
                Some(watch.clone())
            } else if let Event::Started(started) = &entry.event {
                started.watch.clone()
            } else {
                None
            }
        });
        said.unwrap_or_default()
    }
}

/// A node before which a run is to halt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Break {
    /// Its id.
    pub node: Str,
    /// Only when this holds: JSONata as text, or a JSON Logic rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Value>,
}

/// How a run goes on from step to step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// A step starts as soon as its inputs are there.
    #[default]
    Eager,
    /// All steps that are ready together run, then the run pauses.
    Layered,
}

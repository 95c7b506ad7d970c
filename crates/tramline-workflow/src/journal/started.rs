//! The first event of a run: its workflow, input, owner, budgets and breakpoints.

use super::{Budget, Entry, Event, RunEvent};
use crate::ids::{RunId, Seq, StepNo};
use crate::trace_context::TraceContext;
use crate::workflow::Workflow;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tramline_expr::{Str, Value};

/// How a run starts. In memory it holds the whole workflow; in the journal it refers to it by
/// digest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted<W = Arc<Workflow>> {
    /// The workflow.
    pub workflow: W,
    /// The input.
    pub input: Value,
    /// Whether the run pauses after each layer.
    #[serde(default)]
    pub policy: SchedulePolicy,
    /// The caller's label for grouping runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Str>,
    /// Who started it.
    pub by: Str,
    /// Where to find its document and servers again; the format belongs to the front end.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub origin: Value,
    /// The step of the parent run that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentStep>,
    /// The run it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<ForkOrigin>,
    /// The breakpoints from the first step on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<BreakpointSet>,
    /// What it may use before it asks for more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// What the operator lets every run use before a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_budget: Option<Budget>,
    /// How long it waits for an answer before it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Who owns it; the format belongs to the front end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Str>,
    /// The caller's trace context, if it sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Box<TraceContext>>,
    /// The intent it was planned for, in the requester's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Str>,
    /// Set if an agent started it through a server; `None` if the operator did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentRun>>,
    /// The key under which a repeated start is this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_key: Option<Str>,
}

/// A run that an agent started through a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRun {
    /// Whether procedures were pinned there. If so, its calls pass the gate wherever it is driven.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gated: bool,
    /// The caller's SOP sessions at the start: the gate of one of them must allow each call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversations: Vec<RunId>,
    /// Whether the run asks for approval of a single call that already passed its session's gate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// Patterns of the tools that the operator had listed as free.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free: Vec<Str>,
}

impl<W> RunStarted<W> {
    /// Replaces the form of the workflow.
    pub fn with_workflow<V>(self, workflow: V) -> RunStarted<V> {
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
            start_key,
        } = self;
        RunStarted {
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
            start_key,
        }
    }
}

/// One item of a fan-out step.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FanOutItem {
    /// The fan-out step.
    pub step: StepNo,
    /// The index of the item, from 0.
    pub index: u32,
}

/// The step of the parent run that started a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentStep {
    /// The parent run.
    pub run: RunId,
    /// The step of the parent run.
    pub step: StepNo,
    /// The number of ancestor runs.
    pub depth: u32,
}

/// Where a run was forked from another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkOrigin {
    /// The original run.
    pub run: RunId,
    /// The event of the original run after which the fork starts.
    pub seq: Seq,
    /// The nodes whose calls the original run has made and that must not be repeated without
    /// confirmation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Str>,
}

/// The breakpoints of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BreakpointSet {
    /// The nodes to stop at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaks: Vec<NodeBreakpoint>,
    /// Whether to stop before every step.
    #[serde(default)]
    pub stepping: bool,
}

impl BreakpointSet {
    /// The breakpoints last set in a journal.
    pub fn current(entries: &[Entry]) -> Self {
        let said = entries.iter().rev().find_map(|entry| {
            if let Event::Run(RunEvent::BreakpointsSet { watch, .. }) = &entry.event {
                Some(watch.clone())
            } else if let Event::Run(RunEvent::Started(started)) = &entry.event {
                started.watch.clone()
            } else {
                None
            }
        });
        said.unwrap_or_default()
    }
}

/// A node before which a run stops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeBreakpoint {
    /// The id of the node.
    pub node: Str,
    /// The condition, if any: JSONata as text, or a JSON Logic rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Value>,
    /// The pinned output, if any: instead of stopping, the run uses it as the node's output.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "pinned_output"
    )]
    pub output: Option<Value>,
}

impl NodeBreakpoint {
    /// A breakpoint without a pinned output.
    pub fn new(node: impl Into<Str>, condition: Option<Value>) -> Self {
        Self {
            node: node.into(),
            condition,
            output: None,
        }
    }
}

/// Reads a pinned output; a `null` is an output too.
fn pinned_output<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// Whether a run pauses after each layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SchedulePolicy {
    /// A step starts as soon as its inputs are available.
    #[default]
    Eager,
    /// All steps that are ready at the same time run, then the run pauses.
    Layered,
}

//! Recorded SOP sessions replayed through the gate of a procedure, over a simulated shop.
//!
//! The recorded agent moves and calls as recorded. If a call is rejected it cooperates: it follows
//! the path that the rejection names, makes the lookups that it names, and calls again. It may not
//! choose other arguments: a call that stays rejected is rejected for good.

use std::collections::HashMap;
use std::sync::Arc;
use tramline_expr::{Str, Value};
use tramline_formats::sop_markdown;
use tramline_sop::Procedure;
use tramline_sop::audit::{self, Transcript};
use tramline_workflow::sop::Sop;

mod agent;
mod shop;
mod summary;
mod write_kind;

pub use shop::{ShopRecords, SimulatedShop};
pub use summary::{ReplaySummary, WriteCounts};
pub use write_kind::WriteKind;

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateOutcome {
    /// It was made.
    Made,
    /// A person was asked about it.
    Asked,
    /// The node does not allow it.
    OutOfPlace,
    /// A lookup is missing.
    LookUpMissing,
    /// A rule does not hold.
    RuleBroken,
}

/// Where the procedure allows writes. The flowchart lists no tools; the rules apply everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteScope {
    /// At every node after the one where the customer is identified.
    #[default]
    AfterAuth,
    /// Where their details are collected, and where they are executed.
    OwnBranch,
}

/// A call that changes the shop's records, with its outcome.
#[derive(Clone, Debug)]
pub struct ShopWrite {
    /// The session it is from.
    pub session: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// Whether it was expected.
    pub kind: WriteKind,
    /// Its first outcome.
    pub first: GateOutcome,
    /// Its outcome after the agent had done what the rejections name.
    pub last: GateOutcome,
    /// The last message of the gate, if it rejected or asked.
    pub message: String,
}

/// The inputs of a replay.
pub struct Replay {
    procedure: Arc<Procedure>,
    records: Arc<ShopRecords>,
    /// The expected actions, by session.
    expected: HashMap<String, Vec<(String, Value)>>,
}

impl Replay {
    /// A flowchart with the rules of another file, over the shop's records.
    pub fn new(
        chart: &str,
        rules: &str,
        records: &str,
        expected: &str,
        place: WriteScope,
    ) -> Result<Self, String> {
        let mut sop = read(chart)?;
        copy_rules(&mut sop, &read(rules)?, place);
        Ok(Self {
            procedure: Arc::new(Procedure::build(Arc::new(sop))?),
            records: Arc::new(ShopRecords::read(records)?),
            expected: write_kind::expected(expected)?,
        })
    }

    /// Replays every session of a recording.
    pub fn run(&self, recording: &str) -> Result<ReplaySummary, String> {
        let mut sums = ReplaySummary::default();
        for transcript in audit::read(recording)? {
            agent::ReplayAgent::new(self, &transcript)?.replay(&transcript, &mut sums)?;
        }
        Ok(sums)
    }

    fn kind(&self, conversation: &str, tool: &str, arguments: &Value, failed: bool) -> WriteKind {
        match failed {
            true => WriteKind::Rejected,
            false => write_kind::kind(self.expected.get(conversation), tool, arguments),
        }
    }
}

fn read(text: &str) -> Result<Sop, String> {
    let read = sop_markdown::read(text.as_bytes(), "retail");
    read.map(|read| read.sop).map_err(|flaws| {
        let says: Vec<String> = flaws.iter().map(ToString::to_string).collect();
        says.join("\n")
    })
}

/// Lookups of the shop that the rules file does not list.
const MORE_LOOK_UPS: [&str; 2] = ["list_all_product_types", "get_item_details"];
/// The tool that hands a session to a person.
const HAND_OVER: &str = "transfer_to_human_agents";

/// The node where the customer is identified.
const AUTH: &str = "AUTH";

/// Copies rules, lookups and the tools of nodes.
fn copy_rules(chart: &mut Sop, rules: &Sop, place: WriteScope) {
    chart.rules.clone_from(&rules.rules);
    chart.lookups.clone_from(&rules.lookups);
    chart.anywhere.clone_from(&rules.anywhere);
    chart.anywhere.extend(MORE_LOOK_UPS.map(Into::into));
    let mut carried: Vec<(Str, Vec<Str>)> = Vec::new();
    for node in &mut chart.nodes {
        if let Some(at) = rules.find(&node.id) {
            node.tools.clone_from(&rules.nodes[at.index()].tools);
            carried.push((node.id.clone(), node.tools.clone()));
        }
        if node.id == AUTH {
            let demanded = rules.nodes.iter().filter(|it| it.id == AUTH);
            node.must_call = demanded.flat_map(|it| it.must_call.clone()).collect();
        }
    }
    for node in &mut chart.nodes {
        let own = node.id.strip_prefix("COLLECT_");
        let is_behind = ![AUTH, "START"].contains(&node.id.as_str());
        let adds = carried.iter().filter(|(id, _)| match place {
            WriteScope::AfterAuth => is_behind && id.starts_with("DO_"),
            WriteScope::OwnBranch => own.is_some() && id.strip_prefix("DO_") == own,
        });
        node.tools
            .extend(adds.flat_map(|(_, tools)| tools.iter().cloned()));
        if node.id == AUTH || node.id.starts_with("ESCALATE") || place == WriteScope::AfterAuth {
            node.tools.push(HAND_OVER.into());
        }
    }
}

/// The name of a session, as in the expected actions.
fn session_name(transcript: &Transcript) -> &str {
    &transcript.name
}

//! Recorded conversations replayed through the gate of a procedure, over a stand-in for the shop.
//!
//! The recorded agent moves and calls as it did. Where a call is refused it cooperates: it walks the
//! path that the refusal names, makes the look-ups that it names, and calls again. What it may not do
//! is choose other arguments: a call that stays refused is refused for good.

use std::collections::HashMap;
use std::sync::Arc;
use tramline_core::formats::sop_markdown;
use tramline_core::navigate::Procedure;
use tramline_core::navigate::audit::{self, Transcript};
use tramline_core::sop::Sop;
use tramline_core::{Str, Value};

mod agent;
mod judge;
mod shop;
mod sums;

pub use judge::Kind;
pub use shop::{Records, Shop};
pub use sums::{Counts, Sums};

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was made.
    Made,
    /// A person was asked about it.
    Asked,
    /// The node does not allow it.
    OutOfPlace,
    /// A look-up is missing.
    LookUpMissing,
    /// A rule does not hold.
    RuleBroken,
}

/// Where the procedure allows writes. The flowchart lists no tools; the rules hold everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// At every node behind the one where the customer is identified.
    #[default]
    BehindAuth,
    /// Where their details are collected, and where they are carried out.
    OwnBranch,
}

/// A call that changes the shop's records, with what became of it.
#[derive(Clone, Debug)]
pub struct Write {
    /// The conversation it is from.
    pub conversation: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// Whether it was expected.
    pub kind: Kind,
    /// What became of it at first.
    pub first: Fate,
    /// What became of it once the agent had done what the refusals name.
    pub last: Fate,
    /// What the gate said last, if it refused or asked.
    pub says: String,
}

/// What a replay needs.
pub struct Replay {
    procedure: Arc<Procedure>,
    records: Arc<Records>,
    /// The expected actions by conversation.
    expected: HashMap<String, Vec<(String, Value)>>,
}

impl Replay {
    /// A flowchart under the rules of another file, over the shop's records.
    pub fn new(
        chart: &str,
        rules: &str,
        records: &str,
        expected: &str,
        place: Place,
    ) -> Result<Self, String> {
        let mut sop = read(chart)?;
        adopt(&mut sop, &read(rules)?, place);
        Ok(Self {
            procedure: Arc::new(Procedure::build(Arc::new(sop))?),
            records: Arc::new(Records::read(records)?),
            expected: judge::expected(expected)?,
        })
    }

    /// Replays every conversation of a recording.
    pub fn run(&self, recording: &str) -> Result<Sums, String> {
        let mut sums = Sums::default();
        for transcript in audit::read(recording)? {
            agent::Agent::new(self, &transcript)?.replay(&transcript, &mut sums)?;
        }
        Ok(sums)
    }

    fn kind(&self, conversation: &str, tool: &str, arguments: &Value, failed: bool) -> Kind {
        match failed {
            true => Kind::Rejected,
            false => judge::kind(self.expected.get(conversation), tool, arguments),
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

/// Look-ups of the shop that the rules' file does not list.
const MORE_LOOK_UPS: [&str; 2] = ["list_all_product_types", "get_item_details"];
/// The tool by which a conversation is handed to a person.
const HAND_OVER: &str = "transfer_to_human_agents";

/// The node where the customer is identified.
const AUTH: &str = "AUTH";

/// Takes over rules, look-ups and the tools of nodes.
fn adopt(chart: &mut Sop, rules: &Sop, place: Place) {
    chart.rules.clone_from(&rules.rules);
    chart.lookups.clone_from(&rules.lookups);
    chart.anywhere.clone_from(&rules.anywhere);
    chart.anywhere.extend(MORE_LOOK_UPS.map(Into::into));
    let mut carried: Vec<(Str, Vec<Str>)> = Vec::new();
    for node in &mut chart.nodes {
        if let Some(at) = rules.find(&node.id) {
            node.tools.clone_from(&rules.nodes[at.at()].tools);
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
            Place::BehindAuth => is_behind && id.starts_with("DO_"),
            Place::OwnBranch => own.is_some() && id.strip_prefix("DO_") == own,
        });
        node.tools
            .extend(adds.flat_map(|(_, tools)| tools.iter().cloned()));
        if node.id == AUTH || node.id.starts_with("ESCALATE") || place == Place::BehindAuth {
            node.tools.push(HAND_OVER.into());
        }
    }
}

/// The name of a conversation, as the expected actions have it.
fn name(transcript: &Transcript) -> &str {
    &transcript.name
}

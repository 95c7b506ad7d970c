//! `loop`: repeats a node while a condition holds, with inputs from the previous round.
//!
//! The graph has no loop construct, only edges that lead back. A loop therefore becomes four nodes
//! around the repeated one: one records how often the node had run before, one builds the inputs of the
//! next round, one decides whether there is another round, and one records why the loop ended.

use super::reference_scope::{LocalInputs, ReferenceScope, template_source};
use super::templates::{REFERENCE_START, TemplateReader};
use crate::reference::{ReferenceOperand, ReferencePath, ReferenceStep, jsonata_string};
use crate::workflow_builder::{NodeSources, WorkflowBuilder};
use crate::yaml_graph::fields;
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::text::display_name;
use tramline_workflow::workflow::{Action, DEFAULT_LABEL, Edge, Node, SwitchRule, Template};

/// The name of the round number.
const ITERATION: &str = "__iteration__";
/// The output field that says why a loop ended.
pub(super) const STOPPED_FIELD: &str = "loop_stopped";
/// Default maximum of rounds.
const ROUNDS_DEFAULT: u64 = 100;
/// Largest accepted maximum of rounds: the limits of a run end it long before.
const ROUNDS_MAX: u64 = 100_000;
/// The label of the edge that leads back.
const AGAIN_LABEL: &str = "again";

/// The ids of the nodes that a loop adds.
pub(super) struct LoopNodeIds {
    begin: Str,
    round: Str,
    check: Str,
    pub(super) end: Str,
}

impl LoopNodeIds {
    /// Unused ids, derived from the node's id.
    pub(super) fn of(id: &str, is_taken: impl Fn(&str) -> bool) -> Self {
        let free = |what: &str| {
            let mut name = format!("{id}-{what}");
            while is_taken(&name) {
                name.push('_');
            }
            Str::from(name)
        };
        Self {
            begin: free("begin"),
            round: free("round"),
            check: free("check"),
            end: free("end"),
        }
    }

    fn round_path(&self, steps: &[&str]) -> ReferenceOperand {
        let steps = steps.iter().map(|step| ReferenceStep::Key((*step).into()));
        ReferenceOperand::Path(ReferencePath::new(self.round.clone(), steps.collect()))
    }
}

/// A loop, added to the graph once all edges are known.
pub(super) struct NodeLoop<'t> {
    node: Str,
    at: Spanned<'t>,
    /// The inputs of a round, as an expression.
    inputs: String,
    /// Whether there is another round, as an expression.
    continues: String,
    rounds_max: String,
}

/// Reads the `loop` of a node, with the node's inputs.
pub(super) fn read<'t>(
    at: Spanned<'t>,
    node: &Str,
    inputs: Option<Spanned<'t>>,
    names: &ReferenceScope<'t>,
    flaws: &mut FlawCollector,
) -> Option<(NodeLoop<'t>, LocalInputs)> {
    let hint = "write `while` or `until`, each a single `${node.key}`";
    if at.value.as_object().is_none() {
        fields::report_wrong_type(at, "loop", "an object", hint, flaws);
        return None;
    }
    const KNOWN: [&str; 4] = ["while", "until", "carry", "max_iterations"];
    fields::warn_unknown(at, "`loop`", &KNOWN, flaws);
    let ids = names.loop_of(node)?;
    let again = condition(at, names, hint, flaws);
    let seeds = read_mapping(inputs, "inputs", names, flaws);
    let carry = read_mapping(fields::present(at, "carry"), "carry", names, flaws);
    let most = match fields::present(at, "max_iterations") {
        None => ROUNDS_DEFAULT.to_string(),
        Some(most) => match TemplateReader::new(names, flaws).template(most) {
            Template::Expr(source) => format!("({source})"),
            Template::Literal(_) | Template::Object(_) | Template::Array(_) => {
                fields::whole_number(most, "max_iterations", 1, ROUNDS_MAX, flaws)?.to_string()
            }
        },
    };
    let mut locals = LocalInputs::new();
    locals.insert(ITERATION.into(), vec![ids.round_path(&["iteration"])]);
    let mut parts = Vec::new();
    let carried = |key: &Str| carry.iter().find(|(other, _)| other == key);
    for (key, seed) in &seeds {
        let (name, seed) = (jsonata_string(key), template_source(seed));
        parts.push(match carried(key) {
            Some((_, carried)) => format!("{name}: $first ? {seed} : {}", template_source(carried)),
            None => format!("{name}: {seed}"),
        });
    }
    for (key, carried) in &carry {
        if seeds.iter().all(|(other, _)| other != key) {
            parts.push(format!(
                "{}: $first ? null : {}",
                jsonata_string(key),
                template_source(carried)
            ));
        }
    }
    for (key, _) in seeds.iter().chain(&carry) {
        locals.insert(key.clone(), vec![ids.round_path(&["inputs", key])]);
    }
    let woven = NodeLoop {
        node: node.clone(),
        at,
        inputs: format!("{{{}}}", parts.join(", ")),
        continues: again?,
        rounds_max: most,
    };
    Some((woven, locals))
}

/// The loop condition as an expression that is true if there is another round.
fn condition<'t>(
    at: Spanned<'t>,
    names: &ReferenceScope<'t>,
    hint: &str,
    flaws: &mut FlawCollector,
) -> Option<String> {
    let (field, holds) = match (fields::present(at, "while"), fields::present(at, "until")) {
        (Some(field), None) => (field, true),
        (None, Some(field)) => (field, false),
        (None, None) => {
            fields::report_missing(at, "`loop`", "while", hint, flaws);
            return None;
        }
        (Some(_), Some(field)) => {
            let message = "a loop has `while` or `until`, not both";
            flaws.add(
                FlawCode::WrongType,
                field.source_span(),
                message,
                "remove one of them",
            );
            return None;
        }
    };
    let before = flaws.count();
    // A single reference keeps its type; several make a string, which is always true.
    let single = |text: &str| {
        text.starts_with(REFERENCE_START) && text.matches(REFERENCE_START).count() == 1
    };
    let single = field
        .value
        .as_str()
        .is_some_and(|text| single(text) && text.ends_with('}'));
    let template = TemplateReader::new(names, flaws).template(field);
    match template {
        Template::Expr(_) if !single => {
            fields::report_wrong_type(
                field,
                "the condition",
                "a single `${node.key}`",
                hint,
                flaws,
            );
            None
        }
        Template::Expr(source) if holds => Some(format!("$boolean({source})")),
        Template::Expr(source) => Some(format!("$not($boolean({source}))")),
        Template::Literal(_) | Template::Object(_) | Template::Array(_) => {
            if flaws.count() == before {
                let name = if holds { "while" } else { "until" };
                fields::report_wrong_type(field, name, "a single `${node.key}`", hint, flaws);
            }
            None
        }
    }
}

/// Reads named values that may contain references.
pub(super) fn read_mapping<'t>(
    at: Option<Spanned<'t>>,
    name: &str,
    names: &ReferenceScope<'t>,
    flaws: &mut FlawCollector,
) -> Vec<(Str, Template)> {
    let Some(at) = at else {
        return Vec::new();
    };
    if at.value.as_object().is_none() {
        fields::report_wrong_type(at, name, "an object", "name each value", flaws);
        return Vec::new();
    }
    let mut reader = TemplateReader::new(names, flaws);
    at.fields()
        .map(|(key, field)| (key.clone(), reader.template(field)))
        .collect()
}

/// Adds loops to a graph whose edges are complete. The added nodes follow the document's own `count`
/// nodes.
pub(super) fn expand_loops<'t>(
    loops: Vec<NodeLoop<'t>>,
    count: usize,
    names: &ReferenceScope<'t>,
    sketch: &mut WorkflowBuilder<'t>,
) {
    let begin = (count + 1).min(sketch.workflow.nodes.len());
    let nodes = sketch.workflow.nodes.split_off(begin);
    let sources = sketch.sources.split_off(begin);
    for one in loops {
        if let Some(ids) = names.loop_of(&one.node) {
            one.expand(ids, sketch);
        }
    }
    sketch.workflow.nodes.extend(nodes);
    sketch.sources.extend(sources);
}

impl<'t> NodeLoop<'t> {
    fn expand(&self, ids: &LoopNodeIds, sketch: &mut WorkflowBuilder<'t>) {
        for edge in &mut sketch.workflow.edges {
            if edge.to == self.node {
                edge.to = ids.begin.clone();
            }
            if edge.from == self.node && edge.label == DEFAULT_LABEL {
                edge.from = ids.end.clone();
            }
        }
        let node = self.node.as_str();
        let ran = format!("$executionCount({})", jsonata_string(node));
        let begin =
            ReferencePath::new(ids.begin.clone(), vec![ReferenceStep::Key("ran".into())]).jsonata();
        let own = ReferencePath::new(node, Vec::new()).jsonata();
        let rounds = format!("{ran} - {begin}");
        let inputs = &self.inputs;
        self.add_compute_node(&ids.begin, format!("{{\"ran\": {ran}}}"), sketch);
        let round = format!(
            "($first := {ran} = {begin}; {{\"iteration\": {rounds} + 1, \"inputs\": {inputs}}})"
        );
        self.add_compute_node(&ids.round, round, sketch);
        let rule = format!("{} and {rounds} < {}", self.continues, self.rounds_max);
        let check = Action::Choose {
            rules: vec![SwitchRule {
                rule: Value::object([("var", rule.into())]),
                label: AGAIN_LABEL.into(),
            }],
            otherwise: Some(DEFAULT_LABEL.into()),
        };
        sketch.add_node(
            Node::new(ids.check.clone(), check),
            NodeSources::at(self.at),
        );
        let why = format!(
            "{{\"{STOPPED_FIELD}\": {} ? \"max_iterations\" : \"condition\"}}",
            self.continues
        );
        let end = format!("$type({own}) = \"object\" ? $merge([{own}, {why}]) : {own}");
        self.add_compute_node(&ids.end, end, sketch);
        let ways = [
            Edge::new(ids.begin.clone(), ids.round.clone()),
            Edge::new(ids.round.clone(), node),
            Edge::new(node, ids.check.clone()),
            Edge::labelled(ids.check.clone(), ids.round.clone(), AGAIN_LABEL),
            Edge::new(ids.check.clone(), ids.end.clone()),
        ];
        for way in ways {
            sketch.add_edge(way, self.at);
        }
    }

    fn add_compute_node(&self, id: &Str, expression: String, sketch: &mut WorkflowBuilder<'t>) {
        let action = Action::Compute {
            expression: expression.into(),
        };
        sketch.add_node(Node::new(id.clone(), action), NodeSources::at(self.at));
    }
}

/// Rejects a node that has both `loop` and `batch`.
pub(super) fn reject_batch(at: Spanned<'_>, node: &str, flaws: &mut FlawCollector) {
    flaws.add(
        FlawCode::Unsupported,
        at.source_span(),
        format!("`{}` has both `loop` and `batch`", display_name(node)),
        "move the batch into a separate workflow and loop over that",
    );
}

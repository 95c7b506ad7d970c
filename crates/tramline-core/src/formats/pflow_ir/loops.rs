//! `loop`: a node that is done again while a condition holds, each time with what it gave before.
//!
//! The graph knows no loops but ways that lead back, so a loop becomes four nodes around its own:
//! one that remembers how often the node had run before, one that puts the inputs of the next round
//! together, one that chooses whether there is another, and one that says why there is none.

use super::names::{Locals, Names, source};
use super::templates::{Reader, SIGN};
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::formats::reference::{Operand, Path, Step, text};
use crate::formats::sketch::{Sketch, Sources};
use crate::formats::yaml_graph::fields;
use crate::text::shown;
use crate::workflow::{Action, Choice, DEFAULT_LABEL, Edge, Node, Template};
use tramline_expr::{Str, Value};

/// What the number of the round is called.
const ITERATION: &str = "__iteration__";
/// What says why a loop ended.
pub(super) const STOPPED: &str = "loop_stopped";
/// How many rounds there are at most where the document does not say.
const ROUNDS: u64 = 100;
/// More rounds than this are refused: the limits of a run end it long before.
const ROUNDS_MAX: u64 = 100_000;
/// The label of the way back.
const AGAIN: &str = "again";

/// The ids of the nodes that a loop adds.
pub(super) struct Ids {
    begin: Str,
    round: Str,
    check: Str,
    pub(super) end: Str,
}

impl Ids {
    /// Ids that nobody has.
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

    fn path(&self, steps: &[&str]) -> Operand {
        let steps = steps.iter().map(|step| Step::Key((*step).into()));
        Operand::Path(Path::new(self.round.clone(), steps.collect()))
    }
}

/// A loop, to be woven into the graph once all its ways are known.
pub(super) struct Loop<'t> {
    node: Str,
    at: At<'t>,
    /// The inputs of each round, as an expression.
    inputs: String,
    /// Whether there is another round, as an expression.
    again: String,
    most: String,
}

/// Reads `loop` of a node, with the node's own inputs.
pub(super) fn read<'t>(
    at: At<'t>,
    node: &Str,
    inputs: Option<At<'t>>,
    names: &Names<'t>,
    flaws: &mut Flaws,
) -> Option<(Loop<'t>, Locals)> {
    let hint = "write `while` or `until`, each a single `${node.key}`";
    if at.value.as_object().is_none() {
        fields::wrong(at, "loop", "an object", hint, flaws);
        return None;
    }
    const KNOWN: [&str; 4] = ["while", "until", "carry", "max_iterations"];
    fields::unknown(at, "`loop`", &KNOWN, flaws);
    let ids = names.loop_of(node)?;
    let again = condition(at, names, hint, flaws);
    let seeds = mapping(inputs, "inputs", names, flaws);
    let carry = mapping(fields::given(at, "carry"), "carry", names, flaws);
    let most = match fields::given(at, "max_iterations") {
        None => ROUNDS.to_string(),
        Some(most) => match Reader::new(names, flaws).template(most) {
            Template::Expr(source) => format!("({source})"),
            Template::Literal(_) | Template::Object(_) | Template::Array(_) => {
                fields::whole(most, "max_iterations", 1, ROUNDS_MAX, flaws)?.to_string()
            }
        },
    };
    let mut locals = Locals::new();
    locals.insert(ITERATION.into(), vec![ids.path(&["iteration"])]);
    let mut parts = Vec::new();
    let carried = |key: &Str| carry.iter().find(|(other, _)| other == key);
    for (key, seed) in &seeds {
        let (name, seed) = (text(key), source(seed));
        parts.push(match carried(key) {
            Some((_, carried)) => format!("{name}: $first ? {seed} : {}", source(carried)),
            None => format!("{name}: {seed}"),
        });
    }
    for (key, carried) in &carry {
        if seeds.iter().all(|(other, _)| other != key) {
            parts.push(format!(
                "{}: $first ? null : {}",
                text(key),
                source(carried)
            ));
        }
    }
    for (key, _) in seeds.iter().chain(&carry) {
        locals.insert(key.clone(), vec![ids.path(&["inputs", key])]);
    }
    let woven = Loop {
        node: node.clone(),
        at,
        inputs: format!("{{{}}}", parts.join(", ")),
        again: again?,
        most,
    };
    Some((woven, locals))
}

/// Whether the condition asks for another round, as an expression.
fn condition<'t>(at: At<'t>, names: &Names<'t>, hint: &str, flaws: &mut Flaws) -> Option<String> {
    let (field, holds) = match (fields::given(at, "while"), fields::given(at, "until")) {
        (Some(field), None) => (field, true),
        (None, Some(field)) => (field, false),
        (None, None) => {
            fields::missing(at, "`loop`", "while", hint, flaws);
            return None;
        }
        (Some(_), Some(field)) => {
            let message = "a loop has `while` or `until`, not both";
            flaws.add(
                Code::WrongType,
                field.place(),
                message,
                "remove one of them",
            );
            return None;
        }
    };
    let before = flaws.count();
    // One reference keeps its type; several are a text, which is always true.
    let single = |text: &str| text.starts_with(SIGN) && text.matches(SIGN).count() == 1;
    let single = field
        .value
        .as_str()
        .is_some_and(|text| single(text) && text.ends_with('}'));
    let template = Reader::new(names, flaws).template(field);
    match template {
        Template::Expr(_) if !single => {
            fields::wrong(
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
                fields::wrong(field, name, "a single `${node.key}`", hint, flaws);
            }
            None
        }
    }
}

/// Named values with references in them.
pub(super) fn mapping<'t>(
    at: Option<At<'t>>,
    name: &str,
    names: &Names<'t>,
    flaws: &mut Flaws,
) -> Vec<(Str, Template)> {
    let Some(at) = at else {
        return Vec::new();
    };
    if at.value.as_object().is_none() {
        fields::wrong(at, name, "an object", "name each value", flaws);
        return Vec::new();
    }
    let mut reader = Reader::new(names, flaws);
    at.fields()
        .map(|(key, field)| (key.clone(), reader.template(field)))
        .collect()
}

/// Weaves loops into a graph whose ways are all there. What they add stands behind the document's
/// own nodes, of which there are `count`.
pub(super) fn weave<'t>(
    loops: Vec<Loop<'t>>,
    count: usize,
    names: &Names<'t>,
    sketch: &mut Sketch<'t>,
) {
    let begin = (count + 1).min(sketch.workflow.nodes.len());
    let nodes = sketch.workflow.nodes.split_off(begin);
    let sources = sketch.sources.split_off(begin);
    for one in loops {
        if let Some(ids) = names.loop_of(&one.node) {
            one.weave(ids, sketch);
        }
    }
    sketch.workflow.nodes.extend(nodes);
    sketch.sources.extend(sources);
}

impl<'t> Loop<'t> {
    fn weave(&self, ids: &Ids, sketch: &mut Sketch<'t>) {
        for edge in &mut sketch.workflow.edges {
            if edge.to == self.node {
                edge.to = ids.begin.clone();
            }
            if edge.from == self.node && edge.label == DEFAULT_LABEL {
                edge.from = ids.end.clone();
            }
        }
        let node = self.node.as_str();
        let ran = format!("$executionCount({})", text(node));
        let begin = Path::new(ids.begin.clone(), vec![Step::Key("ran".into())]).jsonata();
        let own = Path::new(node, Vec::new()).jsonata();
        let rounds = format!("{ran} - {begin}");
        let inputs = &self.inputs;
        self.compute(&ids.begin, format!("{{\"ran\": {ran}}}"), sketch);
        let round = format!(
            "($first := {ran} = {begin}; {{\"iteration\": {rounds} + 1, \"inputs\": {inputs}}})"
        );
        self.compute(&ids.round, round, sketch);
        let rule = format!("{} and {rounds} < {}", self.again, self.most);
        let check = Action::Choose {
            rules: vec![Choice {
                rule: Value::object([("var", rule.into())]),
                label: AGAIN.into(),
            }],
            otherwise: Some(DEFAULT_LABEL.into()),
        };
        sketch.add(Node::new(ids.check.clone(), check), Sources::at(self.at));
        let why = format!(
            "{{\"{STOPPED}\": {} ? \"max_iterations\" : \"condition\"}}",
            self.again
        );
        let end = format!("$type({own}) = \"object\" ? $merge([{own}, {why}]) : {own}");
        self.compute(&ids.end, end, sketch);
        let ways = [
            Edge::new(ids.begin.clone(), ids.round.clone()),
            Edge::new(ids.round.clone(), node),
            Edge::new(node, ids.check.clone()),
            Edge::labelled(ids.check.clone(), ids.round.clone(), AGAIN),
            Edge::new(ids.check.clone(), ids.end.clone()),
        ];
        for way in ways {
            sketch.lead(way, self.at);
        }
    }

    fn compute(&self, id: &Str, expression: String, sketch: &mut Sketch<'t>) {
        let action = Action::Compute {
            expression: expression.into(),
        };
        sketch.add(Node::new(id.clone(), action), Sources::at(self.at));
    }
}

/// What a node that is called for many items cannot also do.
pub(super) fn refuse_batch(at: At<'_>, node: &str, flaws: &mut Flaws) {
    flaws.add(
        Code::Unsupported,
        at.place(),
        format!("`{}` has both `loop` and `batch`", shown(node)),
        "put the batch into a workflow of its own, and loop over that",
    );
}

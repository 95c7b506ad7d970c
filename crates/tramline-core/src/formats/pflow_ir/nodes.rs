//! One node: its type is a tool, its parameters are the tool's arguments.

use super::batch;
use super::templates::{Names, Reader};
use super::types::{self, ARGUMENTS, BUILTINS};
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::formats::sketch::Sources;
use crate::formats::yaml_graph::nodes::Kind;
use crate::formats::yaml_graph::{BUILTIN, care, fields};
use crate::ids::ToolName;
use crate::text::{nearest, shown};
use crate::workflow::{Action, Choice, Node, Template, WORKFLOW_SERVER as WORKFLOWS};
use tramline_expr::{Str, Value};

/// The fields of a node.
const FIELDS: [&str; 12] = [
    "id",
    "type",
    "purpose",
    "description",
    "params",
    "batch",
    "timeout",
    "retry",
    "approval",
    "idempotent",
    "readOnly",
    "join",
];

/// Types that are no tools: our own, for what only we have.
pub(super) const TRANSFORM: &str = "transform";
pub(super) const SWITCH: &str = "switch";
/// The end of a run, where it must be led to by name.
pub(super) const END: &str = "end";

/// Reads a node.
pub(super) fn read<'t>(
    at: At<'t>,
    number: usize,
    names: &Names<'t>,
    servers: &[Str],
    flaws: &mut Flaws,
) -> (Node, Sources<'t>) {
    let mut sources = Sources::at(at);
    let mut node = Node::new(
        format!("#{number}"),
        Action::Compute {
            expression: "null".into(),
        },
    );
    if at.value.as_object().is_none() {
        let hint = "write `id`, `type` and `params`";
        fields::wrong(at, "nodes", "a list of objects", hint, flaws);
        return (node, sources);
    }
    let hint = "give it an id that no other node has";
    if let Some((id, place)) = fields::required(at, "a node", "id", hint, flaws) {
        node.id = id.clone();
        sources.id = place;
    }
    let owner = format!("node `{}`", shown(&node.id));
    fields::unknown(at, &owner, &FIELDS, flaws);
    care::read(at, Some(Kind::Mcp), &mut node, flaws);
    if let Some(batch) = fields::given(at, "batch") {
        batch::read(batch, names, &mut node, &mut sources, flaws);
    }
    let item = node.each.as_ref().map(|each| each.name.clone());
    let params = fields::given(at, "params");
    if let Some(params) = params.filter(|params| params.value.as_object().is_none()) {
        fields::wrong(params, "params", "an object", "name each parameter", flaws);
    }
    let hint = "say what it does: `http`, `read-file`, `server:tool`";
    if let Some((kind, place)) = fields::required(at, &owner, "type", hint, flaws) {
        sources.tool = Some(place);
        let reading = Reading {
            owner: &owner,
            place,
            params,
            item: item.as_deref(),
            names,
            servers,
        };
        if let Some(action) = reading.action(kind, &mut sources, flaws) {
            node.action = action;
        }
    }
    (node, sources)
}

struct Reading<'a, 't> {
    owner: &'a str,
    place: At<'t>,
    params: Option<At<'t>>,
    /// What the item of a batch is called.
    item: Option<&'a str>,
    names: &'a Names<'t>,
    servers: &'a [Str],
}

impl<'t> Reading<'_, 't> {
    fn action(&self, kind: &str, sources: &mut Sources<'t>, flaws: &mut Flaws) -> Option<Action> {
        match kind {
            TRANSFORM => return self.transform(sources, flaws),
            SWITCH => return self.switch(sources, flaws),
            END => return Some(Action::Exit),
            WORKFLOWS => return self.workflow(sources, flaws),
            _ => {}
        }
        let Some(tool) = types::tool(kind, self.servers) else {
            let known = BUILTINS
                .into_iter()
                .chain([TRANSFORM, SWITCH, END, WORKFLOWS]);
            let hint = match nearest(kind, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "name a tool as `server:tool` or `mcp-server-tool`".to_owned(),
            };
            let message = format!("{} has the unknown type `{}`", self.owner, shown(kind));
            flaws.add(Code::UnknownKind, self.place.place(), message, hint);
            return None;
        };
        sources.arguments = self.params;
        let fields: Vec<_> = self.params.into_iter().flat_map(|at| at.fields()).collect();
        let renamed = fields.into_iter().map(|(key, at)| (ours(&tool, key), at));
        let mut reader = Reader {
            names: self.names,
            item: self.item,
            flaws,
        };
        let arguments = reader.object(renamed.collect());
        Some(Action::Call { tool, arguments })
    }

    fn field(&self, key: &str) -> Option<At<'t>> {
        self.params.and_then(|params| fields::given(params, key))
    }

    fn missing(&self, key: &str, hint: &str, flaws: &mut Flaws) {
        let at = self.params.unwrap_or(self.place);
        fields::missing(at, self.owner, key, hint, flaws);
    }

    fn transform(&self, sources: &mut Sources<'t>, flaws: &mut Flaws) -> Option<Action> {
        let Some(at) = self.field("expr") else {
            self.missing("expr", "write a JSONata expression into `params`", flaws);
            return None;
        };
        let (source, at) = fields::as_text(at, "expr", flaws)?;
        sources.expression = Some(at);
        Some(Action::Compute {
            expression: source.clone(),
        })
    }

    /// `rules`, each with a `rule` and the `action` it picks, and `otherwise`.
    fn switch(&self, sources: &mut Sources<'t>, flaws: &mut Flaws) -> Option<Action> {
        let hint = "write a list of `rule` and `action` into `params`";
        let Some(list) = self.field("rules") else {
            self.missing("rules", hint, flaws);
            return None;
        };
        if list.value.as_array().is_none() {
            fields::wrong(list, "rules", "a list", hint, flaws);
            return None;
        }
        sources.rules = Some(list);
        let mut rules = Vec::new();
        for at in list.items() {
            let Some(rule) = at.get("rule") else {
                fields::missing(at, "a rule", "rule", hint, flaws);
                continue;
            };
            let label = fields::required(at, "a rule", "action", hint, flaws);
            if let Some((label, _)) = label {
                rules.push(Choice {
                    rule: rule.value.clone(),
                    label: label.clone(),
                });
            }
        }
        let otherwise = self.field("otherwise");
        let otherwise = otherwise.and_then(|at| fields::as_text(at, "otherwise", flaws));
        Some(Action::Choose {
            rules,
            otherwise: otherwise.map(|(label, _)| label.clone()),
        })
    }

    /// A saved workflow, by its name, with its inputs.
    fn workflow(&self, sources: &mut Sources<'t>, flaws: &mut Flaws) -> Option<Action> {
        const NAMES: [&str; 3] = ["workflow_name", "workflow", "name"];
        const INPUTS: [&str; 3] = ["inputs", "param_mapping", "params"];
        let name = self
            .params
            .and_then(|params| fields::given_as(params, &NAMES));
        let Some((key, at)) = name else {
            self.missing("workflow_name", "name a saved workflow", flaws);
            return None;
        };
        if at.value.as_object().is_some() {
            flaws.add(
                Code::Unsupported,
                at.place(),
                format!(
                    "{} holds a whole workflow, which is not carried over",
                    self.owner
                ),
                "save it, and name it here",
            );
            return None;
        }
        let (name, _) = fields::as_text(at, key, flaws)?;
        let inputs = self
            .params
            .and_then(|params| fields::given_as(params, &INPUTS));
        sources.arguments = inputs.map(|(_, at)| at);
        let mut reader = Reader {
            names: self.names,
            item: self.item,
            flaws,
        };
        let arguments = match inputs {
            Some((_, at)) => reader.template(at),
            None => Template::Literal(Value::object::<Str>([])),
        };
        Some(Action::Call {
            tool: ToolName::new(WORKFLOWS, name.clone()),
            arguments,
        })
    }
}

/// The name that an argument has with us.
fn ours(tool: &ToolName, key: &Str) -> Str {
    let renamed = ARGUMENTS
        .iter()
        .find(|(of, theirs, _)| tool.server == BUILTIN && tool.tool == *of && key == theirs);
    renamed.map_or_else(|| key.clone(), |(_, _, ours)| (*ours).into())
}

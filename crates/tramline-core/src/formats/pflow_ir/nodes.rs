//! One node: its type is a tool, its parameters are the tool's arguments.

use super::loops::{self, Loop};
use super::names::{Locals, Names, operands_of};
use super::templates::Reader;
use super::types::{self, ARGUMENTS, BUILTINS};
use super::{batch, called, retry};
use crate::flaw::Code;
use crate::formats::document::At;
use crate::formats::reference::Reference;
use crate::formats::sketch::Sources;
use crate::formats::yaml_graph::nodes::Kind;
use crate::formats::yaml_graph::{BUILTIN, care, fields};
use crate::formats::{Flaws, Hint};
use crate::ids::ToolName;
use crate::text::{nearest, shown};
use crate::workflow::{Action, Choice, Node, WORKFLOW_SERVER as WORKFLOWS};
use tramline_expr::Str;

/// The fields of a node.
const FIELDS: [&str; 21] = [
    "id",
    "type",
    "purpose",
    "description",
    "params",
    "inputs",
    "batch",
    "loop",
    "next",
    "on-error",
    "on_error",
    "onError",
    "cache",
    "prompt_cache",
    "prewarm",
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
/// A node that runs a program in another language.
const CODE: &str = "code";
/// What answers are kept for in other systems: here every call is made.
pub(super) const CACHES: [&str; 3] = ["cache", "prompt_cache", "prewarm"];
/// The end of a run, where it must be led to by name.
pub(super) const END: &str = "end";

/// The names of parameters that are meant for us and no tool.
const TIMEOUT: &str = "timeout";
/// What must be true before a file is deleted, where it is given.
const CONFIRM: &str = "confirm_delete";

/// Whether a type names a tool of a server.
pub(super) fn is_remote(kind: &str) -> bool {
    kind.starts_with("mcp-") || kind.contains(':')
}

/// Reads a node.
pub(super) fn read<'t>(
    at: At<'t>,
    number: usize,
    names: &Names<'t>,
    servers: &[Str],
    hint: Hint<'_>,
    flaws: &mut Flaws,
) -> (Node, Sources<'t>, Option<Loop<'t>>) {
    let mut sources = Sources::at(at);
    let mut node = Node::new(
        format!("#{number}"),
        Action::Compute {
            expression: "null".into(),
        },
    );
    if at.value.as_object().is_none() {
        let advice = "write `id`, `type` and `params`";
        fields::wrong(at, "nodes", "a list of objects", advice, flaws);
        return (node, sources, None);
    }
    let advice = "give it an id that no other node has";
    if let Some((id, place)) = fields::required(at, "a node", "id", advice, flaws) {
        node.id = id.clone();
        sources.id = place;
    }
    let owner = format!("node `{}`", shown(&node.id));
    fields::unknown(at, &owner, &FIELDS, flaws);
    care::read_as(at, Some(Kind::Mcp), retry::read, &mut node, flaws);
    caches(at, &owner, flaws);
    if let Some(batch) = fields::given(at, "batch") {
        batch::read(batch, names, &mut node, &mut sources, flaws);
    }
    let item = node.each.as_ref().map(|each| each.name.clone());
    let params = fields::given(at, "params");
    if let Some(params) = params.filter(|params| params.value.as_object().is_none()) {
        fields::wrong(params, "params", "an object", "name each parameter", flaws);
    }
    let advice = "say what it does: `http`, `read-file`, `server:tool`";
    let Some((kind, place)) = fields::required(at, &owner, "type", advice, flaws) else {
        return (node, sources, None);
    };
    sources.tool = Some(place);
    if let Some(params) = params.filter(|_| types::is_theirs(kind)) {
        seconds(params, &mut node, flaws);
    }
    let inputs = own_inputs(at, params, kind);
    let mut looped = None;
    let mut locals = Locals::new();
    match fields::given(at, "loop") {
        Some(at) if node.each.is_some() => loops::refuse_batch(at, &node.id, flaws),
        Some(at) => {
            if let Some((one, own)) = loops::read(at, &node.id, inputs, names, flaws) {
                looped = Some(one);
                locals = own;
            }
        }
        None if kind == WORKFLOWS => {}
        None => locals = locals_of(inputs, item.as_deref(), names, flaws),
    }
    let reading = Reading {
        owner: &owner,
        place,
        params,
        inputs,
        looped: looped.is_some(),
        item: item.as_deref(),
        locals: &locals,
        names,
        servers,
        hint,
    };
    if let Some(action) = reading.action(kind, &mut sources, flaws) {
        node.action = action;
    }
    (node, sources, looped)
}

/// The values that a node gives names to: those of a workflow, or what its own parameters see.
fn own_inputs<'t>(at: At<'t>, params: Option<At<'t>>, kind: &str) -> Option<At<'t>> {
    let within = params.filter(|_| types::is_theirs(kind) || kind == WORKFLOWS);
    fields::given(at, "inputs").or_else(|| {
        let (_, at) = fields::given_as(within?, &called::INPUTS)?;
        Some(at)
    })
}

fn locals_of<'t>(
    inputs: Option<At<'t>>,
    item: Option<&str>,
    names: &Names<'t>,
    flaws: &mut Flaws,
) -> Locals {
    let Some(at) = inputs else {
        return Locals::new();
    };
    if at.value.as_object().is_none() {
        fields::wrong(at, "inputs", "an object", "name each value", flaws);
        return Locals::new();
    }
    let mut reader = Reader {
        item,
        ..Reader::new(names, flaws)
    };
    let named = at.fields();
    named
        .map(|(key, field)| (key.clone(), operands_of(&reader.template(field))))
        .collect()
}

/// `timeout` in seconds, as parameters of this format's own types have it.
fn seconds(params: At<'_>, node: &mut Node, flaws: &mut Flaws) {
    if let Some(at) = fields::given(params, TIMEOUT)
        && node.timeout_ms.is_none()
    {
        node.timeout_ms = Some(retry::wait_ms(at, TIMEOUT, flaws)).filter(|ms| *ms > 0);
    }
}

/// Warns of what has no effect.
fn caches(at: At<'_>, owner: &str, flaws: &mut Flaws) {
    for key in CACHES {
        if let Some(field) = fields::given(at, key)
            && field.value.as_bool() != Some(false)
        {
            flaws.add(
                Code::UnknownField,
                field.under().unwrap_or_else(|| field.place()),
                format!("`{key}` of {owner} does nothing: no answer is kept for later runs"),
                "remove it",
            );
        }
    }
}

pub(super) struct Reading<'a, 't> {
    pub(super) owner: &'a str,
    pub(super) place: At<'t>,
    pub(super) params: Option<At<'t>>,
    pub(super) inputs: Option<At<'t>>,
    pub(super) looped: bool,
    /// What the item of a batch is called.
    pub(super) item: Option<&'a str>,
    pub(super) locals: &'a Locals,
    pub(super) names: &'a Names<'t>,
    servers: &'a [Str],
    pub(super) hint: Hint<'a>,
}

impl<'t> Reading<'_, 't> {
    fn action(&self, kind: &str, sources: &mut Sources<'t>, flaws: &mut Flaws) -> Option<Action> {
        match kind {
            TRANSFORM => return self.transform(sources, flaws),
            SWITCH => return self.switch(sources, flaws),
            END => return Some(Action::Exit),
            WORKFLOWS => return called::read(self, sources, flaws),
            CODE => return self.code(flaws),
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
            // What is wrong with its parameters is told in the same go.
            let _ = self
                .params
                .map(|params| self.reader(flaws).template(params));
            return None;
        };
        sources.arguments = self.params;
        let fields = self.params.into_iter().flat_map(|at| at.fields());
        let mine = |key: &Str| types::is_theirs(kind) && (key == TIMEOUT || key == "inputs");
        let mut fields: Vec<_> = fields
            .filter(|(key, _)| !mine(key))
            .map(|(key, at)| (ours(&tool, key), at))
            .collect();
        if kind == "delete-file"
            && let Some(at) = self.inputs.and_then(|at| at.get(CONFIRM))
        {
            fields.push((CONFIRM.into(), at));
        }
        let arguments = self.reader(flaws).object(fields);
        Some(Action::Call { tool, arguments })
    }

    /// A reader of this node's values.
    pub(super) fn reader<'f>(&self, flaws: &'f mut Flaws) -> Reader<'_, 't, 'f> {
        Reader {
            names: self.names,
            item: self.item,
            locals: Some(self.locals),
            flaws,
        }
    }

    fn code(&self, flaws: &mut Flaws) -> Option<Action> {
        flaws.add(
            Code::Unsupported,
            self.place.place(),
            format!("{} runs a program, which is not carried over", self.owner),
            "write a `transform` with a JSONata expression, or call a tool",
        );
        None
    }

    fn field(&self, key: &str) -> Option<At<'t>> {
        self.params.and_then(|params| fields::given(params, key))
    }

    pub(super) fn missing(&self, key: &str, hint: &str, flaws: &mut Flaws) {
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
        if self.locals.is_empty() {
            let expression = source.clone();
            return Some(Action::Compute { expression });
        }
        let bound = bound(self.locals);
        sources.before = bound.len();
        Some(Action::Compute {
            // A remark at the end must not swallow what closes it.
            expression: format!("{bound}{source}\n)").into(),
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
}

/// The node's own inputs as variables of an expression that is to follow.
fn bound(locals: &Locals) -> String {
    let mut named: Vec<_> = locals.iter().collect();
    named.sort_by_key(|(key, _)| *key);
    let mut source = "(".to_owned();
    for (key, operands) in named {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = key.trim_matches('_').chars().map(plain).collect();
        let reference = Reference {
            operands: operands.clone(),
            sure: false,
        };
        source.push_str(&format!("${name} := {}; ", reference.jsonata()));
    }
    source
}

/// The name that an argument has with us.
fn ours(tool: &ToolName, key: &Str) -> Str {
    let renamed = ARGUMENTS
        .iter()
        .find(|(of, theirs, _)| tool.server == BUILTIN && tool.tool == *of && key == theirs);
    renamed.map_or_else(|| key.clone(), |(_, _, ours)| (*ours).into())
}

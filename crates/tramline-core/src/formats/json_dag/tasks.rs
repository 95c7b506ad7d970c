//! One task: what it calls, with what, and after what.

use super::arguments;
use super::{ENTRY, depends};
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::formats::sketch::{Sketch, Sources};
use crate::formats::yaml_graph::nodes::Kind;
use crate::formats::yaml_graph::{care, fields};
use crate::graph::Graph;
use crate::ids::ToolName;
use crate::text::{nearest, shown};
use crate::workflow::{Action, Join, Node, Template};
use std::collections::HashSet;
use std::ops::Range;
use tramline_expr::{Str, Value};

/// The fields of a task.
const FIELDS: [&str; 14] = [
    "id",
    "tool",
    "expr",
    "arguments",
    "args",
    "depends_on",
    "dependsOn",
    "description",
    "approval",
    "timeout",
    "retry",
    "idempotent",
    "readOnly",
    "join",
];

/// Past this many flaws nobody is told which name was meant, or where in a text it stands: looking
/// for it costs too much.
const SUGGESTIONS_MAX: usize = 100;

/// The ids of all tasks, so that references can be checked as they are read.
pub(super) struct Ids<'t> {
    all: HashSet<&'t str>,
    order: Vec<&'t str>,
    pub(super) entry: Str,
}

impl<'t> Ids<'t> {
    /// The ids of these tasks; `named` is what the document calls the entry.
    pub(super) fn of(list: At<'t>, named: Option<&Str>) -> Self {
        let ids = list.value.as_array().unwrap_or_default().iter();
        let ids = ids.filter_map(|task| task.get("id").and_then(Value::as_str));
        let order: Vec<_> = ids.collect();
        let all: HashSet<_> = order.iter().copied().collect();
        let named = named.map(Str::as_str);
        let mut names = named.into_iter().chain(ENTRY);
        let free = names.find(|name| !all.contains(name));
        let entry = free.map_or_else(|| "_".repeat(all.len() + 1).into(), Str::from);
        Self { all, order, entry }
    }

    /// The ids of tasks that are added to a graph: those of the graph can be referred to as well.
    pub(super) fn beside(list: At<'t>, graph: &'t Graph) -> Self {
        let mut ids = Self::of(list, None);
        for node in &graph.workflow.nodes {
            match node.action {
                Action::Entry => ids.entry = node.id.clone(),
                Action::Call { .. }
                | Action::Compute { .. }
                | Action::Choose { .. }
                | Action::Wait(_)
                | Action::Exit => {
                    ids.all.insert(&node.id);
                    ids.order.push(&node.id);
                }
            }
        }
        ids
    }

    /// Whether a task has this id; if not, that is noted. It stands in these bytes of a text, or
    /// is all of it.
    pub(super) fn check(
        &self,
        id: &str,
        at: At<'_>,
        bytes: Option<Range<usize>>,
        flaws: &mut Flaws,
    ) -> bool {
        if self.all.contains(id) {
            return true;
        }
        let many = flaws.count() > SUGGESTIONS_MAX;
        let near = if many {
            None
        } else {
            nearest(id, self.order.iter().copied())
        };
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "name a task of this document".to_owned(),
        };
        let message = format!("there is no task `{}`", shown(id));
        let place = match bytes.filter(|_| !many) {
            Some(bytes) => at.inside(&bytes),
            None => at.place(),
        };
        flaws.add(Code::UnknownNode, place, message, hint);
        false
    }
}

/// A task read.
pub(super) struct Task<'t> {
    node: Node,
    sources: Sources<'t>,
    /// What it depends on, and where that is said.
    depends: Vec<(Str, At<'t>)>,
    /// The parameters of the run that its arguments refer to.
    pub(super) parameters: Vec<Str>,
    pub(super) broken: bool,
}

impl<'t> Task<'t> {
    pub(super) fn read(at: At<'t>, number: usize, ids: &Ids<'t>, flaws: &mut Flaws) -> Self {
        let before = flaws.count();
        let mut task = Self {
            node: Node::new(format!("#{number}"), Action::Entry),
            sources: Sources::at(at),
            depends: Vec::new(),
            parameters: Vec::new(),
            broken: false,
        };
        task.node.join = Join::All;
        if at.value.as_object().is_none() {
            let hint = "write `id`, `tool` and `arguments`";
            fields::wrong(at, "tasks", "a list of objects", hint, flaws);
        } else {
            let hint = "give it an id that no other task has";
            if let Some((id, place)) = fields::required(at, "a task", "id", hint, flaws) {
                task.node.id = id.clone();
                task.sources.id = place;
            }
            task.depends_on(at, ids, flaws);
            let owner = format!("task `{}`", shown(&task.node.id));
            task.act(at, &owner, ids, flaws);
            care::read(at, Some(Kind::Mcp), &mut task.node, flaws);
            fields::unknown(at, &owner, &FIELDS, flaws);
        }
        task.broken = flaws.fatal_since(before);
        task
    }

    fn depends_on(&mut self, at: At<'t>, ids: &Ids<'t>, flaws: &mut Flaws) {
        let Some((key, list)) = fields::given_as(at, &["depends_on", "dependsOn"]) else {
            return;
        };
        let items: Vec<At<'t>> = match list.value {
            Value::Array(_) => list.items().collect(),
            Value::String(_) => vec![list],
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                let hint = "list the ids of the tasks that come before";
                fields::wrong(list, key, "a list", hint, flaws);
                return;
            }
        };
        for item in items {
            if let Some((id, item)) = fields::as_text(item, key, flaws)
                && ids.check(id, item, None, flaws)
            {
                self.depend(id.clone(), item);
            }
        }
    }

    fn depend(&mut self, on: Str, at: At<'t>) {
        if !self.depends.iter().any(|(known, _)| *known == on) {
            self.depends.push((on, at));
        }
    }

    fn act(&mut self, at: At<'t>, owner: &str, ids: &Ids<'t>, flaws: &mut Flaws) {
        if fields::given(at, "tool").is_none()
            && let Some((source, place)) = fields::text(at, "expr", flaws)
        {
            self.sources.expression = Some(place);
            self.node.action = Action::Compute {
                expression: source.clone(),
            };
            return;
        }
        let hint = "name what it calls, as `server:tool`";
        let tool = fields::required(at, owner, "tool", hint, flaws);
        self.sources.tool = tool.map(|(_, at)| at);
        let tool = tool.and_then(|(name, at)| tool_name(name, at, flaws));
        let mut arguments = Template::Literal(Value::object::<Str>([]));
        if let Some((key, given)) = fields::given_as(at, &["arguments", "args"]) {
            self.sources.arguments = Some(given);
            let mut reader = arguments::Reader::new(ids, flaws);
            arguments = reader.template(given);
            let arguments::Reader {
                references,
                parameters,
                ..
            } = reader;
            self.parameters = parameters;
            references
                .into_iter()
                .for_each(|(id, at)| self.depend(id, at));
            let is_object = given.value.as_object().is_some();
            if !is_object && !matches!(arguments, Template::Expr(_)) {
                fields::wrong(given, key, "an object", "name each argument", flaws);
            }
        }
        self.node.action = Action::Call {
            tool: tool.unwrap_or_else(|| ToolName::new("builtin", "")),
            arguments,
        };
    }

    /// Puts the task and its dependencies into the workflow.
    pub(super) fn add_to(self, sketch: &mut Sketch<'t>, entry: Option<&Str>) {
        if let (true, Some(entry)) = (self.depends.is_empty(), entry) {
            sketch.lead(depends(entry, &self.node.id), self.sources.id);
        }
        for (on, at) in &self.depends {
            sketch.lead(depends(on, &self.node.id), *at);
        }
        sketch.add(self.node, self.sources);
    }
}

/// Lets each task wait for the one before it.
pub(super) fn in_order(tasks: &mut [Task<'_>]) {
    let mut before: Option<Str> = None;
    for task in tasks {
        if let Some(before) = before.replace(task.node.id.clone()) {
            let at = task.sources.id;
            task.depend(before, at);
        }
    }
}

/// The tool that a text names.
fn tool_name(name: &str, at: At<'_>, flaws: &mut Flaws) -> Option<ToolName> {
    match name.split_once(':') {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
            Some(ToolName::new(server, tool))
        }
        Some(_) | None => {
            flaws.add(
                Code::WrongType,
                at.place(),
                format!("`{}` does not name a server and its tool", shown(name)),
                "write `server:tool`; the built-in ones are `builtin:read-file` and so on",
            );
            None
        }
    }
}

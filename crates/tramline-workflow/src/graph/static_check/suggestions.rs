//! Suggestions that need to know the rest of the graph: other names, earlier nodes, lists.

use super::StaticChecker;
use crate::builtin_tools;
use crate::flaw::FlawCode;
use crate::graph::problem::MeantPart;
use crate::graph::{Graph, NodePart, Problem, ProblemLocation};
use crate::ids::{BUILTIN, ToolName};
use crate::text::{display_name, nearest};
use crate::workflow::Template;
use tramline_expr::{RootName, Shape, Str, Value};

/// Most nodes that are compared for a suggestion; the cost is linear for each problem.
const NODES_COMPARED_MAX: usize = 1_000;

/// If an id is used twice and a name is missing, the second one was probably meant to have that name.
pub(super) fn name_duplicates(graph: &Graph, problems: &mut [Problem]) {
    let known = |name: &str| graph.find(name).is_some();
    let edges = graph.workflow.edges.iter();
    let mut missing = edges
        .flat_map(|edge| [&edge.to, &edge.from])
        .filter(|name| !known(name));
    let Some(first) = missing.next() else {
        return;
    };
    if missing.any(|other| other != first) {
        return;
    }
    for problem in problems {
        if problem.code == FlawCode::Duplicate {
            problem.suggestion = Some(format!("did you mean `{first}`?"));
        }
    }
}

impl StaticChecker<'_> {
    /// Reports a built-in tool that does not exist.
    pub(super) fn check_builtin(&mut self, tool: &ToolName) {
        if tool.server != BUILTIN
            || tool.tool.is_empty()
            || builtin_tools::schema(&tool.tool).is_some()
        {
            return;
        }
        let plain = tool.tool.replace('_', "-");
        let near = builtin_tools::names().find(|name| name.replace('_', "-") == plain);
        let near = near.or_else(|| nearest(&plain, builtin_tools::names()));
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("it has {}", super::findings::listed(builtin_tools::names())),
        };
        let message = format!(
            "the server `{BUILTIN}` has no tool `{}`",
            display_name(&tool.tool)
        );
        self.report(FlawCode::UnknownTool, NodePart::ToolName, "", message, hint);
    }

    /// Reports items that are certainly no list.
    pub(super) fn check_items(&mut self, items: &Template, shape: &Shape) {
        let (kind, fields) = match shape {
            Shape::Object(object) => ("an object", object.fields.as_slice()),
            Shape::Text => ("a string", &[][..]),
            Shape::Number => ("a number", &[][..]),
            Shape::Bool => ("a boolean", &[][..]),
            Shape::Any | Shape::List(_) | Shape::Items(_) => return,
        };
        let message = format!("the items must be a list, not {kind}");
        let lists = fields
            .iter()
            .filter(|(_, field)| matches!(field, Shape::List(_)));
        let lists: Vec<&Str> = lists.map(|(key, _)| key).collect();
        let path = match items {
            Template::Expr(source) => plain_path(source),
            Template::Literal(_) | Template::Object(_) | Template::Array(_) => None,
        };
        match (path, lists.as_slice()) {
            (Some((root, rest)), [only]) => {
                let rest = format!("{rest}.{only}");
                let meant = vec![MeantPart::Path {
                    root: root.into(),
                    rest,
                }];
                self.report_meant(FlawCode::NotAList, NodePart::Items, "", message, meant);
            }
            (Some((root, rest)), []) if !rest.is_empty() => {
                // Another field of the same output may be the list.
                let field = self.list_field(root);
                match field {
                    Some(field) => {
                        let meant = vec![MeantPart::Path {
                            root: root.into(),
                            rest: format!(".{field}"),
                        }];
                        self.report_meant(FlawCode::NotAList, NodePart::Items, "", message, meant);
                    }
                    None => {
                        let hint = "name a list, or write `[…]` around the one item";
                        self.report(FlawCode::NotAList, NodePart::Items, "", message, hint);
                    }
                }
            }
            (Some(_) | None, _) => {
                let hint = "name a list, or write `[…]` around the one item";
                self.report(FlawCode::NotAList, NodePart::Items, "", message, hint);
            }
        }
    }

    /// The only list among the fields of a node's output.
    fn list_field(&self, node: &str) -> Option<Str> {
        let RootName::Known(Shape::Object(object)) = self.root_name(node) else {
            return None;
        };
        let mut lists = object
            .fields
            .iter()
            .filter(|(_, field)| matches!(field, Shape::List(_)));
        let (only, _) = lists.next()?;
        lists.next().is_none().then(|| only.clone())
    }

    /// A rule with `var` around the operands that name a node and its field.
    pub(super) fn with_references(&self, rule: &Value) -> Option<Value> {
        let (operator, operands) = rule
            .as_object()
            .filter(|map| map.len() == 1)?
            .iter()
            .next()?;
        if operator == "var" {
            return None;
        }
        let mut is_changed = false;
        let mut reference = |operand: &Value| {
            let names_node = operand
                .as_str()
                .and_then(plain_path)
                .is_some_and(|(root, rest)| {
                    !rest.is_empty() && matches!(self.root_name(root), RootName::Known(_))
                });
            match names_node {
                true => {
                    is_changed = true;
                    Value::object([("var", operand.clone())])
                }
                false => match self.with_references(operand) {
                    Some(inner) => {
                        is_changed = true;
                        inner
                    }
                    None => operand.clone(),
                },
            }
        };
        let operands = match operands {
            Value::Array(items) => Value::array(items.iter().map(&mut reference)),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => reference(operands),
        };
        is_changed.then(|| Value::object([(operator.clone(), operands)]))
    }

    /// An earlier node whose output has the field that is looked up in a node that has not run yet.
    pub(super) fn earlier_node(&self, source: &str, end: usize) -> Option<Str> {
        let rest = source.get(end..)?.trim_start_matches(['"', '\'', '`']);
        let rest = rest.strip_prefix('.')?;
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let field = &rest[..length.unwrap_or(rest.len())];
        let nodes = self.graph.workflow.nodes.iter().take(NODES_COMPARED_MAX);
        let has = |id: &Str| match self.root_name(id) {
            RootName::Known(shape) => match shape.item() {
                Shape::Object(object) => object.fields.iter().any(|(key, _)| key == field),
                Shape::Any
                | Shape::Text
                | Shape::Number
                | Shape::Bool
                | Shape::List(_)
                | Shape::Items(_) => false,
            },
            RootName::NotYet | RootName::Unknown => false,
        };
        let mut found = nodes.map(|node| &node.id).filter(|id| has(id));
        found.next_back().cloned()
    }

    /// Records an expression that is written in the syntax of another format.
    pub(super) fn report_foreign(
        &mut self,
        source: &str,
        part: NodePart,
        pointer: &str,
        meant: Vec<MeantPart>,
    ) {
        if source.starts_with("${") {
            let at = self.location(part, pointer);
            self.foreign.push((at, meant));
            return;
        }
        let message = "`$OUTPUT` is how a DAG refers to the outputs of its tasks".to_owned();
        self.report_meant(FlawCode::UnknownVariable, part, pointer, message, meant);
    }

    fn location(&self, part: NodePart, pointer: &str) -> ProblemLocation {
        ProblemLocation::Inside {
            node: self.node,
            part,
            pointer: pointer.to_owned(),
            span: None,
            name: None,
        }
    }
}

/// The root and the rest of a source that is only a path: `$.list.entries`.
fn plain_path(source: &str) -> Option<(&str, &str)> {
    // References of other formats are translated with a message for a missing value.
    let path = source.split(" ?? $error(").next().unwrap_or(source).trim();
    let path = path.strip_prefix("$.").unwrap_or(path);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let sound = path
        .split('.')
        .all(|step| !step.is_empty() && step.chars().all(is_name));
    let starts = path.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !sound || !starts {
        return None;
    }
    Some(path.split_at(path.find('.').unwrap_or(path.len())))
}

//! The call of a node that a replan added, before anything about it is computed.

use super::call::Extent;
use super::{annotations_value, truncated};
use tramline_expr::{Map, Value};
use tramline_workflow::journal::Annotations;
use tramline_workflow::workflow::{Action, Node, Template};

/// The call that a node plans, as data, if it makes one. Expressions are shown as source: their
/// values are only known when the run pauses for the call.
pub fn planned_call_value(node: &Node, annotations: Option<Annotations>) -> Option<Value> {
    let Action::Call { tool, arguments } = &node.action else {
        return None;
    };
    let mut told = Map::new();
    told.insert("node", node.id.clone().into());
    told.insert("tool", tool.to_string().into());
    told.insert("server", tool.server.clone().into());
    told.insert("name", tool.tool.clone().into());
    told.insert(
        "arguments",
        truncated(&template_source(arguments), Extent::Bounded),
    );
    told.insert("computed", has_expressions(arguments).into());
    told.insert("asks", node.approval.is_some().into());
    if let Some(annotations) = annotations {
        told.insert("annotations", annotations_value(&annotations));
    }
    Some(told.into())
}

fn template_source(template: &Template) -> Value {
    match template {
        Template::Literal(value) => value.clone(),
        Template::Expr(source) => source.as_str().into(),
        Template::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(key, field)| (key.clone(), template_source(field)));
            fields.collect::<Map>().into()
        }
        Template::Array(items) => Value::array(items.iter().map(template_source)),
    }
}

fn has_expressions(template: &Template) -> bool {
    match template {
        Template::Literal(_) => false,
        Template::Expr(_) => true,
        Template::Object(fields) => fields.iter().any(|(_, field)| has_expressions(field)),
        Template::Array(items) => items.iter().any(has_expressions),
    }
}

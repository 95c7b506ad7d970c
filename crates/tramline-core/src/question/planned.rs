//! The call of a node that was added to a plan, before anything about it is computed.

use super::call::Extent;
use super::{annotated, bounded};
use crate::journal::Annotations;
use crate::workflow::{Action, Node, Template};
use tramline_expr::{Map, Value};

/// The call that a node plans, as data; nothing if it makes none. Expressions stand there as they
/// are written: their values are known when the run asks about the call.
pub fn planned(node: &Node, annotations: Option<Annotations>) -> Option<Value> {
    let Action::Call { tool, arguments } = &node.action else {
        return None;
    };
    let mut told = Map::new();
    told.insert("node", node.id.clone().into());
    told.insert("tool", tool.to_string().into());
    told.insert("server", tool.server.clone().into());
    told.insert("name", tool.tool.clone().into());
    told.insert("arguments", bounded(&written(arguments), Extent::Bounded));
    told.insert("computed", has_expressions(arguments).into());
    told.insert("asks", node.approval.is_some().into());
    if let Some(annotations) = annotations {
        told.insert("annotations", annotated(&annotations));
    }
    Some(told.into())
}

fn written(template: &Template) -> Value {
    match template {
        Template::Literal(value) => value.clone(),
        Template::Expr(source) => source.as_str().into(),
        Template::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(key, field)| (key.clone(), written(field)));
            fields.collect::<Map>().into()
        }
        Template::Array(items) => Value::array(items.iter().map(written)),
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

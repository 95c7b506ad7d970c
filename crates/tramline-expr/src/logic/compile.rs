//! From a rule as data to a tree of nodes: operators known, expressions compiled, constants folded.

use super::node::{Kind, Node, Reduce};
use super::operator::{Eager, Operator, candidates};
use super::path::Place;
use super::{RuleError, coerce};
use crate::error::{ExprError, Flaw};
use crate::host::HostFunctions;
use crate::value::{Map, Str, Value};
use std::fmt::Write;

/// Rules are written by hand or by an agent; the deepest in the wild have some ten levels.
const RULE_DEPTH_MAX: usize = 100;

/// Results may nest this much deeper than the data: what the stack surely holds when they are
/// dropped.
const GROWTH_MAX: u32 = 1000;

/// The error is boxed so that the good case stays small.
type Compiled<T> = Result<T, Box<RuleError>>;

pub(super) fn compile(rule: &Value, functions: &HostFunctions) -> Compiled<Node> {
    let mut compiler = Compiler {
        functions,
        at: String::new(),
        depth: 0,
    };
    compiler.node(rule)
}

struct Compiler<'f> {
    functions: &'f HostFunctions,
    /// The place in the rule, as a JSON pointer.
    at: String,
    depth: usize,
}

/// The one pair of an object with a single key: an operation.
fn operation(map: &Map) -> Option<(&Str, &Value)> {
    map.get_index(0).filter(|_| map.len() == 1)
}

impl Compiler<'_> {
    fn node(&mut self, rule: &Value) -> Compiled<Node> {
        if self.depth > RULE_DEPTH_MAX {
            let message = format!("a rule nests at most {RULE_DEPTH_MAX} levels");
            return Err(self.flaw(*Flaw::new("J0002", message)));
        }
        self.depth += 1;
        let node = match rule {
            Value::Array(items) => self.array(items)?,
            Value::Object(map) => match operation(map) {
                Some((name, arguments)) => {
                    self.inside(name, |compiler| compiler.operation(name, arguments))?
                }
                None => self.done(Kind::Constant(rule.clone()), ""),
            },
            _ => self.done(Kind::Constant(rule.clone()), ""),
        };
        self.depth -= 1;
        if node.growth > GROWTH_MAX {
            let message = "the rule can build a result that nests without end";
            return Err(self.flaw(*Flaw::new("L0006", message)));
        }
        Ok(node)
    }

    fn array(&mut self, items: &[Value]) -> Compiled<Node> {
        let items = self.nodes(items)?;
        let constant = |node: &Node| match &node.kind {
            Kind::Constant(value) => Some(value.clone()),
            _ => None,
        };
        Ok(
            match items.iter().map(constant).collect::<Option<Vec<_>>>() {
                Some(values) => self.done(Kind::Constant(values.into()), ""),
                None => self.done(Kind::Array(items), ""),
            },
        )
    }

    fn nodes(&mut self, rules: &[Value]) -> Compiled<Vec<Node>> {
        let mut nodes = Vec::with_capacity(rules.len());
        for (at, rule) in rules.iter().enumerate() {
            nodes.push(self.inside(&at.to_string(), |compiler| compiler.node(rule))?);
        }
        Ok(nodes)
    }

    fn operation(&mut self, name: &Str, arguments: &Value) -> Compiled<Node> {
        let Some(operator) = Operator::named(name) else {
            return Err(self.unknown(name));
        };
        if operator == Operator::Var {
            return self.var(name, arguments);
        }
        let mut parts = match arguments {
            Value::Array(items) => self.nodes(items)?,
            only => vec![self.node(only)?],
        };
        let least = match operator {
            Operator::Eager(Eager::Multiply) => 1,
            Operator::Eager(Eager::MissingSome) => 2,
            _ => 0,
        };
        if parts.len() < least {
            let message = format!("`{name}` takes at least {least} arguments");
            return Err(self.flaw(*Flaw::new("J0003", message).token(name.clone())));
        }
        let kind = match operator {
            Operator::If => Kind::If(parts),
            Operator::And => Kind::And(parts),
            Operator::Or => Kind::Or(parts),
            Operator::Eager(eager) => Kind::Eager(eager, parts),
            Operator::Each(_) | Operator::Reduce | Operator::Var => {
                let nothing = || self.done(Kind::Constant(Value::Null), "");
                let mut rest = parts.drain(..);
                let list = rest.next().unwrap_or_else(nothing);
                let (body, first) = (rest.next(), rest.next());
                match operator {
                    Operator::Each(each) => Kind::Each(each, list.into(), body.map(Box::new)),
                    _ => Kind::Reduce(Box::new(Reduce { list, body, first })),
                }
            }
        };
        Ok(self.done(kind, name))
    }

    fn var(&mut self, name: &Str, arguments: &Value) -> Compiled<Node> {
        let (path, default) = match arguments {
            Value::Array(items) => (items.first(), items.get(1)),
            only => (Some(only), None),
        };
        let listed = arguments.as_array().is_some();
        let default = match default {
            Some(rule) => Some(Box::new(self.inside("1", |compiler| compiler.node(rule))?)),
            None => None,
        };
        let place = |compiler: &mut Self| match path {
            None | Some(Value::Null) => Ok(Ok(Place::Whole)),
            Some(Value::String(text)) => {
                let place = Place::read(text, compiler.functions);
                place.map(Ok).map_err(|error| compiler.wrong(error))
            }
            Some(rule) => compiler.node(rule).map(Err),
        };
        let place = match listed && path.is_some() {
            true => self.inside("0", place)?,
            false => place(self)?,
        };
        let kind = match place {
            Ok(place) => Kind::Var(place, default),
            // Numbers, booleans and lists of them name a path by their text.
            Err(Node {
                kind: Kind::Constant(value),
                ..
            }) => {
                let text = coerce::string(Some(&value));
                Kind::Var(Place::Path(super::path::Path::read(&text)), default)
            }
            Err(node) => Kind::VarAt(Box::new(node), default),
        };
        Ok(self.done(kind, name))
    }

    fn inside<T>(&mut self, key: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.at.len();
        let key = key.replace('~', "~0").replace('/', "~1");
        // Writing to a string does not fail.
        let _ = write!(self.at, "/{key}");
        let made = work(self);
        self.at.truncate(length);
        made
    }

    fn done(&self, kind: Kind, operator: &str) -> Node {
        Node::new(kind, self.at.as_str().into(), operator.into())
    }

    fn unknown(&self, name: &Str) -> Box<RuleError> {
        let near = candidates(name);
        let shown: String = name.chars().take(40).collect();
        let mut message = format!("`{shown}` is no operator of JSON Logic");
        if let [first, ..] = near.as_slice() {
            let _ = write!(message, "; did you mean `{first}`?");
        }
        let near = near.into_iter().map(Value::from);
        let flaw = Flaw::new("J0001", message).token(name.clone());
        self.flaw(*flaw.value(Value::array(near)))
    }

    fn flaw(&self, flaw: Flaw) -> Box<RuleError> {
        self.wrong(Box::new(flaw).into_error(""))
    }

    fn wrong(&self, error: ExprError) -> Box<RuleError> {
        Box::new(RuleError {
            path: self.at.clone(),
            error,
        })
    }
}

//! Compiles a rule into a tree of nodes: operators resolved, expressions compiled, constants
//! folded.

use super::node::{ReduceNode, RuleNode, RuleNodeKind};
use super::operator::{EagerOperator, Operator, candidates};
use super::var_path::VarTarget;
use super::{RuleError, coerce};
use crate::error::{ExprError, Flaw};
use crate::host::HostFunctions;
use crate::value::{Map, Str, Value};
use std::fmt::Write;

/// Levels that a rule may nest. Rules are written by hand or by an agent; the deepest in use have
/// about ten levels.
const RULE_DEPTH_MAX: usize = 100;

/// Levels that a result may nest deeper than the data, so that dropping it cannot overflow the
/// stack.
const GROWTH_MAX: u32 = 1000;

/// The error is boxed so that the success case stays small.
type CompileResult<T> = Result<T, Box<RuleError>>;

pub(super) fn compile(rule: &Value, functions: &HostFunctions) -> CompileResult<RuleNode> {
    let mut compiler = RuleCompiler {
        functions,
        at: String::new(),
        depth: 0,
    };
    compiler.node(rule)
}

struct RuleCompiler<'f> {
    functions: &'f HostFunctions,
    /// The position in the rule, as a JSON pointer.
    at: String,
    depth: usize,
}

/// The only pair of an object with a single key: an operation.
fn operation(map: &Map) -> Option<(&Str, &Value)> {
    map.get_index(0).filter(|_| map.len() == 1)
}

impl RuleCompiler<'_> {
    fn node(&mut self, rule: &Value) -> CompileResult<RuleNode> {
        if self.depth > RULE_DEPTH_MAX {
            let message = format!("a rule may nest at most {RULE_DEPTH_MAX} levels");
            return Err(self.flaw(*Flaw::new("J0002", message)));
        }
        self.depth += 1;
        let node = match rule {
            Value::Array(items) => self.array(items)?,
            Value::Object(map) => match operation(map) {
                Some((name, arguments)) => {
                    self.at_key(name, |compiler| compiler.operation(name, arguments))?
                }
                None => self.make_node(RuleNodeKind::Constant(rule.clone()), ""),
            },
            _ => self.make_node(RuleNodeKind::Constant(rule.clone()), ""),
        };
        self.depth -= 1;
        if node.growth > GROWTH_MAX {
            let message = "the rule can build a result that is nested too deeply";
            return Err(self.flaw(*Flaw::new("L0006", message)));
        }
        Ok(node)
    }

    fn array(&mut self, items: &[Value]) -> CompileResult<RuleNode> {
        let items = self.nodes(items)?;
        let constant = |node: &RuleNode| match &node.kind {
            RuleNodeKind::Constant(value) => Some(value.clone()),
            _ => None,
        };
        Ok(
            match items.iter().map(constant).collect::<Option<Vec<_>>>() {
                Some(values) => self.make_node(RuleNodeKind::Constant(values.into()), ""),
                None => self.make_node(RuleNodeKind::Array(items), ""),
            },
        )
    }

    fn nodes(&mut self, rules: &[Value]) -> CompileResult<Vec<RuleNode>> {
        let mut nodes = Vec::with_capacity(rules.len());
        for (at, rule) in rules.iter().enumerate() {
            nodes.push(self.at_key(&at.to_string(), |compiler| compiler.node(rule))?);
        }
        Ok(nodes)
    }

    fn operation(&mut self, name: &Str, arguments: &Value) -> CompileResult<RuleNode> {
        let Some(operator) = Operator::by_name(name) else {
            return Err(self.unknown_operator(name));
        };
        if operator == Operator::Var {
            return self.var(name, arguments);
        }
        let mut parts = match arguments {
            Value::Array(items) => self.nodes(items)?,
            only => vec![self.node(only)?],
        };
        let least = match operator {
            Operator::Eager(EagerOperator::Multiply) => 1,
            Operator::Eager(EagerOperator::MissingSome) => 2,
            _ => 0,
        };
        if parts.len() < least {
            let message = format!("`{name}` takes at least {least} arguments");
            return Err(self.flaw(*Flaw::new("J0003", message).token(name.clone())));
        }
        let kind = match operator {
            Operator::If => RuleNodeKind::If(parts),
            Operator::And => RuleNodeKind::And(parts),
            Operator::Or => RuleNodeKind::Or(parts),
            Operator::Eager(eager) => RuleNodeKind::Eager(eager, parts),
            Operator::Each(_) | Operator::Reduce | Operator::Var => {
                let nothing = || self.make_node(RuleNodeKind::Constant(Value::Null), "");
                let mut rest = parts.drain(..);
                let list = rest.next().unwrap_or_else(nothing);
                let (body, first) = (rest.next(), rest.next());
                match operator {
                    Operator::Each(each) => {
                        RuleNodeKind::Each(each, list.into(), body.map(Box::new))
                    }
                    _ => RuleNodeKind::Reduce(Box::new(ReduceNode { list, body, first })),
                }
            }
        };
        Ok(self.make_node(kind, name))
    }

    fn var(&mut self, name: &Str, arguments: &Value) -> CompileResult<RuleNode> {
        let (path, default) = match arguments {
            Value::Array(items) => (items.first(), items.get(1)),
            only => (Some(only), None),
        };
        let listed = arguments.as_array().is_some();
        let default = match default {
            Some(rule) => Some(Box::new(self.at_key("1", |compiler| compiler.node(rule))?)),
            None => None,
        };
        let place = |compiler: &mut Self| match path {
            None | Some(Value::Null) => Ok(Ok(VarTarget::Whole)),
            Some(Value::String(text)) => {
                let place = VarTarget::read(text, compiler.functions);
                place.map(Ok).map_err(|error| compiler.rule_error(error))
            }
            Some(rule) => compiler.node(rule).map(Err),
        };
        let place = match listed && path.is_some() {
            true => self.at_key("0", place)?,
            false => place(self)?,
        };
        let kind = match place {
            Ok(place) => RuleNodeKind::Var(place, default),
            // Numbers, booleans and lists of them name a path by their text.
            Err(RuleNode {
                kind: RuleNodeKind::Constant(value),
                ..
            }) => {
                let text = coerce::string(Some(&value));
                RuleNodeKind::Var(
                    VarTarget::Path(super::var_path::VarPath::read(&text)),
                    default,
                )
            }
            Err(node) => RuleNodeKind::VarAt(Box::new(node), default),
        };
        Ok(self.make_node(kind, name))
    }

    fn at_key<T>(&mut self, key: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.at.len();
        let key = key.replace('~', "~0").replace('/', "~1");
        // Writing to a string does not fail.
        let _ = write!(self.at, "/{key}");
        let made = work(self);
        self.at.truncate(length);
        made
    }

    fn make_node(&self, kind: RuleNodeKind, operator: &str) -> RuleNode {
        RuleNode::new(kind, self.at.as_str().into(), operator.into())
    }

    fn unknown_operator(&self, name: &Str) -> Box<RuleError> {
        let near = candidates(name);
        let shown: String = name.chars().take(40).collect();
        let mut message = format!("`{shown}` is not an operator of JSON Logic");
        if let [first, ..] = near.as_slice() {
            let _ = write!(message, "; did you mean `{first}`?");
        }
        let near = near.into_iter().map(Value::from);
        let flaw = Flaw::new("J0001", message).token(name.clone());
        self.flaw(*flaw.value(Value::array(near)))
    }

    fn flaw(&self, flaw: Flaw) -> Box<RuleError> {
        self.rule_error(Box::new(flaw).into_error(""))
    }

    fn rule_error(&self, error: ExprError) -> Box<RuleError> {
        Box::new(RuleError {
            path: self.at.clone(),
            error,
        })
    }
}

//! Checks what the nodes of a graph refer to, without running it: nodes, fields, functions and
//! arguments.
//!
//! Nodes are visited in the order in which they can run, so that the shape of an output is known
//! where a later node refers to it. What is not known is not reported.

mod arguments;
mod availability;
mod findings;
mod look_alikes;
mod suggestions;

pub use findings::nearest_function;

use super::problem::MeantPart;
use super::{Graph, NodePart, Problem, ProblemLocation};
use crate::flaw::FlawCode;
use crate::form::{CANCEL_LABEL, DECLINE_LABEL, TIMEOUT_LABEL};
use crate::ids::NodeIx;
use crate::scope;
use crate::tool_schema::ToolSchemas;
use crate::workflow::{Action, FanOutSpec, ItemFailures, Template, WaitTime};
use availability::Availability;
use std::cell::RefCell;
use std::sync::Arc;
use tramline_expr::{
    AnalysisData, AnalysisScope, Expression, Limits, NoHost, OtherFields, RootName, Rule, Shape,
    Str, Value, analyze,
};

/// Problems per graph; a document with more is fixed step by step.
const PROBLEMS_MAX: usize = 200;

/// Adds the problems of a graph.
pub(super) fn check(graph: &Graph, tools: &dyn ToolSchemas, problems: &mut Vec<Problem>) {
    let is_broken = |code| code == FlawCode::UnknownNode || code == FlawCode::Duplicate;
    // With unresolved edges it is not known which node runs before which.
    let is_connected = !problems.iter().any(|problem| is_broken(problem.code));
    let count = graph.len();
    let mut checker = StaticChecker {
        graph,
        tools,
        shapes: vec![Shape::Any; count],
        availability: RefCell::new(Availability::new(graph, is_connected)),
        problems: Vec::new(),
        foreign: Vec::new(),
        node: NodeIx(0),
    };
    suggestions::name_duplicates(graph, problems);
    let mut order: Vec<u32> = (0..count as u32).collect();
    // Components are numbered from the end of the graph.
    order.sort_by_key(|at| std::cmp::Reverse(graph.components.of[*at as usize]));
    for at in order {
        checker.node = NodeIx(at);
        let shape = checker.check_node();
        checker.shapes[at as usize] = shape;
        if checker.problems.len() >= PROBLEMS_MAX {
            break;
        }
    }
    for (at, meant) in std::mem::take(&mut checker.foreign) {
        // The expression does not compile because it is in another syntax.
        let is_it = |problem: &&mut Problem| problem.location.is_at(&at) && problem.meant.is_none();
        if let Some(problem) = problems.iter_mut().find(is_it) {
            problem.location = at;
            problem.meant = Some(meant);
        }
    }
    let mut found = checker.problems;
    found.truncate(PROBLEMS_MAX);
    problems.append(&mut found);
}

struct StaticChecker<'g> {
    graph: &'g Graph,
    tools: &'g dyn ToolSchemas,
    /// The shape of each node's output.
    shapes: Vec<Shape>,
    availability: RefCell<Availability<'g>>,
    problems: Vec<Problem>,
    /// Expressions in the syntax of another format, with what was meant.
    foreign: Vec<(ProblemLocation, Vec<MeantPart>)>,
    node: NodeIx,
}

impl<'g> StaticChecker<'g> {
    /// Checks the current node and returns the shape of its output.
    fn check_node(&mut self) -> Shape {
        let graph = self.graph;
        let node = graph.node(self.node);
        let output = match &node.action {
            Action::Entry => {
                let schema = graph.workflow.input_schema.as_ref();
                return schema.map_or(Shape::Any, Shape::of_schema);
            }
            Action::Exit => return Shape::Any,
            Action::Call { tool, arguments } => {
                let schema = self.tools.find(tool);
                self.check_builtin(tool);
                let variables = self.fan_out_variables(node.each.as_deref());
                let given = self.template(arguments, NodePart::Arguments, "", &variables);
                if let Some(schema) = &schema {
                    self.check_arguments(tool, &schema.input, arguments, &given);
                }
                let result = schema.map_or(Shape::Any, |schema| schema.result());
                match node.each.as_deref() {
                    Some(each) if each.failures == ItemFailures::Keep => {
                        Shape::list(with_failure(&result))
                    }
                    Some(_) => Shape::list(result),
                    None => result,
                }
            }
            Action::Compute { expression } => {
                self.expression(expression, NodePart::Expression, "", &[])
            }
            Action::Choose { rules, .. } => {
                for (at, choice) in rules.iter().enumerate() {
                    self.rule(&choice.rule, at);
                }
                Shape::Text
            }
            Action::Wait(WaitTime::For(time) | WaitTime::Until(time)) => {
                self.template(time, NodePart::Time, "", &[]);
                Shape::Any
            }
            Action::Ask(form) => {
                self.template(&form.message, NodePart::Arguments, "/message", &[]);
                if let Some(defaults) = &form.defaults {
                    self.template(defaults, NodePart::Arguments, "/defaults", &[]);
                }
                let labels = [DECLINE_LABEL, CANCEL_LABEL, TIMEOUT_LABEL];
                let may_lack = labels.iter().any(|label| graph.has_label(self.node, label));
                match may_lack {
                    // A form that was not filled in has another output.
                    true => Shape::Any,
                    false => Shape::of_schema(&form.schema),
                }
            }
        };
        match graph.handles_failure(self.node) {
            true => with_failure(&output),
            false => output,
        }
    }

    /// The variables of a fan-out, after checking its items.
    fn fan_out_variables(&mut self, each: Option<&FanOutSpec>) -> Vec<(Str, Shape)> {
        let Some(each) = each else {
            return Vec::new();
        };
        let items = self.template(&each.items, NodePart::Items, "", &[]);
        self.check_items(&each.items, &items);
        let item = match items {
            Shape::List(item) | Shape::Items(item) => (*item).clone(),
            one @ (Shape::Any | Shape::Text | Shape::Number | Shape::Bool | Shape::Object(_)) => {
                one
            }
        };
        vec![(each.name.clone(), item), ("index".into(), Shape::Number)]
    }

    fn template(
        &mut self,
        template: &Template,
        part: NodePart,
        pointer: &str,
        variables: &[(Str, Shape)],
    ) -> Shape {
        match template {
            Template::Literal(value) => {
                if matches!(part, NodePart::Arguments | NodePart::Items) {
                    self.check_literal(value, part, pointer, variables);
                }
                Shape::of_value(value)
            }
            Template::Expr(source) => self.expression(source, part, pointer, variables),
            Template::Object(fields) => {
                let shapes = fields.iter().map(|(key, field)| {
                    let inside = child_pointer(pointer, key);
                    (key.clone(), self.template(field, part, &inside, variables))
                });
                Shape::object(shapes.collect(), OtherFields::None)
            }
            Template::Array(items) => {
                let shapes = items.iter().enumerate().map(|(at, item)| {
                    self.template(item, part, &format!("{pointer}/{at}"), variables)
                });
                let shapes: Vec<_> = shapes.collect();
                let item = shapes.into_iter().reduce(|a, b| a.or(&b));
                Shape::list(item.unwrap_or_default())
            }
        }
    }

    fn expression(
        &mut self,
        source: &str,
        part: NodePart,
        pointer: &str,
        variables: &[(Str, Shape)],
    ) -> Shape {
        if matches!(part, NodePart::Arguments | NodePart::Items)
            && ["${", "$OUTPUT"]
                .iter()
                .any(|sign| source.starts_with(sign))
            && let Some(meant) = self.look_alike(source, variables)
        {
            self.report_foreign(source, part, pointer, meant);
            return Shape::Any;
        }
        let find = |name: &str| self.root_name(name);
        let scope = AnalysisScope {
            data: AnalysisData::Root(&find),
            variables,
            functions: scope::functions(),
        };
        let analysis = analyze(source, scope);
        for finding in analysis.findings {
            self.report_finding(finding, source, part, pointer);
        }
        analysis.shape
    }

    fn rule(&mut self, rule: &Value, at: usize) {
        let part = NodePart::Rule(at);
        if let Value::String(text) = rule {
            self.report_text_rule(text, part);
            return;
        }
        let Ok(compiled) = Rule::compile(rule, scope::functions()) else {
            // Reported where the graph is compiled.
            return;
        };
        if compiled.is_constant() {
            let holds = compiled.holds(&Value::Null, &NoHost, &Limits::default());
            let message = match holds {
                Ok(true) => "the rule is always true: it does not refer to any data",
                Ok(false) | Err(_) => "the rule is never true: it does not refer to any data",
            };
            let hint = match self.with_references(rule) {
                Some(meant) => format!("write `{}`", meant.to_json()),
                None => "refer to data with `var`; for the default, leave the rule out".to_owned(),
            };
            self.report(FlawCode::ConstantRule, part, "", message.to_owned(), hint);
            return;
        }
        let find = |name: &str| self.root_name(name);
        let scope = AnalysisScope {
            data: AnalysisData::Root(&find),
            variables: &[],
            functions: scope::functions(),
        };
        for found in compiled.findings(scope) {
            let source = rule_text(rule, &found.path);
            self.report_finding(found.finding, source, part, &found.path);
        }
    }

    fn report_text_rule(&mut self, text: &str, part: NodePart) {
        let compiles = Expression::compile(text, scope::functions()).is_ok();
        let hint = match compiles {
            true => format!(
                "write `{}`",
                Value::object([("var", text.into())]).to_json()
            ),
            false => "write JSON Logic, such as `{\">\": [{\"var\": \"entry.n\"}, 10]}`".to_owned(),
        };
        let message = "a rule is JSON Logic; text would always be true".to_owned();
        self.report(FlawCode::BadRule, part, "", message, hint);
    }

    /// What a name refers to at the current node.
    fn root_name(&self, name: &str) -> RootName {
        let Some(node) = self.graph.find(name) else {
            return RootName::Unknown;
        };
        match self
            .availability
            .borrow_mut()
            .can_be_before(node, self.node)
        {
            true => RootName::Known(self.shapes[node.index()].clone()),
            false => RootName::NotYet,
        }
    }

    fn report(
        &mut self,
        code: FlawCode,
        part: NodePart,
        pointer: &str,
        message: String,
        suggestion: impl Into<String>,
    ) {
        let suggestion = suggestion.into();
        self.problems.push(Problem {
            code,
            location: ProblemLocation::Inside {
                node: self.node,
                part,
                pointer: pointer.to_owned(),
                span: None,
                name: None,
            },
            message,
            suggestion: (!suggestion.is_empty()).then_some(suggestion),
            meant: None,
        });
    }
}

/// The shape of an output that may be a failure instead.
fn with_failure(output: &Shape) -> Shape {
    let error = vec![
        ("code".into(), Shape::Text),
        ("message".into(), Shape::Text),
        ("data".into(), Shape::Any),
    ];
    let error = Shape::object(error, OtherFields::Undeclared);
    match output {
        Shape::Object(_) => output.with_field("error", error),
        Shape::List(item) | Shape::Items(item) => Shape::Items(Arc::new(with_error(item, error))),
        Shape::Any | Shape::Text | Shape::Number | Shape::Bool => {
            Shape::Items(Arc::new(with_error(&Shape::Any, error)))
        }
    }
}

/// The shape of an item that may be a failure instead.
fn with_error(item: &Shape, error: Shape) -> Shape {
    match item {
        Shape::Object(_) => item.with_field("error", error),
        Shape::Any
        | Shape::Text
        | Shape::Number
        | Shape::Bool
        | Shape::List(_)
        | Shape::Items(_) => Shape::object(vec![("error".into(), error)], OtherFields::Any),
    }
}

/// The text of the `var` at a pointer into a rule.
fn rule_text<'v>(rule: &'v Value, pointer: &str) -> &'v str {
    let found = pointer.split('/').skip(1).try_fold(rule, |at, step| {
        let step = step.replace("~1", "/").replace("~0", "~");
        at.get(&step).or_else(|| at.at(step.parse().ok()?))
    });
    let found = found.map(|value| value.at(0).unwrap_or(value));
    found.and_then(Value::as_str).unwrap_or_default()
}

fn child_pointer(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

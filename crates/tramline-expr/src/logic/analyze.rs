//! Checks a rule without evaluating it: what its `var`s refer to, and whether it is constant.

use super::node::{RuleNode, RuleNodeKind};
use super::operator::{EagerOperator, ItemOperator};
use super::var_path::{VarPath, VarTarget};
use super::{Rule, RuleFinding};
use crate::analyze::{AnalysisData, AnalysisScope, Finding, FindingKind, RootName, analyze};
use crate::shape::{OtherFields, Part, Shape};

impl Rule {
    /// What is wrong with the `var`s of the rule.
    pub fn findings(&self, scope: AnalysisScope<'_>) -> Vec<RuleFinding> {
        let mut found = Vec::new();
        let mut walk = Walk {
            scope,
            found: &mut found,
            guards: 0,
        };
        walk.node(&self.root, scope.data);
        found
    }

    /// Whether the rule has the same value for all data.
    pub fn is_constant(&self) -> bool {
        is_constant(&self.root)
    }
}

struct Walk<'a, 'f> {
    scope: AnalysisScope<'a>,
    found: &'f mut Vec<RuleFinding>,
    /// How many surrounding parts provide for a missing value.
    guards: u32,
}

impl Walk<'_, '_> {
    fn all(&mut self, nodes: &[RuleNode], data: AnalysisData<'_>) {
        for node in nodes {
            self.node(node, data);
        }
    }

    fn node(&mut self, node: &RuleNode, data: AnalysisData<'_>) -> Shape {
        match &node.kind {
            RuleNodeKind::Constant(value) => return Shape::of_value(value),
            RuleNodeKind::Array(parts) | RuleNodeKind::If(parts) => self.all(parts, data),
            // Missing values are false here, which is often meant.
            RuleNodeKind::And(parts)
            | RuleNodeKind::Or(parts)
            | RuleNodeKind::Eager(EagerOperator::Not | EagerOperator::Truth, parts) => {
                self.guards += 1;
                self.all(parts, data);
                self.guards -= 1;
            }
            RuleNodeKind::Eager(_, parts) => self.all(parts, data),
            RuleNodeKind::Var(target, default) => {
                if let Some(default) = default {
                    self.node(default, data);
                }
                self.guards += u32::from(default.is_some());
                let shape = self.target(node, target, data);
                self.guards -= u32::from(default.is_some());
                return shape;
            }
            RuleNodeKind::VarAt(path, default) => {
                self.node(path, data);
                if let Some(default) = default {
                    self.node(default, data);
                }
            }
            RuleNodeKind::Each(operator, list, body) => {
                let items = self.node(list, data);
                if let Some(body) = body {
                    self.node(body, AnalysisData::Item(&items.item()));
                }
                return match operator {
                    ItemOperator::Filter => items,
                    ItemOperator::Map
                    | ItemOperator::All
                    | ItemOperator::None
                    | ItemOperator::Some => Shape::Any,
                };
            }
            RuleNodeKind::Reduce(reduce) => {
                let items = self.node(&reduce.list, data);
                let inside = vec![
                    ("current".into(), items.item()),
                    ("accumulator".into(), Shape::Any),
                ];
                if let Some(body) = &reduce.body {
                    let inside = Shape::object(inside, OtherFields::None);
                    self.node(body, AnalysisData::Item(&inside));
                }
                if let Some(first) = &reduce.first {
                    self.node(first, data);
                }
            }
        }
        Shape::Any
    }

    fn target(&mut self, node: &RuleNode, target: &VarTarget, data: AnalysisData<'_>) -> Shape {
        match target {
            VarTarget::Whole => match data {
                AnalysisData::Root(_) => Shape::Any,
                AnalysisData::Item(shape) => shape.clone(),
            },
            VarTarget::Path(path) => self.path(node, path, data),
            VarTarget::Fields(_, expression) | VarTarget::Expression(expression) => {
                let scope = AnalysisScope { data, ..self.scope };
                let analysis = analyze(expression.source(), scope);
                for finding in analysis.findings {
                    self.report(node, finding);
                }
                analysis.shape
            }
        }
    }

    fn report(&mut self, node: &RuleNode, mut finding: Finding) {
        finding.guarded |= self.guards > 0;
        self.found.push(RuleFinding {
            path: node.pointer.clone(),
            finding,
        });
    }

    fn path(&mut self, node: &RuleNode, path: &VarPath, data: AnalysisData<'_>) -> Shape {
        let mut shape = match data {
            AnalysisData::Root(_) => Shape::Any,
            AnalysisData::Item(shape) => shape.clone(),
        };
        let mut at = 0;
        let mut before = String::new();
        for (number, (name, index)) in path.segments().enumerate() {
            let span = at..at + name.len();
            at = span.end + 1;
            let root = match data {
                AnalysisData::Root(find) if number == 0 => Some(find(name)),
                AnalysisData::Root(_) | AnalysisData::Item(_) => None,
            };
            if let Some(RootName::Known(known)) = &root {
                shape = known.clone();
                before.push_str(name);
                continue;
            }
            let found = match (&shape, index) {
                (Shape::List(item), Some(_)) => Part::Known((**item).clone()),
                // `length` of lists and texts, characters of texts.
                (Shape::List(_) | Shape::Text, _) if name == "length" => Part::Known(Shape::Number),
                (Shape::Text, Some(_)) => Part::Known(Shape::Text),
                (Shape::Items(_), _) => Part::Known(Shape::Any),
                // JSON Logic does not look into the items of a list.
                (Shape::List(_), None) => Part::NotObject("a list"),
                (Shape::Any | Shape::Text | Shape::Number | Shape::Bool | Shape::Object(_), _) => {
                    shape.part(name)
                }
            };
            let of = before.clone();
            let kind = match found {
                _ if root == Some(RootName::NotYet) => FindingKind::NotYet,
                _ if root == Some(RootName::Unknown) => FindingKind::UnknownRoot,
                Part::Known(part) => {
                    shape = part;
                    if !before.is_empty() {
                        before.push('.');
                    }
                    before.push_str(name);
                    continue;
                }
                Part::Missing(object) => FindingKind::UnknownField {
                    of,
                    known: object.fields.iter().map(|(key, _)| key.clone()).collect(),
                    certain: object.others == OtherFields::None,
                },
                Part::NotObject(kind) => FindingKind::NotAnObject { of, kind },
            };
            let offset = path.offset();
            let finding = Finding {
                kind,
                name: name.clone(),
                span: span.start + offset..span.end + offset,
                guarded: false,
            };
            self.report(node, finding);
            return Shape::Any;
        }
        shape
    }
}

fn is_constant(node: &RuleNode) -> bool {
    let all = |nodes: &[RuleNode]| nodes.iter().all(is_constant);
    match &node.kind {
        RuleNodeKind::Constant(_) => true,
        RuleNodeKind::Array(parts)
        | RuleNodeKind::If(parts)
        | RuleNodeKind::And(parts)
        | RuleNodeKind::Or(parts) => all(parts),
        RuleNodeKind::Eager(EagerOperator::Missing | EagerOperator::MissingSome, _) => false,
        RuleNodeKind::Eager(_, parts) => all(parts),
        RuleNodeKind::Var(..) | RuleNodeKind::VarAt(..) => false,
        // The body sees only the items.
        RuleNodeKind::Each(_, list, _) => is_constant(list),
        RuleNodeKind::Reduce(reduce) => is_constant(&reduce.list),
    }
}

//! Paths: steps, filters, sorting and grouping, each over the items of what comes before.

use super::{Analyzer, Context, range};
use crate::shape::{OtherFields, Shape};
use crate::syntax::ast::{Ast, AstKind};
use crate::value::Value;

impl Analyzer<'_> {
    /// A chain of steps. It nests to the left and may be long, so it is taken apart in a loop.
    pub(super) fn chain(&mut self, ast: &Ast, context: &Context) -> Shape {
        let mut links = Vec::new();
        let mut first = ast;
        loop {
            let left = match &first.kind {
                AstKind::Dot(left, _) | AstKind::Filter(left, _) | AstKind::Grouped(left, _) => {
                    left
                }
                AstKind::Sorted(left, _) => left,
                AstKind::Keep(left) | AstKind::Focus(left, _) | AstKind::Index(left, _) => left,
                _ => break,
            };
            links.push(first);
            first = left;
        }
        let is_path = links
            .iter()
            .any(|link| matches!(link.kind, AstKind::Dot(..)));
        let mut shape = match &first.kind {
            // The first step of a path may be quoted.
            AstKind::Literal(Value::String(name)) if is_path => {
                self.field(name, first.token, context)
            }
            _ => self.expression(first, context),
        };
        let mut before = first;
        while let Some(link) = links.pop() {
            shape = self.link(link, before, shape, context);
            before = link;
        }
        shape
    }

    /// One link of a chain, applied to the shape of what comes before it.
    fn link(&mut self, link: &Ast, before: &Ast, shape: Shape, context: &Context) -> Shape {
        let is_context = matches!(&before.kind, AstKind::Variable(name) if name.is_empty());
        let is_root = matches!(&before.kind, AstKind::Variable(name) if name == "$");
        let item = Context {
            shape: shape.item(),
            label: match () {
                () if is_root => None,
                () if is_context => context.label.clone(),
                () => Some(range(before.extent)),
            },
        };
        match &link.kind {
            AstKind::Dot(_, right) => {
                let step = match &right.kind {
                    AstKind::Literal(Value::String(name)) => self.field(name, right.token, &item),
                    _ => self.expression(right, &item),
                };
                match (shape.is_plural(), step) {
                    (_, Shape::Any) => Shape::Any,
                    (true, step) => Shape::Items(step.item().into()),
                    (false, step) => step,
                }
            }
            AstKind::Filter(_, predicate) => {
                self.expression(predicate, &item);
                match (&predicate.kind, &shape) {
                    (_, Shape::Any) => Shape::Any,
                    (AstKind::Literal(Value::Number(_)), Shape::List(inner)) => (**inner).clone(),
                    _ => Shape::Items(shape.item().into()),
                }
            }
            AstKind::Sorted(_, terms) => {
                for (_, term) in terms {
                    self.expression(term, &item);
                }
                shape
            }
            AstKind::Grouped(_, pairs) => match self.object(pairs, &item) {
                Shape::Object(object) if object.others == OtherFields::None => {
                    // Values of the same key are collected.
                    let fields = object.fields.iter();
                    let fields = fields.map(|(key, shape)| match shape {
                        Shape::Any => (key.clone(), Shape::Any),
                        shape => (key.clone(), Shape::Items(shape.item().into())),
                    });
                    Shape::object(fields.collect(), OtherFields::None)
                }
                _ => Shape::Any,
            },
            AstKind::Keep(_) => match &shape {
                Shape::Any => Shape::Any,
                other => Shape::list(other.item()),
            },
            AstKind::Index(..) => shape,
            // `@` keeps the context of the step before it.
            _ => Shape::Any,
        }
    }
}

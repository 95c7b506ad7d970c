//! Calls: unknown functions, the items that functions are applied to, and what calls return.

use super::{Analyzer, Context, FindingKind};
use crate::functions::Builtin;
use crate::shape::{OtherFields, Part, Shape};
use crate::syntax::ast::{Ast, AstKind};
use crate::value::{Str, Value};

impl Analyzer<'_> {
    pub(super) fn call(&mut self, procedure: &Ast, arguments: &[&Ast], context: &Context) -> Shape {
        let AstKind::Variable(name) = &procedure.kind else {
            self.expression(procedure, context);
            self.arguments(arguments, context);
            return Shape::Any;
        };
        if self.variables.iter().any(|(known, _)| known == name) {
            self.arguments(arguments, context);
            return Shape::Any;
        }
        if let Some(function) = self.functions.find(name) {
            if let Some(first) = arguments.first()
                && let AstKind::Literal(Value::String(text)) = &first.kind
            {
                self.report(FindingKind::HostArgument(function), text, first.token);
            }
            self.arguments(arguments, context);
            return Shape::Any;
        }
        match Builtin::find(name) {
            Some(builtin) => self.builtin_call(builtin, arguments, context),
            None => {
                if !name.is_empty() && name != "$" {
                    self.report(FindingKind::UnknownFunction, name, procedure.token);
                }
                self.arguments(arguments, context);
                Shape::Any
            }
        }
    }

    fn arguments(&mut self, arguments: &[&Ast], context: &Context) -> Vec<Shape> {
        let shapes = arguments.iter();
        shapes.map(|one| self.expression(one, context)).collect()
    }

    fn builtin_call(&mut self, builtin: Builtin, arguments: &[&Ast], context: &Context) -> Shape {
        let asks = matches!(
            builtin,
            Builtin::Exists | Builtin::Boolean | Builtin::Not | Builtin::Type
        );
        if asks {
            for one in arguments {
                self.guarded(one, context);
            }
            return match builtin {
                Builtin::Type => Shape::Text,
                _ => Shape::Bool,
            };
        }
        let mut given = Vec::with_capacity(arguments.len());
        for (at, one) in arguments.iter().enumerate() {
            given.push(match &one.kind {
                AstKind::Lambda(lambda) => {
                    let items = given.first().unwrap_or(&Shape::Any);
                    let known = parameters(builtin, at, items);
                    self.lambda(&lambda.params, &lambda.body, known, context)
                }
                _ => self.expression(one, context),
            });
        }
        let first = given.first().cloned().unwrap_or_default();
        let literal = |at: usize| match arguments.get(at).map(|one| &one.kind) {
            Some(AstKind::Literal(Value::String(text))) => Some(text),
            _ => None,
        };
        match builtin {
            Builtin::Map => match given.get(1) {
                Some(Shape::Any) | None => Shape::Any,
                Some(body) => Shape::Items(body.item().into()),
            },
            Builtin::Filter | Builtin::Distinct => match first {
                Shape::Any => Shape::Any,
                first => Shape::Items(first.item().into()),
            },
            Builtin::Sort | Builtin::Reverse | Builtin::Shuffle => match first {
                Shape::Any => Shape::Any,
                first => Shape::list(first.item()),
            },
            Builtin::Single => first.item(),
            Builtin::Append => match given.get(1) {
                Some(second) => Shape::Items(first.item().or(&second.item()).into()),
                None => Shape::Any,
            },
            Builtin::Merge => merged(arguments, &given),
            Builtin::Lookup => match (literal(1), &first) {
                (Some(key), Shape::Object(_)) => match first.part(key) {
                    Part::Known(shape) => shape,
                    Part::Missing(_) | Part::NotObject(_) => Shape::Any,
                },
                _ => Shape::Any,
            },
            Builtin::Clone => first,
            Builtin::Keys | Builtin::Split => Shape::Items(Shape::Text.into()),
            Builtin::Sum
            | Builtin::Count
            | Builtin::Max
            | Builtin::Min
            | Builtin::Average
            | Builtin::Length
            | Builtin::ParseInteger
            | Builtin::Number
            | Builtin::Floor
            | Builtin::Ceil
            | Builtin::Round
            | Builtin::Abs
            | Builtin::Sqrt
            | Builtin::Power
            | Builtin::Random
            | Builtin::ToMillis
            | Builtin::Millis => Shape::Number,
            Builtin::String
            | Builtin::Substring
            | Builtin::SubstringBefore
            | Builtin::SubstringAfter
            | Builtin::Lowercase
            | Builtin::Uppercase
            | Builtin::Trim
            | Builtin::Pad
            | Builtin::Replace
            | Builtin::Join
            | Builtin::FormatNumber
            | Builtin::FormatBase
            | Builtin::FormatInteger
            | Builtin::Base64Encode
            | Builtin::Base64Decode
            | Builtin::EncodeUrlComponent
            | Builtin::EncodeUrl
            | Builtin::DecodeUrlComponent
            | Builtin::DecodeUrl
            | Builtin::FromMillis
            | Builtin::Now
            | Builtin::Type => Shape::Text,
            Builtin::Contains | Builtin::Boolean | Builtin::Not | Builtin::Exists => Shape::Bool,
            Builtin::Match
            | Builtin::Zip
            | Builtin::Reduce
            | Builtin::Sift
            | Builtin::Spread
            | Builtin::Each
            | Builtin::Error
            | Builtin::Assert
            | Builtin::Eval => Shape::Any,
        }
    }

    /// The body of a function with these shapes of its parameters.
    pub(super) fn lambda(
        &mut self,
        params: &[Str],
        body: &Ast,
        known: Vec<Shape>,
        context: &Context,
    ) -> Shape {
        let visible = self.variables.len();
        let mut known = known.into_iter();
        for name in params {
            let shape = known.next().unwrap_or_default();
            self.variables.push((name.clone(), shape));
        }
        self.bind_names(body);
        let shape = self.expression(body, context);
        self.variables.truncate(visible);
        shape
    }
}

/// The shapes of the parameters of a function given to a built-in function.
fn parameters(builtin: Builtin, at: usize, items: &Shape) -> Vec<Shape> {
    match builtin {
        Builtin::Map | Builtin::Filter | Builtin::Single if at == 1 => {
            vec![items.item(), Shape::Number]
        }
        Builtin::Sort if at == 1 => vec![items.item(), items.item()],
        Builtin::Reduce if at == 1 => vec![Shape::Any, items.item()],
        _ => Vec::new(),
    }
}

/// `$merge([a, b])`: all fields of all objects.
fn merged(arguments: &[&Ast], given: &[Shape]) -> Shape {
    // Only a list written out has known objects.
    let written = matches!(
        arguments.first().map(|one| &one.kind),
        Some(AstKind::Array(_))
    );
    match given.first().map(Shape::item) {
        Some(Shape::Object(object)) if written && object.others != OtherFields::Any => {
            // Lists among the items may hold objects with other fields.
            Shape::Object(object)
        }
        _ => Shape::Any,
    }
}

//! Checks an expression without evaluating it: unknown functions, variables and fields.
//!
//! The tree is walked once with the shapes of the values instead of the values. Whatever is not
//! known has the shape [`Shape::Any`], about which nothing is reported.

mod functions;
mod path;

use crate::error::Span;
use crate::functions::Builtin;
use crate::host::HostFunctions;
use crate::shape::{OtherFields, Part, Shape};
use crate::syntax::ast::{Ast, AstKind, AstPairs, BinaryOp};
use crate::syntax::parser::parse;
use crate::value::{Str, Value};
use std::ops::Range;

/// Levels of an expression that are checked; deeper parts are unknown.
const DEPTH_MAX: u32 = 100;
/// Findings per expression; more would repeat the same mistake.
const FINDINGS_MAX: usize = 20;
/// Characters of the text that names the value a field is missing in.
const LABEL_CHARS_MAX: usize = 60;

/// Something wrong with an expression that compiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// The unknown name, without a leading `$`.
    pub name: Str,
    /// The bytes of the source that hold it.
    pub span: Range<usize>,
    /// Whether the expression provides for a missing value, as with `??` or `$exists`.
    pub guarded: bool,
}

/// The kinds of finding.
#[derive(Clone, Debug, PartialEq)]
pub enum FindingKind {
    /// A call of a function that does not exist.
    UnknownFunction,
    /// A variable that is never set; these are.
    UnknownVariable(Vec<Str>),
    /// A name at the top of the data that it does not have.
    UnknownRoot,
    /// A name at the top of the data whose value does not exist yet.
    NotYet,
    /// A field that a value does not have.
    UnknownField {
        /// The text of the value.
        of: String,
        /// The fields it has.
        known: Vec<Str>,
        /// Whether other fields are excluded, not only undeclared.
        certain: bool,
    },
    /// A field of something that is not an object: the text of the value and its type.
    NotAnObject {
        /// The text of the value.
        of: String,
        /// Its type with the article.
        kind: &'static str,
    },
    /// A sum of which one operand is text. The span is that of the operator.
    TextSum,
    /// A text given to a host function as its first argument, for the host to check.
    HostArgument(usize),
}

/// The result of an analysis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Analysis {
    /// What is known about the value.
    pub shape: Shape,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// What a name at the top of the data refers to.
#[derive(Clone, Debug, PartialEq)]
pub enum RootName {
    /// A value of this shape.
    Known(Shape),
    /// A value that does not exist yet when the expression is evaluated.
    NotYet,
    /// Nothing.
    Unknown,
}

/// The data that an expression is evaluated over.
#[derive(Clone, Copy)]
pub enum AnalysisData<'a> {
    /// Named values.
    Root(&'a dyn Fn(&str) -> RootName),
    /// A value of this shape.
    Item(&'a Shape),
}

/// What an expression is evaluated over.
#[derive(Clone, Copy)]
pub struct AnalysisScope<'a> {
    /// The data.
    pub data: AnalysisData<'a>,
    /// The variables, by name.
    pub variables: &'a [(Str, Shape)],
    /// The host's functions.
    pub functions: &'a HostFunctions,
}

/// The names of the built-in functions, without `$`.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    Builtin::names()
}

/// Checks an expression. One that does not compile has no findings.
pub fn analyze(source: &str, scope: AnalysisScope<'_>) -> Analysis {
    let Ok((ast, _)) = parse(source) else {
        return Analysis::default();
    };
    let mut analyzer = Analyzer {
        source,
        data: scope.data,
        functions: scope.functions,
        variables: scope.variables.to_vec(),
        findings: Vec::new(),
        depth: 0,
        guards: 0,
    };
    let context = analyzer.root();
    analyzer.bind_names(&ast);
    let shape = analyzer.expression(&ast, &context);
    Analysis {
        shape,
        findings: analyzer.findings,
    }
}

/// The value that names are looked up in.
#[derive(Clone)]
struct Context {
    shape: Shape,
    /// The source of the value; `None` for the data itself.
    label: Option<Range<usize>>,
}

impl Context {
    /// A value about which nothing is known.
    fn unknown() -> Self {
        Self {
            shape: Shape::Any,
            label: Some(0..0),
        }
    }
}

struct Analyzer<'a> {
    source: &'a str,
    data: AnalysisData<'a>,
    functions: &'a HostFunctions,
    /// The visible variables; later ones hide earlier ones.
    variables: Vec<(Str, Shape)>,
    findings: Vec<Finding>,
    depth: u32,
    /// How many surrounding parts provide for a missing value.
    guards: u32,
}

fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

impl Analyzer<'_> {
    /// The data as a context.
    fn root(&self) -> Context {
        let shape = match self.data {
            AnalysisData::Root(_) => Shape::Any,
            AnalysisData::Item(shape) => shape.clone(),
        };
        Context { shape, label: None }
    }

    fn report(&mut self, kind: FindingKind, name: &str, span: Span) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding {
                kind,
                name: name.into(),
                span: range(span),
                guarded: self.guards > 0,
            });
        }
    }

    /// Evaluates a part for which a missing value is fine.
    fn guarded(&mut self, ast: &Ast, context: &Context) -> Shape {
        self.guards += 1;
        let shape = self.expression(ast, context);
        self.guards -= 1;
        shape
    }

    fn expression(&mut self, ast: &Ast, context: &Context) -> Shape {
        self.depth += 1;
        let shape = match self.depth > DEPTH_MAX {
            true => Shape::Any,
            false => self.part(ast, context),
        };
        self.depth -= 1;
        shape
    }

    fn part(&mut self, ast: &Ast, context: &Context) -> Shape {
        match &ast.kind {
            AstKind::Literal(value) => Shape::of_value(value),
            AstKind::Name(name) => self.field(name, ast.token, context),
            AstKind::Variable(name) => self.variable(name, ast.token, context),
            AstKind::Dot(..)
            | AstKind::Filter(..)
            | AstKind::Keep(_)
            | AstKind::Grouped(..)
            | AstKind::Sorted(..)
            | AstKind::Focus(..)
            | AstKind::Index(..) => self.chain(ast, context),
            AstKind::Binary(op, left, right) => self.binary(*op, left, right, context),
            AstKind::Negate(inner) => {
                self.expression(inner, context);
                Shape::Number
            }
            AstKind::Array(items) => {
                let shapes = items
                    .iter()
                    .map(|item| self.expression(item, context).item());
                let shapes: Vec<_> = shapes.collect();
                Shape::list(
                    shapes
                        .into_iter()
                        .reduce(|a, b| a.or(&b))
                        .unwrap_or_default(),
                )
            }
            AstKind::Object(pairs) => self.object(pairs, context),
            AstKind::Block(body) => self.block(body, context),
            AstKind::Call(procedure, arguments) => {
                let arguments: Vec<_> = arguments.iter().collect();
                self.call(procedure, &arguments, context)
            }
            AstKind::Lambda(lambda) => {
                let known = vec![Shape::Any; lambda.params.len()];
                self.lambda(&lambda.params, &lambda.body, known, context);
                Shape::Any
            }
            AstKind::Conditional(test, then, otherwise) => {
                self.guarded(test, context);
                let then = self.expression(then, context);
                match otherwise {
                    Some(otherwise) => then.or(&self.expression(otherwise, context)),
                    None => then,
                }
            }
            AstKind::Bind(name, value) => {
                let shape = self.expression(value, context);
                if let Some((_, known)) = self.variables.iter_mut().rev().find(|(n, _)| n == name) {
                    *known = shape.clone();
                }
                shape
            }
            AstKind::Transform(pattern, update, delete) => {
                // The pattern is applied to whatever the transform is given.
                for part in [Some(pattern), Some(update), delete.as_ref()]
                    .into_iter()
                    .flatten()
                {
                    self.expression(part, &Context::unknown());
                }
                Shape::Any
            }
            AstKind::Regex(..)
            | AstKind::Wildcard
            | AstKind::Descendants
            | AstKind::Parent(_)
            | AstKind::Placeholder
            | AstKind::End
            | AstKind::Path(_) => Shape::Any,
        }
    }

    fn variable(&mut self, name: &Str, token: Span, context: &Context) -> Shape {
        match name.as_str() {
            "" => return context.shape.clone(),
            "$" => return self.root().shape,
            _ => {}
        }
        if let Some((_, shape)) = self.variables.iter().rev().find(|(known, _)| known == name) {
            return shape.clone();
        }
        if Builtin::find(name).is_none() && self.functions.find(name).is_none() {
            let known = self
                .variables
                .iter()
                .map(|(name, _)| name.clone())
                .collect();
            self.report(FindingKind::UnknownVariable(known), name, token);
        }
        Shape::Any
    }

    /// A field of the context.
    fn field(&mut self, name: &Str, token: Span, context: &Context) -> Shape {
        if let (None, AnalysisData::Root(find)) = (&context.label, self.data) {
            return match find(name) {
                RootName::Known(shape) => shape,
                RootName::NotYet => {
                    self.report(FindingKind::NotYet, name, token);
                    Shape::Any
                }
                RootName::Unknown => {
                    self.report(FindingKind::UnknownRoot, name, token);
                    Shape::Any
                }
            };
        }
        match context.shape.part(name) {
            Part::Known(shape) if context.shape.is_plural() && shape != Shape::Any => {
                Shape::Items(shape.item().into())
            }
            Part::Known(shape) => shape,
            Part::Missing(object) => {
                let kind = FindingKind::UnknownField {
                    of: self.label(context),
                    known: object.fields.iter().map(|(key, _)| key.clone()).collect(),
                    certain: object.others == OtherFields::None,
                };
                self.report(kind, name, token);
                Shape::Any
            }
            Part::NotObject(kind) => {
                let of = self.label(context);
                self.report(FindingKind::NotAnObject { of, kind }, name, token);
                Shape::Any
            }
        }
    }

    fn label(&self, context: &Context) -> String {
        let text = context.label.clone().and_then(|at| self.source.get(at));
        let text = text.unwrap_or("$").trim_start_matches("$.");
        match text.char_indices().nth(LABEL_CHARS_MAX) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text.to_owned(),
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Ast, right: &Ast, context: &Context) -> Shape {
        match op {
            BinaryOp::Coalesce | BinaryOp::Elvis => self.alternative(left, right, context),
            BinaryOp::Apply => match &right.kind {
                AstKind::Call(procedure, arguments) => {
                    let arguments: Vec<_> = std::iter::once(left).chain(arguments).collect();
                    self.call(procedure, &arguments, context)
                }
                _ => {
                    self.expression(left, context);
                    self.expression(right, context);
                    Shape::Any
                }
            },
            BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Modulo
            | BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual
            | BinaryOp::Concat
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::In
            | BinaryOp::Range => {
                self.operands(op, left, right, context);
                match op {
                    BinaryOp::Concat => Shape::Text,
                    BinaryOp::Range => Shape::list(Shape::Number),
                    BinaryOp::Equal
                    | BinaryOp::NotEqual
                    | BinaryOp::Less
                    | BinaryOp::LessEqual
                    | BinaryOp::Greater
                    | BinaryOp::GreaterEqual
                    | BinaryOp::And
                    | BinaryOp::Or
                    | BinaryOp::In => Shape::Bool,
                    BinaryOp::Add
                    | BinaryOp::Subtract
                    | BinaryOp::Multiply
                    | BinaryOp::Divide
                    | BinaryOp::Modulo => Shape::Number,
                    BinaryOp::Apply | BinaryOp::Coalesce | BinaryOp::Elvis => Shape::Any,
                }
            }
        }
    }

    /// Operands of a chain such as `a & b & c`, which nests to the left.
    fn operands(&mut self, op: BinaryOp, left: &Ast, right: &Ast, context: &Context) {
        let mut links = vec![right];
        let mut first = left;
        while let AstKind::Binary(inner, left, right) = &first.kind
            && *inner == op
        {
            links.push(right);
            first = left;
        }
        let mut before = first;
        let mut is_text = self.expression(first, context) == Shape::Text;
        while let Some(link) = links.pop() {
            let operand = self.expression(link, context);
            is_text |= operand == Shape::Text;
            if op == BinaryOp::Add && std::mem::take(&mut is_text) {
                self.report_text_sum(before, link);
            }
            before = link;
        }
    }

    /// Reports the `+` between two operands.
    fn report_text_sum(&mut self, left: &Ast, right: &Ast) {
        let (start, end) = (left.extent.end, right.extent.start);
        let between = self.source.get(start as usize..end as usize);
        if let Some(at) = between.and_then(|between| between.find('+')) {
            let start = start + at as u32;
            let end = start + 1;
            self.report(FindingKind::TextSum, "+", Span { start, end });
        }
    }

    /// `a ?? b`: a mistake in `a` matters only if `b` does not provide for it.
    fn alternative(&mut self, left: &Ast, right: &Ast, context: &Context) -> Shape {
        let before = self.findings.len();
        let fails = is_failure(right);
        if !fails {
            self.guards += 1;
        }
        let first = self.expression(left, context);
        if !fails {
            self.guards -= 1;
        }
        let of_left = self.findings.len();
        let second = self.expression(right, context);
        let is_path = matches!(
            right.kind,
            AstKind::Name(_) | AstKind::Dot(..) | AstKind::Filter(..)
        ) || matches!(&right.kind, AstKind::Binary(BinaryOp::Coalesce, ..));
        if is_path && self.findings.len() == of_left {
            let concerns_field = |finding: &Finding| {
                matches!(
                    finding.kind,
                    FindingKind::UnknownField { .. } | FindingKind::NotAnObject { .. }
                )
            };
            let mut at = 0;
            self.findings.retain(|finding| {
                at += 1;
                at <= before || !concerns_field(finding)
            });
        }
        match fails {
            true => first,
            false => first.or(&second),
        }
    }

    fn object(&mut self, pairs: &AstPairs, context: &Context) -> Shape {
        let mut fields: Vec<(Str, Shape)> = Vec::new();
        let mut others = OtherFields::None;
        for (key, value) in &pairs.pairs {
            self.expression(key, context);
            let shape = self.expression(value, context);
            match &key.kind {
                AstKind::Literal(Value::String(name)) => fields.push((name.clone(), shape)),
                _ => others = OtherFields::Any,
            }
        }
        Shape::object(fields, others)
    }

    fn block(&mut self, body: &[Ast], context: &Context) -> Shape {
        let visible = self.variables.len();
        for part in body {
            self.bind_names(part);
        }
        let mut last = Shape::Any;
        for part in body {
            last = self.expression(part, context);
        }
        self.variables.truncate(visible);
        last
    }

    /// Makes the variables that a part sets visible, so that functions can call themselves.
    fn bind_names(&mut self, ast: &Ast) {
        let mut names = Vec::new();
        bound_names(ast, 0, &mut names);
        self.variables
            .extend(names.into_iter().map(|name| (name, Shape::Any)));
    }
}

/// The variables that a part sets outside of blocks and functions inside it, and those that a path
/// binds.
fn bound_names(ast: &Ast, depth: u32, names: &mut Vec<Str>) {
    if depth > DEPTH_MAX {
        return;
    }
    match &ast.kind {
        AstKind::Bind(name, _) | AstKind::Focus(_, name) | AstKind::Index(_, name) => {
            names.push(name.clone());
        }
        AstKind::Block(_) | AstKind::Lambda(_) => return,
        _ => {}
    }
    ast.kind
        .children(&mut |child| bound_names(child, depth + 1, names));
}

/// Whether an expression only fails: the end of a reference that must have a value.
fn is_failure(ast: &Ast) -> bool {
    let AstKind::Call(procedure, _) = &ast.kind else {
        return false;
    };
    matches!(&procedure.kind, AstKind::Variable(name) if name == "error")
}

//! The parser: operator precedence, one function per construct, limited depth.

mod function;

use super::ast::{Ast, AstKind, AstPairs, BinaryOp};
use super::token::{Lexer, Token, TokenKind};
use crate::error::{ExprResult, Flaw, Span};
use crate::limits::{stack_position, too_deep};
use crate::value::{Str, Value};
use function::text_of;

/// Levels that source may nest. Evaluating anything deeper would exceed its own limit anyway.
const NESTING_MAX: u32 = 110;

/// Height of the tree in levels, including chains such as `1 + 1 + 1`, which nest to the left.
const HEIGHT_MAX: u16 = 300;

/// Height in levels including chains that are flattened later: paths and concatenation.
const FLAT_HEIGHT_MAX: u16 = 1_200;

/// How far the stack may grow while parsing, and in each later pass, in bytes.
pub(crate) const STACK_BYTES_MAX: usize = 1_400_000;

/// Longest source, in bytes, so that compiling stays cheap.
const SOURCE_BYTES_MAX: usize = 1 << 20;

/// Parses a whole source; also returns its number of parent references.
pub(crate) fn parse(source: &str) -> ExprResult<(Ast, usize)> {
    if source.len() > SOURCE_BYTES_MAX {
        let flaw = Flaw::new("L0007", "the expression is longer than 1 MiB");
        return Err(flaw.at(Span::default()));
    }
    let mut parser = Parser {
        lexer: Lexer::new(source),
        token: Token {
            kind: TokenKind::End,
            span: Span::default(),
        },
        last_end: 0,
        depth: 0,
        stack: stack_position(),
        parents: 0,
    };
    parser.advance(false)?;
    let ast = parser.expression(0)?;
    if parser.token.kind != TokenKind::End {
        return Err(parser.unexpected());
    }
    Ok((ast, parser.parents))
}

struct Parser<'s> {
    lexer: Lexer<'s>,
    /// The current token.
    token: Token,
    /// Where the previous token ended.
    last_end: u32,
    depth: u32,
    stack: usize,
    parents: usize,
}

/// The left binding power of a mark.
fn binding_power(mark: &str) -> u32 {
    match mark {
        "[" | "(" | "@" | "#" => 80,
        "." => 75,
        "{" => 70,
        "*" | "/" | "%" => 60,
        "+" | "-" | "&" => 50,
        "=" | "!=" | "<" | "<=" | ">" | ">=" | "^" | "~>" | "in" | "?:" | "??" => 40,
        "and" => 30,
        "or" => 25,
        "?" => 20,
        ":=" => 10,
        _ => 0,
    }
}

impl Parser<'_> {
    /// Moves to the next token; `infix` means that an operand was just read.
    fn advance(&mut self, infix: bool) -> ExprResult<Token> {
        let next = self.lexer.next(infix)?;
        if let TokenKind::Mark(mark @ ("!" | "~")) = next.kind {
            let message = format!("unknown operator {mark}");
            return Err(Flaw::new("S0204", message).at(next.span).token(mark));
        }
        self.last_end = self.token.span.end;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn at(&self, mark: &str) -> bool {
        matches!(self.token.kind, TokenKind::Mark(here) if here == mark)
    }

    fn expect(&mut self, mark: &'static str, infix: bool) -> ExprResult<Token> {
        if self.at(mark) {
            return self.advance(infix);
        }
        let (code, message) = match self.token.kind {
            TokenKind::End => (
                "S0203",
                format!("the expression ends where \"{mark}\" is expected"),
            ),
            _ => {
                let found = self.token_text();
                ("S0202", format!("expected \"{mark}\", found {found}"))
            }
        };
        let flaw = Flaw::new(code, message)
            .at(self.token.span)
            .token(self.token_text());
        Err(flaw.value(Value::from(mark)))
    }

    fn token_text(&self) -> Str {
        match &self.token.kind {
            TokenKind::Mark(mark) => Str::new_static(mark),
            TokenKind::Name(name) | TokenKind::Variable(name) => name.clone(),
            TokenKind::Literal(Value::String(text)) => text.clone(),
            TokenKind::Literal(value) => value.to_json().into(),
            TokenKind::Regex(pattern, _) => pattern.clone(),
            TokenKind::End => Str::new_static("(end)"),
        }
    }

    fn unexpected(&self) -> Box<Flaw> {
        let token = self.token_text();
        Flaw::new("S0201", format!("unexpected {token}"))
            .at(self.token.span)
            .token(token)
    }

    fn extent(&self, start: u32) -> Span {
        Span {
            start,
            end: self.last_end,
        }
    }

    fn expression(&mut self, right: u32) -> ExprResult<Ast> {
        self.depth += 1;
        if self.depth > NESTING_MAX || self.stack.abs_diff(stack_position()) > STACK_BYTES_MAX {
            return Err(too_deep().at(self.token.span));
        }
        let token = self.advance(true)?;
        let mut left = self.prefix(token)?;
        while let TokenKind::Mark(mark) = self.token.kind {
            if right >= binding_power(mark) {
                break;
            }
            let token = self.advance(false)?;
            left = self.infix(mark, token.span, left)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn boxed(&mut self, right: u32) -> ExprResult<Box<Ast>> {
        Ok(Box::new(self.expression(right)?))
    }

    fn prefix(&mut self, token: Token) -> ExprResult<Ast> {
        let span = token.span;
        let kind = match token.kind {
            TokenKind::Name(name) => AstKind::Name(name),
            TokenKind::Variable(name) => AstKind::Variable(name),
            TokenKind::Literal(value) => AstKind::Literal(value),
            TokenKind::Regex(pattern, flags) => AstKind::Regex(pattern, flags),
            // A missing closing bracket is reported first.
            TokenKind::End => AstKind::End,
            TokenKind::Mark(mark) => match mark {
                "and" | "or" | "in" => AstKind::Name(Str::new_static(mark)),
                "*" => AstKind::Wildcard,
                "**" => AstKind::Descendants,
                "%" => {
                    self.parents += 1;
                    AstKind::Parent(self.parents - 1)
                }
                "-" => AstKind::Negate(self.boxed(70)?),
                "(" => AstKind::Block(self.block()?),
                "[" => AstKind::Array(self.items()?),
                "{" => AstKind::Object(self.pairs(span)?),
                "|" => self.transform()?,
                _ => {
                    let message = format!("an expression cannot start with {mark}");
                    return Err(Flaw::new("S0211", message).at(span).token(mark));
                }
            },
        };
        let end = self.last_end.max(span.end);
        let extent = Span {
            start: span.start,
            end,
        };
        checked_node(kind, span, extent)
    }

    fn block(&mut self) -> ExprResult<Vec<Ast>> {
        let mut expressions = Vec::new();
        while !self.at(")") {
            expressions.push(self.expression(0)?);
            if !self.at(";") {
                break;
            }
            self.advance(false)?;
        }
        self.expect(")", true)?;
        Ok(expressions)
    }

    fn items(&mut self) -> ExprResult<Vec<Ast>> {
        let mut items = Vec::new();
        if !self.at("]") {
            loop {
                let mut item = self.expression(0)?;
                if self.at("..") {
                    let token = self.advance(false)?.span;
                    let last = self.boxed(0)?;
                    let extent = self.extent(item.extent.start);
                    let range = AstKind::Binary(BinaryOp::Range, Box::new(item), last);
                    item = checked_node(range, token, extent)?;
                }
                items.push(item);
                if !self.at(",") {
                    break;
                }
                self.advance(false)?;
            }
        }
        self.expect("]", true)?;
        Ok(items)
    }

    fn pairs(&mut self, token: Span) -> ExprResult<AstPairs> {
        let mut pairs = Vec::new();
        if !self.at("}") {
            loop {
                let key = self.expression(0)?;
                self.expect(":", false)?;
                pairs.push((key, self.expression(0)?));
                if !self.at(",") {
                    break;
                }
                self.advance(false)?;
            }
        }
        self.expect("}", true)?;
        Ok(AstPairs { pairs, token })
    }

    fn transform(&mut self) -> ExprResult<AstKind> {
        let pattern = self.boxed(0)?;
        self.expect("|", false)?;
        let update = self.boxed(0)?;
        let mut delete = None;
        if self.at(",") {
            self.advance(false)?;
            delete = Some(self.boxed(0)?);
        }
        self.expect("|", true)?;
        Ok(AstKind::Transform(pattern, update, delete))
    }

    fn infix(&mut self, mark: &'static str, token: Span, left: Ast) -> ExprResult<Ast> {
        let start = left.extent.start;
        let kind = match mark {
            "." => AstKind::Dot(Box::new(left), self.boxed(75)?),
            "[" => {
                if self.at("]") {
                    // The reference marks the innermost operand that the brackets filter.
                    self.expect("]", true)?;
                    AstKind::Keep(Box::new(left))
                } else {
                    let predicate = self.boxed(0)?;
                    self.expect("]", true)?;
                    AstKind::Filter(Box::new(left), predicate)
                }
            }
            "(" => return self.call(token, left),
            "{" => AstKind::Grouped(Box::new(left), self.pairs(token)?),
            "^" => AstKind::Sorted(Box::new(left), self.sort_terms()?),
            "@" => AstKind::Focus(Box::new(left), self.variable("@", token)?),
            "#" => AstKind::Index(Box::new(left), self.variable("#", token)?),
            "?" => {
                let then = self.boxed(0)?;
                let mut otherwise = None;
                if self.at(":") {
                    self.advance(false)?;
                    otherwise = Some(self.boxed(0)?);
                }
                AstKind::Conditional(Box::new(left), then, otherwise)
            }
            ":=" => {
                let AstKind::Variable(name) = left.kind else {
                    let message = "the left side of := must be a variable";
                    let span = left.token;
                    let flaw = Flaw::new("S0212", message).at(span);
                    return Err(flaw.token(text_of(&left, self.lexer.source())));
                };
                // Assignments are right-associative.
                AstKind::Bind(name, self.boxed(9)?)
            }
            _ => match BinaryOp::of(mark) {
                Some(op) => {
                    let loose = matches!(op, BinaryOp::Elvis | BinaryOp::Coalesce);
                    let right = self.boxed(if loose { 0 } else { binding_power(mark) })?;
                    AstKind::Binary(op, Box::new(left), right)
                }
                None => {
                    let message = format!("unknown operator {mark}");
                    return Err(Flaw::new("S0204", message).at(token).token(mark));
                }
            },
        };
        let extent = self.extent(start);
        checked_node(kind, token, extent)
    }

    fn variable(&mut self, mark: &'static str, _token: Span) -> ExprResult<Str> {
        let right = self.expression(80)?;
        match right.kind {
            AstKind::Variable(name) => Ok(name),
            _ => {
                let message = format!("the right side of {mark} must be a variable");
                Err(Flaw::new("S0214", message).at(right.token).token(mark))
            }
        }
    }

    fn sort_terms(&mut self) -> ExprResult<Vec<(bool, Ast)>> {
        self.expect("(", false)?;
        let mut terms = Vec::new();
        loop {
            let mut descending = false;
            if self.at("<") {
                self.advance(false)?;
            } else if self.at(">") {
                descending = true;
                self.advance(false)?;
            }
            terms.push((descending, self.expression(0)?));
            if !self.at(",") {
                break;
            }
            self.advance(false)?;
        }
        self.expect(")", true)?;
        Ok(terms)
    }
}

/// Builds a node, unless its tree is too high.
fn checked_node(kind: AstKind, token: Span, extent: Span) -> ExprResult<Ast> {
    let height = kind.height();
    if height.nested > HEIGHT_MAX || height.all > FLAT_HEIGHT_MAX {
        return Err(too_deep().at(token));
    }
    let mut ast = Ast::new(kind, token, extent);
    ast.height = height;
    Ok(ast)
}

//! The tokens of JSONata source, read one at a time because the meaning of `/` depends on context.

use crate::error::{ExprResult, Flaw, Span};
use crate::value::{Number, Str, Value};

/// A token and its byte range.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// An operator or punctuation mark, including `and`, `or` and `in`.
    Mark(&'static str),
    Name(Str),
    /// A variable without its `$`.
    Variable(Str),
    /// A string, number, boolean or null.
    Literal(Value),
    /// Pattern and flags.
    Regex(Str, Str),
    End,
}

const PAIRS: [&str; 9] = ["..", ":=", "!=", ">=", "<=", "**", "~>", "?:", "??"];
const SINGLES: &str = ".[]{}(),@#;:?+-*/%|=<>^&!~";

fn single(byte: u8) -> Option<&'static str> {
    let at = SINGLES.bytes().position(|mark| mark == byte)?;
    SINGLES.get(at..=at)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b)
}

/// Reads tokens from a source.
pub(crate) struct Lexer<'s> {
    source: &'s str,
    bytes: &'s [u8],
    at: usize,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Self {
            source,
            bytes: source.as_bytes(),
            at: 0,
        }
    }

    pub(crate) fn source(&self) -> &'s str {
        self.source
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn token(&self, kind: TokenKind, start: usize) -> Token {
        Token {
            kind,
            span: Span::new(start, self.at),
        }
    }

    fn flaw(&self, code: &'static str, message: &str, start: usize, points: usize) -> Box<Flaw> {
        Flaw::new(code, message)
            .at(Span::new(start, self.at.max(start)))
            .at_position(points as u32)
    }

    fn skip_blank(&mut self) -> ExprResult<()> {
        loop {
            while self.peek(0).is_some_and(is_space) {
                self.at += 1;
            }
            if !self.source[self.at..].starts_with("/*") {
                return Ok(());
            }
            let start = self.at;
            match self.source[start + 2..].find("*/") {
                Some(length) => self.at = start + 2 + length + 2,
                None => {
                    self.at = self.source.len();
                    return Err(self.flaw("S0106", "this comment is never closed", start, start));
                }
            }
        }
    }

    /// The next token; after an operand (`infix`) a `/` divides, elsewhere it opens a regex.
    pub(crate) fn next(&mut self, infix: bool) -> ExprResult<Token> {
        self.skip_blank()?;
        let start = self.at;
        let Some(byte) = self.peek(0) else {
            return Ok(self.token(TokenKind::End, start));
        };
        if byte == b'/' && !infix {
            return self.regex();
        }
        let rest = &self.source[start..];
        if let Some(pair) = PAIRS.into_iter().find(|pair| rest.starts_with(pair)) {
            self.at += 2;
            return Ok(self.token(TokenKind::Mark(pair), start));
        }
        if let Some(mark) = single(byte) {
            self.at += 1;
            return Ok(self.token(TokenKind::Mark(mark), start));
        }
        match byte {
            b'"' | b'\'' => self.string(byte),
            b'0'..=b'9' => self.number(),
            b'`' => self.quoted_name(),
            _ => Ok(self.name()),
        }
    }

    fn regex(&mut self) -> ExprResult<Token> {
        let start = self.at;
        self.at += 1;
        let mut depth = 0i32;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\\' => {
                    self.at += 1;
                    if self.at >= self.bytes.len() {
                        break;
                    }
                }
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                b'/' if depth == 0 => return self.regex_end(start),
                _ => {}
            }
            self.step();
        }
        let end = self.source.len();
        Err(self.flaw(
            "S0302",
            "this regular expression has no closing /",
            start,
            end,
        ))
    }

    fn regex_end(&mut self, start: usize) -> ExprResult<Token> {
        let pattern = Str::from(&self.source[start + 1..self.at]);
        if pattern.is_empty() {
            return Err(self.flaw(
                "S0301",
                "a regular expression cannot be empty",
                start,
                self.at,
            ));
        }
        self.at += 1;
        let flags = self.at;
        while matches!(self.peek(0), Some(b'i' | b'm')) {
            self.at += 1;
        }
        let flags = Str::from(&self.source[flags..self.at]);
        Ok(self.token(TokenKind::Regex(pattern, flags), start))
    }

    /// Moves past the current character, whatever its length.
    fn step(&mut self) {
        let length = self.source[self.at..]
            .chars()
            .next()
            .map_or(1, char::len_utf8);
        self.at += length;
    }

    fn string(&mut self, quote: u8) -> ExprResult<Token> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        while let Some(byte) = self.peek(0) {
            if byte == quote {
                self.at += 1;
                return Ok(self.token(TokenKind::Literal(text.into()), start));
            }
            if byte == b'\\' {
                self.at += 1;
                self.escape(&mut text)?;
                continue;
            }
            let from = self.at;
            self.step();
            text.push_str(&self.source[from..self.at]);
        }
        let end = self.source.len();
        Err(self.flaw("S0101", "this string has no closing quote", start, end))
    }

    fn escape(&mut self, text: &mut String) -> ExprResult<()> {
        let at = self.at;
        let Some(letter) = self.source[at..].chars().next() else {
            return Err(self
                .flaw("S0103", "this escape is incomplete", at - 1, at)
                .token("undefined"));
        };
        let plain = match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode(text),
            _ => {
                let message = format!("unknown escape \\{letter}");
                self.step();
                return Err(self
                    .flaw("S0103", &message, at - 1, at)
                    .token(letter.to_string()));
            }
        };
        text.push(plain);
        self.at += 1;
        Ok(())
    }

    fn hex4(&self, at: usize) -> Option<u32> {
        let digits = self.source.get(at..at + 4)?;
        digits
            .bytes()
            .all(|digit| digit.is_ascii_hexdigit())
            .then_some(())?;
        u32::from_str_radix(digits, 16).ok()
    }

    /// A `\u` escape. A surrogate pair is joined; half of one becomes U+FFFD, because our text
    /// cannot hold it.
    fn unicode(&mut self, text: &mut String) -> ExprResult<()> {
        let at = self.at;
        let Some(unit) = self.hex4(at + 1) else {
            let message = "\\u takes four hexadecimal digits";
            return Err(self.flaw("S0104", message, at - 1, at));
        };
        self.at += 5;
        if (0xd800..0xdc00).contains(&unit)
            && self.source[self.at..].starts_with("\\u")
            && let Some(low @ 0xdc00..0xe000) = self.hex4(self.at + 2)
        {
            let joined = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            text.push(char::from_u32(joined).unwrap_or('\u{fffd}'));
            self.at += 6;
            return Ok(());
        }
        text.push(char::from_u32(unit).unwrap_or('\u{fffd}'));
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> ExprResult<Token> {
        let start = self.at;
        if self.peek(0) == Some(b'0') {
            self.at += 1;
        } else {
            self.digits();
        }
        if self.peek(0) == Some(b'.') && self.peek(1).is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
            self.digits();
        }
        if matches!(self.peek(0), Some(b'e' | b'E')) {
            let signed = usize::from(matches!(self.peek(1), Some(b'+' | b'-')));
            if self
                .peek(1 + signed)
                .is_some_and(|byte| byte.is_ascii_digit())
            {
                self.at += 1 + signed;
                self.digits();
            }
        }
        let text = &self.source[start..self.at];
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => {
                let number = number_of(number);
                Ok(self.token(TokenKind::Literal(Value::Number(number)), start))
            }
            _ => {
                let message = format!("the number {text} is out of range");
                Err(self.flaw("S0102", &message, start, start).token(text))
            }
        }
    }

    fn quoted_name(&mut self) -> ExprResult<Token> {
        let start = self.at;
        match self.source[start + 1..].find('`') {
            Some(length) => {
                let name = Str::from(&self.source[start + 1..start + 1 + length]);
                self.at = start + 2 + length;
                Ok(self.token(TokenKind::Name(name), start))
            }
            None => {
                let end = self.source.len();
                self.at = end;
                Err(self.flaw(
                    "S0105",
                    "this quoted name has no closing backquote",
                    start,
                    end,
                ))
            }
        }
    }

    fn name(&mut self) -> Token {
        let start = self.at;
        while self
            .peek(0)
            .is_some_and(|byte| !is_space(byte) && single(byte).is_none())
        {
            self.step();
        }
        let name = &self.source[start..self.at];
        let kind = match name {
            "and" => TokenKind::Mark("and"),
            "or" => TokenKind::Mark("or"),
            "in" => TokenKind::Mark("in"),
            "true" => TokenKind::Literal(Value::Bool(true)),
            "false" => TokenKind::Literal(Value::Bool(false)),
            "null" => TokenKind::Literal(Value::Null),
            _ => match name.strip_prefix('$') {
                Some(variable) => TokenKind::Variable(variable.into()),
                None => TokenKind::Name(name.into()),
            },
        };
        self.token(kind, start)
    }

    /// Reads a function signature `<...>` whose `<` was just read, and returns its text.
    pub(crate) fn signature(&mut self, open: Span) -> Option<&'s str> {
        let mut depth = 1;
        self.at = open.end as usize;
        while let Some(byte) = self.peek(0) {
            self.step();
            match byte {
                b'<' => depth += 1,
                b'>' => depth -= 1,
                b'{' => return None,
                _ => {}
            }
            if depth == 0 {
                return Some(&self.source[open.start as usize..self.at]);
            }
        }
        None
    }
}

/// A double, stored as an integer if it is one that a double holds exactly.
pub(crate) fn number_of(float: f64) -> Number {
    if float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 {
        Number::Int(float as i64)
    } else {
        Number::Float(float)
    }
}

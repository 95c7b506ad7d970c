//! Function signatures such as `<s-n?:s>`: what a function accepts, and how arguments are fitted.

use crate::error::{Flaw, Outcome, Span};
use crate::value::Value;

/// A set of argument types, one bit each.
pub(crate) type Types = u16;

pub(crate) const STRING: Types = 1;
pub(crate) const NUMBER: Types = 2;
pub(crate) const BOOLEAN: Types = 4;
pub(crate) const NULL: Types = 8;
pub(crate) const ARRAY: Types = 16;
pub(crate) const OBJECT: Types = 32;
pub(crate) const FUNCTION: Types = 64;
pub(crate) const MISSING: Types = 128;

const DATA: Types = STRING | NUMBER | BOOLEAN | NULL | ARRAY | OBJECT;

/// What a function accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) params: Vec<Param>,
}

/// What one parameter accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Param {
    pub(crate) types: Types,
    /// Takes the context when the argument is left out.
    pub(crate) context: bool,
    pub(crate) optional: bool,
    /// Takes one argument or more.
    pub(crate) many: bool,
    /// An array is wanted: anything else is wrapped into one.
    pub(crate) array: bool,
    /// What the items must be, if that is said.
    pub(crate) items: Option<Types>,
}

/// Why arguments do not fit.
pub(crate) enum Misfit {
    /// The argument at this place does not fit.
    Argument(usize),
    /// The context would stand in for this parameter, and does not fit.
    Context(usize),
    /// The items of the array at this place do not fit.
    Items(usize, Types),
}

fn letter(byte: u8) -> Types {
    match byte {
        b's' => STRING,
        b'n' => NUMBER,
        b'b' => BOOLEAN,
        b'l' => NULL,
        b'a' => ARRAY,
        b'o' => OBJECT,
        b'f' => FUNCTION,
        b'j' => DATA,
        b'u' => STRING | NUMBER | BOOLEAN | NULL,
        b'x' => DATA | FUNCTION,
        _ => 0,
    }
}

/// What messages call the items of an array.
pub(crate) fn plural(types: Types) -> &'static str {
    match types {
        STRING => "strings",
        NUMBER => "numbers",
        BOOLEAN => "booleans",
        NULL => "nulls",
        ARRAY => "arrays",
        OBJECT => "objects",
        FUNCTION => "functions",
        _ => "values",
    }
}

impl Signature {
    /// Parses `<...>`, which starts at byte `offset` of the source.
    pub(crate) fn parse(text: &str, offset: u32) -> Outcome<Self> {
        let bytes = text.as_bytes();
        let mut params: Vec<Param> = Vec::new();
        let mut at = 1;
        while at < bytes.len() {
            match bytes[at] {
                b':' | b'>' => break,
                b'-' => {
                    if let Some(param) = params.last_mut() {
                        param.context = true;
                        param.optional = true;
                    }
                }
                b'?' => {
                    if let Some(param) = params.last_mut() {
                        param.optional = true;
                    }
                }
                b'+' => {
                    if let Some(param) = params.last_mut() {
                        param.many = true;
                    }
                }
                b'(' => {
                    let close = closing(bytes, at, b'(', b')');
                    let choice = &bytes[at + 1..close];
                    if choice.contains(&b'<') {
                        let message = "a choice of types cannot hold types with parameters";
                        let points = offset + at as u32 + 1;
                        return Err(
                            flaw("S0402", message, text, at, close, offset).pointing(points)
                        );
                    }
                    let types = choice.iter().fold(0, |types, byte| types | letter(*byte));
                    params.push(Param::of(types));
                    at = close;
                }
                b'<' => {
                    let close = closing(bytes, at, b'<', b'>');
                    let known = params
                        .last_mut()
                        .filter(|param| param.array || param.types == FUNCTION);
                    match known {
                        Some(param) if param.array => {
                            param.items = bytes.get(at + 1).map(|byte| letter(*byte));
                        }
                        Some(_) => {}
                        None => {
                            let message = "only functions and arrays take types as parameters";
                            let points = offset + at as u32 + 1;
                            return Err(
                                flaw("S0401", message, text, at - 1, at, offset).pointing(points)
                            );
                        }
                    }
                    at = close;
                }
                byte if letter(byte) == 0 => {}
                byte => {
                    let mut param = Param::of(letter(byte));
                    if byte == b'a' {
                        param.array = true;
                        param.types = DATA | FUNCTION;
                    }
                    if byte != b'f' {
                        param.types |= MISSING;
                    }
                    params.push(param);
                }
            }
            at += 1;
        }
        Ok(Self { params })
    }

    /// How many arguments each parameter takes, or where they stop fitting.
    pub(crate) fn fit(&self, kinds: &[Types]) -> Result<Vec<usize>, Misfit> {
        let mut taken = vec![0; self.params.len()];
        if self.fit_from(0, kinds, 0, &mut taken) {
            return Ok(taken);
        }
        // The first argument past the longest run that any number of parameters accepts.
        let mut good = 0;
        for params in 1..=self.params.len() {
            match self.longest(params, kinds) {
                Some(length) => good = length,
                None => break,
            }
        }
        Err(Misfit::Argument(good))
    }

    fn fit_from(&self, at: usize, kinds: &[Types], from: usize, taken: &mut [usize]) -> bool {
        let Some(param) = self.params.get(at) else {
            return from == kinds.len();
        };
        let run = kinds[from..]
            .iter()
            .take_while(|kind| param.types & **kind != 0)
            .count();
        let most = if param.many { run } else { run.min(1) };
        let least = usize::from(!param.optional);
        for count in (least..=most).rev() {
            taken[at] = count;
            if self.fit_from(at + 1, kinds, from + count, taken) {
                return true;
            }
        }
        false
    }

    /// How many arguments the first parameters take, taking as many as they can.
    fn longest(&self, params: usize, kinds: &[Types]) -> Option<usize> {
        let mut from = 0;
        for param in &self.params[..params] {
            let run = kinds[from..]
                .iter()
                .take_while(|kind| param.types & **kind != 0)
                .count();
            let most = if param.many { run } else { run.min(1) };
            if most == 0 && !param.optional {
                return None;
            }
            from += most;
        }
        Some(from)
    }
}

impl Param {
    fn of(types: Types) -> Self {
        Self {
            types: if types == FUNCTION {
                types
            } else {
                types | MISSING
            },
            context: false,
            optional: false,
            many: false,
            array: false,
            items: None,
        }
    }
}

fn closing(bytes: &[u8], open: usize, left: u8, right: u8) -> usize {
    let mut depth = 0;
    for (at, byte) in bytes.iter().enumerate().skip(open) {
        if *byte == left {
            depth += 1;
        } else if *byte == right {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    bytes.len().saturating_sub(1).max(open + 1)
}

fn flaw(
    code: &'static str,
    message: &str,
    text: &str,
    at: usize,
    end: usize,
    offset: u32,
) -> Box<Flaw> {
    let start = offset as usize;
    let value = text.get(at..end).map(Value::from);
    Flaw::new(code, message)
        .at(Span::new(start + at, start + end))
        .value(value)
}

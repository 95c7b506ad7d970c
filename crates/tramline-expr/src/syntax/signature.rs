//! Function signatures such as `<s-n?:s>`: what a function accepts, and how arguments are matched.

use crate::error::{ExprResult, Flaw, Span};
use crate::value::Value;

/// A set of argument types, one bit each.
pub(crate) type TypeSet = u16;

pub(crate) const STRING: TypeSet = 1;
pub(crate) const NUMBER: TypeSet = 2;
pub(crate) const BOOLEAN: TypeSet = 4;
pub(crate) const NULL: TypeSet = 8;
pub(crate) const ARRAY: TypeSet = 16;
pub(crate) const OBJECT: TypeSet = 32;
pub(crate) const FUNCTION: TypeSet = 64;
pub(crate) const MISSING: TypeSet = 128;

const DATA: TypeSet = STRING | NUMBER | BOOLEAN | NULL | ARRAY | OBJECT;

/// What a function accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) params: Vec<SignatureParam>,
}

/// What one parameter accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignatureParam {
    pub(crate) types: TypeSet,
    /// Takes the context when the argument is omitted.
    pub(crate) context: bool,
    pub(crate) optional: bool,
    /// Takes one argument or more.
    pub(crate) variadic: bool,
    /// Takes an array: any other value is wrapped in one.
    pub(crate) array: bool,
    /// The required type of the items, if declared.
    pub(crate) items: Option<TypeSet>,
}

/// Why arguments do not match.
pub(crate) enum ArgumentMismatch {
    /// The argument at this index does not match.
    Argument(usize),
    /// The context would be used for this parameter, and does not match.
    Context(usize),
    /// The items of the array at this index do not match.
    Items(usize, TypeSet),
}

fn types_of_letter(byte: u8) -> TypeSet {
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

/// The plural name of a type, for messages.
pub(crate) fn plural(types: TypeSet) -> &'static str {
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
    pub(crate) fn parse(text: &str, offset: u32) -> ExprResult<Self> {
        let bytes = text.as_bytes();
        let mut params: Vec<SignatureParam> = Vec::new();
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
                        param.variadic = true;
                    }
                }
                b'(' => {
                    let close = closing(bytes, at, b'(', b')');
                    let choice = &bytes[at + 1..close];
                    if choice.contains(&b'<') {
                        let message = "a choice of types cannot hold types with parameters";
                        let points = offset + at as u32 + 1;
                        return Err(
                            flaw("S0402", message, text, at, close, offset).at_position(points)
                        );
                    }
                    let types = choice
                        .iter()
                        .fold(0, |types, byte| types | types_of_letter(*byte));
                    params.push(SignatureParam::of(types));
                    at = close;
                }
                b'<' => {
                    let close = closing(bytes, at, b'<', b'>');
                    let known = params
                        .last_mut()
                        .filter(|param| param.array || param.types == FUNCTION);
                    match known {
                        Some(param) if param.array => {
                            param.items = bytes.get(at + 1).map(|byte| types_of_letter(*byte));
                        }
                        Some(_) => {}
                        None => {
                            let message = "only functions and arrays take types as parameters";
                            let points = offset + at as u32 + 1;
                            return Err(flaw("S0401", message, text, at - 1, at, offset)
                                .at_position(points));
                        }
                    }
                    at = close;
                }
                byte if types_of_letter(byte) == 0 => {}
                byte => {
                    let mut param = SignatureParam::of(types_of_letter(byte));
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

    /// How many arguments each parameter takes, or where they stop matching.
    pub(crate) fn fit(&self, kinds: &[TypeSet]) -> Result<Vec<usize>, ArgumentMismatch> {
        let mut taken = vec![0; self.params.len()];
        if self.fit_from(0, kinds, 0, &mut taken) {
            return Ok(taken);
        }
        // The first argument after the longest run that any number of parameters accepts.
        let mut good = 0;
        for params in 1..=self.params.len() {
            match self.longest(params, kinds) {
                Some(length) => good = length,
                None => break,
            }
        }
        Err(ArgumentMismatch::Argument(good))
    }

    fn fit_from(&self, at: usize, kinds: &[TypeSet], from: usize, taken: &mut [usize]) -> bool {
        let Some(param) = self.params.get(at) else {
            return from == kinds.len();
        };
        let run = kinds[from..]
            .iter()
            .take_while(|kind| param.types & **kind != 0)
            .count();
        let most = if param.variadic { run } else { run.min(1) };
        let least = usize::from(!param.optional);
        for count in (least..=most).rev() {
            taken[at] = count;
            if self.fit_from(at + 1, kinds, from + count, taken) {
                return true;
            }
        }
        false
    }

    /// How many arguments the first `params` parameters take, taking as many as they can.
    fn longest(&self, params: usize, kinds: &[TypeSet]) -> Option<usize> {
        let mut from = 0;
        for param in &self.params[..params] {
            let run = kinds[from..]
                .iter()
                .take_while(|kind| param.types & **kind != 0)
                .count();
            let most = if param.variadic { run } else { run.min(1) };
            if most == 0 && !param.optional {
                return None;
            }
            from += most;
        }
        Some(from)
    }
}

impl SignatureParam {
    fn of(types: TypeSet) -> Self {
        Self {
            types: if types == FUNCTION {
                types
            } else {
                types | MISSING
            },
            context: false,
            optional: false,
            variadic: false,
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

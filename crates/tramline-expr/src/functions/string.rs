//! String functions: `$string`, and functions that cut, pad and join.

use super::Builtin;
use crate::error::{ExprResult, Flaw};
use crate::eval::machine::Machine;
use crate::eval::val::Val;
use crate::limits::Meter;
use crate::value::{Number, Str, Value};
use std::fmt::Write;

/// A number as JavaScript writes it.
pub(crate) fn number_text(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    ryu_js::Buffer::new().format(number).to_owned()
}

/// A number as `$string` writes it: rounded to 15 digits, so that 0.1 + 0.2 reads 0.3.
fn rounded_text(number: Number) -> String {
    match number {
        Number::Int(int) => int.to_string(),
        Number::UInt(int) => int.to_string(),
        Number::Float(float) if float.fract() == 0.0 => number_text(float),
        other => {
            let rounded = format!("{:.14e}", other.as_f64())
                .parse()
                .unwrap_or(other.as_f64());
            number_text(rounded)
        }
    }
}

/// The text of a value, as `$string` returns it.
pub(crate) fn text_of(meter: &Meter, val: &Val, pretty: bool) -> ExprResult<Str> {
    match val {
        Val::Json(Value::String(text), _) => Ok(text.clone()),
        Val::Func(_) | Val::Undef => Ok(Str::default()),
        Val::Json(Value::Number(number), _) => {
            if !number.as_f64().is_finite() {
                let message = "an infinite number has no text";
                return Err(Flaw::new("D3001", message).value(Value::Number(*number)));
            }
            meter.text(8)?;
            Ok(rounded_text(*number).into())
        }
        _ => {
            let mut writer = ValueWriter {
                meter,
                text: String::new(),
                charged: 0,
                pretty,
                level: 0,
            };
            writer.val(val)?;
            writer.charge(0)?;
            Ok(writer.text.into())
        }
    }
}

/// Writes JSON and charges for it as it grows.
struct ValueWriter<'m> {
    meter: &'m Meter,
    text: String,
    charged: usize,
    pretty: bool,
    level: usize,
}

/// Levels of nesting in `$string`: deeper than any value that JSON parsing or evaluation produces.
const LEVELS_MAX: usize = 300;

impl ValueWriter<'_> {
    fn charge(&mut self, slack: usize) -> ExprResult<()> {
        if self.text.len() >= self.charged + slack {
            self.meter.text(self.text.len() - self.charged)?;
            self.charged = self.text.len();
        }
        Ok(())
    }

    fn val(&mut self, val: &Val) -> ExprResult<()> {
        match val {
            Val::Json(value, _) => self.value(value),
            Val::List(list) => {
                self.open('[')?;
                for (at, item) in list.items.iter().enumerate() {
                    self.next(at)?;
                    self.val(item)?;
                }
                self.close(']', list.items.len());
                Ok(())
            }
            Val::Record(record) => {
                self.open('{')?;
                let present = record.entries.iter().filter(|(_, val)| !val.is_undef());
                for (at, (key, val)) in present.enumerate() {
                    self.next(at)?;
                    self.key(key);
                    self.val(val)?;
                }
                self.close('}', record.entries.len());
                Ok(())
            }
            Val::Func(_) => {
                self.text.push_str("\"\"");
                Ok(())
            }
            Val::Undef | Val::Tuples(_) => {
                self.text.push_str("null");
                Ok(())
            }
        }
    }

    fn value(&mut self, value: &Value) -> ExprResult<()> {
        self.charge(1024)?;
        match value {
            Value::Null => self.text.push_str("null"),
            Value::Bool(true) => self.text.push_str("true"),
            Value::Bool(false) => self.text.push_str("false"),
            Value::Number(number) if number.as_f64().is_finite() => {
                self.text.push_str(&rounded_text(*number));
            }
            Value::Number(number) if number.as_f64().is_nan() => self.text.push_str("null"),
            Value::Number(_) => {
                let message = "an infinite number has no text";
                return Err(Flaw::new("D1001", message).value(value.clone()));
            }
            Value::String(text) => self.quoted(text),
            Value::Array(items) => {
                self.open('[')?;
                for (at, item) in items.iter().enumerate() {
                    self.next(at)?;
                    self.value(item)?;
                }
                self.close(']', items.len());
            }
            Value::Object(map) => {
                self.open('{')?;
                for (at, (key, value)) in map.iter().enumerate() {
                    self.next(at)?;
                    self.key(key);
                    self.value(value)?;
                }
                self.close('}', map.len());
            }
        }
        Ok(())
    }

    fn open(&mut self, bracket: char) -> ExprResult<()> {
        self.level += 1;
        if self.level > LEVELS_MAX {
            return Err(crate::limits::too_deep());
        }
        self.text.push(bracket);
        Ok(())
    }

    fn close(&mut self, bracket: char, count: usize) {
        self.level -= 1;
        if count > 0 {
            self.line();
        }
        self.text.push(bracket);
    }

    fn next(&mut self, at: usize) -> ExprResult<()> {
        if at > 0 {
            self.text.push(',');
        }
        self.line();
        self.meter.burn(1)
    }

    fn line(&mut self) {
        if self.pretty {
            self.text.push('\n');
            for _ in 0..self.level {
                self.text.push_str("  ");
            }
        }
    }

    fn key(&mut self, key: &str) {
        self.quoted(key);
        self.text.push_str(if self.pretty { ": " } else { ":" });
    }

    fn quoted(&mut self, text: &str) {
        self.text.push('"');
        for letter in text.chars() {
            match letter {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                '\u{8}' => self.text.push_str("\\b"),
                '\u{c}' => self.text.push_str("\\f"),
                control if (control as u32) < 0x20 => {
                    let _ = write!(self.text, "\\u{:04x}", control as u32);
                }
                other => self.text.push(other),
            }
        }
        self.text.push('"');
    }
}

impl Machine<'_> {
    pub(super) fn string(&mut self, val: &Val, pretty: &Val) -> ExprResult<Val> {
        if val.is_undef() {
            return Ok(Val::Undef);
        }
        let pretty = matches!(pretty, Val::Json(Value::Bool(true), _));
        Ok(Val::text(text_of(&self.meter, val, pretty)?))
    }

    pub(super) fn length(&mut self, text: &Val) -> ExprResult<Val> {
        let Some(text) = text.as_str() else {
            return Ok(Val::Undef);
        };
        self.meter.burn(text.len() as u64 / 16)?;
        Ok(Val::count(text.chars().count()))
    }

    pub(super) fn substring(&mut self, text: &Val, start: &Val, length: &Val) -> ExprResult<Val> {
        let Some(text) = text.as_str() else {
            return Ok(Val::Undef);
        };
        self.meter.text(text.len())?;
        let count = text.chars().count() as f64;
        let no_end =
            start.as_f64().is_none_or(f64::is_nan) || length.as_f64().is_some_and(f64::is_nan);
        if no_end && length.as_f64().is_some() {
            return Ok(Val::text(""));
        }
        let start = start.as_f64().unwrap_or(0.0);
        let start = if count + start < 0.0 { 0.0 } else { start };
        // An offset from the end is truncated on its own; the end position is truncated only after
        // adding.
        let base = if start < 0.0 { count } else { 0.0 };
        let to = match length.as_f64() {
            Some(length) if length <= 0.0 => return Ok(Val::text("")),
            Some(length) => base + start + length,
            None => count,
        };
        let (from, to) = (base + start.trunc(), to.trunc().min(count));
        if from >= to {
            return Ok(Val::text(""));
        }
        let place = |at: f64| {
            text.char_indices()
                .nth(at as usize)
                .map_or(text.len(), |(at, _)| at)
        };
        Ok(Val::text(&text[place(from)..place(to)]))
    }

    pub(super) fn substring_before(&mut self, text: &Val, mark: &Val) -> ExprResult<Val> {
        self.cut(text, mark, |text, at, _| &text[..at])
    }

    pub(super) fn substring_after(&mut self, text: &Val, mark: &Val) -> ExprResult<Val> {
        self.cut(text, mark, |text, at, length| &text[at + length..])
    }

    fn cut(
        &mut self,
        text: &Val,
        mark: &Val,
        part: fn(&str, usize, usize) -> &str,
    ) -> ExprResult<Val> {
        let Some(text) = text.as_str() else {
            return Ok(Val::Undef);
        };
        self.meter.text(text.len())?;
        let Some(mark) = mark.as_str() else {
            return Ok(Val::text(text.clone()));
        };
        Ok(match text.find(mark.as_str()) {
            Some(at) => Val::text(part(text, at, mark.len())),
            None => Val::text(text.clone()),
        })
    }

    pub(super) fn change_case(&mut self, builtin: Builtin, text: &Val) -> ExprResult<Val> {
        let Some(text) = text.as_str() else {
            return Ok(Val::Undef);
        };
        self.meter.text(text.len())?;
        Ok(Val::text(match builtin {
            Builtin::Lowercase => text.to_lowercase(),
            Builtin::Uppercase => text.to_uppercase(),
            _ => collapse_whitespace(text),
        }))
    }

    pub(super) fn pad(&mut self, text: &Val, width: &Val, fill: &Val) -> ExprResult<Val> {
        let (Some(text), Some(width)) = (text.as_str(), width.as_f64()) else {
            return Ok(text.clone());
        };
        let fill = fill
            .as_str()
            .filter(|fill| !fill.is_empty())
            .map_or(" ", Str::as_str);
        let missing = (width.abs() - text.chars().count() as f64).floor();
        if missing.is_nan() || missing <= 0.0 {
            return Ok(Val::text(text.clone()));
        }
        let longest = fill.chars().map(char::len_utf8).max().unwrap_or(1);
        let bytes = missing * longest as f64 + text.len() as f64;
        // Beyond 2^53 the cast saturates and the limit is certain to apply before any text is made.
        self.meter.text(bytes as usize)?;
        let padding: String = fill.chars().cycle().take(missing as usize).collect();
        Ok(Val::text(match width < 0.0 {
            true => padding + text,
            false => format!("{text}{padding}"),
        }))
    }

    pub(super) fn join(&mut self, list: &Val, separator: &Val) -> ExprResult<Val> {
        if list.is_undef() {
            return Ok(Val::Undef);
        }
        let separator = separator.as_str().cloned().unwrap_or_default();
        let mut joined = String::new();
        for (at, item) in list.items().iter().enumerate() {
            let Some(item) = item.as_str() else { continue };
            self.meter.text(item.len() + separator.len())?;
            self.meter.burn(1)?;
            if at > 0 {
                joined.push_str(&separator);
            }
            joined.push_str(item);
        }
        Ok(Val::text(joined))
    }
}

/// Collapses runs of whitespace into one space and trims both ends.
fn collapse_whitespace(text: &str) -> String {
    let words = text
        .split([' ', '\t', '\n', '\r'])
        .filter(|word| !word.is_empty());
    let mut out = String::with_capacity(text.len());
    for word in words {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

//! Parses a decimal picture: its active characters, and the parts they delimit.

use crate::text::TextError;
use crate::text::number::to_js_string;
use crate::value::{Map, Value};

/// The characters and texts with a meaning in a picture and in its output.
pub(super) struct Symbols {
    pub(super) decimal: char,
    pub(super) grouping: char,
    pub(super) exponent: char,
    pub(super) digit: char,
    pub(super) pattern: char,
    pub(super) zero: char,
    pub(super) minus: String,
    pub(super) percent: String,
    pub(super) per_mille: String,
    pub(super) infinity: String,
    pub(super) nan: String,
}

impl Symbols {
    /// The default symbols, with those that `options` replace.
    pub(super) fn read(options: Option<&Map>) -> Result<Self, TextError> {
        let text = |key: &str, usual: &str| match options.and_then(|options| options.get(key)) {
            None => Ok(usual.to_owned()),
            Some(Value::String(text)) => Ok(text.to_string()),
            Some(Value::Number(number)) => Ok(to_js_string(number.as_f64())),
            Some(other) => {
                let message = format!("the option `{key}` is {}, not a string", other.kind());
                Err(TextError::new("D3086", message).with(other.clone()))
            }
        };
        let char = |key: &str, usual: char| {
            let text = text(key, usual.encode_utf8(&mut [0; 4]))?;
            let mut chars = text.chars();
            match (chars.next(), chars.next()) {
                (Some(char), None) => Ok(char),
                _ => {
                    let message = format!("the option `{key}` must be a single character");
                    Err(TextError::new("D3086", message).with(text))
                }
            }
        };
        Ok(Self {
            decimal: char("decimal-separator", '.')?,
            grouping: char("grouping-separator", ',')?,
            exponent: char("exponent-separator", 'e')?,
            digit: char("digit", '#')?,
            pattern: char("pattern-separator", ';')?,
            zero: char("zero-digit", '0')?,
            minus: text("minus-sign", "-")?,
            percent: text("percent", "%")?,
            per_mille: text("per-mille", "\u{2030}")?,
            infinity: text("infinity", "Infinity")?,
            nan: text("NaN", "NaN")?,
        })
    }

    fn is_decimal_digit(&self, char: char) -> bool {
        (char as u32)
            .checked_sub(self.zero as u32)
            .is_some_and(|digit| digit <= 9)
    }

    fn is_digit(&self, char: char) -> bool {
        char == self.digit || self.is_decimal_digit(char)
    }

    fn is_active(&self, char: char) -> bool {
        self.is_digit(char)
            || [self.decimal, self.grouping, self.exponent, self.pattern].contains(&char)
    }

    /// The digit of the family for an ASCII digit; other characters are unchanged.
    pub(super) fn localised(&self, char: char) -> char {
        match char.to_digit(10) {
            Some(digit) => char::from_u32(self.zero as u32 + digit).unwrap_or(char),
            None => char,
        }
    }
}

/// The factor that a number is multiplied by before it is written.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum NumberScale {
    One,
    Percent,
    PerMille,
}

/// One sub-picture, parsed and checked.
pub(super) struct SubPicture {
    pub(super) prefix: String,
    pub(super) suffix: String,
    pub(super) scale: NumberScale,
    /// Separator positions in the integer part, counted in digits from the right, ascending.
    pub(super) integer_groups: Vec<usize>,
    /// Separator positions in the fraction, counted in digits from the left, ascending.
    pub(super) fraction_groups: Vec<usize>,
    pub(super) integer_min: usize,
    pub(super) fraction_min: usize,
    pub(super) fraction_max: usize,
    pub(super) scaling: usize,
    /// The minimum number of digits of the exponent, if there is one.
    pub(super) exponent_min: Option<usize>,
}

/// A sub-picture split at its separators.
struct SubPictureParts<'p> {
    whole: &'p str,
    prefix: &'p str,
    active: &'p str,
    suffix: &'p str,
    integer: &'p str,
    fraction: Option<&'p str>,
    exponent: Option<&'p str>,
}

impl<'p> SubPictureParts<'p> {
    fn cut(whole: &'p str, symbols: &Symbols) -> Self {
        let body = |char: char| symbols.is_active(char) && char != symbols.exponent;
        let (start, end) = match (whole.find(body), whole.rfind(body)) {
            (Some(start), Some(last)) => {
                let width = whole[last..].chars().next().map_or(0, char::len_utf8);
                (start, last + width)
            }
            _ => (0, whole.len()),
        };
        let active = &whole[start..end];
        let (mantissa, exponent) = match active.split_once(symbols.exponent) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            // Directly after the last digit it announces digits that are missing.
            None if whole[end..].starts_with(symbols.exponent) => (active, Some("")),
            None => (active, None),
        };
        let (integer, fraction) = match mantissa.split_once(symbols.decimal) {
            Some((integer, fraction)) => (integer, Some(fraction)),
            None => (mantissa, None),
        };
        Self {
            whole,
            prefix: &whole[..start],
            active,
            suffix: &whole[end..],
            integer,
            fraction,
            exponent,
        }
    }

    /// Checks the rules in the reference's order, in which the last violation is reported.
    fn check(&self, symbols: &Symbols) -> Result<(), TextError> {
        let twice = |text: &str| self.whole.find(text) != self.whole.rfind(text);
        let has = |text: &str| self.whole.contains(text);
        let decimal_digit = |char: char| symbols.is_decimal_digit(char);
        let fraction = self.fraction.unwrap_or("");
        let by_decimal = self.whole.find(symbols.decimal).is_some_and(|at| {
            let after = at + symbols.decimal.len_utf8();
            self.whole[..at].ends_with(symbols.grouping)
                || self.whole[after..].starts_with(symbols.grouping)
        });
        let optional_late = self
            .integer
            .split_once(symbols.digit)
            .is_some_and(|(before, _)| before.contains(decimal_digit));
        let optional_early = fraction
            .rsplit_once(symbols.digit)
            .is_some_and(|(_, after)| after.contains(decimal_digit));
        let mantissa_digit = self.integer.contains(|char| symbols.is_digit(char))
            || fraction.contains(|char| symbols.is_digit(char));
        let scaled = has(&symbols.percent) || has(&symbols.per_mille);
        let doubled: String = [symbols.grouping; 2].iter().collect();
        let exponent_flaw = self
            .exponent
            .is_some_and(|text| text.is_empty() || text.contains(|char| !decimal_digit(char)));
        let broken = [
            (
                "D3093",
                exponent_flaw,
                "the exponent must consist of decimal digits",
            ),
            (
                "D3092",
                self.exponent.is_some_and(|text| !text.is_empty()) && scaled,
                "a percent or per-mille sign cannot be combined with an exponent",
            ),
            (
                "D3091",
                optional_early,
                "in the fraction, an optional digit cannot come before a decimal digit",
            ),
            (
                "D3090",
                optional_late,
                "in the integer part, a decimal digit cannot come before an optional digit",
            ),
            (
                "D3089",
                has(&doubled),
                "two grouping separators cannot be adjacent",
            ),
            (
                "D3088",
                self.fraction.is_none() && self.integer.ends_with(symbols.grouping),
                "the integer part cannot end with a grouping separator",
            ),
            (
                "D3087",
                by_decimal,
                "a grouping separator cannot be adjacent to the decimal separator",
            ),
            (
                "D3086",
                self.active.contains(|char| !symbols.is_active(char)),
                "literal text cannot come between formatting characters",
            ),
            (
                "D3085",
                !mantissa_digit,
                "a picture needs at least one digit before the exponent",
            ),
            (
                "D3084",
                has(&symbols.percent) && has(&symbols.per_mille),
                "percent and per-mille cannot be used in one picture",
            ),
            (
                "D3083",
                twice(&symbols.per_mille),
                "the per-mille sign may appear only once",
            ),
            (
                "D3082",
                twice(&symbols.percent),
                "the percent sign may appear only once",
            ),
            (
                "D3081",
                self.whole.find(symbols.decimal) != self.whole.rfind(symbols.decimal),
                "the decimal separator may appear only once",
            ),
        ];
        match broken.into_iter().find(|(_, holds, _)| *holds) {
            Some((code, _, message)) => Err(TextError::new(code, message)),
            None => Ok(()),
        }
    }
}

impl SubPicture {
    /// Parses and checks one sub-picture.
    pub(super) fn read(whole: &str, symbols: &Symbols) -> Result<Self, TextError> {
        let parts = SubPictureParts::cut(whole, symbols);
        parts.check(symbols)?;
        let decimals = |text: &str| {
            text.chars()
                .filter(|c| symbols.is_decimal_digit(*c))
                .count()
        };
        let digits = |text: &str| text.chars().filter(|c| symbols.is_digit(*c)).count();
        let fraction = parts.fraction.unwrap_or("");
        let scaling = decimals(parts.integer);
        let mut integer_min = scaling;
        let (mut fraction_min, mut fraction_max) = (decimals(fraction), digits(fraction));
        if integer_min == 0 && fraction_max == 0 {
            if parts.exponent.is_some() {
                (fraction_min, fraction_max) = (1, 1);
            } else {
                integer_min = 1;
            }
        }
        if parts.exponent.is_some() && integer_min == 0 && parts.integer.contains(symbols.digit) {
            integer_min = 1;
        }
        if integer_min == 0 && fraction_min == 0 {
            fraction_min = 1;
        }
        let holds = |text: &str| !text.is_empty() && whole.contains(text);
        Ok(Self {
            prefix: parts.prefix.to_owned(),
            suffix: parts.suffix.to_owned(),
            scale: if holds(&symbols.percent) {
                NumberScale::Percent
            } else if holds(&symbols.per_mille) {
                NumberScale::PerMille
            } else {
                NumberScale::One
            },
            integer_groups: groups(parts.integer.chars().rev(), symbols),
            fraction_groups: groups(fraction.chars(), symbols),
            integer_min,
            fraction_min,
            fraction_max,
            scaling,
            exponent_min: parts.exponent.map(decimals),
        })
    }
}

/// The number of digits before each separator.
fn groups(chars: impl Iterator<Item = char>, symbols: &Symbols) -> Vec<usize> {
    let mut digits = 0;
    let mut places = Vec::new();
    for char in chars {
        if char == symbols.grouping {
            places.push(digits);
        } else if symbols.is_digit(char) {
            digits += 1;
        }
    }
    places
}

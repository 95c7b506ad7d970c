//! Formats a number by a decimal picture.
//!
//! Intended differences from the JSONata reference: an exponent is also found after a prefix, every
//! separator of a fraction is written, none comes before the first digit, numbers from 1e21 on keep
//! their digits, and separators in the options are single characters.

use super::picture::{NumberScale, SubPicture, Symbols};
use super::round;
use crate::text::TextError;
use crate::text::integer::Grouping;
use crate::value::Map;

/// Decimal places that are calculated: a double has no digit beyond it. Pictures that ask for more
/// get zeros.
const PLACES_MAX: usize = 1100;

/// Formats `value` by an XPath `format-number` picture; `options` replace the symbols.
pub(crate) fn format_number(
    value: f64,
    picture: &str,
    options: Option<&Map>,
) -> Result<String, TextError> {
    let symbols = Symbols::read(options)?;
    let mut halves = picture.split(symbols.pattern);
    let (first, second) = (halves.next().unwrap_or(""), halves.next());
    if halves.next().is_some() {
        let message = "a picture may have at most two sub-pictures";
        return Err(TextError::new("D3080", message));
    }
    let positive = SubPicture::read(first, &symbols)?;
    let negative = match second {
        Some(half) => Some(SubPicture::read(half, &symbols)?),
        None => None,
    };
    // As in the reference, NaN is written like a negative number.
    let below = value < 0.0 || value.is_nan();
    let half = match &negative {
        Some(negative) if below => negative,
        _ => &positive,
    };
    let sign = if below && negative.is_none() {
        symbols.minus.as_str()
    } else {
        ""
    };
    let body = half.body(value.abs(), &symbols);
    Ok(format!("{sign}{}{body}{}", half.prefix, half.suffix))
}

impl SubPicture {
    fn body(&self, size: f64, symbols: &Symbols) -> String {
        let scaled = match self.scale {
            NumberScale::One => size,
            NumberScale::Percent => size * 100.0,
            NumberScale::PerMille => size * 1000.0,
        };
        if scaled.is_infinite() {
            return symbols.infinity.clone();
        }
        let Some(exponent_min) = self.exponent_min else {
            return self.mantissa(scaled, symbols);
        };
        let (mantissa, exponent) = self.normalised(scaled);
        let mut text = self.mantissa(mantissa, symbols);
        text.push(symbols.exponent);
        if exponent < 0 {
            text.push_str(&symbols.minus);
        }
        let digits = exponent.unsigned_abs().to_string();
        let padding = exponent_min.saturating_sub(digits.len());
        text.extend(std::iter::repeat_n(symbols.zero, padding));
        text.extend(digits.chars().map(|digit| symbols.localised(digit)));
        text
    }

    /// The mantissa with as many integer digits as the picture has, and the remaining exponent.
    fn normalised(&self, size: f64) -> (f64, i32) {
        // A picture may ask for more digits than a double can be scaled to.
        let scaling = self.scaling.min(300) as i32;
        let (least, most) = (10_f64.powi(scaling - 1), 10_f64.powi(scaling));
        let (mut mantissa, mut exponent) = (size, 0);
        while mantissa != 0.0 && mantissa < least {
            mantissa *= 10.0;
            exponent -= 1;
        }
        while mantissa > most {
            mantissa /= 10.0;
            exponent += 1;
        }
        (mantissa, exponent)
    }

    fn mantissa(&self, size: f64, symbols: &Symbols) -> String {
        let places = self.fraction_max.min(PLACES_MAX);
        let rounded = round(size, places as i32);
        let fixed = format!("{rounded:.places$}");
        let (integer, fraction) = fixed.split_once('.').unwrap_or((&fixed, ""));
        let integer = match size.is_nan() {
            true => symbols.nan.as_str(),
            false => integer.trim_start_matches('0'),
        };
        let fraction = fraction.trim_end_matches('0');

        let padding = self.integer_min.saturating_sub(integer.len());
        let digits: Vec<char> = std::iter::repeat_n('0', padding)
            .chain(integer.chars())
            .map(|digit| symbols.localised(digit))
            .collect();
        let separators = |places: &[usize]| {
            places
                .iter()
                .map(|place| (*place, symbols.grouping))
                .collect()
        };
        let mut text = Grouping::of(separators(&self.integer_groups)).apply(&digits);

        let padding = self.fraction_min.saturating_sub(fraction.len());
        let zeros = std::iter::repeat_n('0', padding);
        let mut groups = self.fraction_groups.iter().peekable();
        for (at, digit) in fraction.chars().chain(zeros).enumerate() {
            if at == 0 {
                text.push(symbols.decimal);
            }
            while groups.next_if(|place| **place == at).is_some() {
                text.push(symbols.grouping);
            }
            text.push(symbols.localised(digit));
        }
        text
    }
}

//! Parses a date picture: literal text, and markers in brackets with their presentation.

use crate::text::integer::IntegerFormat;
use crate::text::{TextError, truncated};

/// Largest width in characters: a larger one is a mistake or an attack, not a layout.
const WIDTH_MAX: usize = 1000;

/// A part of a picture.
#[derive(Clone, Debug)]
pub(super) enum PicturePart {
    Literal(String),
    Marker(PictureMarker),
}

/// The component of a marker, and its presentation.
#[derive(Clone, Debug)]
pub(super) struct PictureMarker {
    pub(super) component: Component,
    pub(super) presentation: Presentation,
    /// Names are truncated to this many characters.
    pub(super) width_max: Option<usize>,
    /// Whether a time zone of zero is written `Z`.
    pub(super) zulu: bool,
    /// The year is written with only its last digits, this many.
    pub(super) year_digits: Option<u32>,
    /// Exact number of digits to read, because the next marker follows directly.
    pub(super) read_digits: Option<usize>,
}

/// How a component is written.
#[derive(Clone, Debug)]
pub(super) enum Presentation {
    Name(NameCase),
    Number(IntegerFormat),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NameCase {
    Lower,
    Upper,
    Title,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Component {
    Year,
    Month,
    Day,
    DayOfYear,
    Weekday,
    WeekOfYear,
    WeekOfMonth,
    WeekYear,
    WeekMonth,
    Hour,
    HourOfHalf,
    Half,
    Minute,
    Second,
    Fraction,
    Zone,
    ZoneName,
    Calendar,
    Era,
}

impl Component {
    /// The component of a letter, with its default presentation.
    fn of(letter: char) -> Option<(Self, &'static str)> {
        Some(match letter {
            'Y' => (Self::Year, "1"),
            'M' => (Self::Month, "1"),
            'D' => (Self::Day, "1"),
            'd' => (Self::DayOfYear, "1"),
            'F' => (Self::Weekday, "n"),
            'W' => (Self::WeekOfYear, "1"),
            'w' => (Self::WeekOfMonth, "1"),
            'X' => (Self::WeekYear, "1"),
            'x' => (Self::WeekMonth, "1"),
            'H' => (Self::Hour, "1"),
            'h' => (Self::HourOfHalf, "1"),
            'P' => (Self::Half, "n"),
            'm' => (Self::Minute, "01"),
            's' => (Self::Second, "01"),
            'f' => (Self::Fraction, "1"),
            'Z' => (Self::Zone, "01:01"),
            'z' => (Self::ZoneName, "01:01"),
            'C' => (Self::Calendar, "n"),
            'E' => (Self::Era, "n"),
            _ => return None,
        })
    }

    pub(super) fn letter(self) -> &'static str {
        match self {
            Self::Year => "Y",
            Self::Month => "M",
            Self::Day => "D",
            Self::DayOfYear => "d",
            Self::Weekday => "F",
            Self::WeekOfYear => "W",
            Self::WeekOfMonth => "w",
            Self::WeekYear => "X",
            Self::WeekMonth => "x",
            Self::Hour => "H",
            Self::HourOfHalf => "h",
            Self::Half => "P",
            Self::Minute => "m",
            Self::Second => "s",
            Self::Fraction => "f",
            Self::Zone => "Z",
            Self::ZoneName => "z",
            Self::Calendar => "C",
            Self::Era => "E",
        }
    }

    fn is_zone(self) -> bool {
        matches!(self, Self::Zone | Self::ZoneName)
    }

    fn is_number(self) -> bool {
        !self.is_zone() && !matches!(self, Self::Half | Self::Calendar | Self::Era)
    }

    /// The error for the name of a component that has none.
    pub(super) fn no_name_error(self) -> TextError {
        let letter = self.letter();
        let message = format!("only months and days have names, not `{letter}`");
        TextError::new("D3133", message).with(letter)
    }
}

/// Parses a whole picture.
pub(super) fn read(picture: &str) -> Result<Vec<PicturePart>, TextError> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = picture;
    while let Some(at) = rest.find('[') {
        push_literal(&mut literal, &rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('[') {
            literal.push('[');
            rest = after;
            continue;
        }
        let Some((marker, after)) = rest.split_once(']') else {
            let message = "a `[` in the date picture has no closing `]`";
            return Err(TextError::new("D3135", message));
        };
        if !literal.is_empty() {
            parts.push(PicturePart::Literal(std::mem::take(&mut literal)));
        }
        let marker = PictureMarker::read(marker)?;
        if let Some(PicturePart::Marker(before)) = parts.last_mut()
            && marker.component.is_number()
        {
            before.read_digits = before.digits();
        }
        parts.push(PicturePart::Marker(marker));
        rest = after;
    }
    push_literal(&mut literal, rest);
    if !literal.is_empty() {
        parts.push(PicturePart::Literal(literal));
    }
    Ok(parts)
}

fn push_literal(literal: &mut String, text: &str) {
    literal.push_str(&text.replace("]]", "]"));
}

impl PictureMarker {
    fn read(marker: &str) -> Result<Self, TextError> {
        let marker: String = marker
            .chars()
            .filter(|char| !char.is_whitespace())
            .collect();
        let letter = marker.chars().next();
        let Some((component, usual)) = letter.and_then(Component::of) else {
            let letter = letter.map(String::from).unwrap_or_default();
            let message = format!(
                "`{}` is not a component of a date or time",
                truncated(&letter)
            );
            return Err(TextError::new("D3132", message).with(letter));
        };
        let (presentation, width) = match marker[1..].rsplit_once(',') {
            Some((presentation, width)) => (presentation, Some(width)),
            None => (&marker[1..], None),
        };
        let (width_min, width_max) = widths(width)?;
        let mut modifier = None;
        let mut first = if presentation.is_empty() {
            usual
        } else {
            presentation
        };
        if presentation.chars().nth(1).is_some()
            && let Some(last) = presentation.chars().next_back()
            && "atco".contains(last)
        {
            modifier = Some(last);
            first = &presentation[..presentation.len() - 1];
        }
        let ordinal = modifier == Some('o');
        let mut read = Self {
            component,
            presentation: Presentation::Name(NameCase::Lower),
            width_max,
            zulu: modifier == Some('t'),
            year_digits: None,
            read_digits: None,
        };
        read.presentation = match (first.starts_with('n'), first.strip_prefix('N')) {
            _ if component.is_zone() => Presentation::Number(IntegerFormat::read(first)?),
            (true, _) => Presentation::Name(NameCase::Lower),
            (_, Some(rest)) if rest.starts_with('n') => Presentation::Name(NameCase::Title),
            (_, Some(_)) => Presentation::Name(NameCase::Upper),
            _ if component.is_number() => {
                let format = IntegerFormat::read_primary(first, ordinal)?;
                Presentation::Number(read.apply_widths(format, width_min))
            }
            _ => Presentation::Name(NameCase::Lower),
        };
        Ok(read)
    }

    /// Applies the minimum width, and for years the maximum.
    fn apply_widths(
        &mut self,
        mut format: IntegerFormat,
        width_min: Option<usize>,
    ) -> IntegerFormat {
        format.mandatory_digits = format.mandatory_digits.max(width_min.unwrap_or(0));
        if self.component == Component::Year {
            let digits = match self.width_max {
                Some(width) => {
                    format.mandatory_digits = width;
                    Some(width)
                }
                None => Some(format.mandatory_digits + format.optional_digits)
                    .filter(|digits| *digits >= 2),
            };
            self.year_digits = digits.map(|digits| u32::try_from(digits).unwrap_or(u32::MAX));
        }
        format
    }

    fn digits(&self) -> Option<usize> {
        match &self.presentation {
            Presentation::Number(format) if self.component.is_number() => {
                Some(format.mandatory_digits)
            }
            _ => None,
        }
    }
}

/// The minimum and maximum width; text that is not a number sets none.
fn widths(text: Option<&str>) -> Result<(Option<usize>, Option<usize>), TextError> {
    let Some(text) = text else {
        return Ok((None, None));
    };
    let (least, greatest) = text.split_once('-').unwrap_or((text, ""));
    let read = |text: &str| {
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        match text[..digits].parse::<usize>() {
            Ok(width) if width <= WIDTH_MAX => Ok(Some(width)),
            Err(_) if digits == 0 => Ok(None),
            _ => {
                let message = format!("a width in a date picture may be at most {WIDTH_MAX}");
                Err(TextError::new("D3130", message).with(text))
            }
        }
    };
    Ok((read(least)?, read(greatest)?))
}

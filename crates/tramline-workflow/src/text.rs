//! Text helpers: name suggestions, names in messages, durations and timestamps.

mod io_reason;
mod printable;
mod redact_text;

pub use io_reason::{io_reason, without_error_numbers};
pub use printable::{printable_json, printable_line, printable_lines};
pub use redact_text::RedactText;

/// Characters of a name in messages, to keep them readable.
const NAME_CHARS_SHOWN: usize = 60;

/// A name for a message: truncated, with terminal control characters escaped.
pub fn display_name(name: &str) -> String {
    let mut cut = String::new();
    for c in name.chars().take(NAME_CHARS_SHOWN) {
        if printable::is_terminal_control(c) {
            cut.extend(c.escape_default());
        } else {
            cut.push(c);
        }
    }
    if name.chars().nth(NAME_CHARS_SHOWN).is_some() {
        cut.push('…');
    }
    cut
}

/// The known name closest to `given`, if it is close enough to be what was meant.
pub fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Names compared for a suggestion; comparing more is slower than the hint is worth.
    const NAMES_MAX: usize = 1_000;
    /// Bytes of a name compared for a suggestion; the cost is quadratic.
    const NAME_BYTES_MAX: usize = 100;
    if given.len() > NAME_BYTES_MAX {
        return None;
    }
    let folded = given.to_lowercase();
    known
        .take(NAMES_MAX)
        .filter(|name| name.len() <= NAME_BYTES_MAX)
        .map(|name| {
            (
                strsim::normalized_damerau_levenshtein(&folded, &name.to_lowercase()),
                name,
            )
        })
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

/// Whether a name is probably a typo of a known one.
pub fn resembles(given: &str, known: &str) -> bool {
    /// Similarity above which an unknown name counts as a typo.
    const SIMILARITY_MIN: f64 = 0.75;
    let plain = |name: &str| name.to_lowercase().replace(['_', '-', ' '], "");
    strsim::normalized_damerau_levenshtein(&plain(given), &plain(known)) >= SIMILARITY_MIN
}

/// Parses a duration such as `500ms`, `1.5s`, `2m`, `1h` to milliseconds.
pub fn parse_duration_ms(text: &str) -> Option<u64> {
    /// Milliseconds of the longest duration, ten years: above every limit that durations are
    /// checked against.
    const MS_MAX: f64 = 10.0 * 366.0 * 24.0 * 3_600_000.0;
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1.0,
        "s" => 1_000.0,
        "m" | "min" => 60_000.0,
        "h" => 3_600_000.0,
        "d" => 86_400_000.0,
        _ => return None,
    };
    let digits = digits.trim_end();
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number: f64 = digits.parse().ok().filter(|_| plain)?;
    let ms = (number * unit).round();
    // The caller checks its own limits; beyond this the conversion would saturate.
    (ms <= MS_MAX).then_some(ms as u64)
}

/// The milliseconds in a day.
const DAY_MS: i64 = 86_400_000;

/// Formats a time in UTC to the second, as in RFC 3339.
pub fn format_timestamp(at_ms: i64) -> String {
    let (day, ms) = (at_ms.div_euclid(DAY_MS), at_ms.rem_euclid(DAY_MS));
    // Counted from 1 March of year 0, so that a leap day is the last day of a year.
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let date = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Parses a date or an RFC 3339 time to milliseconds since 1970. A date alone means midnight UTC.
pub fn parse_timestamp_ms(text: &str) -> Option<i64> {
    let (date, time) = match text.trim().split_once(['T', 't', ' ']) {
        None => (text.trim(), None),
        Some((date, time)) => (date, Some(time)),
    };
    let [year, month, day] = parse_numbers(date, '-', [4, 2, 2])?;
    let day_of_1970 = days(year, month, day)?;
    let ms = match time {
        None => 0,
        Some(time) => parse_clock_ms(time)?,
    };
    Some(day_of_1970 * DAY_MS + ms)
}

/// Parses a time with its offset to milliseconds since midnight UTC.
fn parse_clock_ms(text: &str) -> Option<i64> {
    let at = text.find(['Z', 'z', '+', '-'])?;
    let offset_min = match text.split_at(at) {
        (_, "Z" | "z") => 0,
        (_, offset) => {
            let [hours, minutes] = parse_numbers(&offset[1..], ':', [2, 2])?;
            let sign = if offset.starts_with('-') { -1 } else { 1 };
            (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))?
        }
    };
    let (whole, fraction) = text[..at].split_once('.').unwrap_or((&text[..at], "0"));
    let [hours, minutes, seconds] = parse_numbers(whole, ':', [2, 2, 2])?;
    // A leap second counts as the next second.
    let sound = hours < 24 && minutes < 60 && seconds <= 60;
    let digits = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    (sound && digits).then_some(
        ((hours * 60 + minutes - offset_min) * 60 + seconds) * 1_000 + (fraction * 1_000.0) as i64,
    )
}

/// Parses numbers with these digit counts and nothing else.
fn parse_numbers<const N: usize>(
    text: &str,
    between: char,
    digits: [usize; N],
) -> Option<[i64; N]> {
    let mut parts = text.split(between);
    let mut found = [0; N];
    for (number, digits) in found.iter_mut().zip(digits) {
        let part = parts.next()?;
        let plain = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = part.parse().ok().filter(|_| plain)?;
    }
    parts.next().is_none().then_some(found)
}

/// The number of days since 1970-01-01 in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let in_month = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=in_month).contains(&day) {
        return None;
    }
    // Years start in March, so that the leap day is the last one.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let before = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(before + (month * 153 + 2) / 5 + day - 1 - 719_468)
}

#[cfg(test)]
mod tests {
    use super::{format_timestamp, nearest, parse_duration_ms, parse_timestamp_ms};

    #[test]
    fn moments_are_written_as_they_are_read() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2000-02-29T23:59:59Z",
            "2026-11-17T04:25:00Z",
            "1969-12-31T23:59:59Z",
            "2100-03-01T00:00:00Z",
        ] {
            assert_eq!(format_timestamp(parse_timestamp_ms(text).unwrap()), text);
        }
    }

    #[test]
    fn moments_are_read_and_slips_are_not() {
        for (text, ms) in [
            ("1970-01-01", 0),
            ("2000-02-29", 951_782_400_000),
            ("2026-11-16T05:00:00Z", 1_794_805_200_000),
            ("2026-11-16T06:00:00.250+01:00", 1_794_805_200_250),
            ("2026-11-15 22:30:00-06:30", 1_794_805_200_000),
            ("1969-12-31", -86_400_000),
        ] {
            assert_eq!(parse_timestamp_ms(text), Some(ms), "{text}");
        }
        for text in [
            "",
            "2026",
            "2026-13-01",
            "2026-02-29",
            "2026-1-1",
            "26-01-01",
            "2026-01-01T00:00:00",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00Z",
            "2026-01-01T00:00:00.Z",
            "x",
            "2026-01-01T00:00:00+1:00",
        ] {
            assert_eq!(parse_timestamp_ms(text), None, "{text}");
        }
    }

    #[test]
    fn a_slip_is_understood_and_a_stranger_is_not() {
        assert_eq!(
            nearest("DO_CANCLE", ["DO_CANCEL", "START"].into_iter()),
            Some("DO_CANCEL")
        );
        assert_eq!(nearest("zebra", ["DO_CANCEL", "START"].into_iter()), None);
    }

    #[test]
    fn times_are_read_with_their_units() {
        let cases = [
            ("500ms", Some(500)),
            ("5s", Some(5_000)),
            ("1.5 s", Some(1_500)),
            ("2m", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("5", None),
            ("-5s", None),
            ("s", None),
            ("1e9s", None),
            ("99999999999h", None),
            ("5 parsecs", None),
        ];
        for (text, ms) in cases {
            assert_eq!(parse_duration_ms(text), ms, "{text}");
        }
    }
}

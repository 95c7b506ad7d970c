//! Parses ISO 8601 timestamps: a year, then optionally month, day, time and zone.

use super::calendar::millis_of;

/// The timestamp in milliseconds, or `None` if the text is not one. Without a zone it is UTC.
pub(super) fn parse(text: &str) -> Option<i64> {
    let mut rest = IsoReader(text.as_bytes());
    let year = rest.digits(4)?;
    let (mut month, mut day) = (1, 1);
    if rest.skip(b'-') {
        month = rest.digits(2).filter(|month| (1..=12).contains(month))?;
        if rest.skip(b'-') {
            day = rest.digits(2).filter(|day| (1..=31).contains(day))?;
        }
    }
    let mut time = [0; 4];
    let mut zone = 0;
    if rest.skip(b'T') {
        time = rest.time()?;
        zone = rest.zone()?;
    } else {
        rest.skip(b'Z');
    }
    if !rest.0.is_empty() {
        return None;
    }
    millis_of([year, month, day], time)?.checked_sub(zone * 60_000)
}

/// The remaining input.
struct IsoReader<'t>(&'t [u8]);

impl IsoReader<'_> {
    fn skip(&mut self, byte: u8) -> bool {
        let found = self.0.first() == Some(&byte);
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        digits.iter().try_fold(0, |number, byte| {
            byte.is_ascii_digit()
                .then(|| number * 10 + i64::from(byte - b'0'))
        })
    }

    fn time(&mut self) -> Option<[i64; 4]> {
        let hour = self.digits(2).filter(|hour| *hour <= 24)?;
        let minute = self.after_colon()?;
        let second = self.after_colon()?;
        let mut millisecond = 0;
        if self.skip(b'.') {
            let count = self
                .0
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            if count == 0 {
                return None;
            }
            let mut worth = 100;
            for byte in &self.0[..count.min(3)] {
                millisecond += i64::from(byte - b'0') * worth;
                worth /= 10;
            }
            self.0 = &self.0[count..];
        }
        let late = hour == 24 && (minute, second, millisecond) != (0, 0, 0);
        (!late).then_some([hour, minute, second, millisecond])
    }

    fn after_colon(&mut self) -> Option<i64> {
        if !self.skip(b':') {
            return None;
        }
        self.digits(2).filter(|part| *part <= 59)
    }

    /// Minutes from UTC.
    fn zone(&mut self) -> Option<i64> {
        let sign = match self.0.first() {
            None => return Some(0),
            Some(b'Z') => {
                self.skip(b'Z');
                return Some(0);
            }
            Some(b'+') => 1,
            Some(b'-') => -1,
            Some(_) => return None,
        };
        self.0 = &self.0[1..];
        let hours = self.digits(2).filter(|hours| *hours <= 23)?;
        self.skip(b':');
        let minutes = self.digits(2).filter(|minutes| *minutes <= 59)?;
        Some(sign * (hours * 60 + minutes))
    }
}

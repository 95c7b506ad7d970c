//! The proleptic Gregorian calendar: days and milliseconds to years, weeks and clock readings.

/// The largest number of milliseconds, on either side of 1970, that JavaScript has a date for.
pub(super) const MILLIS_MAX: i64 = 8_640_000_000_000_000;

const DAY_MS: i64 = 86_400_000;
/// Days from 1 March of year 0 to 1 January 1970.
const EPOCH_DAYS: i64 = 719_468;
const ERA_DAYS: i64 = 146_097;

/// A timestamp split into its calendar parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CalendarTime {
    days: i64,
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) millisecond: i64,
}

impl CalendarTime {
    /// The moment `millis` milliseconds after 1970; at most [`MILLIS_MAX`] in either direction.
    pub(super) fn at(millis: i64) -> Self {
        let days = millis.div_euclid(DAY_MS);
        let clock = millis.rem_euclid(DAY_MS);
        let (year, month, day) = date_of(days);
        Self {
            days,
            year,
            month,
            day,
            hour: clock / 3_600_000,
            minute: clock / 60_000 % 60,
            second: clock / 1000 % 60,
            millisecond: clock % 1000,
        }
    }

    /// Monday is 1, Sunday 7.
    pub(super) fn weekday(&self) -> i64 {
        (self.days + 3).rem_euclid(7) + 1
    }

    pub(super) fn day_of_year(&self) -> i64 {
        self.days - days_to(self.year, 1, 1) + 1
    }

    /// The Thursday of this week: a week belongs to the year and month of its Thursday.
    fn thursday(&self) -> Self {
        let days = self.days + 4 - self.weekday();
        let (year, month, day) = date_of(days);
        Self {
            days,
            year,
            month,
            day,
            ..*self
        }
    }

    pub(super) fn week_year(&self) -> i64 {
        self.thursday().year
    }

    pub(super) fn week_month(&self) -> i64 {
        self.thursday().month
    }

    pub(super) fn week_of_year(&self) -> i64 {
        (self.thursday().day_of_year() - 1) / 7 + 1
    }

    pub(super) fn week_of_month(&self) -> i64 {
        (self.thursday().day - 1) / 7 + 1
    }

    /// The hour on a twelve-hour clock.
    pub(super) fn hour_of_half(&self) -> i64 {
        match self.hour % 12 {
            0 => 12,
            hour => hour,
        }
    }
}

/// Year, month and day of the day `days` days after 1970. Years start in March here, so that the
/// leap day is the last day of a year.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH_DAYS;
    let era = days.div_euclid(ERA_DAYS);
    let of_era = days.rem_euclid(ERA_DAYS);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// Days from 1970 to a date with a month from 1 to 12 and any day.
fn days_to(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let shifted = (month + 9) % 12;
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH_DAYS
}

/// Milliseconds after 1970 of a date and time whose parts may exceed their usual range: month 13 is
/// the next January, hour 24 the next midnight. `None` beyond [`MILLIS_MAX`].
pub(super) fn millis_of(date: [i64; 3], time: [i64; 4]) -> Option<i64> {
    /// The largest part of a date used in calculations: far beyond every existing date.
    const PART_MAX: i64 = 100_000_000_000;
    let [year, month, day] = date;
    let parts = date.iter().chain(&time);
    if parts.clone().any(|part| part.abs() > PART_MAX) {
        return None;
    }
    let year = year + (month - 1).div_euclid(12);
    let days = days_to(year, (month - 1).rem_euclid(12) + 1, day);
    if days.abs() > 2 * MILLIS_MAX / DAY_MS {
        return None;
    }
    let [hour, minute, second, millisecond] = time;
    let clock = ((hour * 60 + minute) * 60 + second) * 1000 + millisecond;
    Some(days * DAY_MS + clock).filter(|millis| millis.abs() <= MILLIS_MAX)
}

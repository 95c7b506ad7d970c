//! The text functions against the official cases, and against random input.

use super::TextError;
use super::date::{from_millis, to_millis};
use super::integer::{format_integer, parse_integer};
use super::number::{format_base, format_number, round, to_js_string};
use crate::value::Value;
use proptest::prelude::*;

mod differential;
mod suite;

fn code<T: std::fmt::Debug>(outcome: Result<T, TextError>) -> &'static str {
    outcome.expect_err("an error").code
}

#[test]
fn numbers_print_as_javascript_prints_them() {
    for (number, text) in [
        (0.0, "0"),
        (-0.0, "0"),
        (1e21, "1e+21"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e-7, "1e-7"),
        (0.1 + 0.2, "0.30000000000000004"),
        (f64::NEG_INFINITY, "-Infinity"),
    ] {
        assert_eq!(to_js_string(number), text);
    }
}

#[test]
fn halves_round_to_even() {
    for (number, places, rounded) in [
        (0.5, 0, 0.0),
        (1.5, 0, 2.0),
        (-2.5, 0, -2.0),
        (1.005, 2, 1.0),
        (4.525, 2, 4.52),
        (4.515, 2, 4.52),
        (12345.0, -2, 12300.0),
        (0.49999999999999994, 0, 0.0),
        (1e300, 300, 1e300),
        (5.0, i32::MIN, 0.0),
    ] {
        assert_eq!(round(number, places), rounded, "{number} {places}");
    }
}

#[test]
fn nothing_runs_away() {
    assert_eq!(code(format_integer(f64::INFINITY, "w")), "D1001");
    assert_eq!(code(format_integer(f64::NAN, "w")), "D1001");
    assert_eq!(format_integer(f64::NAN, "0").unwrap(), "NaN");
    assert_eq!(format_integer(f64::NAN, "I").unwrap(), "");
    assert_eq!(code(format_integer(1e15, "I")), "D3130");
    assert_eq!(
        format_number(f64::INFINITY, "0e0", None).unwrap(),
        "Infinity"
    );
    assert_eq!(format_number(f64::NAN, "(0)", None).unwrap(), "-(NaN)");
    assert_eq!(code(from_millis(i64::MAX, None, None)), "D1001");
    assert_eq!(code(from_millis(0, Some("[Y,999999999]"), None)), "D3130");
    assert_eq!(code(to_millis("999999999", Some("[Y]"), 0)), "D3110");
    for picture in [
        "0", "#", "0,", "[Y]", "[", "]]", "I", "w", "0.", "[Dwo]", "[Y][M]",
    ] {
        let long = picture.repeat(50_000 / picture.len());
        let _ = format_integer(1e308, &long);
        let _ = parse_integer(&long, &long);
        let _ = format_number(1e308, &long, None);
        let _ = format_number(1e308, &format!("0.{long}"), None);
        let _ = from_millis(0, Some(&long), None);
        let _ = to_millis(&long, Some(&long), 0);
        let _ = to_millis(&"1".repeat(100_000), Some(&long), 0);
    }
    let many = "[Dw]".repeat(100);
    let _ = to_millis(&"one ".repeat(1000), Some(&many), 0);
}

#[test]
fn on_purpose_not_as_the_reference() {
    assert_eq!(format_integer(12.0, "##,##,##0").unwrap(), "12");
    assert_eq!(
        format_integer(1e21, "#,##0").unwrap(),
        "1,000,000,000,000,000,000,000"
    );
    assert_eq!(
        parse_integer("1.234.567", "#.##0").unwrap(),
        Some(1234567.0)
    );
    assert_eq!(parse_integer("foo", "w").unwrap(), None);
    assert_eq!(format_number(1234.0, "x00.0e0", None).unwrap(), "x12.3e2");
    assert_eq!(
        format_number(1.23456, "0.0,0,0,0", None).unwrap(),
        "1.2,3,4,6"
    );
    assert_eq!(
        from_millis(0, None, Some("-0530")).unwrap(),
        "1969-12-31T18:30:00.000-05:30"
    );
    assert_eq!(
        from_millis(0, Some("[H01]:[m01][Z]"), Some("+05:30")).unwrap(),
        "05:30+05:30"
    );
    assert_eq!(code(from_millis(0, None, Some("xyz"))), "D3134");
    let date = |text, picture| to_millis(text, Some(picture), 0).unwrap();
    assert_eq!(date("2018 FEB", "[Y] [MN,3-3]"), Some(1_517_443_200_000));
    assert_eq!(date("2018 foo", "[Y] [MNn]"), None);
    assert_eq!(
        date("2018-2-3 -05:30", "[Y]-[M]-[D] [Z]"),
        Some(1_517_635_800_000)
    );
    assert_eq!(
        date("2018-2-3 Z", "[Y]-[M]-[D] [Z01:01t]"),
        Some(1_517_616_000_000)
    );
    assert_eq!(
        date("2018-094 13", "[Y0001]-[d001] [H]"),
        Some(1_522_846_800_000)
    );
}

#[test]
fn missing_parts_in_front_come_from_now() {
    let now = 1_522_846_800_123;
    assert_eq!(
        to_millis("13:45", Some("[H]:[m]"), now).unwrap(),
        Some(1_522_849_500_000)
    );
    assert_eq!(to_millis("5", Some("[F1]"), now).unwrap(), Some(now));
}

#[test]
fn bases() {
    assert_eq!(format_base(1e21, None).unwrap(), "1e+21");
    let two = "1101100011010111001001101011011100010111011110101000000000000000000000";
    assert_eq!(format_base(1e21, Some(2.0)).unwrap(), two);
    assert_eq!(format_base(-255.0, Some(16.0)).unwrap(), "-ff");
    assert_eq!(format_base(0.0, Some(2.0)).unwrap(), "0");
    assert_eq!(code(format_base(1.0, Some(f64::NAN))), "D3100");
    assert!(
        format_base(1e308, Some(36.0))
            .unwrap()
            .starts_with("plye0xc6znk000")
    );
}

proptest! {
    #[test]
    fn never_panics(number in proptest::num::f64::ANY, millis in any::<i64>(), text in ".{0,40}",
                    picture in "[#0-9,.;eaAiIwWo%‰\\[\\]YMDdFWwXxHhPmsfZzCENnt*: -]{0,24}",
                    zone in proptest::option::of("[-+0-9:Z]{0,6}")) {
        let _ = format_integer(number, &picture);
        let _ = parse_integer(&text, &picture);
        let _ = format_number(number, &picture, None);
        let _ = format_number(number, &text, None);
        let _ = format_base(number, Some(number));
        let _ = from_millis(millis, Some(&picture), zone.as_deref());
        let _ = from_millis(millis % 8_000_000_000_000_000, Some(&format!("[{picture}]")), zone.as_deref());
        let _ = to_millis(&text, Some(&picture), millis);
        let _ = to_millis(&text, Some(&format!("[{picture}]")), millis);
        let _ = to_millis(&text, None, millis);
    }

    #[test]
    fn dates_read_back(millis in -62_135_596_800_000_i64..253_402_300_800_000) {
        let text = from_millis(millis, None, None).unwrap();
        prop_assert_eq!(to_millis(&text, None, 0).unwrap(), Some(millis));
    }

    #[test]
    fn words_read_back(number in 0_u64..1_000_000_000_000_000) {
        for picture in ["w", "W;o", "Ww", "#,##0", "0;o", "a", "A"] {
            let text = format_integer(number as f64, picture).unwrap();
            prop_assert_eq!(parse_integer(&text, picture).unwrap(), Some(number as f64));
        }
    }
}

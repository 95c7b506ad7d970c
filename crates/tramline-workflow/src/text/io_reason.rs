//! Errors of the operating system in words, without its numbers.

use std::io;

/// What precedes the number that the standard library appends to an error of the operating system.
const NUMBER_START: &str = " (os error ";

/// Why a file, pipe or connection could not be used: `No such file or directory`.
pub fn io_reason(error: &io::Error) -> String {
    without_error_numbers(&error.to_string())
}

/// A message with every ` (os error 2)` in it removed: libraries pass them on inside their own messages.
pub fn without_error_numbers(text: &str) -> String {
    let mut parts = text.split(NUMBER_START);
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        match rest.strip_prefix(')') {
            Some(rest) if rest.len() < part.len() - 1 => clean.push_str(rest),
            Some(_) | None => {
                clean.push_str(NUMBER_START);
                clean.push_str(part);
            }
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_operating_system_are_left_out() {
        let missing = io::Error::from_raw_os_error(2);
        assert_eq!(io_reason(&missing), "No such file or directory");
        assert_eq!(io_reason(&io::Error::other("it is a pipe")), "it is a pipe");
        for (text, clean) in [
            (
                "connect: Connection refused (os error 111): later",
                "connect: Connection refused: later",
            ),
            ("a (os error 2) b (os error 13)", "a b"),
            ("a (os error x)", "a (os error x)"),
            ("a (os error )", "a (os error )"),
            ("", ""),
        ] {
            assert_eq!(without_error_numbers(text), clean);
        }
    }
}

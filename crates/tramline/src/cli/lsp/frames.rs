//! The framing of the Language Server Protocol: headers, an empty line, and a JSON body.
//!
//! Our own, because the usual crate reads messages of any size and brings a thread and a channel.

use std::io::{BufRead, Error, ErrorKind, Read as _, Result};

/// Largest message, in bytes: a document of the largest size, escaped.
const MESSAGE_BYTES_MAX: usize = 32 << 20;
/// Longest header line, in bytes; real ones have fewer than 100.
const HEADER_BYTES_MAX: u64 = 4 << 10;
/// Most header lines of a message; real messages have one or two.
const HEADERS_MAX: usize = 16;

/// Reads one message; `None` at the end of the input.
pub(super) fn read(input: &mut impl BufRead) -> Result<Option<String>> {
    let mut length = None;
    for count in 0..=HEADERS_MAX {
        let mut line = Vec::new();
        input
            .by_ref()
            .take(HEADER_BYTES_MAX)
            .read_until(b'\n', &mut line)?;
        if line.is_empty() && count == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let Some(header) = line.strip_suffix('\n') else {
            return Err(invalid("a header has no end"));
        };
        let header = header.trim_end_matches('\r');
        if header.is_empty() {
            return body(input, length).map(Some);
        }
        if let Some((name, value)) = header.split_once(':')
            && name.trim().eq_ignore_ascii_case("content-length")
        {
            let value = value.trim().parse::<usize>();
            length = Some(value.map_err(|_| invalid("Content-Length is not a number"))?);
        }
    }
    Err(invalid("too many headers"))
}

fn body(input: &mut impl BufRead, length: Option<usize>) -> Result<String> {
    let length = length.ok_or_else(|| invalid("Content-Length is missing"))?;
    if length > MESSAGE_BYTES_MAX {
        return Err(invalid("the message is too large"));
    }
    let mut body = Vec::new();
    input.by_ref().take(length as u64).read_to_end(&mut body)?;
    if body.len() < length {
        return Err(Error::new(
            ErrorKind::UnexpectedEof,
            "the message is cut off",
        ));
    }
    String::from_utf8(body).map_err(|_| invalid("the message is not UTF-8"))
}

fn invalid(message: &str) -> Error {
    Error::new(ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_one_by_one() {
        let mut input =
            "content-length: 2\r\nContent-Type: x\r\n\r\n{}Content-Length: 4\r\n\r\n\"ä\""
                .as_bytes();
        assert_eq!(read(&mut input).unwrap().as_deref(), Some("{}"));
        assert_eq!(read(&mut input).unwrap().as_deref(), Some("\"ä\""));
        assert_eq!(read(&mut input).unwrap(), None);
    }

    #[test]
    fn invalid_frames_are_errors() {
        for text in [
            "Content-Length: 9\r\n\r\n{}",
            "Content-Length: x\r\n\r\n{}",
            "Content-Length: 99999999999\r\n\r\n",
            "\r\n{}",
            "no end",
        ] {
            assert!(read(&mut text.as_bytes()).is_err(), "{text}");
        }
        let endless = "A: b\r\n".repeat(HEADERS_MAX + 1);
        assert!(read(&mut endless.as_bytes()).is_err());
    }
}

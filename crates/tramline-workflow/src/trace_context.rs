//! W3C trace context: the caller's span that a run or a call belongs to.
//!
//! It is sent in a request's `_meta` or headers. Invalid or oversized values are ignored.

use serde::{Deserialize, Serialize};
use tramline_expr::Str;

/// The field names in `_meta` and the header names.
pub const HEADER_NAMES: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// Bytes of `tracestate`; the size that the specification requires to be propagated.
const STATE_BYTES_MAX: usize = 512;
/// Bytes of `baggage`; the size that the specification requires to be propagated.
const BAGGAGE_BYTES_MAX: usize = 8_192;
/// The flag for a span that the caller records.
const SAMPLED: u8 = 1;

/// The caller's span that a run or a call belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TraceContextHeaders", into = "TraceContextHeaders")]
pub struct TraceContext {
    /// The trace id. Never 0.
    pub trace: u128,
    /// The span id. Never 0.
    pub span: u64,
    /// Whether that span is recorded.
    pub sampled: bool,
    /// Vendor-specific state.
    pub state: Option<Str>,
    /// Application data that is propagated to every callee.
    pub baggage: Option<Str>,
}

/// The serialized form.
#[derive(Clone, Serialize, Deserialize)]
struct TraceContextHeaders {
    traceparent: Str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tracestate: Option<Str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    baggage: Option<Str>,
}

impl From<TraceContext> for TraceContextHeaders {
    fn from(upstream: TraceContext) -> Self {
        Self {
            traceparent: upstream.traceparent().into(),
            tracestate: upstream.state,
            baggage: upstream.baggage,
        }
    }
}

impl TryFrom<TraceContextHeaders> for TraceContext {
    type Error = &'static str;

    fn try_from(written: TraceContextHeaders) -> Result<Self, Self::Error> {
        let read = Self::read(|name| match name {
            "traceparent" => Some(&written.traceparent),
            "tracestate" => written.tracestate.as_deref(),
            _ => written.baggage.as_deref(),
        });
        read.ok_or("not a traceparent")
    }
}

impl TraceContext {
    /// Reads what a caller sent, looked up by name. `None` without a valid `traceparent`.
    pub fn read<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let (trace, span, sampled) = parse_traceparent(get(HEADER_NAMES[0])?)?;
        let kept = |name: &str, most: usize| {
            let text = get(name)?.trim();
            let plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
            (!text.is_empty() && plain && text.len() <= most).then(|| Str::from(text))
        };
        Some(Self {
            trace,
            span,
            sampled,
            state: kept(HEADER_NAMES[1], STATE_BYTES_MAX),
            baggage: kept(HEADER_NAMES[2], BAGGAGE_BYTES_MAX),
        })
    }

    /// The `traceparent` header value.
    pub fn traceparent(&self) -> String {
        let flags = if self.sampled { SAMPLED } else { 0 };
        format!("00-{:032x}-{:016x}-{flags:02x}", self.trace, self.span)
    }

    /// All names and values to send. Empty ones are omitted.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, String)> {
        let texts = [
            Some(self.traceparent()),
            self.state.as_ref().map(ToString::to_string),
            self.baggage.as_ref().map(ToString::to_string),
        ];
        let pairs = HEADER_NAMES.into_iter().zip(texts);
        pairs.filter_map(|(name, text)| Some((name, text?)))
    }
}

/// The trace id, the span id, and whether the span is recorded.
fn parse_traceparent(text: &str) -> Option<(u128, u64, bool)> {
    let mut parts = text.trim().split('-');
    let mut hex = |digits: usize| {
        let part = parts.next().filter(|part| part.len() == digits)?;
        let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        part.bytes().all(lower).then_some(())?;
        u128::from_str_radix(part, 16).ok()
    };
    let version = hex(2)?;
    let (trace, span, flags) = (hex(32)?, hex(16)?, hex(2)?);
    // Later versions may append fields; version 0 must not.
    let more = parts.next().is_some();
    let sound = version != 0xff && !(version == 0 && more) && trace != 0 && span != 0;
    let span = u64::try_from(span).ok()?;
    sound.then_some((trace, span, flags & u128::from(SAMPLED) != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn read(parent: &str, state: Option<&str>, baggage: Option<&str>) -> Option<TraceContext> {
        TraceContext::read(|name| match name {
            "traceparent" => Some(parent),
            "tracestate" => state,
            "baggage" => baggage,
            _ => None,
        })
    }

    #[test]
    fn what_is_sound_is_read_and_written_the_same() {
        let upstream = read(SOUND, Some("a=1"), Some("who=me")).unwrap();
        assert!(upstream.sampled);
        assert_eq!(upstream.traceparent(), SOUND);
        let pairs: Vec<_> = upstream.pairs().collect();
        assert_eq!(pairs[1], ("tracestate", "a=1".to_owned()));
        assert_eq!(pairs[2], ("baggage", "who=me".to_owned()));
        let json = serde_json::to_string(&upstream).unwrap();
        assert_eq!(
            serde_json::from_str::<TraceContext>(&json).unwrap(),
            upstream
        );
    }

    #[test]
    fn what_is_not_is_taken_for_not_there() {
        for bad in [
            "",
            "00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(read(bad, None, None), None, "{bad}");
        }
        let later = "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-more";
        assert!(!read(later, None, None).unwrap().sampled);
    }

    #[test]
    fn what_is_empty_or_too_long_beside_it_is_dropped() {
        let long = "x".repeat(9_000);
        let upstream = read(SOUND, Some(" "), Some(&long)).unwrap();
        assert_eq!((upstream.state, upstream.baggage), (None, None));
        assert_eq!(read(SOUND, Some("a=\n1"), None).unwrap().state, None);
    }
}

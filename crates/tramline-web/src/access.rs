//! How a browser gets the studio's key: in exchange for a one-time code in the address it is opened
//! with.
//!
//! Addresses end up in browser histories, process lists and logs. They never contain the key, only
//! a code, which is worthless once it was used or has expired.

use crate::extract::JsonBody;
use crate::response::ApiError;
use axum::Json;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, HeaderName};
use serde::Deserialize;
use serde_json::{Value as Reply, json};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long a code is valid: enough to copy an address into a browser by hand.
const CODE_LIFETIME: Duration = Duration::from_secs(5 * 60);

/// Random bytes in a code: 128 bits cannot be guessed within its lifetime, at any rate of attempts.
const CODE_BYTES: usize = 16;

/// The maximum number of valid codes: a few tabs or browsers. At the limit, a request for another
/// code has no effect, so that other callers cannot flood the terminal.
const CODES_MAX: usize = 4;

/// The largest key request, in bytes: a code and the JSON around it.
pub(crate) const EXCHANGE_BYTES_MAX: usize = 1 << 10;

/// Prints an address of the studio where only the operator can read it.
pub type PrintAddress = Box<dyn Fn(&str) + Send + Sync>;

/// The time source.
type Clock = Box<dyn Fn() -> Instant + Send + Sync>;

/// How the operator gets another address of the studio while it is served.
pub enum FurtherAddress {
    /// It is printed when the page asks for one.
    Printed(PrintAddress),
    /// It is not printed; this is the instruction to show instead.
    Unavailable(&'static str),
}

/// The studio's key, with the one-time codes that can be exchanged for it.
pub struct StudioAccess {
    key: String,
    codes: Mutex<OneTimeCodes>,
    url: OnceLock<String>,
    further: FurtherAddress,
    clock: Clock,
}

impl StudioAccess {
    /// Hands out this key.
    pub fn new(key: impl Into<String>, further: FurtherAddress) -> Self {
        Self {
            key: key.into(),
            codes: Mutex::default(),
            url: OnceLock::new(),
            further,
            clock: Box::new(Instant::now),
        }
    }

    /// The same with another clock.
    #[must_use]
    pub fn with_clock(self, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        let clock = Box::new(clock);
        Self { clock, ..self }
    }

    /// Sets the address of the page. Only the first call counts.
    pub fn serve_at(&self, url: impl Into<String>) {
        let _ = self.url.set(url.into());
    }

    /// A new address of the page with a one-time code; `None` at the limit of valid codes, or
    /// before the address of the page is known.
    pub fn fresh_address(&self) -> std::io::Result<Option<String>> {
        let Some(url) = self.url.get() else {
            return Ok(None);
        };
        let now = (self.clock)();
        let mut bytes = [0_u8; CODE_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
        let code: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let is_kept = self.with_codes(|codes| codes.keep(code.clone(), now));
        Ok(is_kept.then(|| format!("{url}#code={code}")))
    }

    /// Exchanges a valid code for the key. Each code works once.
    fn exchange(&self, shown: &str) -> Option<&str> {
        let now = (self.clock)();
        let is_good = self.with_codes(|codes| codes.redeem(shown, now));
        is_good.then_some(self.key.as_str())
    }

    fn with_codes<T>(&self, work: impl FnOnce(&mut OneTimeCodes) -> T) -> T {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut codes)
    }

    /// Prints another address if possible, and returns where the operator finds it.
    fn print_further(&self) -> &'static str {
        match &self.further {
            FurtherAddress::Unavailable(instead) => instead,
            FurtherAddress::Printed(print) => match self.fresh_address() {
                Ok(Some(address)) => {
                    print(&address);
                    "a new address is printed in the terminal where the server was started: open that one"
                }
                Ok(None) => {
                    "open the latest address in the terminal where the server was started, or wait five minutes and ask for a new one"
                }
                Err(_) => "the system has no random bytes for a new one: restart the server",
            },
        }
    }
}

impl std::fmt::Debug for StudioAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StudioAccess").finish_non_exhaustive()
    }
}

/// One-time codes, valid until they expire.
#[derive(Default)]
struct OneTimeCodes {
    /// Each with its expiry time.
    alive: Vec<(String, Instant)>,
}

impl OneTimeCodes {
    /// Adds a code, unless the limit is reached.
    fn keep(&mut self, code: String, now: Instant) -> bool {
        self.expire(now);
        let has_room = self.alive.len() < CODES_MAX;
        if has_room {
            self.alive.push((code, now + CODE_LIFETIME));
        }
        has_room
    }

    /// Whether the code is valid; this uses it up. All codes are compared, so that timing reveals
    /// nothing.
    fn redeem(&mut self, shown: &str, now: Instant) -> bool {
        self.expire(now);
        let mut found = None;
        for (at, (code, _)) in self.alive.iter().enumerate() {
            if is_same(code.as_bytes(), shown.as_bytes()) {
                found = Some(at);
            }
        }
        found.map(|at| self.alive.swap_remove(at)).is_some()
    }

    fn expire(&mut self, now: Instant) {
        self.alive.retain(|(_, expires)| now < *expires);
    }
}

/// Compares in constant time.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// A request for the key; without a code, for another address.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyRequest {
    code: Option<String>,
}

type KeyReply = ([(HeaderName, &'static str); 1], Json<Reply>);

/// Returns the key for a valid code. Otherwise explains how to get another.
pub(crate) async fn exchange(
    State(access): State<Arc<StudioAccess>>,
    JsonBody(request): JsonBody<KeyRequest>,
) -> Result<KeyReply, ApiError> {
    if let Some(key) = request
        .code
        .as_deref()
        .and_then(|code| access.exchange(code))
    {
        // Browsers and proxies must not cache it.
        let headers = [(CACHE_CONTROL, "no-store")];
        return Ok((headers, Json(json!({ "key": key }))));
    }
    let why = match request.code {
        Some(_) => "this address of the studio was used before, or has expired; ",
        None => "",
    };
    // A suspended terminal must not block other requests.
    let printing = tokio::task::spawn_blocking(move || access.print_further());
    let next = printing.await.unwrap_or("restart the server");
    Err(ApiError::bad_code(format!("{why}{next}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once_and_until_it_expires() {
        let start = Instant::now();
        let mut codes = OneTimeCodes::default();
        assert!(codes.keep("a".into(), start) && codes.keep("b".into(), start));
        assert!(!codes.redeem("", start) && !codes.redeem("ab", start));
        assert!(codes.redeem("a", start) && !codes.redeem("a", start));
        let last = start + CODE_LIFETIME - Duration::from_nanos(1);
        assert!(!codes.redeem("c", last));
        assert!(!codes.redeem("b", start + CODE_LIFETIME));
        assert!(codes.alive.is_empty());
        codes.keep("d".into(), start);
        assert!(codes.redeem("d", last));
    }

    #[test]
    fn a_few_codes_are_alive_at_most() {
        let start = Instant::now();
        let mut codes = OneTimeCodes::default();
        let kept = (0..100).filter(|at: &i32| codes.keep(at.to_string(), start));
        assert_eq!(kept.count(), CODES_MAX);
        assert!(!codes.redeem("99", start), "it was not added");
        assert!(codes.redeem("0", start) && codes.keep("x".into(), start));
        assert!(codes.keep("y".into(), start + CODE_LIFETIME));
    }
}

//! Host and origin checks: which host a request names, and which page sent it.
//!
//! In a DNS rebinding attack, a page whose host name was pointed at this machine sends that name as host. A
//! cross-origin page sends its own origin. Both are checked here, for every route and both HTTP versions.

use axum::http::header::{HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, Uri};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The host that a request names, with its port: its `Host`, or the authority of its target (as in HTTP/2).
/// `None` if there is none, more than one, or if the two differ.
pub(super) fn authority<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    let target = uri.authority().map(|authority| authority.as_str());
    let host = match SingleHeader::of(headers, &HOST) {
        SingleHeader::Absent => None,
        SingleHeader::Once(host) if !host.is_empty() => Some(host),
        SingleHeader::Once(_) | SingleHeader::Invalid => return None,
    };
    match (target, host) {
        (Some(target), Some(host)) => target.eq_ignore_ascii_case(host).then_some(host),
        (Some(only), None) | (None, Some(only)) => Some(only),
        (None, None) => None,
    }
}

/// Whether a host is a loopback name that cannot be pointed at another machine.
pub(super) fn is_loopback_host(authority: &str) -> bool {
    let Some((name, port)) = split_authority(authority) else {
        return false;
    };
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    let is_name = match name.strip_prefix('[') {
        Some(inner) => {
            let address = inner.strip_suffix(']').map(str::parse::<Ipv6Addr>);
            matches!(address, Some(Ok(address)) if address.is_loopback())
        }
        None => {
            let address = name.parse::<Ipv4Addr>();
            name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback())
        }
    };
    is_port && is_name
}

/// The name and the port of an authority.
fn split_authority(authority: &str) -> Option<(&str, Option<&str>)> {
    let end = match authority.strip_prefix('[') {
        Some(inner) => inner.find(']')? + 2,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (name, rest) = authority.split_at_checked(end)?;
    match rest {
        "" => Some((name, None)),
        rest => rest.strip_prefix(':').map(|port| (name, Some(port))),
    }
}

/// Whether a request comes from no page, or from a page of the same origin.
pub(super) fn is_same_origin(headers: &HeaderMap, authority: &str) -> bool {
    let origin = match SingleHeader::of(headers, &ORIGIN) {
        SingleHeader::Absent => return true,
        SingleHeader::Once(origin) => origin,
        SingleHeader::Invalid => return false,
    };
    match origin.split_once("://") {
        Some((scheme, at)) => {
            let is_web = ["http", "https"]
                .iter()
                .any(|it| scheme.eq_ignore_ascii_case(it));
            is_web && at.eq_ignore_ascii_case(authority)
        }
        None => false,
    }
}

/// A header that may occur once.
pub(super) enum SingleHeader<'h> {
    Absent,
    Once(&'h str),
    /// More than once, or not text.
    Invalid,
}

impl<'h> SingleHeader<'h> {
    pub(super) fn of(headers: &'h HeaderMap, name: &HeaderName) -> Self {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Self::Absent,
            (Some(value), None) => value.to_str().map_or(Self::Invalid, Self::Once),
            (Some(_), Some(_)) => Self::Invalid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.clone(), HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn only_loopback_is_this_machines_own() {
        for own in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1",
            "127.0.0.1:8080",
            "127.8.8.8:1",
            "[::1]",
            "[::1]:8080",
        ] {
            assert!(is_loopback_host(own), "{own}");
        }
        for foreign in [
            "",
            ":80",
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost@evil.example",
            "evil.example@localhost",
            "127.0.0.1:8080@evil.example",
            "localhost:",
            "localhost:x",
            "localhost:80:80",
            "[::1",
            "[::1]x",
            "[::1]:",
            "[::2]:80",
            "::1",
            "[127.0.0.1]",
            "0.0.0.0:80",
            "192.168.0.1",
            "[::ffff:127.0.0.1]",
            "localhost:99999",
            "2130706433",
            "é",
        ] {
            assert!(!is_loopback_host(foreign), "{foreign}");
        }
    }

    #[test]
    fn a_request_names_one_host() {
        let bare = Uri::from_static("/api/runs");
        let whole = Uri::from_static("http://localhost:80/api/runs");
        let host = |value| headers(&[(HOST, value)]);
        assert_eq!(
            authority(&bare, &host("localhost:80")),
            Some("localhost:80")
        );
        assert_eq!(authority(&whole, &headers(&[])), Some("localhost:80"));
        assert_eq!(
            authority(&whole, &host("LOCALHOST:80")),
            Some("LOCALHOST:80")
        );
        assert_eq!(authority(&whole, &host("evil.example")), None);
        assert_eq!(authority(&bare, &headers(&[])), None);
        assert_eq!(authority(&bare, &host("")), None);
        let twice = headers(&[(HOST, "localhost"), (HOST, "localhost")]);
        assert_eq!(authority(&bare, &twice), None);
    }

    #[test]
    fn a_page_calls_where_it_comes_from() {
        let from = |value| is_same_origin(&headers(&[(ORIGIN, value)]), "localhost:80");
        assert!(is_same_origin(&headers(&[]), "localhost:80"));
        assert!(from("http://localhost:80") && from("HTTPS://Localhost:80"));
        for foreign in [
            "",
            "null",
            "http://localhost",
            "http://localhost:81",
            "http://127.0.0.1:80",
            "http://evil.example",
            "http://localhost:80.evil.example",
            "chrome-extension://localhost:80",
            "localhost:80",
        ] {
            assert!(!from(foreign), "{foreign}");
        }
        let twice = headers(&[
            (ORIGIN, "http://localhost:80"),
            (ORIGIN, "http://localhost:80"),
        ]);
        assert!(!is_same_origin(&twice, "localhost:80"));
    }
}

//! Where to listen, as people write it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Reads `8080`, `:8080`, `localhost:8080`, `0.0.0.0:8080`, `[::1]:8080` or the same as a URL. A port alone is one of
/// this machine: other machines are let in only if the address says so.
pub(in crate::cli) fn parse(text: &str) -> Result<SocketAddr, String> {
    let place = text.trim();
    let place = place.strip_prefix("http://").unwrap_or(place);
    let place = place.strip_suffix('/').unwrap_or(place);
    if let Ok(address) = place.parse() {
        return Ok(address);
    }
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) => (host, port),
        None if place.bytes().all(|byte| byte.is_ascii_digit()) => ("", place),
        None => (place, ""),
    };
    let port = match port {
        "" => Err(format!(
            "the port is missing: write {}:8080",
            if host.is_empty() { "localhost" } else { host }
        )),
        port => port.parse::<u16>().map_err(|_| {
            format!(
                "`{port}` is not a port; ports are numbers from 0 to 65535, and 0 means a free one"
            )
        }),
    }?;
    let address: IpAddr = match host {
        "" | "localhost" => Ipv4Addr::LOCALHOST.into(),
        "*" => Ipv4Addr::UNSPECIFIED.into(),
        "[::]" | "::" => Ipv6Addr::UNSPECIFIED.into(),
        host => host.parse().map_err(|_| {
            format!("`{host}` is not an address of this machine; write 8080, localhost:8080, 0.0.0.0:8080 or [::1]:8080")
        })?,
    };
    Ok(SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, address) in [
            ("8080", "127.0.0.1:8080"),
            (":8080", "127.0.0.1:8080"),
            ("0", "127.0.0.1:0"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("http://localhost:8080/", "127.0.0.1:8080"),
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("0.0.0.0:8080", "0.0.0.0:8080"),
            ("*:8080", "0.0.0.0:8080"),
            ("[::1]:8080", "[::1]:8080"),
            ("::1:8080", "[::1]:8080"),
        ] {
            let read = parse(text).map(|read| read.to_string());
            assert_eq!(read.as_deref(), Ok(address), "{text}");
        }
        for (text, says) in [
            ("localhost", "write localhost:8080"),
            ("", "the port is missing"),
            ("localhost:99999", "not a port"),
            ("99999", "not a port"),
            ("example.com:80", "not an address of this machine"),
            ("unix:/tmp/x", "not a port"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
    }
}

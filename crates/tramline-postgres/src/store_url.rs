//! The address of a database, and what of it may be shown.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// How long connecting to one host may take.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How long sent bytes may stay unacknowledged before a connection counts as broken.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(15);
/// How long a connection is idle before the system checks whether it is alive.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
/// The longest address, in bytes.
const URL_BYTES_MAX: usize = 4_096;

/// Whether and how connections are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// They are not.
    Off,
    /// They are, and the server's certificate is checked against the system's authorities or this file.
    Verified(Option<PathBuf>),
}

/// The address of a PostgreSQL database: `postgres://user:password@host1,host2:5432/database?sslmode=verify-full`.
///
/// It may contain a password, so it is never shown: [`Display`](std::fmt::Display) leaves it out.
#[derive(Clone)]
pub struct StoreUrl {
    pub(crate) config: Config,
    pub(crate) encryption: Encryption,
    text: String,
}

impl StoreUrl {
    /// Whether text looks like such an address.
    pub fn is_postgres(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// The address as it was given, with its password. Never show it.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// The password, if the address contains one.
    pub fn password(&self) -> Option<String> {
        let password = self.config.get_password()?;
        Some(String::from_utf8_lossy(password).into_owned())
    }

    /// Uses this password if the address has none.
    #[must_use]
    pub fn or_password(mut self, password: Option<String>) -> Self {
        if let (None, Some(password)) = (self.config.get_password(), password) {
            self.config.password(password);
        }
        self
    }
}

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() > URL_BYTES_MAX {
            return Err(format!(
                "the store's address is longer than {URL_BYTES_MAX} bytes"
            ));
        }
        if !Self::is_postgres(text) {
            return Err(
                "the store's address must begin with `postgres://`; without --store, runs are kept in the data \
                 directory"
                    .to_owned(),
            );
        }
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut mode, mut authority, mut rest) = (None, None, Vec::new());
        for part in query.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value.to_owned()),
                Some(("sslrootcert", value)) => authority = Some(PathBuf::from(value)),
                _ => rest.push(part),
            }
        }
        let plain = match rest.is_empty() {
            true => base.to_owned(),
            false => format!("{base}?{}", rest.join("&")),
        };
        // The parser's own message may quote parts of the address.
        let mut config = Config::from_str(&plain).map_err(|error| {
            let why = std::error::Error::source(&error).map(ToString::to_string);
            let why = why.unwrap_or_else(|| "it is malformed".into());
            format!("the store's address cannot be read: {why}")
        })?;
        if config.get_hosts().is_empty() {
            return Err("the store's address names no host".to_owned());
        }
        let encryption = match mode.as_deref() {
            Some("disable") => Encryption::Off,
            Some("require" | "verify-ca" | "verify-full") => Encryption::Verified(authority),
            None if config.get_hosts().iter().all(is_local) => Encryption::Off,
            None => Encryption::Verified(authority),
            Some(other) => {
                return Err(format!(
                    "sslmode `{other}` is not supported: use `verify-full`, or `disable` on a network that you trust"
                ));
            }
        };
        config.ssl_mode(match encryption {
            Encryption::Off => SslMode::Disable,
            Encryption::Verified(_) => SslMode::Require,
        });
        config.connect_timeout(CONNECT_MAX);
        config.tcp_user_timeout(UNACKNOWLEDGED_MAX);
        config.keepalives(true);
        config.keepalives_idle(KEEPALIVE_IDLE);
        if config.get_application_name().is_none() {
            config.application_name("tramline");
        }
        Ok(Self {
            config,
            encryption,
            text: text.to_owned(),
        })
    }
}

/// Whether a host is this machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"),
        Host::Unix(_) => true,
    }
}

impl std::fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "postgres://")?;
        for (n, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}")?,
                Host::Unix(path) => write!(f, "{comma}{}", path.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl std::fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let url: StoreUrl = "postgres://me:hunter2secret@db1,db2:5433/runs?sslmode=verify-full"
            .parse()
            .unwrap();
        assert_eq!(url.to_string(), "postgres://db1,db2/runs");
        assert!(!format!("{url:?}").contains("hunter2"));
        assert_eq!(url.password().as_deref(), Some("hunter2secret"));
        assert_eq!(url.encryption, Encryption::Verified(None));
    }

    #[test]
    fn only_local_connections_are_plain_unless_the_operator_says_so() {
        let of = |text: &str| text.parse::<StoreUrl>().unwrap().encryption;
        assert_eq!(of("postgres://localhost/x"), Encryption::Off);
        assert_eq!(of("postgres://db/x"), Encryption::Verified(None));
        assert_eq!(of("postgres://db/x?sslmode=disable"), Encryption::Off);
        let root = of("postgres://db/x?sslrootcert=/ca.pem&connect_timeout=3");
        assert_eq!(root, Encryption::Verified(Some("/ca.pem".into())));
        assert!(
            "postgres://db/x?sslmode=prefer"
                .parse::<StoreUrl>()
                .is_err()
        );
        assert!("mysql://db/x".parse::<StoreUrl>().is_err());
    }
}

//! A store that several replicas share, instead of a data directory.

use std::time::Duration;
use tramline_postgres::{PostgresOptions, StoreUrl};
use tramline_workflow::text::parse_duration_ms;

/// The variable with the password, as PostgreSQL's own programs read it.
const PASSWORD_VARIABLE: &str = "PGPASSWORD";

/// A PostgreSQL database, and how this process takes part.
#[derive(Clone, Debug)]
pub struct SharedStore {
    /// Its address.
    pub url: StoreUrl,
    /// This replica.
    pub replica: PostgresOptions,
}

/// The parts of a shared store as flags, variables or the configuration file give them.
#[derive(Clone, Debug, Default)]
pub struct SharedStoreParts {
    /// Its address.
    pub url: Option<String>,
    /// The name of this replica.
    pub replica: Option<String>,
    /// How long its lease lasts.
    pub lease: Option<Duration>,
    /// Its pools.
    pub pools: Vec<String>,
}

impl SharedStoreParts {
    /// These parts, with what they leave out from others.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            url: self.url.or(other.url),
            replica: self.replica.or(other.replica),
            lease: self.lease.or(other.lease),
            pools: match self.pools.is_empty() {
                true => other.pools,
                false => self.pools,
            },
        }
    }

    /// The store, if an address is given.
    pub fn build(self) -> Result<Option<SharedStore>, String> {
        let Some(url) = self.url.filter(|url| !url.is_empty()) else {
            return Ok(None);
        };
        let url: StoreUrl = url.parse()?;
        let mut replica = PostgresOptions::default();
        let host = || {
            std::env::var("HOSTNAME")
                .ok()
                .filter(|name| !name.is_empty())
        };
        if let Some(name) = self.replica.or_else(host) {
            replica.name = name;
        }
        if let Some(lease) = self.lease {
            replica.lease = lease;
        }
        if !self.pools.is_empty() {
            replica.pools = self.pools;
        }
        let url = url.or_password(std::env::var(PASSWORD_VARIABLE).ok());
        Ok(Some(SharedStore { url, replica }))
    }
}

/// Reads a time such as `10s`.
pub fn parse_lease(text: &str) -> Result<Duration, String> {
    let ms = parse_duration_ms(text).filter(|ms| *ms > 0);
    let wrong = || format!("`{text}` is not a time such as 10s");
    ms.map(Duration::from_millis).ok_or_else(wrong)
}

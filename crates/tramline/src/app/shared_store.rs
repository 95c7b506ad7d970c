//! Opens a store that several replicas share, and makes sure that all of them have the same key.

use super::AppError;
use crate::config::{Config, SharedStore};
use std::path::PathBuf;
use std::sync::Arc;
use tramline_engine::ports::{Cipher, Store, StoreFault};
use tramline_postgres::Postgres;
use tramline_vault::Vault;

/// The kind of the document that tells a wrong key.
const PROBE_KIND: &str = "key_probe";
/// Its key, and the name that it is encrypted under.
const PROBE_KEY: &str = "settings";
/// What it contains, encrypted.
const PROBE_TEXT: &[u8] = b"tramline";

/// Connects to the database.
pub(super) fn open(shared: &SharedStore, config: &Config) -> Result<Arc<dyn Store>, AppError> {
    let store = Postgres::open(shared.url.clone(), shared.replica.clone())?;
    for warning in store.warnings() {
        config
            .warn
            .inspect(|warn| warn(&format!("warning: {warning}")));
    }
    Ok(Arc::new(store))
}

/// The key file of a shared store. It must exist: a key that one replica made for itself could not decrypt what the
/// others stored.
pub(super) fn key_file(config: &Config) -> Result<PathBuf, AppError> {
    let Some(file) = config.key_file.clone() else {
        return Err(AppError::Config(
            "a shared store needs the same key on every replica: name its file with --key-file (`tramline settings \
             new-key FILE` writes a new one)"
                .into(),
        ));
    };
    match file.exists() {
        true => Ok(file),
        false => Err(AppError::Config(format!(
            "the key file {} does not exist: copy it from another replica, or write the first one with `tramline \
             settings new-key {}`",
            file.display(),
            file.display()
        ))),
    }
}

/// Compares the key with the one of the other replicas; the first one stores a probe.
pub(super) fn check_key(store: &Arc<dyn Store>, vault: &Vault) -> Result<(), AppError> {
    let checked = std::thread::scope(|scope| {
        let check = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build();
            let runtime = runtime.map_err(|error| AppError::Config(error.to_string()))?;
            runtime.block_on(compare(store, vault))
        });
        check.join()
    });
    let died = |_| AppError::Config("the check of the key panicked".into());
    checked.map_err(died)?
}

async fn compare(store: &Arc<dyn Store>, vault: &Vault) -> Result<(), AppError> {
    let seal = || {
        let sealed = vault.encrypt(PROBE_KEY, PROBE_TEXT);
        sealed.map_err(|fault| AppError::Config(fault.message))
    };
    let probe = match store.get(PROBE_KIND, PROBE_KEY).await? {
        Some(probe) => probe,
        None => {
            let sealed = seal()?;
            let is_first = store.swap(PROBE_KIND, PROBE_KEY, None, sealed).await?;
            if is_first {
                return Ok(());
            }
            let probe = store.get(PROBE_KIND, PROBE_KEY).await?;
            probe.ok_or_else(|| StoreFault {
                message: "the key's probe was removed".into(),
            })?
        }
    };
    match vault.decrypt(PROBE_KEY, &probe) {
        Ok(text) if text == PROBE_TEXT => Ok(()),
        Ok(_) | Err(_) => Err(AppError::Config(
            "the key in --key-file is not the one that the other replicas of this store use: copy theirs".into(),
        )),
    }
}

//! Small documents under a kind and a key.

use crate::connection::{Link, RetryDelays, StatementError};
use tokio_postgres::types::Type;
use tramline_engine::ports::StoreFault;

pub(crate) async fn put(link: &Link, kind: &str, key: &str, body: &[u8]) -> Result<(), StoreFault> {
    link.repeat(
        "INSERT INTO tramline.documents (kind, key, body) VALUES ($1, $2, $3) \
         ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body",
        &[
            (&kind, Type::TEXT),
            (&key, Type::TEXT),
            (&body, Type::BYTEA),
        ],
    )
    .await?;
    Ok(())
}

/// Replaces a document if it is still what was seen.
///
/// If the connection breaks, the document says whether it was replaced: if it is the new one, it was, by us or by
/// another writer with the same content.
pub(crate) async fn swap(
    link: &Link,
    (kind, key): (&str, &str),
    seen: Option<&[u8]>,
    body: &[u8],
) -> Result<bool, StoreFault> {
    let mut patience = RetryDelays::new();
    let mut is_doubtful = false;
    loop {
        if is_doubtful && seen != Some(body) {
            let now = get(link, kind, key).await?;
            if now.as_deref() == Some(body) {
                return Ok(true);
            }
        }
        let done = match &seen {
            Some(seen) => {
                link.once(
                    "UPDATE tramline.documents SET body = $4 WHERE kind = $1 AND key = $2 AND body = $3 RETURNING 1",
                    &[
                        (&kind, Type::TEXT),
                        (&key, Type::TEXT),
                        (seen, Type::BYTEA),
                        (&body, Type::BYTEA),
                    ],
                )
                .await
            }
            None => {
                link.once(
                    "INSERT INTO tramline.documents (kind, key, body) VALUES ($1, $2, $3) \
                     ON CONFLICT (kind, key) DO NOTHING RETURNING 1",
                    &[(&kind, Type::TEXT), (&key, Type::TEXT), (&body, Type::BYTEA)],
                )
                .await
            }
        };
        match done {
            Ok(rows) => return Ok(!rows.is_empty()),
            Err(error) => {
                is_doubtful |= matches!(error, StatementError::Lost(_));
                patience.wait(error).await?;
            }
        }
    }
}

pub(crate) async fn get(link: &Link, kind: &str, key: &str) -> Result<Option<Vec<u8>>, StoreFault> {
    let rows = link
        .repeat(
            "SELECT body FROM tramline.documents WHERE kind = $1 AND key = $2",
            &[(&kind, Type::TEXT), (&key, Type::TEXT)],
        )
        .await?;
    Ok(rows.first().map(|row| row.get(0)))
}

pub(crate) async fn list(link: &Link, kind: &str) -> Result<Vec<String>, StoreFault> {
    let rows = link
        .repeat(
            "SELECT key FROM tramline.documents WHERE kind = $1 ORDER BY key",
            &[(&kind, Type::TEXT)],
        )
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

pub(crate) async fn delete(link: &Link, kind: &str, keys: &[String]) -> Result<(), StoreFault> {
    link.repeat(
        "DELETE FROM tramline.documents WHERE kind = $1 AND key = ANY($2)",
        &[(&kind, Type::TEXT), (&keys, Type::TEXT_ARRAY)],
    )
    .await?;
    Ok(())
}

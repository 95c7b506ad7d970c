//! A cache of embeddings between runs: the encoder takes about ten milliseconds per text.

use anyhow::{Context, Result};
use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Runtime;
use tramline_catalog::search::Embedder;
use tramline_catalog::search::{SearchDocument, Vector, fingerprint};

/// Vectors by the fingerprint of their text.
pub(crate) struct EmbeddingCache {
    embedder: Arc<dyn Embedder>,
    runtime: Runtime,
    known: HashMap<u128, Vector>,
    file: PathBuf,
}

impl EmbeddingCache {
    pub(crate) fn open(encoder: &Path, keep: &Path) -> Result<Self> {
        std::fs::create_dir_all(keep)?;
        let embedder = tramline_embed::open(encoder)?;
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let file = keep.join(format!("vectors-{}", embedder.model()));
        let mut vectors = Self {
            embedder,
            runtime,
            known: HashMap::new(),
            file,
        };
        vectors.load();
        Ok(vectors)
    }

    /// Loads the cache of an earlier run, without an incomplete record at the end.
    fn load(&mut self) {
        let bytes = std::fs::read(&self.file).unwrap_or_default();
        let mut rest = bytes.as_slice();
        while let Some((key, after)) = rest.split_first_chunk::<16>() {
            let Some((length, after)) = after.split_first_chunk::<4>() else {
                break;
            };
            let length = u32::from_le_bytes(*length) as usize;
            let Some((vector, after)) = after.split_at_checked(length) else {
                break;
            };
            if let Some(vector) = Vector::decode(vector) {
                self.known.insert(u128::from_le_bytes(*key), vector);
            }
            rest = after;
        }
    }

    /// Computes the vectors of new texts.
    pub(crate) fn make(&mut self, name: &str, texts: impl Iterator<Item = String>) -> Result<()> {
        let all: BTreeSet<String> = texts.filter(|text| self.get(text).is_none()).collect();
        let all: Vec<String> = all.into_iter().collect();
        if !all.is_empty() {
            eprintln!("encoding {} texts of {name}", all.len());
        }
        let mut file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(&self.file)?;
        for batch in all.chunks(self.embedder.batch_max()) {
            let vectors = self.embed(batch)?;
            for (text, vector) in batch.iter().zip(vectors) {
                let Some(vector) = Vector::new(vector) else {
                    continue;
                };
                let key = fingerprint(self.embedder.model(), text);
                let bytes = vector.encode();
                file.write_all(&key.to_le_bytes())?;
                file.write_all(&(bytes.len() as u32).to_le_bytes())?;
                file.write_all(&bytes)?;
                self.known.insert(key, vector);
            }
        }
        Ok(())
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let done = self.runtime.block_on(self.embedder.embed(texts.to_vec()));
        done.map_err(|failure| anyhow::anyhow!("{failure}"))
    }

    /// The embedding of a text.
    pub(crate) fn get(&self, text: &str) -> Option<&Vector> {
        self.known.get(&fingerprint(self.embedder.model(), text))
    }

    /// The embedding of a document.
    pub(crate) fn of(&self, card: &SearchDocument) -> Option<Vector> {
        let wishes: Vec<Vector> = card
            .past_requests
            .iter()
            .filter_map(|wish| self.get(wish).cloned())
            .collect();
        Some(Vector::of_document(self.get(&card.text())?, &wishes))
    }

    /// The time of one text, in milliseconds.
    #[allow(dead_code, reason = "not every benchmark uses it")]
    pub(crate) fn text_ms(&self) -> Result<f64> {
        const TEXTS: usize = 40;
        let text = "Find the cheapest flight to Lisbon next week and mail me the times".to_owned();
        let texts = vec![text; TEXTS];
        let began = Instant::now();
        self.embed(&texts).context("timing the encoder")?;
        Ok(began.elapsed().as_secs_f64() * 1e3 / TEXTS as f64)
    }
}

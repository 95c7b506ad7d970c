//! The contract of every `Embedder`. A violation panics.

use crate::search::Embedder;
use crate::search::Vector;
use std::sync::Arc;

/// Checks with a few short texts that vectors are valid, stable, and close for similar meanings.
pub async fn embedder_contract(embedder: Arc<dyn Embedder>) {
    assert!(!embedder.model().is_empty(), "a model has a name");
    assert!(
        embedder.batch_max() >= 1,
        "a call accepts at least one text"
    );
    let texts = ["read a file", "read the file", "tomorrow's weather"];
    let mut alone = Vec::new();
    for text in texts {
        alone.extend(embed(&embedder, &[text]).await);
    }
    if embedder.batch_max() >= texts.len() {
        let together = embed(&embedder, &texts).await;
        assert_eq!(alone.len(), together.len(), "each text gets a vector");
        for (alone, together) in alone.iter().zip(&together) {
            let near = alone.cosine_similarity(together);
            assert!(
                near > Some(0.999),
                "a text has the same vector in any batch: {near:?}"
            );
        }
    }
    let like = alone[0].cosine_similarity(&alone[1]);
    let unlike = alone[0].cosine_similarity(&alone[2]);
    assert!(
        like.is_some() && like > unlike,
        "{like:?} is closer than {unlike:?}"
    );
    let none = embedder.embed(Vec::new()).await;
    assert_eq!(
        none.map(|all| all.len()).ok(),
        Some(0),
        "no texts, no vectors"
    );
    // For any input it returns vectors or a failure.
    let odd = vec![
        String::new(),
        "\u{0}\u{fffd}\u{200d}".to_owned(),
        "a ".repeat(20_000),
    ];
    for text in odd {
        if let Ok(vectors) = embedder.embed(vec![text]).await {
            assert_eq!(vectors.len(), 1, "each text gets a vector");
        }
    }
}

async fn embed(embedder: &Arc<dyn Embedder>, texts: &[&str]) -> Vec<Vector> {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    let vectors = embedder.embed(texts).await;
    let vectors = vectors.unwrap_or_else(|failure| panic!("plain texts: {failure}"));
    let sound = |vector| Vector::new(vector).unwrap_or_else(|| panic!("the vector is invalid"));
    vectors.into_iter().map(sound).collect()
}

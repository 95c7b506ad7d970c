//! The page itself, which is in the binary: built files, and what a browser may keep of them.

use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::response::IntoResponse;
use rust_embed::{EmbeddedFile, RustEmbed};

/// The built files.
#[derive(RustEmbed)]
#[folder = "assets/"]
struct Assets;

/// The packed forms that a build may lay beside a file, the smaller first.
const PACKED: [(&str, &str); 2] = [("br", "br"), ("gzip", "gz")];

/// A name with so many signs of a hash in it stands for one content for ever.
const HASH_CHARS: usize = 8;

pub(crate) async fn index(headers: HeaderMap) -> Response<Body> {
    match found("index.html", &headers) {
        Some(response) => response,
        None => plain("text/html; charset=utf-8", include_str!("page/index.html")),
    }
}

/// A built file; a place of the page itself where there is no file of that name.
pub(crate) async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response<Body> {
    if let Some(response) = found(&path, &headers) {
        return response;
    }
    match path.as_str() {
        "studio.js" => plain(kind(&path), include_str!("page/studio.js")),
        "studio.css" => plain(kind(&path), include_str!("page/studio.css")),
        // What looks like a file and is none is missing; all else is a place of the page.
        _ if path.starts_with("assets/") => (StatusCode::NOT_FOUND, "no such file").into_response(),
        _ => index(headers).await,
    }
}

fn plain(kind: &'static str, text: &'static str) -> Response<Body> {
    ([(CONTENT_TYPE, kind)], text).into_response()
}

/// A built file as the request takes it.
fn found(path: &str, headers: &HeaderMap) -> Option<Response<Body>> {
    let whole = Assets::get(path)?;
    let tag = tag(&whole);
    let known = headers.get(IF_NONE_MATCH).map(|seen| seen.as_bytes());
    let keep = match is_hashed(path) {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let headers_for = [(CACHE_CONTROL, keep.to_owned()), (ETAG, tag.clone())];
    if known == Some(tag.as_bytes()) {
        return Some((StatusCode::NOT_MODIFIED, headers_for).into_response());
    }
    let (file, packed) =
        packed(path, headers).map_or((whole, None), |(file, how)| (file, Some(how)));
    let mut response = (headers_for, [(CONTENT_TYPE, kind(path))], file.data).into_response();
    let told = response.headers_mut();
    told.insert(VARY, ACCEPT_ENCODING.into());
    if let Some(how) = packed {
        told.insert(CONTENT_ENCODING, how);
    }
    Some(response)
}

/// The packed form of a file that the request takes, if the build made one.
fn packed(path: &str, headers: &HeaderMap) -> Option<(EmbeddedFile, axum::http::HeaderValue)> {
    let accepted = headers.get(ACCEPT_ENCODING)?.to_str().ok()?;
    PACKED.into_iter().find_map(|(name, end)| {
        let takes = accepted.split(',').any(|one| {
            let mut parts = one.split(';').map(str::trim);
            parts.next() == Some(name) && !parts.any(|part| matches!(part, "q=0" | "q=0.0"))
        });
        let file = takes
            .then(|| Assets::get(&format!("{path}.{end}")))
            .flatten()?;
        Some((file, axum::http::HeaderValue::from_static(name)))
    })
}

fn tag(file: &EmbeddedFile) -> String {
    let hash = file.metadata.sha256_hash();
    let hex: String = hash
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("\"{hex}\"")
}

/// Whether the build put a hash of its content into a file's name: `index-CxY1_a9b.js`.
fn is_hashed(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    let sign = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let start = stem.len().checked_sub(HASH_CHARS + 1);
    let tail = start.and_then(|start| stem.get(start..));
    let hash = tail.and_then(|tail| tail.strip_prefix('-'));
    path.starts_with("assets/") && hash.is_some_and(|hash| hash.chars().all(sign))
}

/// The type of a file by the end of its name.
fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("txt" | "md") => "text/plain; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some(_) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_a_hash_are_kept_for_ever() {
        assert!(is_hashed("assets/index-CxY1_a9b.js"));
        assert!(is_hashed("assets/editor-D-4k_x9b.css"));
        assert!(!is_hashed("index.html"));
        assert!(!is_hashed("assets/THIRD-PARTY.txt"));
        assert!(!is_hashed("favicon-12345678.svg"));
    }

    #[test]
    fn the_type_of_a_file_is_told_by_its_end() {
        assert_eq!(kind("a/b.js"), "text/javascript; charset=utf-8");
        assert_eq!(kind("x"), "application/octet-stream");
    }
}

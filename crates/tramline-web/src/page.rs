//! The page, embedded in the binary: built files and their cache headers.

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

/// The compressed variants that a build may put next to a file, smallest first.
const ENCODINGS: [(&str, &str); 2] = [("br", "br"), ("gzip", "gz")];

/// A file name with this many hash characters identifies one content forever.
const HASH_CHARS: usize = 8;

pub(crate) async fn index(headers: HeaderMap) -> Response<Body> {
    match asset("index.html", &headers) {
        Some(response) => response,
        None => static_text("text/html; charset=utf-8", include_str!("page/index.html")),
    }
}

/// A built file, or the page itself if there is no file of that name.
pub(crate) async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response<Body> {
    if let Some(response) = asset(&path, &headers) {
        return response;
    }
    match path.as_str() {
        "studio.js" => static_text(content_type(&path), include_str!("page/studio.js")),
        "studio.css" => static_text(content_type(&path), include_str!("page/studio.css")),
        // A missing asset is an error; any other path is a location inside the page.
        _ if path.starts_with("assets/") => (StatusCode::NOT_FOUND, "no such file").into_response(),
        _ => index(headers).await,
    }
}

fn static_text(kind: &'static str, text: &'static str) -> Response<Body> {
    ([(CONTENT_TYPE, kind)], text).into_response()
}

/// A built file in the best encoding for the request.
fn asset(path: &str, headers: &HeaderMap) -> Option<Response<Body>> {
    let whole = Assets::get(path)?;
    let tag = etag(&whole);
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
        encoded_asset(path, headers).map_or((whole, None), |(file, how)| (file, Some(how)));
    let mut response =
        (headers_for, [(CONTENT_TYPE, content_type(path))], file.data).into_response();
    let told = response.headers_mut();
    told.insert(VARY, ACCEPT_ENCODING.into());
    if let Some(how) = packed {
        told.insert(CONTENT_ENCODING, how);
    }
    Some(response)
}

/// The compressed variant of a file that the request accepts, if the build made one.
fn encoded_asset(
    path: &str,
    headers: &HeaderMap,
) -> Option<(EmbeddedFile, axum::http::HeaderValue)> {
    let accepted = headers.get(ACCEPT_ENCODING)?.to_str().ok()?;
    ENCODINGS.into_iter().find_map(|(name, end)| {
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

fn etag(file: &EmbeddedFile) -> String {
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

/// The content type of a file by its extension.
fn content_type(path: &str) -> &'static str {
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
        assert_eq!(content_type("a/b.js"), "text/javascript; charset=utf-8");
        assert_eq!(content_type("x"), "application/octet-stream");
    }
}

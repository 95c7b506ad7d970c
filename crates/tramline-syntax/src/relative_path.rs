//! Relative paths by which one document refers to another.
//!
//! This module only resolves paths and performs no I/O. A path cannot leave the directory of the
//! root document.

use tramline_expr::Str;

/// File extensions of documents.
const EXTENSIONS: [&str; 4] = [".md", ".json", ".yaml", ".yml"];

/// Whether a workflow reference is a path rather than a name.
pub fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || EXTENSIONS.iter().any(|end| name.ends_with(end))
}

/// Resolves a path used by a document in `folder` to one relative to the root document's directory.
/// The error says why the path is rejected.
pub fn resolve(folder: &str, path: &str) -> Result<Str, &'static str> {
    if path.starts_with(['/', '~']) || path.contains(['\\', ':', '\0']) {
        return Err("is not a relative path");
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return Err("leads out of the document's directory"),
            ".." => {}
            part => parts.push(part),
        }
    }
    match parts.is_empty() {
        true => Err("names no file"),
        false => Ok(format!("./{}", parts.join("/")).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_beside_the_document() {
        let to = |folder, path| resolve(folder, path).map(|path| path.to_string());
        assert_eq!(to("", "./a.pflow.md"), Ok("./a.pflow.md".to_owned()));
        assert_eq!(to("x/y", "../a.md"), Ok("./x/a.md".to_owned()));
        assert_eq!(to("x", "b//./c.md"), Ok("./x/b/c.md".to_owned()));
        assert!(to("x", "../../a.md").is_err());
        assert!(to("", "..").is_err());
        assert!(to("", "/etc/x.md").is_err());
        assert!(to("", ".").is_err());
        assert!(is_path("./a") && is_path("b.pflow.md") && !is_path("saved-name"));
    }
}

//! Documents beside a document: how one names another by its path.
//!
//! Paths are only put together here; whoever may touch files reads them. They cannot lead out of
//! the directory of the document that was named first.

use tramline_expr::Str;

/// The ends of the names of documents.
const ENDS: [&str; 4] = [".md", ".json", ".yaml", ".yml"];

/// Whether a workflow is named by a path.
pub fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || ENDS.iter().any(|end| name.ends_with(end))
}

/// The path that a document in a folder means, from the directory of the first document; or why
/// it may not be followed.
pub fn resolve(folder: &str, path: &str) -> Result<Str, &'static str> {
    if path.starts_with(['/', '~']) || path.contains(['\\', ':', '\0']) {
        return Err("is not one beside the document");
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

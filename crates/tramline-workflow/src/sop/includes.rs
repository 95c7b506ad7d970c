//! Collects a procedure and the files of its nested procedures, for callers that can read files.

use super::Sop;
use std::collections::VecDeque;
use std::sync::Arc;
use tramline_expr::Str;

/// Files per procedure, including nested ones; bounds the work of loading it.
pub const FILES_MAX: usize = 32;

/// Procedures as they are read, file by file.
#[derive(Debug)]
pub struct SopFiles {
    /// The procedure, followed by those that its nodes enter.
    pub sops: Vec<Arc<Sop>>,
    /// The paths by which nodes refer to the second and later ones.
    pub files: Vec<Str>,
    pending: VecDeque<SopFileRequest>,
}

/// A file to read.
#[derive(Clone, Debug)]
pub struct SopFileRequest {
    /// The path of the file.
    pub path: Str,
    /// The path in the node that refers to it; empty for the first file.
    reference: Str,
}

impl SopFiles {
    /// Starts with the file at a path.
    pub fn new(place: &str) -> Self {
        let first = SopFileRequest {
            path: place.into(),
            reference: Str::default(),
        };
        Self {
            sops: Vec::new(),
            files: Vec::new(),
            pending: VecDeque::from([first]),
        }
    }

    /// The next file to read; an error if there are too many.
    pub fn next_file(&mut self) -> Result<Option<SopFileRequest>, String> {
        let next = self.pending.pop_front();
        match next.is_some() && self.sops.len() >= FILES_MAX {
            true => Err(format!(
                "the procedure includes more than {FILES_MAX} files"
            )),
            false => Ok(next),
        }
    }

    /// Adds the procedure read from a file.
    pub fn add(&mut self, file: SopFileRequest, sop: Sop) {
        for inner in sop.nodes.iter().filter_map(|node| node.procedure.as_ref()) {
            let is_wanted = || self.pending.iter().any(|it| it.reference == *inner);
            if !self.files.contains(inner) && *inner != file.reference && !is_wanted() {
                self.pending.push_back(SopFileRequest {
                    path: resolve_path(&file.path, inner),
                    reference: inner.clone(),
                });
            }
        }
        if !self.sops.is_empty() {
            self.files.push(file.reference);
        }
        self.sops.push(Arc::new(sop));
    }
}

impl From<Sop> for SopFiles {
    /// A procedure without its nested ones.
    fn from(sop: Sop) -> Self {
        Self {
            sops: vec![Arc::new(sop)],
            files: Vec::new(),
            pending: VecDeque::new(),
        }
    }
}

/// Resolves the path of a file that another file refers to.
fn resolve_path(place: &str, named: &str) -> Str {
    if named.contains("://") || named.starts_with('/') {
        return named.into();
    }
    match place.rfind('/') {
        Some(end) => format!("{}/{named}", &place[..end]).into(),
        None => named.into(),
    }
}

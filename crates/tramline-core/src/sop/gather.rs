//! A procedure with those that its nodes lead into, gathered by whoever can read their files.

use super::Sop;
use std::collections::VecDeque;
use std::sync::Arc;
use tramline_expr::Str;

/// A procedure that leads into more others than this is refused.
pub const FILES_MAX: usize = 32;

/// Procedures as they are read, one file after the other.
#[derive(Debug)]
pub struct Gathering {
    /// The procedure, and after it those that its nodes lead into.
    pub sops: Vec<Arc<Sop>>,
    /// By what nodes name the second and later ones.
    pub files: Vec<Str>,
    wanted: VecDeque<Wanted>,
}

/// A file that is to be read.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Where it is.
    pub place: Str,
    /// What the node calls it that leads into it; empty for the first.
    named: Str,
}

impl Gathering {
    /// Begins with the file at a place.
    pub fn new(place: &str) -> Self {
        let first = Wanted {
            place: place.into(),
            named: Str::default(),
        };
        Self {
            sops: Vec::new(),
            files: Vec::new(),
            wanted: VecDeque::from([first]),
        }
    }

    /// The next file to be read; an error if there are too many.
    pub fn wants(&mut self) -> Result<Option<Wanted>, String> {
        let next = self.wanted.pop_front();
        match next.is_some() && self.sops.len() >= FILES_MAX {
            true => Err(format!(
                "the procedure leads into more than {FILES_MAX} files"
            )),
            false => Ok(next),
        }
    }

    /// Adds what was read of a file.
    pub fn add(&mut self, file: Wanted, sop: Sop) {
        for inner in sop.nodes.iter().filter_map(|node| node.procedure.as_ref()) {
            let is_wanted = || self.wanted.iter().any(|it| it.named == *inner);
            if !self.files.contains(inner) && *inner != file.named && !is_wanted() {
                self.wanted.push_back(Wanted {
                    place: beside(&file.place, inner),
                    named: inner.clone(),
                });
            }
        }
        if !self.sops.is_empty() {
            self.files.push(file.named);
        }
        self.sops.push(Arc::new(sop));
    }
}

impl From<Sop> for Gathering {
    /// A procedure without those that it leads into.
    fn from(sop: Sop) -> Self {
        Self {
            sops: vec![Arc::new(sop)],
            files: Vec::new(),
            wanted: VecDeque::new(),
        }
    }
}

/// The place of a file that another names.
fn beside(place: &str, named: &str) -> Str {
    if named.contains("://") || named.starts_with('/') {
        return named.into();
    }
    match place.rfind('/') {
        Some(end) => format!("{}/{named}", &place[..end]).into(),
        None => named.into(),
    }
}

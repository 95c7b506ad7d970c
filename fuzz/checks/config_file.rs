//! Any bytes as the operator's configuration: a file comes back, or flaws that have places.

use super::places;
use std::path::Path;
use tramline::config::File;

pub(crate) fn check(bytes: &[u8]) {
    if let Err(flaws) = File::parse(bytes, Path::new("/etc/tramline")) {
        places::check(&flaws);
    }
}

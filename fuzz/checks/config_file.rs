//! Arbitrary bytes as the operator's configuration: parsed, or rejected with flaws that have
//! positions.

use super::places;
use std::path::Path;
use tramline::config::ConfigFile;

pub(crate) fn check(bytes: &[u8]) {
    if let Err(flaws) = ConfigFile::parse(bytes, Path::new("/etc/tramline")) {
        places::check(&flaws);
    }
}

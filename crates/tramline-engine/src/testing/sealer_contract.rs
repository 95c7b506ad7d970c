//! What every sealer must do.

#![allow(clippy::expect_used, reason = "a contract that is broken fails loudly")]

use crate::seams::Sealer;

/// Checks one sealer, and another with another key.
pub fn sealer_contract(sealer: &dyn Sealer, other: &dyn Sealer) {
    let secret = b"a secret that is long enough to be seen";
    let sealed = sealer.seal("KEY", secret).expect("it seals");
    let seen = sealed
        .windows(8)
        .any(|window| secret.windows(8).any(|part| part == window));
    assert!(!seen, "the secret can be seen");
    assert_eq!(sealer.open("KEY", &sealed).expect("it opens"), secret);
    let empty = sealer.seal("KEY", b"").expect("it seals nothing");
    assert_eq!(sealer.open("KEY", &empty).expect("and opens it"), b"");
    assert!(sealer.open("OTHER", &sealed).is_err(), "under another name");
    assert!(other.open("KEY", &sealed).is_err(), "with another key");
    assert!(sealer.open("KEY", b"").is_err(), "nothing at all");
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        let opened = sealer.open("KEY", &changed);
        assert!(opened.is_err(), "byte {at} was changed");
    }
    let cut = sealer.open("KEY", &sealed[..sealed.len() - 1]);
    assert!(cut.is_err(), "the last byte is missing");
}
